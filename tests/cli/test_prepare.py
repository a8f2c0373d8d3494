"""`prepare` as a user calls it, and what follows it: `compare`, `evaluate`, `reproduce --data`."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from mccpo.cli import main
from mccpo.env import make
from mccpo.experiments import Options, certificates, evaluate, feasibility
from mccpo.experiments.paper import from_logs as data
from mccpo.experiments.prepare import prepared
from mccpo.experiments.prepare.agreement import NOT_COMPARED
from mccpo.logs.synthetic import generate
from mccpo.methods import NeuralPlan, Sizes
from mccpo.runs.results import Bound, Certificate, Correction, PolicyBounds, Readiness

GRAPH = "name,prerequisites\nb,a\nc,b\na,\n"
ROOT = Path(__file__).parents[2]
QUICK = ["--minimum", "6", "--restarts", "1"]
BY_THETA = ["--ready", "theta"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MCCPO_DATA", raising=False)
    # Rules that teach every kind of learners have a test of their own; to compile them takes seconds a kind.
    monkeypatch.setattr(prepared, "compare_kinds", lambda *_: NOT_COMPARED)


@pytest.fixture
def logs():
    """A canonical table as another program may write it, and a graph of its concepts."""
    draw = np.random.default_rng(0)
    rows = [
        {"learner": f"l{who:02d}", "concept": concept, "order": 5 * at + turn, "correct": bool(draw.random() < 0.6)}
        for who in range(16)
        for at, concept in enumerate("abc")
        for turn in range(5)
    ]
    pl.DataFrame(rows).with_columns(group_class=pl.col("learner").str.slice(2, 1)).write_parquet("logs.parquet")
    Path("graph.csv").write_text(GRAPH)
    return ["prepare", "logs.parquet", "--graph", "graph.csv", *QUICK, *BY_THETA]


def refusal(capsys, *tokens):
    assert main(list(tokens)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_a_gate_asks_for_confidence_unless_theta_is_named(logs, capsys):
    plain = logs[: -len(BY_THETA)]
    said = refusal(capsys, *plain, "--out", "made")  # these learners answer by chance: nothing they say makes sure
    assert "even where every answer is right (ready 0.95); lower --ready, or raise --horizon" in said
    assert not Path("made").exists()
    assert main([*plain, "--ready", "0.6", "--out", "sure"]) == 0
    env, judge = make("sure"), make("sure/judge.json")
    assert env.confidence == judge.confidence == 0.6
    assert np.array_equal(env.doubt, judge.doubt)
    assert (np.asarray(env.doubt) > 0).all()
    for flags in (["--theta", "0.7"], BY_THETA):
        assert main([*plain, *flags, "--out", "plain"]) == 0
        assert make("plain").confidence is None


@pytest.mark.parametrize("wrong", ["1", "0", "-0.5", "often"])
def test_invalid_confidence_is_refused(logs, capsys, wrong):
    assert "--ready is " in refusal(capsys, *logs[: -len(BY_THETA)], f"--ready={wrong}", "--out", "made")


def test_prepare_tells_what_it_made(logs, capsys):
    assert main([*logs, "--out", "made", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.pop("prepared") == "made"
    assert told == json.loads(Path("made/prepared.json").read_text())
    assert told["from"] == {"logs": "logs.parquet"}
    assert make("made").horizon == told["episodes"]["horizon"] == 15
    assert make("made/judge.json").curriculum == make("made").curriculum


def test_prepare_prints_for_people_and_over_what_it_made_before(logs, capsys):
    assert main([*logs, "--out", "made"]) == 0
    before = {path.name: path.read_bytes() for path in Path("made").iterdir()}
    assert main([*logs, "--out", "made"]) == 0
    assert {path.name: path.read_bytes() for path in Path("made").iterdir()} == before
    shown = capsys.readouterr().out
    assert "made: 3 concepts, 2 edges\n" in shown
    assert "events    240 in the table, 240 on the graph, 240 in episodes" in shown
    assert "learners  8 to train with (bkt), 8 others to judge by" in shown
    assert "next: mccpo compare made" in shown


def test_flags_reach_what_is_made(logs, capsys):
    flags = ["--horizon", "7", "--theta", "0.6", "--group", "class", "--episodes", "12", "--seed", "3"]
    assert main([*logs, *flags, "--out", "made", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["choices"] == {
        "minimum": 6, "episodes": 12, "horizon": 7, "group": "class", "theta": 0.6, "ready": None, "robust": False,
        "restarts": 1, "seed": 3, "model": "bkt",
    }  # fmt: skip
    env = make("made")
    assert (env.horizon, env.theta) == (7, 0.6)
    assert told["episodes"]["count"] == 12
    assert len(env.group_names) == 6
    assert env.group_names[-1] == "other"


def test_without_a_graph_one_is_learnt_and_said_to_be(capsys):
    rows = [
        {"learner": f"l{who:02d}", "concept": "ab"[turn % 2], "order": turn, "correct": who % 4 > turn % 2}
        for who in range(40)
        for turn in range(8)
    ]
    pl.DataFrame(rows).write_parquet("logs.parquet")
    assert main(["prepare", "logs.parquet", *QUICK, "--out", "made"]) == 0
    said = capsys.readouterr()
    assert "learnt from the responses, and labelled as derived" in said.err
    assert "derived by responses from logs.parquet" in said.out


def test_a_faulty_graph_is_repaired_and_that_is_said(logs, capsys):
    Path("graph.csv").write_text("name,prerequisites\na,c\nb,a\nc,b\n")
    assert main([*logs, "--out", "made"]) == 0
    assert "graph.csv: 1 faults repaired, the first at " in capsys.readouterr().err
    assert len(make("made").curriculum.edges) == 2


def test_members_say_which_concept_an_item_is_in(logs, capsys):
    Path("graph.csv").write_text("name,prerequisites\nfirst,\nlast,first\n")
    Path("members.csv").write_text("item,concept\na,first\nb,first\nc,last\nd,last\n")
    assert main([*logs, "--members", "members.csv", "--out", "made", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["events"]["on the graph"] == 240
    Path("members.csv").write_text("item,concept\na,first\na,last\n")
    assert "'a' in 'last'" in refusal(capsys, *logs, "--members", "members.csv", "--out", "other")
    Path("members.csv").write_text("thing,concept\na,first\n")
    assert "has no rows of item,concept" in refusal(capsys, *logs, "--members", "members.csv", "--out", "other")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--horizon", "0"], "horizon is 0"),
        (["--minimum", "0"], "minimum is 0"),
        (["--theta", "2"], "theta"),
        (["--group", "age"], "the logs have no group 'age'; choose from class"),
        (["--minimum", "99"], "0 learners have 99 events or more on the graph"),
        (["--graph", "nowhere.csv"], "nowhere.csv"),
        (["--members", "nowhere.csv"], "cannot read nowhere.csv"),
        (["--episodes", "4"], "episodes is 4; give at least 10"),
        (["--horizon", "5000"], "with the discount 0.99 its last step weighs nothing"),
    ],
)
def test_an_unusable_log_is_refused_in_one_line_and_leaves_nothing(logs, capsys, flags, message):
    if flags[0] in logs:
        logs[logs.index(flags[0]) + 1], flags = flags[1], []
    assert message in refusal(capsys, *logs, *flags, "--out", "made")
    assert {path.name for path in Path().iterdir()} == {"logs.parquet", "graph.csv"}


@pytest.mark.parametrize(
    ("graph", "line"),
    [
        ("name,prerequisites\na,\nb,\n",
         "the graph (graph.csv) has no edges, so the gate would lock nothing; say in it what comes before what"),
        ("name,prerequisites\na,\nb,x|y\nc,a\n",
         "graph.csv: a repair would drop 2 of 3 edges (2 dangling); correct the file; `mccpo curriculum check "
         "graph.csv` lists the faults"),
        ("prerequisite,concept\na,x\nx,y\n",
         "1 of 3 concepts of graph.csv have events; give the graph of these logs, or --members item,concept"),
        ("prerequisite,concept\nA,B\n",
         "no event is on a concept of the graph; name concepts alike: the logs have 'a', the graph 'A'"),
    ],
    ids=["no edges", "most edges dropped", "another graph", "spelt otherwise"],
)  # fmt: skip
def test_a_graph_that_yields_nothing_is_refused(logs, capsys, graph, line):
    Path("graph.csv").write_text(graph)
    assert refusal(capsys, *logs, "--out", "made") == f"mccpo: {line}\n"
    assert {path.name for path in Path().iterdir()} == {"logs.parquet", "graph.csv"}


def test_a_graph_without_edges_is_refused_before_the_logs_are_read(capsys):
    Path("graph.csv").write_text("name,prerequisites\na,\n")
    assert "has no edges" in refusal(capsys, "prepare", "nowhere.parquet", "--graph", "graph.csv", "--out", "made")


def test_no_graph_and_none_to_be_learnt_is_refused(logs, capsys):
    line = refusal(capsys, "prepare", "logs.parquet", *QUICK, "--out", "made")
    assert "no edge of a graph could be learnt from logs.parquet, so the gate would lock nothing; give a graph" in line


def test_ids_that_match_by_chance_are_refused(capsys):
    rows = [{"learner": f"l{at // 6}", "concept": str(at % 6), "order": at, "correct": at % 2 > 0} for at in range(90)]
    pl.DataFrame(rows).write_parquet("logs.parquet")
    Path("graph.csv").write_text("prerequisite,concept\n" + "".join(f"{at},{at + 1}\n" for at in range(3, 20)))
    line = refusal(capsys, "prepare", "logs.parquet", "--graph", "graph.csv", *QUICK, "--out", "made")
    assert "3 of 18 concepts of graph.csv have events, and names that are bare numbers match by chance;" in line


def test_a_gate_that_nobody_opens_is_refused_and_leaves_what_was_there(logs, capsys):
    assert main([*logs, "--out", "made"]) == 0
    before = {path.name: path.read_bytes() for path in Path("made").iterdir()}
    capsys.readouterr()
    line = refusal(capsys, *logs, "--theta", "0.9999", "--horizon", "1", "--out", "made")
    assert "the gate opens no concept within 1 steps, even where every answer is right (theta 0.9999);" in line
    assert {path.name: path.read_bytes() for path in Path("made").iterdir()} == before


def test_warnings_are_on_stderr_in_the_json_and_in_the_folder(logs, capsys):
    Path("graph.csv").write_text("name,prerequisites\na,\nb,a|b\nc,b\n")
    assert main([*logs, "--horizon", "400", "--out", "made", "--json"]) == 0
    said = capsys.readouterr()
    warnings = json.loads(said.out)["warnings"]
    assert json.loads(Path("made/prepared.json").read_text())["warnings"] == warnings
    assert said.err == "".join(f"warning: {line}\n" for line in warnings)
    assert "graph.csv: 1 faults repaired" in warnings[0]
    assert "16 learners make both environments" in warnings[1]
    assert "no better than a constant" in said.err  # answers are drawn at random
    assert any("the horizon is 400, but with the discount 0.99" in line for line in warnings)
    assert make("made", gamma=0.998).gamma == 0.998  # as that line says


def test_a_folder_that_holds_something_else_is_refused_before_anything_is_read(logs, capsys):
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("mine")
    assert "holds something else" in refusal(capsys, "prepare", "nowhere.parquet", "--out", "mine")
    assert [path.name for path in Path("mine").iterdir()] == ["thesis.txt"]


def test_a_log_is_read_by_its_format(capsys):
    made = generate("table", "logs.csv", rows=800, learners=12)
    mapping = ",".join(f"{name}={column}" for name, column in made.mapping.items())
    chain = "".join(f"concept {at},concept {at + 1}\n" for at in range(99))
    Path("graph.csv").write_text(f"prerequisite,concept\n{chain}")
    call = ["prepare", "logs.csv", "--format", "table", "--map", mapping, "--graph", "graph.csv", *QUICK]
    assert main([*call, "--out", "made", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["from"]["format"] == "table"
    assert told["from"]["account"]["interactions"] == told["events"]["in the table"] == 800
    assert told["demand"]["mean of"] == ["wrong first answers", "events with a hint", "time"]


def test_reproduce_names_its_data(capsys, monkeypatch):
    assert "name their folder with --data" in refusal(capsys, "reproduce", "junyi")
    assert "is not a folder" in refusal(capsys, "reproduce", "junyi", "--data", "nowhere", "--out", "run")
    assert "--steps" in refusal(capsys, "reproduce", "junyi", "--data", "nowhere", "--episodes", "9", "--out", "run")
    seen = []

    def produce(name, folder, options, session):
        seen.append((name, folder))
        raise KeyboardInterrupt

    monkeypatch.setattr(data, "produce", produce)
    monkeypatch.setenv("MCCPO_DATA", "elsewhere")
    assert main(["reproduce", "xes3g5m", "--out", "run"]) == 130
    assert seen == [("xes3g5m", Path("elsewhere"))]


def test_from_logs_to_policies_that_others_judge(logs, capsys, monkeypatch):
    plan = NeuralPlan(steps=600, seeds=2, sizes=Sizes(8, 16, 32, 1), validation=8)
    monkeypatch.setattr(Options, "neural_plan", lambda *_: plan)
    monkeypatch.setattr(feasibility, "examine", lambda *_: None)
    assert main([*logs, "--horizon", "8", "--out", "made"]) == 0
    capsys.readouterr()
    assert main(["compare", "./made", "--methods", "unconstrained,mc-cpo-paper", "--json"]) == 0
    trained = json.loads(capsys.readouterr().out)
    (run,) = Path("runs").iterdir()
    assert run.name == "compare-.-made"
    assert trained["protocol"]["horizon"] == 8
    assert main(["evaluate", str(run), "--on", "made/judge.json", "--episodes", "20", "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert judged["table"] == "prepared-judge"
    assert judged["title"] == "Saved policies on made/judge.json, judged again"
    assert set(judged["rows"]) == {"unconstrained", "mc-cpo-paper"}
    for cost, budget in judged["budgets"].items():
        assert budget == pytest.approx(0.9 * judged["rows"]["unconstrained"][f"J_{cost}"]["mean"])
    assert judged["budgets"] != trained["budgets"]
    assert "trained in another environment" in judged["notes"][0]
    assert main(["compare", "./made", "--methods", "random-ready", "--out", "rules"]) == 0  # the anchor is kept, too
    assert main(["evaluate", "rules", "--on", "made/judge-others.json", "--episodes", "20"]) == 0
    assert "Saved policies on made/judge-others.json" in capsys.readouterr().out
    assert main(["evaluate", "rules", "--on", "made/judge.json", "--episodes", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["budgets"] == pytest.approx(judged["budgets"])
    assert "trained to teach other concepts" in refusal(capsys, "evaluate", str(run), "--on", "tutor-15")
    # All judges that were not refused, each behind a certificate of its own, and exit 3 where one is not kept.
    judges = [judge["file"] for judge in json.loads(Path("made/prepared.json").read_text())["judges"]]
    document = json.loads(Path("made/prepared.json").read_text())
    document["judges"] = [{"file": name, "refused": None if name != "judge-others.json" else "bad"} for name in judges]
    Path("made/prepared.json").write_text(json.dumps(document))
    monkeypatch.setattr(evaluate, "moved", lambda policies, env, *_: replace(policies, env=env))
    monkeypatch.setattr(certificates, "certify", _not_kept_elsewhere)
    assert main(["certify", str(run), "--method", "mc-cpo-paper", "--json"]) == 3
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["passed"]
    assert list(found["judges"]) == ["judge"]
    assert not found["judges"]["judge"]["passed"]
    assert "judge-others.json does not judge: bad" in said.err
    assert "with the learners of judge, c4 of policy 0 is 2 at most, above its limit 1" in said.err
    assert "train behind a stricter gate (--ready), or ask for less" in said.err
    assert len(certificates.certificate_files(run)) == 2
    assert main(["certify", str(run), "--method", "mc-cpo-paper", "--on", "made/judge-others.json"]) == 3
    monkeypatch.setattr(evaluate, "unconstrained_of", lambda *_: None)
    assert main(["certify", str(run), "--method", "mc-cpo-paper"]) == 0
    assert "no judge is asked: the run keeps no unconstrained policies" in capsys.readouterr().err


def _not_kept_elsewhere(policies, terms, progress, **_):
    """A certificate that is passed in the environment of training and nowhere else."""
    del progress
    passed = policies.env.name == "prepared" and policies.env.population is None
    bound = Bound(mean=2.0, bound=2.0, normal=2.0, budget=1.0, episodes_needed=None, passed=passed)
    ready = Readiness(**vars(replace(bound, passed=None)), violations=0, steps=1)
    return Certificate(
        confidence=terms.confidence,
        passed=passed,
        budgets={"c4": replace(bound, policy=0)},
        floors={},
        prerequisite=ready,
        policies=(PolicyBounds(0, passed, {"c4": bound}, ready, {}),),
        part=policies.part,
        environment=policies.env.name,
        method=policies.method.name,
        episodes=terms.episodes,
        estimation_error=0.0,
        correction=Correction(1, confidence_of_each=0.95),
    )


def commands(document, after=""):
    """The calls of `mccpo` in the consoles of a document, comments left out."""
    text = (ROOT / document).read_text(encoding="utf-8").partition(after)[2] if after else (ROOT / document).read_text()
    console = text.partition("```console\n")[2].partition("```")[0]
    return [shlex.split(line, comments=True)[2:] for line in console.splitlines() if line.startswith("$ mccpo ")]


@pytest.mark.parametrize(("document", "after"), [("README.md", "## Your own logs"), ("docs/data.md", "")])
def test_the_commands_of_the_documents_run(document, after, capsys):
    """Training aside, which is only asked what it would do: it takes its time, and has tests of its own."""
    given = commands(document, after)
    assert len(given) >= 4
    for call in given:
        training = call[0] in ("compare", "evaluate", "certify")
        assert main([*call, *(["--print-config"] if training else [])]) == 0, call
    assert make("mine").horizon == 40
    assert len(make("mine/judge.json").curriculum.edges) == 41


def test_the_kind_of_learners_to_train_with_is_a_flag_of_its_own(logs, capsys):
    assert "no environment simulates learners of 'elo'" in refusal(capsys, *logs, "--learners", "elo", "--out", "made")
    assert not Path("made").exists()
