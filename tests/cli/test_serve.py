"""`mccpo serve` and `mccpo keys` from the outside: a process that starts, answers, refuses, and stops."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from mccpo.algo import METHODS
from mccpo.algo.rollout import network_of
from mccpo.cli import main
from mccpo.cli.small_policy import train_small
from mccpo.env import make
from mccpo.errors import MccpoError
from mccpo.exact import Values
from mccpo.experiments.policies import Policies, write_policies

COMMAND = [sys.executable, "-c", "import sys; from mccpo.cli import main; sys.exit(main())"]
ANCHOR = Values(3.0, {"c2": 0.1, "c3": 1.0, "c4": 2.0}, 4.0, 0.5, 0.0, 1.0, 0.01)


def write_run(folder, concepts=6):
    env = make("tutor-15", concepts=concepts, horizon=20)
    weights = np.random.default_rng(0).normal(scale=0.3, size=(1, network_of(env).size)).astype(np.float32)
    folder.mkdir()
    write_policies(
        folder, [Policies("tutor-15", env, METHODS["mc-cpo"], {"c2": 1, "c3": 9, "c4": 9}, ANCHOR, weights, 0)]
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "six", 6)
    write_run(folder / "five", 5)
    return folder


@pytest.fixture(autouse=True)
def runs(made, tmp_path, monkeypatch):
    """Runs of our own in the current folder: `six` and `five` concepts."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for variable in os.environ:
        if variable.startswith("MCCPO_"):
            monkeypatch.delenv(variable)
    return tmp_path


