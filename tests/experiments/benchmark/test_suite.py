"""One tiny benchmark from end to end: rows, folders, failures as outcomes, and how it is resumed."""

import fcntl
import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file

from mccpo.env import Gate, TrainTest, make
from mccpo.errors import InputError
from mccpo.evaluation import hypervolume
from mccpo.exact import Values
from mccpo.experiments import Session
from mccpo.experiments.benchmark.agent_rows import AgentRow
from mccpo.experiments.benchmark.pairs import Benchmark, problem_in
from mccpo.experiments.benchmark.suite import run
from mccpo.experiments.benchmark.trial import attempt
from mccpo.experiments.prepare.environments import NoData
from mccpo.experiments.problem import pose, pose_finite
from mccpo.experiments.saved_policies import load_policies
from mccpo.methods import GradientEntry, RuleEntry, method_entry
from mccpo.methods.rules import RandomReady
from mccpo.runs.benchmark import NotRun, read_results
from mccpo.runs.results import parse_document

METHODS = ("mc-cpo", "standing", "diverging", "crashing", "random-ready", "lyapunov-lp")


@pytest.fixture(scope="module")
def load(standing):
    """A method of the benchmark by name, or one that misbehaves."""

    def load(name):
        if name in ("standing", "diverging"):
            factor = 1.0 if name == "standing" else np.inf
            return GradientEntry(
                name, name, "", lambda _env, _setting: standing(factor=factor), sees_budgets=name == "standing"
            )
        if name == "crashing":
            return GradientEntry(name, name, "", lambda _env, _setting: 1 / 0)
        if name == "mc-cpo":
            return replace(method_entry(name), search=({}, {"settings.tighten": 0.03}))
        return method_entry(name)

    return load


def place(name, _data):
    if name == "elsewhere":
        raise NoData("no data: it is made of logs", fix="name it")
    return TrainTest(env := make(name), env)


@pytest.fixture(scope="module")
def asked(small, load):
    return Benchmark("tiny", METHODS, ("gate", "elsewhere"), small, load=load, open=place)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("benchmark") / "run"


@pytest.fixture(scope="module")
def results(folder, asked):
    return run(folder, asked, Session())


@pytest.fixture(scope="module")
def rows(folder, results):
    return pl.read_parquet(folder / "rows.parquet")


def at(rows, **where):
    return rows.filter(*(pl.col(key) == value for key, value in where.items()))


def test_a_row_for_every_environment_method_kappa_and_seed(rows):
    assert rows.select("environment", "method", "kappa", "seed").is_unique().all()
    assert len(rows) == 2 * len(METHODS) * 2 * 2


def test_failures_are_rows_that_say_so(rows):
    found = {method: set(at(rows, environment="gate", method=method)["status"]) for method in METHODS}
    expected = {method: {"done"} for method in METHODS} | {"diverging": {"diverged"}, "crashing": {"crashed"}}
    assert found == expected
    assert set(at(rows, method="crashing", environment="gate")["why"]) == {"ZeroDivisionError: division by zero"}
    assert set(at(rows, environment="elsewhere")["status"]) == {"does not apply"}
    assert at(rows, method="diverging")["return"].is_null().all()


def test_finite_environments_are_evaluated_exactly(rows):
    for kappa in (0.5, 0.9):
        best = pose_finite(make("gate"), kappa=kappa)
        found = at(rows, environment="gate", method="lyapunov-lp", kappa=kappa)
        assert found["optimum_share"].to_numpy() == pytest.approx(1.0, abs=1e-6)
        assert found["return"].to_numpy() == pytest.approx(best.optimum.values.ret, abs=1e-6)
        assert found["budget_c"].to_numpy() == pytest.approx(best.budgets["c"])
        assert set(found["satisfaction_strict"]) == {1.0}


def test_rows_name_their_folder(folder, rows):
    for path in at(rows, environment="gate")["folder"].unique():
        manifest = json.loads((folder / path / "manifest.json").read_text())
        told = json.loads((folder / path / "results.json").read_text(), parse_constant=pytest.fail)
        assert manifest["finished"]
        assert manifest["configuration"]["kappa"] == [0.5, 0.9]
        ours = at(rows, folder=path)
        assert [row.get("return") for row in told["rows"]] == ours["return"].to_list()


