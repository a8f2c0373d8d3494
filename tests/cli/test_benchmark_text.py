"""The tables of a benchmark in a terminal."""

from __future__ import annotations

from rich.console import Console

from mccpo.cli.commands.benchmark.text import tables
from mccpo.evaluation import Summary
from mccpo.runs.benchmark import (
    Anchor,
    BenchmarkResults,
    Cell,
    Findings,
    Leaders,
    ProblemRecord,
    ProtocolRecord,
    Unseen,
    Winners,
)

PROTOCOL = ProtocolRecord(
    kappa=(0.7,), seeds=2, steps=10, seed=0, search=False, limit=None, episodes=10, search_seeds=2, unseen=(), sizes={},
    validation=8, steps_trained=10, search_kappa=None,
)  # fmt: skip
ANCHOR = Anchor(1.0, {"c": 1.0}, 1.0, 0.0, 1.0, 1.0, 0.0)


def summary(mean: float, *per_seed: float) -> Summary:
    return Summary(mean, 0.0, per_seed or (mean,), (mean, mean), mean)


def shown(hypervolumes: list[float], *, kept: float | None = None, winners: Winners | None = None, learnt=({},)) -> str:
    """A method of one cell, of which one seed is done and meets its budgets; or of one for each of what is learnt."""
    metrics = {"return": 0.86, "satisfaction_strict": 1.0, "optimum_share": 0.98}
    cells = tuple(
        Cell(
            *("gate", "cpo", "learner", kappa, "done", "", "", 1.0, 1),
            {name: summary(mean) for name, mean in (metrics | more).items()},
        )
        for kappa, more in zip((0.7, 0.9), learnt, strict=False)
    )
    results = BenchmarkResults(
        suite="quick",
        protocol=PROTOCOL,
        environments={"gate": ProblemRecord(ANCHOR, {}, {}, True, ("c",), ("c",), 3, 1, 0.99)},
        methods={},
        findings=Findings(
            cells=cells,
            aggregate={},
            profiles={},
            improvement={},
            hypervolume={"gate": {"cpo": summary(0.3, *hypervolumes)}},
            kept=None if kept is None else {"gate": {"cpo": summary(kept)}},
            winners={} if winners is None else {"gate": winners},
        ),
        unseen=Unseen((), {}),
        seconds=1.0,
    )
    console = Console(width=120)
    with console.capture() as caught:
        for table in tables(results):
            console.print(table)
    return caught.get()


def test_failed_seed_meets_no_budget():
    text = shown([0.6, 0.0])
    assert "0.86 (1/2)" in text
    assert "98.0 %" not in text  # of the optimum where every seed meets the budgets


def test_seeds_are_counted_as_the_method_has_them():
    text = shown([0.6])  # an outside agent of one seed, in a benchmark of two
    assert "0.86 (1/1)" in text
    assert "98.0 %" in text


def test_kept_has_a_column():
    text = shown([0.6], kept=0.123).splitlines()
    assert any("volume" in line for line in text)
    assert any("kept" in line for line in text)
    assert any("0.300" in line and "0.123" in line for line in text)
    assert "kept" in shown([0.6])  # as older results have it, which do not say how much


def test_what_is_learnt_has_columns():
    """The mean over κ; none in older results, which did not measure what is mastered."""
    text = shown([0.6], learnt=({"dK": 2.0, "mastered": 3.0}, {"dK": 1.0, "mastered": 4.25}))
    assert "ΔK," in text
    assert "mastered" in text
    assert learnt_of(text) == ["1.5,", "3.62"]
    assert learnt_of(shown([0.6], learnt=({"dK": 2.0},))) == ["2,", "–"]


def learnt_of(text):
    """The last column of the only method."""
    return next(line for line in text.splitlines() if "0.300" in line).split()[-2:]


def test_unmet_kappas_are_named_below_the_table():
    nobody, cpo = Leaders((), None), Leaders(("cpo",), 0.3)
    text = " ".join(shown([0.6], winners=Winners(cpo, nobody, (), (0.5,), cpo)).split())
    assert "nobody met κ = 0.5 in any of its seeds; best of those that always meet the rest: cpo" in text
    assert "nobody" not in shown([0.6], winners=Winners(cpo, cpo, ("cpo",), (), cpo))
    assert "nobody" not in shown([0.6], winners=Winners(cpo, nobody, ()))  # as older results have it