@contextmanager
def serving(*tokens):
    """A service on a free port: its process, and what it says of itself."""
    with subprocess.Popen(
        [*COMMAND, "serve", *tokens, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            lines = iter(process.stdout.readline, "}\n")
            text = "".join(lines) + "}"
            assert text != "}", process.stderr.read()
            yield process, json.loads(text)
        finally:
            process.kill()


def refusal(capsys, *tokens):
    """The one line that a wrong call prints, having printed no result."""
    assert main(tokens) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    return output.err


def taught(url, key=None):
    """One decision with its outcome."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=url, headers=headers, timeout=20) as client:
        learner = client.post("/v1/learners", json={"name": "Ana"}).json()["id"]
        decision = client.post(f"/v1/learners/{learner}/next").json()["id"]
        assert client.post(f"/v1/decisions/{decision}/outcome", json={"correct": True}).json()["counted"]
        return client.get(f"/v1/learners/{learner}/state").json()


def cpu_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell what a process used")
def test_it_starts_within_three_seconds_of_work_and_little_memory():
    """Work rather than time on the clock, which depends on who else is at work on the machine."""
    with serving("six") as (process, told):
        assert httpx.get(f"{told['url']}/readyz", timeout=20).status_code == 200
        assert cpu_seconds(process) < 3
        resident = next(
            line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "VmHWM" in line
        )
        assert int(resident.split()[1]) < 300_000


def test_it_answers_stops_on_ctrl_c_and_goes_on_where_it_was(runs, capsys):
    with serving("six") as (process, told):
        state = taught(told["url"])
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert "only this machine is answered (loopback)" in process.stderr.read()
    with serving("six") as (process, again):
        assert again["release"] == told["release"]
        found = httpx.get(f"{again['url']}/v1/learners/{state['learner']}/state", timeout=20)
        assert found.json()["concepts"] == state["concepts"]
        process.terminate()
        assert process.wait(20) == -signal.SIGTERM
    assert main(["verify", "six/decisions.db"]) == 0
    assert "everything holds" in capsys.readouterr().out


def test_the_demonstration_teaches_simulated_learners_and_leaves_nothing_behind(runs):
    """With a run that is there already in the place of the one it trains."""
    lines = (
        "import shutil, sys, mccpo.cli.serve as serve, mccpo.serve.simulated as simulated",
        "from mccpo.cli import main",
        "serve.train_small = lambda folder: shutil.copytree('six', folder / 'demo')",
        "simulated.PAUSE = (0.0, 0.01)",
        "sys.exit(main(['serve', '--demo', '--port', '0', '--json']))",
    )
    places = os.environ | {"TMPDIR": str(runs)}
    with subprocess.Popen(
        [sys.executable, "-c", "\n".join(lines)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=places
    ) as process:
        try:
            told = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
            assert Path(told["database"]).parent.parent.parent == runs
            with httpx.Client(base_url=told["url"], timeout=20) as client:
                found = []
                for _ in range(200):
                    found = client.get("/v1/decisions", params={"limit": 20}).json()["decisions"]
                    if len(found) == 20:
                        break
                assert len({one["learner"] for one in found}) > 1
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
            assert process.stderr.read().splitlines()[-1] == "mccpo: stopped"
        finally:
            process.kill()
    assert not list(runs.glob("mccpo-demo-*"))


def test_a_small_policy_is_trained_whatever_the_users_settings_are(runs, monkeypatch):
    """What it calls is looked at, not done: training takes a while, and is tested elsewhere."""
    calls = []

    def called(command, **options):
        calls.append((command, options))
        return subprocess.CompletedProcess(command, 2, "", "a line\nmccpo: no luck\n")

    monkeypatch.setenv("MCCPO_SEEDS", "9")
    monkeypatch.setattr("mccpo.cli.small_policy.subprocess.run", called)
    with pytest.raises(MccpoError, match="could not be trained: no luck"):
        train_small(runs)
    ((command, options),) = calls
    assert command[1:4] == ["-m", "mccpo", "train"]
    assert options["cwd"] == runs
    assert "MCCPO_SEEDS" not in options["env"]


def test_jax_and_its_company_stay_at_home():
    code = (
        "import sys, mccpo.serve.app, mccpo.cli.serve, mccpo.cli.keys;"
        "print({'jax', 'equinox', 'polars', 'matplotlib', 'scipy'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


def test_keys_are_created_listed_revoked_and_asked_for(capsys):
    assert main(["keys", "create", "--role", "client", "--tenant", "north", "--label", "the app"]) == 0
    created = capsys.readouterr()
    key = created.out.strip()
    assert key not in created.err
    with serving("six") as (process, told):
        assert told["keys"] == 1
        assert taught(told["url"], key)
        assert httpx.get(f"{told['url']}/v1/curriculum", timeout=20).status_code == 401
        assert main(["keys", "list", "--json"]) == 0
        (listed,) = json.loads(capsys.readouterr().out)["keys"]
        assert (listed["tenant"], listed["role"], listed["label"]) == ("north", "client", "the app")
        assert main(["keys", "revoke", listed["id"]]) == 0
        header = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{told['url']}/v1/curriculum", headers=header, timeout=20).status_code == 401
        process.terminate()
        assert "loopback" not in process.stderr.read()
    capsys.readouterr()
    assert main(["keys", "list"]) == 0
    assert "revoked" in capsys.readouterr().out


def test_the_keys_file_holds_no_key(runs, capsys):
    main(["keys", "create", "--role", "admin", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["key"].rsplit("_", 1)[1] not in (runs / "mccpo-keys.json").read_text()


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["serve"], "no run is named"),
        (["serve", "six", "--demo"], "--demo trains a policy of its own"),
        (["serve", "--demo", "--database", "here.db"], "--demo trains a policy of its own"),
        (["serve", "nowhere"], "cannot read nowhere/policies.json"),
        (["serve", "six", "--host", "0.0.0.0"], "has no keys"),
        (["serve", "six", "--host", "example.org"], "has no keys"),
        (["serve", "six", "--method", "magic"], "no policy of the method 'magic'"),
        (["serve", "six", "--seed", "7"], "there is no seed 7"),
        (["serve", "six", "--port", "99999"], "--port is 99999"),
        (["serve", "six", "--database", "mysql://localhost/x"], "mysql"),
        (["serve", "six", "--rate", "0"], "--rate is 0"),
        (["serve", "six", "--session-minutes", "-1"], "--session-minutes is -1"),
        (["serve", "six", "--bound", "colour=1"], "--bound has 'colour'"),
        (["serve", "six", "--forgetting-days", "0"], "--forgetting-days is 0"),
        (["keys", "create", "--role", "king"], "there is no role 'king'"),
        (["keys", "revoke", "nothing"], "has no key 'nothing'"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(capsys, tokens, message):
    assert message in refusal(capsys, *tokens)


def test_what_is_not_installed_is_named(capsys, monkeypatch):
    monkeypatch.setattr("mccpo.cli.serve.find_spec", lambda name: None if name == "uvicorn" else name)
    assert "uvicorn is not installed; install mccpo[serve]" in refusal(capsys, "serve", "six")


def test_a_damaged_policy_is_not_served(runs, capsys):
    path = runs / "six" / "policies.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    assert "does not hold the policies" in refusal(capsys, "serve", "six")


def test_a_record_of_another_curriculum_is_not_written_to(runs, capsys):
    with serving("six") as (_, told):
        taught(told["url"])
    assert "another curriculum" in refusal(capsys, "serve", "five", "--database", "six/decisions.db", "--port", "0")


def test_a_database_that_is_none_is_refused(runs, capsys):
    (runs / "text.db").write_text("this is no database, and should not become one" * 100)
    assert "cannot open the database" in refusal(capsys, "serve", "six", "--database", "text.db", "--port", "0")
    assert (runs / "text.db").read_text().startswith("this is no database")


def test_a_port_that_is_taken_is_refused(capsys):
    with serving("six") as (_, told):
        port = told["url"].rsplit(":", 1)[1]
        assert "cannot listen on" in refusal(capsys, "serve", "five", "--port", port)