@pytest.mark.parametrize("method", ["mc-cpo", "random-ready"])
def test_pairs_are_runs_with_policies(folder, rows, method):
    pair, env = folder / "cells/gate" / method, make("gate")
    policies = load_policies(pair)
    assert [(saved.part, saved.method.name) for saved in policies] == [("gate κ=0.5", method), ("gate κ=0.9", method)]
    (table,) = parse_document(json.loads((pair / "results.json").read_text()), pair)
    for kappa, saved, setting in zip((0.5, 0.9), policies, table.settings, strict=True):
        ours = at(rows, environment="gate", method=method, kappa=kappa)
        assert setting.rows[method]["return"].per_seed == pytest.approx(ours["return"].to_list())
        assert saved.budgets == setting.budgets == pytest.approx({"c": ours["budget_c"][0]})
        played = saved.policies.play(env, episodes=400, seed=5)
        assert np.shape(played.ret) == (2, 400)
        assert np.mean(played.ret, axis=1) == pytest.approx(ours["return"].to_numpy(), abs=0.1)


def test_failed_pairs_have_no_policies(folder, rows):
    for method in ("diverging", "crashing"):
        assert {path.name for path in (folder / "cells/gate" / method).iterdir()} == {"manifest.json", "results.json"}


def test_an_environment_that_cannot_be_built_again_is_run_all_the_same(small, tmp_path):
    class Unregistered(Gate):
        pass

    asked = Benchmark(
        "tiny", ("random-ready",), ("gate",), small, open=lambda *_: TrainTest(env := Unregistered(), env)
    )
    results = run(tmp_path, asked, Session())
    assert {cell.status for cell in results.findings.cells} == {"done"}
    assert not list((tmp_path / "cells/gate/random-ready").glob("policies*"))


def test_a_solver_keeps_its_tables(folder, rows):
    tables = load_file(folder / "cells/gate/lyapunov-lp/tables.safetensors")
    assert set(tables) == {"κ=0.5", "κ=0.9"}
    assert tables["κ=0.5"].sum(axis=1) == pytest.approx(1.0, abs=1e-6)


def test_results_sum_up_the_rows(folder, results, rows):
    read = json.loads((folder / "results.json").read_text(), parse_constant=pytest.fail)
    assert read["suite"] == "tiny"
    assert read_results(folder) == results
    cell = next(cell for cell in read["cells"] if (cell["method"], cell["kappa"]) == ("mc-cpo", 0.9))
    ours = at(rows, environment="gate", method="mc-cpo", kappa=0.9)
    assert cell["return"]["per_seed"] == ours["return"].to_list()
    first = at(rows, environment="gate", method="mc-cpo", seed=0)
    volume = hypervolume(first["cost_share"], first["share"], least=0.5)
    assert read["hypervolume"]["gate"]["mc-cpo"]["per_seed"][0] == pytest.approx(volume)
    assert read["hypervolume"]["gate"]["crashing"]["mean"] == 0
    assert "elsewhere" not in read["hypervolume"]
    assert read["environments"]["elsewhere"]["why"].startswith("no data")
    assert set(read["methods"]["mc-cpo"]["settings"]["gate"]) == {"0.5", "0.9"}
    assert read["unseen"]["mc-cpo"]["gate"]["return"][0] is None  # nothing was trained for less than 0.5
    assert read["unseen"]["mc-cpo"]["gate"]["return"][1]["mean"] == pytest.approx(
        at(rows, environment="gate", method="mc-cpo", kappa=0.5)["return"].mean()
    )


def told_rows(folder):
    return json.loads((folder / "cells/gate/mc-cpo/results.json").read_text())["rows"]


def test_the_setting_is_chosen_by_validation_seeds(folder, small):
    told = json.loads((folder / "cells/gate/mc-cpo/results.json").read_text())["trial"]
    assert len(told["searched"]) == 2 * 2  # two settings at two κ
    for kappa in (0.5, 0.9):
        tried = [one for one in told["searched"] if one["kappa"] == kappa]
        best = max(tried, key=lambda one: (one["met"], one["within"], one["ret"]))
        assert told["settings"][str(kappa)] == best["setting"]
        assert {row["settings"] for row in told_rows(folder) if row["kappa"] == kappa} == {json.dumps(best["setting"])}
    assert small.search_plan.seed != small.plan.seed


