"""The report of a benchmark: what it says, what it leads to, and that it is one file."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

from mccpo.errors import InputError
from mccpo.report.benchmark import plane as planes
from mccpo.report.benchmark import words
from mccpo.report.benchmark.figures import front, strokes
from mccpo.report.benchmark.page import render, write
from mccpo.report.benchmark.plane import plane
from mccpo.report.benchmark.reading import read
from mccpo.report.benchmark.whole_view import BenchmarkView

from .benchmark_folder import KAPPAS, SEEDS, STRENGTHS, made_up, view_from
from .benchmark_page import Tables, row_of

PUBLISHED = Path(__file__).parents[2] / "docs" / "benchmark" / "full"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture(scope="module")
def view(folder: Path) -> BenchmarkView:
    return read(folder)


@pytest.fixture(scope="module")
def text(folder: Path) -> str:
    return write(folder).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tables(text: str) -> dict[tuple[str, str], list[list[dict[str, object]]]]:
    return Tables(text).tables


# ---- one file


def test_page_is_the_same_to_the_byte(folder, text):
    assert write(folder).read_text(encoding="utf-8") == text


def test_nothing_is_fetched(text):
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
    assert not re.findall(r"<link|<img|@import|url\((?!#)", text)
    assert text.count("<script>") == 1


def test_no_id_is_used_twice(text):
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


# ---- what leads where


def test_numbers_link_to_their_folder(folder, tables):
    methods = {words.method_label(name): name for name in STRENGTHS}
    for environment in ("gate", "chain", "tutor-15"):
        for kind in ("place", "cells", *(["exact"] if environment != "tutor-15" else [])):
            for row in tables[f"on-{environment}", kind][1:]:
                method = methods[name_of(row)]
                _, *cells = [row[0], *row[2:]] if kind == "cells" else row  # κ is no number of a run
                for cell in cells:
                    if method == "maskable-ppo" or not re.search(r"\d", cell["text"]):
                        assert not cell["links"]
                    else:
                        assert set(cell["links"]) == {f"cells/{environment}/{method}/"}
                        assert (folder / cell["links"][0]).is_dir()


def name_of(row):
    return max((label for label in map(words.method_label, STRENGTHS) if row[0]["text"].startswith(label)), key=len)


@pytest.mark.usefixtures("undrawn")
def test_missing_folders_are_not_linked(folder, tmp_path):
    for name in ("results.json", "rows.parquet"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    told = write(tmp_path).read_text(encoding="utf-8")
    assert 'href="cells/' not in told
    assert 'href="rows.parquet"' not in told


# ---- what is said


def test_best_meets_every_budget(view):
    environment = next(environment for environment in view.environments if environment.name == "tutor-15")
    cpo = environment.pair("cpo")
    assert not cpo.safe  # one seed spends 2 % too much
    volumes = {pair.method: pair.hypervolume.mean for pair in environment.ranked if pair.safe}
    assert environment.best[0].method == max(volumes, key=volumes.get) == "pid-lagrangian"


def test_winners_agree_with_results(folder, view):
    told = json.loads((folder / "results.json").read_text())["aggregate"]
    for method, about in told.items():
        assert about["best_on"] == [
            environment.name for environment in view.run if method in {pair.method for pair in environment.best}
        ], method


def test_sampled_values_are_not_called_exact(folder, view, text):
    environment = next(environment for environment in view.environments if environment.name == "gate")
    assert "exact" not in "".join(re.findall(r"<summary>[^<]*", text))
    assert environment.pair("maskable-ppo").sampled
    assert not environment.pair("mc-cpo").sampled  # its seeds differ because it learns
    assert "MaskablePPO" in words.exactness(environment) or "maskable-ppo" in words.exactness(environment)
    rule = environment.pair("planning")
    same = [
        replace(cell, metrics={**cell.metrics, "return": replace(cell.metrics["return"], per_seed=(0.5,) * SEEDS)})
        for cell in rule.cells
    ]
    assert rule.sampled  # the seeds of a rule that is evaluated exactly are all alike
    assert not replace(rule, cells=tuple(same)).sampled


def test_points_outside_a_figure_are_named(folder):
    results = json.loads((folder / "results.json").read_text())
    before = next(environment for environment in view_from(results).environments if environment.name == "tutor-15")
    for cell in results["cells"]:
        if (cell["environment"], cell["method"]) == ("tutor-15", "reward-shaped"):
            cell["cost_share"]["mean"] = 1.0 + cell["kappa"]
    changed = view_from(results)
    after = next(environment for environment in changed.environments if environment.name == "tutor-15")
    everything = [front(environment, strokes(changed), iter("ab")).panels[0].caption for environment in (before, after)]
    assert "beyond" not in everything[0]
    assert everything[1].endswith("; beyond the right edge: Reward-shaped (up to 1.9)")


def test_method_may_apply_to_some_kappas_only(view):
    pair = view.environments[0].pair("mc-cpo")
    first, *others = pair.cells
    assert replace(pair, cells=(replace(first, status="does not apply"), *others)).applies


def test_what_failed_says_so(tables, text):
    rows = tables["on-tutor-15", "place"]
    assert "✗ crashed" in row_of(rows, "FOCOPS")[0]["text"]
    assert "✗ timed out" in row_of(rows, "RCPO")[0]["text"]
    assert "– does not apply" in row_of(rows, "Exact Lyapunov")[0]["text"]
    assert "✗ diverged in 1 of 3 seeds" in row_of(tables["on-gate", "place"], "CCPO")[0]["text"]
    why = {row[0]["text"].removesuffix("learns"): row[2]["text"] for row in tables["faults", "faults"][1:]}
    assert why["FOCOPS"] == "✗ crashed: FloatingPointError: the divergence is <nan> & not a number"
    assert "<nan>" not in text  # what a method says of its death is text
    assert "Not run: </b>no data" in text


def test_finite_environment_shows_optimum_shares_and_costs(folder, tables):
    rows = pl.read_parquet(folder / "rows.parquet")
    cells = tables["on-chain", "cells"]
    assert [cell["text"] for cell in cells[0]][3:5] == ["Share of optimum", "Cost c4J(c4): mean, worst seed"]
    found = next(row for row in cells if row[0]["text"] == "CPO" and row[1]["text"] == "0.7")
    here = rows.filter(pl.col("environment") == "chain", pl.col("method") == "cpo", pl.col("kappa") == 0.7)
    assert float(found[3]["key"]) == pytest.approx(here["optimum_share"].mean())
    assert float(found[4]["key"]) == pytest.approx(here["J_c4"].mean())
    assert found[4]["text"].endswith(f"{here['J_c4'].max():.3f}")


def test_finite_environment_compares_with_optimum_and_budgets(folder, tables):
    rows = pl.read_parquet(folder / "rows.parquet").filter(pl.col("environment") == "chain")
    head, *found = tables["on-chain", "exact"]
    assert [cell["text"] for cell in head[:3]] == ["Method", "Share, κ = 0.5of 3.6757", "J(c4)κ = 0.5, at most 2.4505"]
    for name in ("cpo", "mastery-learning", "unconstrained"):
        row = row_of(found, words.method_label(name))
        for at, kappa in enumerate(KAPPAS):
            here = rows.filter(pl.col("method") == name, pl.col("kappa") == kappa)
            share, cost = row[1 + 2 * at], row[2 + 2 * at]
            if here["satisfaction_strict"].min() == 1:
                assert float(share["key"]) == pytest.approx(here["optimum_share"].mean())
                assert "✗" not in cost["text"]
            else:
                assert share["text"] == f"–met 0/{SEEDS}"  # beyond the budgets there is more to be had
                assert "✗" in cost["text"]
            assert float(cost["key"]) == pytest.approx(here["J_c4"].mean())
            assert cost["text"].endswith(f"{here['J_c4'].max():.3f}")
    assert ("on-tutor-15", "exact") not in tables


def test_a_seed_over_its_budget_is_marked(tables):
    cells = tables["on-tutor-15", "cells"]
    marked = {row[0]["text"] for row in cells[1:] if any("✗" in cell["text"] for cell in row)}
    assert "CPO" in marked  # its mean is within the budget, its worst seed is not
    assert "MC-CPO" not in marked


def test_failed_seed_meets_no_budget(tables):
    row = next(row for row in tables["on-gate", "cells"] if row[0]["text"] == "CCPO")
    assert row[5]["text"] == "2/3"


def test_every_cell_has_a_sort_key(tables):
    for rows in tables.values():
        for row in rows:
            if row[0]["head"]:
                continue
            assert all(cell["key"] is not None for cell in row)
            assert len(row) == len(rows[0])


def test_rows_are_sorted_by_hypervolume(view, tables):
    keys = [row[1]["key"] for row in tables["on-chain", "place"][1:]]
    known = [float(key) for key in keys if key]
    assert known == sorted(known, reverse=True)
    assert "best that meets all" in row_of(tables["on-chain", "place"], "MC-CPO")[1]["text"]


def test_kept_is_shown_beside_hypervolume(folder, tables):
    rows = pl.read_parquet(folder / "rows.parquet").filter(pl.col("environment") == "tutor-15")
    head, *found = tables["on-tutor-15", "place"]
    assert head[2]["text"].startswith("Kept")
    for name in ("cpo", "mc-cpo", "unconstrained"):
        here = rows.filter(pl.col("method") == name)
        expected = (here["share"] * here["satisfaction_strict"]).mean()
        assert float(row_of(found, words.method_label(name))[2]["key"]) == pytest.approx(expected)
    assert row_of(found, "Exact Lyapunov")[2]["text"] == "–"


def column(rows, name):
    return next(at for at, cell in enumerate(rows[0]) if cell["text"].startswith(name))


def test_tables_show_what_is_learnt(folder, tables):
    rows = pl.read_parquet(folder / "rows.parquet").filter(pl.col("environment") == "tutor-15")
    place, cells = tables["on-tutor-15", "place"], tables["on-tutor-15", "cells"]
    for metric, head in (("dK", "Mastery gained"), ("mastered", "Mastered")):
        for name in ("cpo", "mc-cpo", "planning"):
            here = rows.filter(pl.col("method") == name)
            shown = row_of(place[1:], words.method_label(name))[column(place, head)]
            assert float(shown["key"]) == pytest.approx(here[metric].mean())
            at = here.filter(pl.col("kappa") == 0.7)[metric].mean()
            row = next(row for row in cells if (row[0]["text"], row[1]["text"]) == (words.method_label(name), "0.7"))
            assert float(row[column(cells, head)]["key"]) == pytest.approx(at)
        assert row_of(place, "FOCOPS")[column(place, head)]["text"] == "–"


def test_tables_show_what_is_beyond_rules(folder, tables):
    """Against a linear program over mixtures: as much return as can be had for at least as much ΔK."""
    anchor = json.loads((folder / "results.json").read_text())["environments"]["tutor-15"]["anchor"]
    rows = pl.read_parquet(folder / "rows.parquet").filter(pl.col("environment") == "tutor-15")
    rules = rows.filter(pl.col("kind") == "tutor").group_by("method").agg(pl.col("dK", "return").mean())
    gain, ret = [*rules["dK"], anchor["gain"]], np.array([*rules["return"], anchor["ret"]])

    def best(least):
        found = linprog(-ret, A_ub=[[-one for one in gain]], b_ub=[-least], A_eq=[[1.0] * len(ret)], b_eq=[1.0])
        assert found.success
        return -found.fun

    place = tables["on-tutor-15", "place"]
    at, signs = column(place, "Beyond rules"), set()
    for name in ("mc-cpo", "pid-lagrangian", "cpo", "reward-shaped", "maskable-ppo"):
        here = rows.filter(pl.col("method") == name)
        beyond = [(one["return"] - best(one["dK"])) / anchor["ret"] for one in here.iter_rows(named=True)]
        shown = row_of(place[1:], words.method_label(name))[at]
        assert float(shown["key"]) == pytest.approx(np.mean(beyond), abs=1e-9)
        assert shown["text"] == f"{100 * np.mean(beyond):+.1f} %"
        signs.add(np.sign(np.mean(beyond)))
    assert signs == {-1, 1}
    assert row_of(place, "Planning")[at]["text"] == row_of(place, "FOCOPS")[at]["text"] == "–"


def test_every_environment_has_a_plane_of_engagement_and_learning(text):
    for name in ("gate", "chain", "tutor-15"):
        section = text[text.index(f'id="on-{name}"') :].split("</section>")[0]
        assert "Engagement and learning" in section
        assert f"Engagement against learning on {name}" in section  # the drawing's own name
    assert "Engagement" not in text[text.index('id="on-junyi-2015-14"') :].split("</section>")[0]


def test_the_plane_has_rules_and_what_mixing_them_gives(view, monkeypatch):
    drawn = []
    monkeypatch.setattr(planes, "dot", lambda _axes, x, y, style, **_: drawn.append((x, y, style.marker)))
    environment = next(environment for environment in view.environments if environment.name == "tutor-15")
    group = plane(environment, strokes(view), iter("a"))
    told = [name for _, name in group.legend]
    free = "best known without budgets"
    assert {free, "what mixtures of rules and the unconstrained tutor reach"} <= set(told)
    assert "a rule" in told
    assert "Planning" in group.panels[0].svg  # named where it stands
    assert drawn.count((environment.gain, environment.ret, "s")) == 1
    metrics = environment.pair("planning").first.metrics
    assert (metrics["dK"].mean, metrics["return"].mean, "D") in drawn
    without = replace(environment, pairs=tuple(pair for pair in environment.pairs if pair.kind != "tutor"))
    told = [name for _, name in plane(without, strokes(view), iter("a")).legend]
    assert "a rule" not in told
    assert free in told


def test_planes_stand_before_any_table(view):
    first = render(view).partition("<table")[0]
    shown = [environment.name for environment in view.run if planes.has_plane(environment)][:3]
    assert shown
    assert [first.count(f"<figcaption><b>{name}</b>") for name in shown] == [1] * len(shown)


def test_no_plane_without_points(view):
    environment = next(environment for environment in view.environments if environment.name == "tutor-15")
    assert plane(replace(environment, pairs=()), strokes(view), iter("a")) is None
    assert plane(replace(environment, ret=0.0), strokes(view), iter("a")) is None


def test_it_says_where_settings_were_searched(folder, view):
    assert "at every κ" in dict(words.protocol(view))["search"]
    results = json.loads((folder / "results.json").read_text())
    results["protocol"]["search_kappa"] = 0.7
    assert "at κ = 0.7" in dict(words.protocol(view_from(results)))["search"]


@pytest.mark.usefixtures("undrawn")
def test_older_results_without_what_is_learnt_are_shown(folder):
    results = json.loads((folder / "results.json").read_text())
    del results["beyond_rules"]
    results["protocol"]["search_kappa"] = 0.7
    for cell in results["cells"]:
        for name in ("learning", "mastered"):
            cell.pop(name, None)
    for method in results["methods"].values():
        method["settings"] = {"chain": {"dual_rate": 0.3}}
    text = render(view_from(results))
    place = Tables(text).tables["on-chain", "place"]
    for row in place[1:]:
        assert row[column(place, "Mastered")]["text"] == row[column(place, "Beyond rules")]["text"] == "–"
    assert float(row_of(place, "MC-CPO")[column(place, "Mastery gained")]["key"]) > 0
    assert "Engagement and learning" in text  # ΔK and returns were always there


@pytest.mark.usefixtures("undrawn")
def test_what_is_published_is_shown():
    text = render(read(PUBLISHED))
    assert "Engagement and learning" in text
    place = Tables(text).tables["on-tutor-15", "place"]
    assert {row[column(place, "Mastered")]["text"] for row in place[1:]} == {"–"}


def test_unseen_budgets_have_a_row_for_each_method(tables):
    rows = tables["unseen", "unseen"]
    assert len(rows[0]) == 2 + 6
    ours, theirs = row_of(rows[1:], "MC-CPO"), row_of(rows[1:], "CCPO")
    assert ours[2]["text"] == "–"  # nothing was trained for a κ as small as this
    assert theirs[2]["text"].startswith("✓ 3/3")


def test_unseen_budgets_show_ours_and_conditioned_first(view, text):
    assert view.asked == ["mc-cpo", "ccpo", "cpo"]
    assert view.sees_budgets("ccpo")
    assert not view.sees_budgets("cpo")
    section = text[text.index('id="unseen"') :]
    assert section.index(">CCPO<") < section.index("The other methods") < section.index(">CPO<")


def test_no_zoom_without_points_near_budgets(view):
    environment = next(environment for environment in view.environments if environment.name == "tutor-15")
    tight = {kappa / 100: limits for kappa, limits in environment.budgets.items()}
    (panel,) = front(replace(environment, budgets=tight), strokes(view), iter("ab")).panels
    assert panel.title == "Everything"
    assert len(front(environment, strokes(view), iter("ab")).panels) == 2


def test_few_distinct_colours(view):
    found = strokes(view)
    assert next(iter(found)) == "mc-cpo"
    assert len(found) < len(view.methods)
    assert len({(one.colour, one.dashes) for one in found.values()}) == len(found)


@pytest.mark.usefixtures("undrawn")
def test_published_results_alone_are_enough(folder):
    told = render(view_from(json.loads((folder / "results.json").read_text())))
    assert "Over all environments" in told


def test_cost_share_is_of_highest_cost(view):
    environment = next(environment for environment in view.environments if environment.name == "tutor-15")
    shares = zip(environment.costs, (0.2, 0.9, 0.4), strict=True)
    spent = {cost: share * environment.costs[cost] for cost, share in shares}
    assert np.isclose(environment.share_of_cost(spent), 0.9)


# ---- what is no benchmark


def test_a_folder_without_a_benchmark_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"results\.json"):
        write(tmp_path)


def test_results_of_something_else_are_refused(folder, tmp_path):
    (tmp_path / "results.json").write_text('{"table": "chain"}')
    (tmp_path / "rows.parquet").write_bytes((folder / "rows.parquet").read_bytes())
    with pytest.raises(InputError, match="not a finished benchmark"):
        write(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_kappas_are_in_order(view):
    assert view.kappas == sorted(KAPPAS)
