"""A package of somebody else, installed for real: what it adds works in every command, what is broken stops nobody.

`their_course` adds an environment, a method, a log source and a table, one file each. Most commands run one after
another in one process, because compiling is most of their work.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-c", "import sys; from mccpo.cli import main; sys.exit(main())"]
SMALL = ("--steps", "2000", "--seeds", "1", "--json", "--out")
CALLS = {
    "compare": ("compare", "their-tutor", "--methods", "their-method,unconstrained,random-ready", *SMALL, "compared"),
    "train": ("train", "their-tutor", "--method", "their-method", *SMALL, "trained"),
    "certify": ("certify", "trained", "--episodes", "200", "--json"),
    "reproduce": ("reproduce", "their-table", *SMALL, "table"),
    "benchmark": (
        *("benchmark", "--envs", "their-tutor", "--methods", "their-method,random-ready,broken-method"),
        *("--kappa", "0.7", "--no-search", *SMALL, "bench"),
    ),
    "certify a cell": ("certify", "bench/cells/their-tutor/their-method", "--episodes", "200", "--json"),
    "logs": ("logs", "check", "answers.csv", "--format", "their-format", "--json"),
    "compare gate": ("compare", "gate", "--methods", "random-ready", "--seeds", "1", "--out", "gate"),
    "broken method": ("compare", "gate", "--methods", "broken-method"),
    "broken environment": ("compare", "broken-tutor"),
    "broken table": ("reproduce", "broken-table"),
    "broken format": ("logs", "check", "answers.csv", "--format", "broken-format"),
    "unknown method": ("compare", "gate", "--methods", "nobodys-method"),
}
ANSWERS = """pupil,topic,asked_at,was_right
ana,v0,2026-01-05 09:00:00,1
ana,v1,2026-01-05 09:01:00,0
ben,v0,2026-01-05 09:00:30,1
"""
GYMNASIUM = """
from importlib.metadata import entry_points

import gymnasium

known = any(point.value.startswith("mccpo.") for point in entry_points(group="gymnasium.envs"))
env = gymnasium.make(f"{'' if known else 'mccpo.env.gym:'}mccpo/TheirTutor-v0")
_, info = env.reset(seed=0)
assert info["action_mask"].tolist() == [1, 1, 1, 0]
assert sorted(env.step(0)[4]["costs"]) == ["c2", "c3", "c4"]

import mccpo
from mccpo.env import describe_environment, environment_names, rebuild_environment
from mccpo.experiments import TABLES
from mccpo.methods import method_names

tutor = mccpo.make("their-tutor", theta=0.6)
assert (type(tutor).__module__, len(tutor.curriculum), tutor.horizon) == ("their_course.environment", 4, 12)
assert rebuild_environment("their-tutor", describe_environment(tutor)).theta == 0.6
assert {"their-tutor", "broken-tutor", "gate"} <= set(environment_names())
assert {"their-method", "broken-method", "mc-cpo"} <= set(method_names())
assert {"their-table", "broken-table", "gate"} <= set(TABLES)
assert mccpo.METHODS["their-method"].label == "Their method"
"""


class Ended(NamedTuple):
    """How a call ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package is installed and the commands run: once, for all processes that share the tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "plugin"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def environ(folder: Path) -> dict[str, str]:
    """The variables of a process that has the package; where it sees a source tree of ours, that still comes first."""
    site = folder / "site"
    with alone_in(folder):
        if not site.exists():
            flags = ("--no-deps", "--no-build-isolation", "--no-index", "--no-compile", "--disable-pip-version-check")
            pip = [sys.executable, "-m", "pip", "--isolated", "install", "-q", *flags, "--target", str(site)]
            subprocess.run([*pip, str(HERE / "their_course")], check=True, timeout=120)
    ours = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    own = {name: value for name, value in os.environ.items() if not name.startswith("MCCPO_")}
    return own | {"PYTHONPATH": os.pathsep.join([*ours, str(site)])}