def test_finished_benchmark_is_not_run_again(folder, asked, results):
    heard = []
    again = run(folder, asked, Session(progress=lambda *news: heard.append(news)), resume=True)
    assert not heard
    assert again.findings.hypervolume == results.findings.hypervolume
    assert [cell.status for cell in again.findings.cells] == [cell.status for cell in results.findings.cells]


def test_only_missing_pairs_are_run(folder, asked, results, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    shutil.rmtree(copy / "cells/gate/standing")
    heard = []
    again = run(copy, asked, Session(progress=lambda stage, _: heard.append(stage.label)), resume=True)
    assert set(heard) == {"gate standing training"}
    assert again.findings.hypervolume["gate"]["standing"] == results.findings.hypervolume["gate"]["standing"]


def test_finished_pairs_stay_in_the_results(folder, asked, results, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    trials = []
    others = replace(asked, methods=("random-ready",), environments=("chain",))
    again = run(copy, others, Session(), resume=True, after_trial=trials.append)
    assert [(trial.environment, trial.method) for trial in trials] == [("chain", "random-ready")]
    assert again.findings.hypervolume["gate"] == results.findings.hypervolume["gate"]
    assert set(again.findings.hypervolume["chain"]) == {"random-ready"}
    rows = pl.read_parquet(copy / "rows.parquet")
    assert set(at(rows, environment="gate")["method"]) == set(METHODS)
    assert len(at(rows, environment="gate")) == len(METHODS) * 2 * 2


def test_finished_pairs_are_not_lost_with_their_environment(folder, asked, results, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    before = (copy / "results.json").read_bytes()
    with pytest.raises(InputError, match="has results on gate, which cannot be opened: ZeroDivisionError"):
        run(copy, replace(asked, open=lambda *_: 1 / 0), Session(), resume=True)
    assert (copy / "results.json").read_bytes() == before


def test_data_folder_must_stay_the_same(asked, tmp_path, monkeypatch):
    monkeypatch.delenv("MCCPO_DATA", raising=False)

    def open_(name, data):
        return place("elsewhere" if data is None else "gate", data)

    def configuration():
        return json.loads((tmp_path / "run/manifest.json").read_text())["configuration"]

    first = replace(asked, methods=("random-ready",), environments=("assistments-2009",), open=open_)
    run(tmp_path / "run", first, Session())
    assert configuration()["data"] is None
    unknown = json.loads((tmp_path / "run/manifest.json").read_text())
    del unknown["configuration"]["data"]  # as in folders that do not say
    (tmp_path / "run/manifest.json").write_text(json.dumps(unknown))
    named = replace(first, data=tmp_path / "logs")
    run(tmp_path / "run", named, Session(), resume=True)  # data that was missing may come
    assert configuration()["data"] == str(tmp_path / "logs")
    with pytest.raises(InputError, match=r"was begun with the data in .*logs"):
        run(tmp_path / "run", replace(first, data=tmp_path / "other"), Session(), resume=True)
    run(tmp_path / "run", named, Session(), resume=True)


def test_an_outside_agent_by_the_name_of_a_method_is_refused(asked, tmp_path):
    for name in ("standing", "mc-cpo", "zpdes"):
        with pytest.raises(InputError, match=f"'{name}' is the name of a method"):
            run(tmp_path / "run", asked, Session(), outside=[AgentRow("gate", name, None, 0, *[0.0] * 5, {})])
    assert not (tmp_path / "run").exists()


def test_names_that_are_paths_are_refused(asked):
    with pytest.raises(InputError, match=r"the method '\.\./x' has the name of a path"):
        replace(asked, methods=("../x",))


def test_environment_that_exits_is_not_run(asked, tmp_path):
    short = replace(asked, methods=("random-ready",), environments=("gate",), open=lambda *_: sys.exit(3))
    assert run(tmp_path / "run", short, Session()).environments["gate"] == NotRun("SystemExit: 3")


def test_other_settings_are_refused(folder, asked, results):
    with pytest.raises(InputError, match="other settings"):
        run(folder, replace(asked, protocol=replace(asked.protocol, seed=1)), Session(), resume=True)
    with pytest.raises(InputError, match="already holds"):
        run(folder, asked, Session())


def test_environment_that_fails_is_not_run_and_others_go_on(asked, tmp_path):
    def open_(name, data):
        return 1 / 0 if name == "elsewhere" else place(name, data)

    short = replace(asked, methods=("random-ready",), environments=("elsewhere", "gate"), open=open_)
    results = run(tmp_path / "run", short, Session())
    assert results.environments["elsewhere"] == NotRun("ZeroDivisionError: division by zero")
    assert [cell.status for cell in results.findings.cells] == ["does not apply"] * 2 + ["done"] * 2
    assert "elsewhere" not in results.findings.hypervolume  # it is nobody's fault


def test_ctrl_c_leaves_no_half_pair(asked, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    short = replace(asked, methods=("random-ready", "standing"))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", short, Session(save=interrupt))
    assert (tmp_path / "run/cells/gate/random-ready/manifest.json").exists()
    assert not list((tmp_path / "run/cells/gate/standing").glob("*"))
    assert len(pl.read_parquet(tmp_path / "run/rows.parquet")) == 4


def test_method_over_its_time_is_stopped(small, load):
    trial = attempt(pose(make("gate")), "standing", load, replace(small, limit=1e-9), Session())
    assert trial.status == "timed out"
    assert "training, at point 1" in trial.why


def test_anchors_are_reused_and_rules_are_evaluated_by_episodes(small, tmp_path):
    anchor = {
        "ret": 34.0, "costs": {"c2": 0.9, "c3": 15.9, "c4": 27.6}, "engagement": 40.0, "gain": 1.0,
        "pi_hack": 0.0, "violation_rate": 1.0, "prerequisite_violation_rate": 0.0,
    }  # fmt: skip
    kept = {"anchor": anchor, "reference": anchor}
    (tmp_path / "cells/tutor-15").mkdir(parents=True)
    (tmp_path / "cells/tutor-15/anchor.json").write_text(json.dumps(kept))
    asked = Benchmark("tiny", ("anyone",), ("tutor-15",), small, open=place)
    problem = problem_in(tmp_path, "tutor-15", asked, Session(progress=lambda *_: pytest.fail("it trains")))
    assert problem.reference == Values(**anchor)
    trial = attempt(problem, "anyone", lambda name: RuleEntry(name, name, "", RandomReady), small, Session())
    assert trial.status == "done", trial.why
    first, second = trial.values[0.5]
    assert first.ret != second.ret  # other episodes for every seed
    assert trial.values[0.9] == trial.values[0.5]
    assert first.prerequisite_violation_rate == 0
    refused = attempt(problem, "lyapunov-lp", method_entry, small, Session())
    assert (refused.status, refused.why) == ("does not apply", "tutor-15 is not finite")


def test_two_benchmarks_do_not_share_a_folder(tmp_path, small):
    asked = Benchmark("tiny", ("random-ready",), ("gate",), small, open=place)
    (tmp_path / ".lock").touch()
    with (tmp_path / ".lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another benchmark is at work"):
            run(tmp_path, asked, Session())
    run(tmp_path, asked, Session())


def test_resuming_with_other_settings_is_refused(tmp_path, small):
    """Stopped in its first training, it has said what it was begun with, and budgets are not those of another."""

    def stop(_stage, _point):
        raise KeyboardInterrupt

    asked = Benchmark("tiny", ("random-ready",), ("tutor-15",), small, open=place)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, asked, Session(progress=stop))
    other = replace(asked, protocol=replace(small, seed=3))
    for resume in (False, True):
        with pytest.raises(InputError):
            run(tmp_path, other, Session(), resume=resume)


def test_versions_of_the_code_are_listed(tmp_path, small):
    asked = Benchmark("tiny", ("random-ready",), ("gate",), small, open=place)
    assert len(run(tmp_path, asked, Session()).versions) == 1
    manifest = tmp_path / "cells/gate/random-ready/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"mccpo": "0.0.1", "commit": None}))
    more = replace(asked, methods=("curriculum-order",))
    assert "0.0.1" in run(tmp_path, more, Session(), resume=True).versions
