"""The commands that train: shared flags, several environments, event files, the cache, requirements in words."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tensorboardX.proto.event_pb2 import Event
from tests import small

from mccpo.cli import main
from mccpo.cli.app import build_app
from mccpo.cli.commands.cache import folder
from mccpo.cli.commands.reproduce import suited
from mccpo.experiments import LONG, TABLES, Options, compare, feasibility
from mccpo.methods import Arrays, point_of
from mccpo.runs.folder import RunFolder
from mccpo.runs.tensorboard import _whole

SMALL = ["--seeds", "2", "--episodes", "80", "--methods", "unconstrained,mc-cpo"]
CALL = [sys.executable, "-m", "mccpo"]
TUTOR = ["compare", "tutor-15", "--methods", "unconstrained", "--seeds", "1", "--set", f"horizon={small.HORIZON}"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _small_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Options, "neural_plan", small.plan)


def flags(command: str) -> set[str]:
    found = build_app()[command].assemble_argument_collection()
    return {name for argument in found for name in argument.names if name.startswith("--")}


def test_every_flag_of_reproduce_is_one_of_compare() -> None:
    assert flags("compare") - flags("reproduce") == {"--curriculum", "--require", "--floor", "--ready", "--objective"}
    assert flags("reproduce") - flags("compare") == {"--data"}
    assert {"--seeds", "--kappa", "--budget", "--out", "--resume", "--json", "--require-satisfied"} <= flags("compare")


def test_shared_flags_come_from_variables_and_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("mccpo.toml").write_text("seeds = 3\n[reproduce]\nsteps = 500\nrequire-satisfied = true\nbudget = ['c4=2']\n")
    monkeypatch.setenv("MCCPO_REPRODUCE_KAPPA", "0.7")
    monkeypatch.setenv("MCCPO_METHODS", "mc-cpo")
    assert main(["reproduce", "chain", "--seed", "5", "--print-config", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    asked = {"seeds": 3, "steps": 500, "require-satisfied": True, "budget": ["c4=2"], "kappa": "0.7", "seed": 5}
    assert asked.items() <= shown.items()
    assert shown["methods"] == "mc-cpo"


def test_variables_may_hold_what_has_spaces(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = ["mastery progress in at least 60 % of steps", "demand shortfall of at most 0.1 a step on average"]
    monkeypatch.setenv("MCCPO_REQUIRE", sentences[0])
    monkeypatch.setenv("MCCPO_TRAIN_REQUIRE", "; ".join(sentences))
    monkeypatch.setenv("MCCPO_SET", "name=two words K0=0.5  activities=[1, 2]")
    monkeypatch.setenv("MCCPO_BUDGET", "c3=5 c4=2")
    found = {}
    for command in ("compare", "train"):
        assert main([command, "tutor-15", "--print-config", "--json"]) == 0
        found[command] = json.loads(capsys.readouterr().out)
    assert found["compare"]["require"] == sentences[:1]
    assert found["train"]["require"] == sentences
    assert found["train"]["set"] == ["name=two words", "K0=0.5", "activities=[1, 2]"]
    assert found["train"]["budget"] == ["c3=5", "c4=2"]


def test_all_tables_take_the_length_that_is_counted_their_way() -> None:
    options = Options(episodes=400, steps=300, seeds=3)
    taken = {table: suited(table, options) for table in TABLES}
    by_episodes = [table for table, own in taken.items() if (own.episodes, own.steps) == (400, None)]
    by_steps = [table for table, own in taken.items() if (own.episodes, own.steps) == (None, 300)]
    assert by_episodes == ["gate", "reward-gap", "chain", "random-finite"]
    ablations = ["ablation-tutor-15", "ablation-random-curricula", "ablation-assistments-2009"]
    others = ["shaping", "shaping-25", "noise", "coverage", "wrong-edges", "wrong-edges-40", *LONG]
    assert by_steps == ["tutor-15", "tutor-25", "parameterisations", *ablations, *others]
    assert {own.seeds for own in taken.values()} == {3}


def test_printed_settings_of_a_command_that_trains_can_be_a_settings_file(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "gate", "chain", "--print-config"]
    assert main([*call, "--seeds", "3", "--budget", "c4=2", "--resume"]) == 0
    printed = capsys.readouterr().out
    Path("mccpo.toml").write_text(printed)
    assert main(call) == 0
    assert capsys.readouterr().out == printed
    assert '# environments is ["gate", "chain"]' in printed


@pytest.mark.parametrize("command", ["compare", "reproduce", "solve"])
def test_the_help_of_a_command_has_its_own_words_and_flags(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(name in shown for name in flags(command))
    words = {
        "compare": "Several environments make one run and one report, with a table each.",
        "reproduce": "with a verdict on each.",
        "solve": "the smallest conflicting set, what each of them can reach by itself, and what would do",
    }
    assert words[command] in shown


def test_several_environments_make_one_run_and_one_report(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--seeds", "1", "--episodes", "80", "--methods", "mc-cpo"]
    assert main(["compare", "gate", "chain", *few, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["tables"]) == ["gate", "chain"]
    assert [path.name for path in Path("runs").iterdir()] == ["compare-gate-chain"]
    page = Path("runs/compare-gate-chain/report.html").read_text()
    assert "The methods on gate" in page
    assert "The methods on chain" in page


@pytest.mark.parametrize(
    ("call", "culprit"),
    [
        (["compare"], "no environment"),
        (["compare", "gate", "chain", "gate"], "gate is named twice"),
        (["compare", "gate", "tutor-99"], "tutor-99"),
        (["compare", "gate", "tutor-15", "--episodes", "800"], "tutor-15 is trained by steps"),
        (["compare", "gate", "chain", "--budget", "c=0.5"], "'c'"),
        (["compare", "tutor-15", "tutor-25", "--set", "p_learn=0.5"], "p_learn"),
        (["compare", "tutor-15", "chain", "--require", "demand of at least 0.5 in at least 80 % of steps"], "chain"),
        (["compare", "tutor-15", "--require", "learn well"], "learn well"),
        (["compare", "tutor-15", "--kappa", "0.9,0.7", "--require", "x"], "contradict"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_wrong_with_any_environment_is_said_before_training(
    call: list[str], culprit: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*_: Any) -> None:
        pytest.fail("trained first")

    monkeypatch.setattr(compare, "pose_neural", train)
    monkeypatch.setattr(compare, "run", train)
    assert main(call) == 2
    told = capsys.readouterr().err
    assert culprit in told
    assert told.count("\n") == 1
    assert not Path("runs").exists()


def steps(folder: Path) -> list[int]:
    """The steps of an event file, as often as they are in it."""
    (path,) = folder.iterdir()
    events: list[Event] = _whole(path.read_bytes())[0]
    return [event.step for event in events if event.summary.value]


def test_event_files_are_written_on_request_and_a_resumed_run_repeats_no_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    longer = [*SMALL[:3], "800", *SMALL[4:]]  # of a hundred points
    call = ["compare", "gate", *longer, "--tensorboard", "--out", "run"]
    save = RunFolder.save

    def press_ctrl_c(folder: RunFolder, label: str, arrays: Callable[[], Arrays], *, last: bool = False) -> None:
        if point_of(arrays()) == 30 and not last:
            raise KeyboardInterrupt
        save(folder, label, arrays, last=last)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "save", press_ctrl_c)
        assert main(call) == 130
    parts = {f"{method}/seed-{seed}" for method in ("unconstrained", "mc-cpo") for seed in (0, 1)}
    for part in parts:
        assert len(steps(Path("run/tensorboard/gate", part))) == 30
    capsys.readouterr()
    assert main([*call, "--resume", "--json"]) == 0
    episodes = json.loads(capsys.readouterr().out)["protocol"]["episodes"]
    for part in parts:
        written = steps(Path("run/tensorboard/gate", part))
        assert written == [episodes * (at + 1) // 100 for at in range(100)]
    tags = {value.tag for value in _first_event().summary.value}
    assert {"return", "J_c", "lambda_c", "dK", "prerequisite_violation_rate", "frontier_events"} <= tags


def _first_event() -> Event:
    (path,) = Path("run/tensorboard/gate/mc-cpo/seed-0").iterdir()
    return _whole(path.read_bytes())[0][1]


def test_event_files_of_another_run_are_not_mixed_with(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run/tensorboard").mkdir(parents=True)
    assert main(["compare", "gate", *SMALL, "--tensorboard", "--out", "run"]) == 2
    assert "already holds event files" in capsys.readouterr().err


def test_without_the_package_the_request_is_refused_before_training(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.setattr(compare, "run", lambda *_: pytest.fail("trained first"))
    assert main(["compare", "gate", *SMALL, "--tensorboard"]) == 2
    told = capsys.readouterr().err
    assert told == "mccpo: --tensorboard needs the package tensorboardX; pip install 'mccpo[tensorboard]'\n"
    assert not Path("runs").exists()


def test_no_event_files_without_request() -> None:
    assert main(["compare", "gate", *SMALL, "--out", "run"]) == 0
    assert not Path("run/tensorboard").exists()


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert folder() == tmp_path / "home/.cache/mccpo"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert folder() == tmp_path / "xdg/mccpo"
    monkeypatch.setenv("MCCPO_CACHE", str(tmp_path / "own"))
    assert folder() == tmp_path / "own"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MCCPO_CACHE", str(tmp_path / "file/cache"))
    assert folder() is None


def test_the_cache_variable_is_no_unknown_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCCPO_CACHE", "somewhere")
    assert main(["compare", "gate", "--print-config"]) == 0
    assert "somewhere" not in capsys.readouterr().out


def programs(cache: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in cache.glob("programs-*/*")}


@pytest.mark.slow
def test_a_second_run_compiles_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCCPO_CACHE", str(tmp_path / "cache"))
    call = [*CALL, "compare", "gate", "--seeds", "1", "--episodes", "80", "--methods", "mc-cpo", "--json"]
    first = subprocess.run(call, capture_output=True, text=True, check=True)
    kept = programs(tmp_path / "cache")
    assert kept
    second = subprocess.run(call, capture_output=True, text=True, check=True)
    assert programs(tmp_path / "cache") == kept
    assert first.stdout == second.stdout
    assert all(
        line.startswith(("gate", "writing the results")) for line in second.stderr.splitlines()
    )  # no warning of jax's


def test_without_a_cache_runs_go_on_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MCCPO_CACHE", str(tmp_path / "file/cache"))
    assert main(["compare", "gate", *SMALL]) == 0
    assert all(line.startswith(("gate", "writing the results")) for line in capsys.readouterr().err.splitlines())


@pytest.mark.usefixtures("_small_plans")
def test_unconstrained_runs_are_taken_from_the_cache_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCCPO_CACHE", str(tmp_path / "cache"))
    told = {}
    for out, extra in {"first": [], "second": ["--tensorboard"], "third": ["--no-cache"]}.items():
        assert main([*TUTOR, *extra, "--out", out]) == 0
        told[out] = "taken from the cache" in capsys.readouterr().err
    assert told == {"first": False, "second": True, "third": False}
    first, second, third = (Path(out, "results.json").read_bytes() for out in told)
    assert first == second == third
    assert Path("first/metrics.parquet").read_bytes() == Path("second/metrics.parquet").read_bytes()
    # What was not trained now is in the event files all the same.
    assert steps(Path("second/tensorboard/tutor-15-unconstrained/unconstrained/seed-0")) == [
        json.loads(first)["protocol"]["steps"]
    ]


@pytest.mark.usefixtures("_small_plans")
def test_requirements_in_words_become_budgets_and_are_shown_back(capsys: pytest.CaptureFixture[str]) -> None:
    rules = ["mastery progress in at least 60 % of steps", "demand shortfall of at most 0.1 a step on average"]
    required = [part for rule in rules for part in ("--require", rule)]
    assert main([*TUTOR, "--budget", "c3=1", *required, "--out", "run"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    results = json.loads(Path("run/results.json").read_text())
    discounted = sum(0.99**step for step in range(small.HORIZON))
    assert results["budgets"]["c2"] == pytest.approx(0.4 * 0.022 * discounted)
    assert results["budgets"]["c3"] == 1  # tighter than the rule's 1.14
    assert len(results["requirements"]) == 2
    for rule, sentence in zip(rules, results["requirements"], strict=True):
        assert rule in sentence
        assert f"required: {sentence}" in shown


@pytest.mark.usefixtures("_small_plans")
@pytest.mark.parametrize("kappa", [[], ["--kappa", "0.01"]])
def test_a_requirement_does_not_loosen_the_kappa_that_was_asked_for(
    kappa: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feasibility, "examine", lambda *_: None)
    rule = "demand shortfall of at most 0.1 a step on average"
    assert main([*TUTOR, "--require", rule, *kappa, "--out", "run"]) == 0
    results = json.loads(Path("run/results.json").read_text())
    free = results["rows"]["unconstrained"]["J_c3"]["mean"]
    by_rule = 0.1 * sum(0.99**step for step in range(small.HORIZON))
    assert results["budgets"]["c3"] == pytest.approx(0.01 * free if kappa else by_rule)
    assert ("what --kappa or --budget asks for is tighter" in results["requirements"][0]) == bool(kappa)


def test_what_training_does_not_need_is_not_loaded_before_it() -> None:
    late = "{'polars', 'scipy.stats', 'scipy.optimize', 'scipy.sparse', 'matplotlib', 'rustworkx', 'tensorboardX'}"
    modules = "mccpo.cli.commands.experiment, mccpo.runs.folder, mccpo.experiments.compare, mccpo.runs.cache"
    code = f"import sys, {modules}; print(sorted({late} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
