"""The tables from logs: on made-up files of each release's schema, and on real data where it is at hand."""

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.experiments.paper.test_tutor import untrained
from tests.logs.test_real_data import DATASETS as REAL
from tests.logs.test_real_data import opened

from mccpo.curriculum.derive import learn_graph
from mccpo.env import PreparedJudge
from mccpo.errors import InputError
from mccpo.experiments import FROM_LOGS, Options, Session, anchors, feasibility, measuring, problem, training
from mccpo.experiments.paper import from_logs as data
from mccpo.experiments.prepare import DATASETS, PrepareOptions, datasets, learners, prepare, retained
from mccpo.files import dump_json
from mccpo.logs import responses_by_concept
from mccpo.logs.synthetic import generate
from mccpo.methods import NeuralPlan
from mccpo.runs.results import Results

FORMATS = {"junyi": "junyi-2020", "xes3g5m": "xes3g5m"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder that holds a folder for each release, as `--data` may name it."""
    home = tmp_path_factory.mktemp("data")
    generate("junyi-2020", home / "junyi2020", rows=2_000, learners=20)
    generate("xes3g5m", home / "xes3g5m", rows=16_000, learners=20)
    generate("assistments-2009", home / "assist2009", rows=4_000, learners=40)
    _let_one_skill_need_another(home / "assist2009/skill_builder_data_corrected.csv")
    return home


def _let_one_skill_need_another(file):
    """Of four learners one knows nothing, one the first skill only, two know both: a graph can be learnt from that."""
    rows = pl.read_csv(file, infer_schema=False, encoding="latin1")
    learner, first = pl.col("user_id").rank("dense") % 4, pl.int_range(pl.len()) % 2 == 0
    name, right = pl.when(first).then(pl.lit("1")).otherwise(pl.lit("2")), learner > pl.when(first).then(0).otherwise(1)
    rows.with_columns(correct=right.cast(int), skill_id=name, skill_name=name).write_csv(file)


def test_every_table_from_logs_has_its_data_set():
    assert tuple(DATASETS) == FROM_LOGS


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_table_from_logs(name, made, monkeypatch):
    monkeypatch.setattr(Options, "neural_plan", lambda *_: NeuralPlan(steps=300, seeds=2))
    monkeypatch.setattr(training, "train_variants", untrained)
    for module in (anchors, problem, measuring):
        monkeypatch.setattr(module, "EVALUATION_EPISODES", 8)
    monkeypatch.setattr(feasibility, "examine", lambda *_: None)
    kept = []
    options = Options(methods=("unconstrained", "mc-cpo"))
    produced = data.produce(name, made, options, Session(keep=kept.append))
    results = produced.results.as_json()
    papers, part = f"{name}, the paper's protocol κ=0.9", f"{name}, our protocol κ=0.9"
    assert dump_json(Results.parse(json.loads(dump_json(results))).as_json()) == dump_json(results)
    assert list(results["settings"]) == [papers, part, f"{part}, judged by others"]
    assert list(produced.curves) == list(dict.fromkeys(one.part for one in kept)) == [papers, part]
    simulated, here, there = results["settings"].values()
    assert set(here["rows"]) == set(there["rows"]) == set(simulated["rows"]) == {"unconstrained", "mc-cpo"}
    for setting in (simulated, here, there):
        # What the unconstrained policies cost on average is what budgets are a share of, in training and elsewhere.
        for cost, budget in setting["budgets"].items():
            assert budget == pytest.approx(0.9 * setting["rows"]["unconstrained"][f"J_{cost}"]["mean"])
        assert setting["rows"]["mc-cpo"]["prerequisite_violation_rate"]["mean"] == 0
    assert here["budgets"] != there["budgets"]
    assert {"return", "lambda_c2", "lambda_c4"} <= simulated["paper"]["mc-cpo"].keys()
    assert {"return", "lambda_c2", "lambda_c4"} <= simulated["verdicts"]["mc-cpo"].keys()
    assert here["paper"] == here["verdicts"] == {}  # another environment than the paper's
    assert results["data"]["decoupling in the paper"]["rate"] == {"junyi": 0.265, "xes3g5m": 0.031}[name]
    assert there["paper"] == {}
    told = results["data"]
    assert results["protocol"]["horizon"] == told["episodes"]["horizon"] == round(told["episodes"]["mean length"])
    assert told["events"]["in the table"] == told["account"]["interactions"]
    among = {one["population"]: one["analysed"] for one in told["decoupling"] if one["of"] == "interactions"}
    assert among == {"all": told["events"]["in the table"], "episodes": told["events"]["in episodes"]}
    assert any("Warning: " in note and "learners make both environments" in note for note in results["notes"])
    assert any("digit for digit" in note for note in results["notes"]) is (name == "xes3g5m")


def test_the_environment_of_a_table_matches_its_recipe(made):
    junyi = DATASETS["junyi"](made / "junyi2020", 0).prepared  # the release's own folder will do
    assert str(junyi.graph.derived).startswith("derived by junyi-2020")
    assert len(junyi.tutor.curriculum) == 30
    assert junyi.document.as_json()["choices"]["minimum"] == 30
    assert set(junyi.episodes["concept"].unique()) <= set(junyi.tutor.curriculum.concepts)
    xes = DATASETS["xes3g5m"](made, 0).prepared
    assert xes.document.as_json()["choices"]["minimum"] == 20
    assert len(xes.tutor.curriculum.edges) == xes.document.as_json()["graph"]["provenance"]["ancestor on a route"] > 0


def test_the_paper_s_protocol_has_the_simulator_s_numbers(made):
    found = DATASETS["junyi"](made, 0)
    tutor, ours = data.paper_tutor(found), found.prepared.tutor
    assert tutor.curriculum.edges == ours.curriculum.edges
    assert tutor.horizon == ours.horizon
    assert (tutor.eta, tutor.theta, tutor.K0, tutor.c4_rate) == (0.08, 0.7, 0.2, 10.5)
    np.testing.assert_allclose(tutor.demand, np.linspace(0.2, 0.9, len(tutor.curriculum)))


def test_assistments_has_a_graph_learnt_from_its_responses(made):
    found = DATASETS["assistments-2009"](made, 0)
    assert str(found.prepared.graph.derived).startswith("derived by responses")
    assert any("nobody has stated it" in note for note in found.notes)


def test_the_retained_rows_match_the_episodes(made):
    found = DATASETS["xes3g5m"](made, 0)
    chosen = found.logs.table.filter(retained(found))
    assert 0 < chosen.height == found.prepared.episodes.height < found.logs.table.height
    assert chosen["learner"].to_list() == found.prepared.episodes["learner"].to_list()
    assert chosen["order"].to_list() == found.prepared.episodes["order"].to_list()


@pytest.mark.parametrize(
    ("name", "lacking"), [("junyi", "Log_Problem.csv"), ("junyi-2015", "junyi_Exercise_table.csv")]
)
def test_a_folder_without_the_files_is_refused(name, lacking, tmp_path):
    with pytest.raises(InputError, match=f"has no {lacking}"):
        DATASETS[name](tmp_path, 0)
    with pytest.raises(InputError, match="is not a folder"):
        DATASETS[name](tmp_path / "nowhere", 0)
    with pytest.raises(InputError, match="has none of skill_builder_data_corrected"):
        DATASETS["assistments-2009"](tmp_path, 0)


@pytest.mark.parametrize("options", [{"budgets": {"c4": 1.0}}, {"parameters": {"horizon": 3}}, {"episodes": 100}])
def test_a_table_from_logs_refuses_wrong_options_before_reading(options, tmp_path):
    with pytest.raises(InputError):
        data.produce("junyi", tmp_path / "nowhere", Options(**options), Session())
    with pytest.raises(InputError):
        data.check("junyi", Options(**options))
    data.check("junyi", Options())


def real_data():
    folder = os.environ.get("MCCPO_DATA")
    if not folder:
        pytest.skip("MCCPO_DATA does not name a folder with the public data sets")
    return Path(folder)


WITHOUT = {
    "junyi2020/yts798_junyi18_rows.parquet": "no answer names one concept",
    **dict.fromkeys(
        (
            "junyi2020/Log_Problem_head5.csv",
            "junyi2015/yts798_junyi10_rows.parquet",
            "ednet/theophilee_ednet_small_test_split.parquet",
            "datashop/ds76_geometry_area_transactions.txt.gz",
            "datashop/ds1_chinese_tone_student_step_9999rows.txt.gz",
        ),
        "has no edges, so the gate would lock nothing; give one with --graph, or logs of more learners",
    ),
}
"""Data sets that no environment can be made of as they are, and why."""


QUICK = 8
"""Every so many-th data set is tried each time, all of them by `make test-all`."""


@pytest.mark.parametrize(
    "dataset",
    [pytest.param(dataset, marks=() if at % QUICK == 0 else pytest.mark.slow) for at, dataset in enumerate(REAL)],
    ids=lambda dataset: dataset.file,
)
def test_a_public_data_set_becomes_an_environment_or_says_why_not(dataset):
    table = opened(dataset).table
    why = WITHOUT.get(dataset.file, "")
    if why:
        with pytest.raises(InputError, match=why):
            prepare(table, learn_graph(responses_by_concept(table)).graph)
        return
    graph = learn_graph(responses_by_concept(table), origin=dataset.file).graph
    found = prepare(table, graph, PrepareOptions(minimum=10, episodes=190, restarts=1))
    told = found.document.as_json()
    assert told["events"]["in the table"] == table.height >= told["events"]["on the graph"]
    assert told["events"]["in episodes"] == found.episodes.height
    assert sum(told["learners"].values()) == told["episodes"]["count"] <= 190
    assert np.isfinite([*told["engagement"]["tutor"].values(), *told["engagement"]["judge"].values()]).all()


@pytest.mark.parametrize(
    ("name", "concepts", "edges"),
    [pytest.param("assistments-2009", 100, 50, marks=pytest.mark.slow), ("junyi-2015", 835, 900)],
)
def test_a_real_table_from_logs_builds_its_environments(name, concepts, edges, monkeypatch):
    monkeypatch.setattr(learners, "RECURRENT_LEARNERS", 10**6)  # a network takes its time, and has the test below
    found = datasets.DATASETS[name](real_data(), 0).prepared
    assert len(found.tutor.curriculum) >= concepts
    assert len(found.tutor.curriculum.edges) >= edges
    assert isinstance(found.judge, PreparedJudge)
    assert found.judge.curriculum == found.tutor.curriculum
    assert len(np.unique(found.tutor.K0)) > 50
    assert found.tutor.r_difficulty > 0
    assert {"judge.json", "judge-others.json", "judge-best-lr.json"} == set(found.judges)


@pytest.mark.slow
def test_every_kind_of_judge_beats_a_constant_on_assistments_2009():
    found = datasets.DATASETS["assistments-2009"](real_data(), 0).prepared
    losses = {judge.file: judge.held_out for judge in found.document.judges}
    assert set(found.judges) == set(losses)
    assert all(loss.beats_constant for loss in losses.values())
    assert losses["judge-best-lr.json"].auc > 0.76
    assert losses["judge-recurrent.json"].auc > 0.73