@pytest.fixture(scope="session")
def ended(environ: dict[str, str], folder: Path) -> Mapping[str, Ended]:
    """How every call of `CALLS` ended."""
    outcomes = folder / "ended.json"
    with alone_in(folder):
        if not outcomes.exists():
            (folder / "answers.csv").write_text(ANSWERS)
            call = [sys.executable, str(HERE / "commands.py")]
            pipes = {"input": json.dumps(CALLS), "capture_output": True, "text": True}
            done = subprocess.run(call, **pipes, cwd=folder, env=environ, timeout=280)
            assert done.returncode == 0, done.stderr
            outcomes.write_text(done.stdout)
    return {name: Ended(**outcome) for name, outcome in json.loads(outcomes.read_text()).items()}


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lets one process at a time at work in a folder."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ran(ended: Ended) -> Any:
    """The JSON of a call that ended well."""
    assert ended.code == 0, ended.err
    return ended.json


def test_python_and_gymnasium_know_it(environ: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", GYMNASIUM], check=True, env=environ, timeout=120)


def test_compare_trains_their_method_beside_ours(ended: Mapping[str, Ended]) -> None:
    rows = ran(ended["compare"])["rows"]
    assert list(rows) == ["their-method", "unconstrained", "random-ready"]
    assert rows["their-method"]["prerequisite_violation_rate"]["mean"] == 0
    assert rows["their-method"]["lambda_c4"]["mean"] > 0


def test_train_gives_what_compare_gave(ended: Mapping[str, Ended]) -> None:
    trained, compared = ran(ended["train"])["rows"], ran(ended["compare"])["rows"]
    assert list(trained) == ["their-method"]
    assert trained["their-method"]["return"]["mean"] == compared["their-method"]["return"]["mean"]


@pytest.mark.parametrize("name", ["certify", "certify a cell"])
def test_certify_bounds_a_run_and_a_cell(ended: Mapping[str, Ended], name: str) -> None:
    certificate = ended[name].json
    assert ended[name].code == (0 if certificate["passed"] else 3)
    assert (certificate["environment"], certificate["method"]) == ("their-tutor", "their-method")
    assert list(certificate["budgets"]) == ["c2", "c3", "c4"]
    assert certificate["prerequisite"]["violations"] == 0


def test_benchmark_has_every_pair_and_says_which_crashed(ended: Mapping[str, Ended]) -> None:
    results = ran(ended["benchmark"])
    status = {(cell["environment"], cell["method"]): cell["status"] for cell in results["cells"]}
    assert status == {
        ("their-tutor", "their-method"): "done",
        ("their-tutor", "random-ready"): "done",
        ("their-tutor", "broken-method"): "crashed",
    }


def test_reproduce_runs_their_table(ended: Mapping[str, Ended], folder: Path) -> None:
    results = ran(ended["reproduce"])
    assert (results["table"], results["title"]) == ("their-table", "Their table")
    assert list(results["rows"]) == ["their-method", "random-ready"]
    assert "Their table" in (folder / "table" / "report.html").read_text()


def test_logs_check_reads_their_columns(ended: Mapping[str, Ended]) -> None:
    account = ran(ended["logs"])
    assert (account["interactions"], account["learners"], account["concepts"]) == (3, 2, 2)


def test_serve_decides_for_a_learner(environ: dict[str, str], folder: Path, ended: Mapping[str, Ended]) -> None:
    assert ended["train"].code == 0
    call = [*COMMAND, "serve", "trained", "--no-keys", "--port", "0", "--json"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, cwd=folder, env=environ) as process:
        try:
            assert process.stdout is not None
            about = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
            with httpx.Client(base_url=about["url"], timeout=30) as client:
                learner = client.post("/v1/learners", json={"name": "Ana"}).json()["id"]
                decision = client.post(f"/v1/learners/{learner}/next").json()
                assert decision["concept"] in ("v0", "v1", "v2")  # v3 needs two of them
                outcome = client.post(f"/v1/decisions/{decision['id']}/outcome", json={"correct": True})
                assert outcome.json()["counted"]
        finally:
            process.kill()


@pytest.mark.parametrize("what", ["method", "environment", "table", "format"])
def test_what_is_broken_is_one_line_when_asked_for(ended: Mapping[str, Ended], what: str) -> None:
    code, out, err = ended[f"broken {what}"]
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "their_course.broken:" in err
    assert "No module named 'a_package_that_nobody_has'" in err
    assert "repair the package" in err


def test_what_is_broken_is_in_nobodys_way(ended: Mapping[str, Ended], environ: dict[str, str]) -> None:
    assert ended["compare gate"].code == 0, ended["compare gate"].err
    assert "broken-method" in ended["unknown method"].err  # it is listed without being imported
    asked = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, env=environ, timeout=60)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "benchmark" in asked.stdout
