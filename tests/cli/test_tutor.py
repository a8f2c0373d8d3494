"""`mccpo tutor` and `mccpo serve --graph` as a user calls them: a graph in, a certified run out, or one line."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import small

from mccpo.cli import main
from mccpo.cli.commands.tutor import command, serving
from mccpo.cli.commands.tutor.command import PROMISES, name_of
from mccpo.env import PreparedTutor, make
from mccpo.experiments import Options, certificates
from mccpo.experiments.prepare import prepared
from mccpo.experiments.prepare.agreement import NOT_COMPARED
from mccpo.serve.policy import load_release

NAMES = ("数数", "加法", "الضرب", "القسمة", "🍎 fractions", "🧮")
EDGES = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]
SMALL = ["--horizon", str(small.HORIZON), "--ready", "0.9", "--episodes", "40"]


def write_graph(path: Path, names: tuple[str, ...] = NAMES, edges: list[tuple[int, int]] = EDGES) -> str:
    rows = [
        {"name": name, "prerequisites": [names[start] for start, end in edges if end == at]}
        for at, name in enumerate(names)
    ]
    path.write_text(json.dumps({"concepts": rows}, ensure_ascii=False), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def tutor(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, int]:
    """A small tutor of a graph alone: its run, what was printed, and the exit code."""
    folder = tmp_path_factory.mktemp("tutor")
    graph = write_graph(folder / "课程.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Options, "neural_plan", small.plan)
        patch.setattr("mccpo.report.page.html.galleries", lambda *_: [])
        with pytest.MonkeyPatch.context() as streams:
            printed: list[str] = []
            streams.setattr("sys.stdout.write", printed.append)
            code = main(["tutor", graph, *SMALL, "--floor", "engagement=0.2", "--out", str(folder / "run"), "--json"])
    return folder / "run", "".join(printed), code


def refusal(capsys: pytest.CaptureFixture[str], *call: str, code: int = 2) -> str:
    assert main([*call]) == code
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    return said[0]


def test_names_of_any_language_make_a_run_that_is_certified_compared_and_reported(tutor) -> None:
    run, printed, code = tutor
    found: dict[str, Any] = json.loads(printed)
    assert code == (0 if found["passed"] else 3)
    assert set(found["compared"]) == {
        "pretrained-engagement",
        "pretrained",
        "random-ready",
        "mastery-learning",
        "zpdes",
        "greedy-gain",
    }
    made = certificates.read_certificates(run)
    assert [one.on for one in made] == ["", "judge-others"]
    assert found["passed"] == made[0].passed
    assert {one["about"] for one in found["promised"]} <= {"engagement", "ready"}
    claims = len(found["promised"]) + sum("with the learners" in line for line in found["not_promised"])
    assert claims + sum("with judge-others" in line for line in found["not_promised"]) == 4
    assert json.loads((run / PROMISES).read_text())["not_promised"] == found["not_promised"]
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "课程" in page
    assert "judge-others" in page


def test_a_tutor_without_logs_says_so_and_keeps_its_prior(tutor) -> None:
    run, printed, _ = tutor
    found = json.loads(printed)
    assert found["learners"] == "prior"
    assert any("assistments-2009" in line for line in found["not_promised"])
    assert any("that the graph is right" in line for line in found["not_promised"])
    prior = json.loads((run / "prepared" / "prior.json").read_text())
    assert prior["prior"]["sources"]
    env = make(str(run / "prepared"))
    assert isinstance(env, PreparedTutor)
    assert env.population is not None
    assert np.min(env.doubt) > 0


def test_a_run_is_resumed_with_the_same_graph_only(tutor, tmp_path, capsys) -> None:
    other = write_graph(tmp_path / "课程.json", NAMES, EDGES[:-1])
    call = ["tutor", other, *SMALL, "--floor", "engagement=0.2", "--out", str(tutor[0]), "--resume"]
    assert main(call) == 2
    assert "was begun with other settings" in capsys.readouterr().err


def test_the_run_of_a_tutor_is_served(tutor) -> None:
    release = load_release(tutor[0])
    assert release.opening.confidence == 0.9
    assert release.tutor.curriculum.concepts == NAMES


@pytest.mark.parametrize(
    ("names", "edges", "said"),
    [
        (("a", "b", "c"), [(0, 1), (1, 2), (2, 1)], "form a cycle, b → c → b"),
        (("alone",), [], "has one concept, so there is nothing to choose"),
        (("a", "b"), [], "has no edges"),
        (tuple(f"c{at}" for at in range(5000)), [(at, at + 1) for at in range(4999)], "5,000 concepts"),
    ],
    ids=["cycle", "one concept", "no edges", "5,000 concepts"],
)
def test_a_graph_that_makes_no_tutor_is_refused_in_one_line(tmp_path, capsys, names, edges, said) -> None:
    graph = write_graph(tmp_path / "graph.json", names, edges)
    assert said in refusal(capsys, "tutor", graph, "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_logs_that_share_no_concept_with_the_graph_are_refused(tmp_path, capsys) -> None:
    lines = ["learner,concept,correct", *(f"l{who},other{at % 3},1" for who in range(20) for at in range(40))]
    (tmp_path / "logs.csv").write_text("\n".join(lines))
    mapping = "learner=learner,concept=concept,correct=correct"
    call = ["--logs", str(tmp_path / "logs.csv"), "--format", "table", "--map", mapping]
    said = refusal(capsys, "tutor", write_graph(tmp_path / "graph.json"), *call, "--out", str(tmp_path / "run"))
    assert "no event is on a concept of the graph" in said


def test_flags_of_logs_without_logs_are_refused(tmp_path, capsys) -> None:
    assert "there are none" in refusal(capsys, "tutor", write_graph(tmp_path / "g.json"), "--format", "table")


@pytest.mark.parametrize(
    ("floor", "said"),
    [("mastered=7", "at most 6"), ("learning=abs:500", "no policy reaches learning=500")],
)
def test_a_floor_beyond_what_an_episode_can_have_is_refused(tmp_path, capsys, floor, said) -> None:
    graph = write_graph(tmp_path / "graph.json")
    assert main(["tutor", graph, *SMALL, "--floor", floor, "--out", str(tmp_path / "run")]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1
    assert said in lines[0]


def test_several_levels_of_a_floor_are_refused(tmp_path, capsys) -> None:
    graph = write_graph(tmp_path / "graph.json")
    assert "one level" in refusal(capsys, "tutor", graph, "--floor", "learning=0.4,0.8")


def test_an_unknown_method_is_refused_and_nothing_takes_its_place(tmp_path, capsys) -> None:
    graph = write_graph(tmp_path / "graph.json")
    assert "no-such-method" in refusal(capsys, "tutor", graph, "--method", "no-such-method")


class Made:
    """In the place of the process that makes a tutor: it ends at once, as it was told to."""

    def __init__(self, code: int, passed: bool, said: str = "") -> None:
        self.returncode, self.passed, self.stderr = code, passed, iter([f"{said}\n"])
        self.calls: list[list[str]] = []
        self.stdout = self

    def read(self) -> str:
        return ""

    def __call__(self, command: list[str], **_: object) -> "Made":
        self.calls.append(command)
        if self.returncode != 2:
            run = Path(command[command.index("--out") + 1])
            graph = Path(command[command.index("tutor") + 1])
            (run / "prepared").mkdir(parents=True)
            (run / "manifest.json").write_text("{}")
            (run / "prepared" / "curriculum.json").write_text(graph.read_text())
            (run / PROMISES).write_text(json.dumps({"passed": self.passed}))
        return self

    def __enter__(self) -> "Made":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_serving_a_graph_makes_its_tutor_once(tmp_path, monkeypatch) -> None:
    graph = Path(write_graph(tmp_path / "graph.json"))
    made = Made(0, passed=True)
    monkeypatch.setattr(subprocess, "Popen", made)
    assert serving.tutor_of_graph(graph, None, keyed=True) == tmp_path / "graph-tutor"
    assert serving.tutor_of_graph(graph, None, keyed=False) == tmp_path / "graph-tutor"
    assert len(made.calls) == 1
    other = write_graph(tmp_path / "other.json", NAMES, EDGES[:-1])
    with pytest.raises(serving.InputError, match="something else"):
        serving.tutor_of_graph(Path(other), tmp_path / "graph-tutor", keyed=True)


def test_the_method_of_a_tutor_is_the_one_that_is_served(tmp_path) -> None:
    assert serving.method_of(tmp_path) is None  # a run that was not made of a graph
    (tmp_path / PROMISES).write_text(json.dumps({"method": "random-ready"}))
    assert serving.method_of(tmp_path) == "random-ready"


def test_a_tutor_that_promises_too_little_is_not_served_in_one_go(tmp_path, monkeypatch, capsys) -> None:
    graph = write_graph(tmp_path / "graph.json")
    monkeypatch.setattr(subprocess, "Popen", Made(3, passed=False, said="mccpo: learning is below its floor"))
    assert main(["serve", "--graph", graph, "--no-keys", "--port", "0"]) == 3
    assert "serves it nevertheless" in capsys.readouterr().err


def test_what_is_wrong_with_a_graph_is_said_as_by_tutor(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(subprocess, "Popen", Made(2, passed=False, said="mccpo: it has no edges; add some"))
    graph = write_graph(tmp_path / "graph.json")
    assert main(["serve", "--graph", graph, "--no-keys", "--port", "0"]) == 2
    assert capsys.readouterr().err.strip().splitlines()[-1] == "mccpo: it has no edges; add some"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--graph", "g.json"], "every request needs a key"),
        (["--graph", "g.json", "--demo"], "a run of its own"),
        (["run", "--out", "other"], "--out is given without --graph"),
    ],
)
def test_calls_that_contradict_themselves_are_refused(tmp_path, capsys, monkeypatch, more, said) -> None:
    monkeypatch.chdir(tmp_path)
    write_graph(tmp_path / "g.json")
    assert said in refusal(capsys, "serve", *more, "--port", "0")


def test_logs_make_the_learners_where_there_are_some(tmp_path, monkeypatch) -> None:
    draw = np.random.default_rng(0)
    lines = [
        f"l{who},{name},{int(draw.random() < 0.6 + 0.04 * turn)}"
        for who in range(16)
        for name in NAMES
        for turn in range(8)
    ]
    (tmp_path / "logs.csv").write_text("\n".join(["learner,concept,correct", *lines]), encoding="utf-8")
    made = []

    def stop(_name: str, _tables: object, _options: object, _flags: object, begin: Any, about: Any) -> None:
        begin(tmp_path / "run")
        made.append(make(str(tmp_path / "run" / "prepared")))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "carry_out", stop)
    monkeypatch.setattr(prepared, "compare_kinds", lambda *_: NOT_COMPARED)
    mapping = ["--format", "table", "--map", "learner=learner,concept=concept,correct=correct"]
    call = ["tutor", write_graph(tmp_path / "graph.json"), "--logs", str(tmp_path / "logs.csv"), *mapping]
    assert main([*call, "--ready", "theta"]) == 130
    (env,) = made
    assert isinstance(env, PreparedTutor)
    assert env.population is None
    assert np.ptp(env.K0) > 0  # each concept as its answers show it
    assert (tmp_path / "run" / "prepared" / "judge.json").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--seed", "-1"], "seed is -1"),
        (["--horizon", "0"], "horizon is 0"),
        (["--horizon", "100000000"], "horizon is 100000000"),
        (["--episodes", "0"], "episodes is 0"),
        (["--steps", "0"], "steps is 0"),
        (["--budget", "c9=1"], "there is no cost 'c9'"),
    ],
)
def test_wrong_numbers_are_refused_before_anything_is_written(tmp_path, capsys, flags, said) -> None:
    graph = write_graph(tmp_path / "course.json")
    assert main(["tutor", graph, *flags, "--out", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (tmp_path / "run").exists()


def test_a_tutor_that_was_stopped_is_finished_before_it_is_served(tmp_path, capsys) -> None:
    graph = write_graph(tmp_path / "my course.json")
    run = tmp_path / "run"
    (run / "prepared").mkdir(parents=True)
    shutil.copy(graph, run / "prepared" / "curriculum.json")
    (run / "manifest.json").write_text("{}")
    said = refusal(capsys, "serve", "--graph", graph, "--out", str(run), "--no-keys")
    assert "is not finished" in said
    assert f"'{graph}' --out" in said
    assert said.endswith("--resume")


def test_dots_in_the_name_of_a_graph_stay() -> None:
    assert [name_of(Path(name)) for name in ("a.json", "course.2.csv", "a.json.gz", "a")] == ["a", "course.2", "a", "a"]
