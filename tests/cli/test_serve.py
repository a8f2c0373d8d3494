"""`mccpo serve` and `mccpo keys` from the outside: a process that starts, answers, refuses, and stops."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.forked import forked

from mccpo.cli import main
from mccpo.cli.commands.small_policy import train_small
from mccpo.env import make
from mccpo.errors import MccpoError
from mccpo.exact import Values
from mccpo.experiments.saved_policies import Policies, write_policies
from mccpo.methods import method_spec
from mccpo.methods.gradient.graph_network import shared_network_of

COMMAND = [sys.executable, "-c", "import sys; from mccpo.cli import main; sys.exit(main())"]
SIX = ["--run", "six"]
ANCHOR = Values(3.0, {"c2": 0.1, "c3": 1.0, "c4": 2.0}, 4.0, 0.5, 0.0, 1.0, 0.01)


def write_run(folder, concepts=6, budget=9):
    env = make("tutor-15", concepts=concepts, horizon=20)
    weights = np.random.default_rng(0).normal(scale=0.3, size=(1, shared_network_of(env).size)).astype(np.float32)
    folder.mkdir()
    write_policies(
        folder, [Policies("tutor-15", env, method_spec("mc-cpo"), {"c2": 1, "c3": budget, "c4": 9}, ANCHOR, weights, 0)]
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
def serving(*tokens, keys=("--no-keys",), **how):
    """A service on a free port: its process, and what it says of itself."""
    with forked("serve", *tokens, *keys, "--drain-seconds", "0", "--port", "0", "--json", **how) as process:
        yield process, about(process.out) or pytest.fail(process.told())


def about(out):
    """What a service says of itself; nothing where it has ended."""
    lines = []
    while (line := out.readline()) not in ("}\n", ""):
        lines.append(line)
    return json.loads("".join(lines) + "}") if line else None


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
    call = [*COMMAND, "serve", "six", "--no-keys", "--port", "0", "--json"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            told = about(process.stdout)
            assert told, process.stderr.read()
            assert httpx.get(f"{told['url']}/readyz", timeout=20).status_code == 200
            assert cpu_seconds(process) < 3
            resident = next(
                line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "VmHWM" in line
            )
            assert int(resident.split()[1]) < 300_000
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
        finally:
            process.kill()


def test_it_answers_stops_on_ctrl_c_and_goes_on_where_it_was(runs, capsys):
    with serving("six") as (process, told):
        state = taught(told["url"])
        process.signal(signal.SIGINT)
        assert process.ended() == 130
        assert "only this machine is answered (loopback)" in process.told()
    with serving("six") as (process, again):
        assert again["release"] == told["release"]
        found = httpx.get(f"{again['url']}/v1/learners/{state['learner']}/state", timeout=20)
        assert found.json()["concepts"] == state["concepts"]
        process.signal(signal.SIGTERM)
        assert process.ended() == -signal.SIGTERM
    assert main(["verify", "six/decisions.db"]) == 0
    assert "everything holds" in capsys.readouterr().out


def test_a_release_that_was_loaded_goes_on_deciding_and_it_is_said(runs):
    write_run(runs / "other", budget=8)
    with serving("six") as (process, told):
        loaded = httpx.post(f"{told['url']}/v1/releases", json={"run": "other"}, timeout=20).json()
        process.signal(signal.SIGINT)
        assert process.ended() == 130
    shutil.rmtree(runs / "other")  # what it takes to go on is in the database
    with serving("six") as (process, again):
        assert again["release"] == loaded["current"]["version"] != told["release"]
        process.signal(signal.SIGINT)
        assert process.ended() == 130
        assert f"the release {again['release']} goes on deciding" in process.told()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_the_demonstration_teaches_simulated_learners_and_leaves_nothing_behind(runs, number, code):
    """With a run that is there already in the place of the one it trains."""
    lines = (
        "import shutil, mccpo.cli.commands.serve as serve, mccpo.serve.service.simulated as simulated",
        "serve.train_small = lambda folder: shutil.copytree('six', folder / 'demo')",
        "simulated.PAUSE = (0.0, 0.01)",
    )
    with serving("--demo", keys=(), before="\n".join(lines), TMPDIR=str(runs)) as (process, told):
        assert Path(told["database"]).parent.parent.parent == runs
        with httpx.Client(base_url=told["url"], timeout=20) as client:
            found = []
            for _ in range(200):
                found = client.get("/v1/decisions", params={"limit": 20}).json()["decisions"]
                if len(found) == 20:
                    break
            assert len({one["learner"] for one in found}) > 1
        process.signal(number)
        assert process.ended() == code
        assert (process.told().splitlines()[-1] == "mccpo: stopped") is (number == signal.SIGINT)
    assert not list(runs.glob("mccpo-demo-*"))


def test_a_demonstration_that_is_ended_while_it_trains_leaves_nothing_behind(runs):
    lines = (
        "import subprocess, mccpo.cli.commands.serve as serve",
        "serve.train_small = lambda folder: (print(folder, flush=True), subprocess.run(['sleep', '60']))",
    )
    with forked("serve", "--demo", "--port", "0", before="\n".join(lines), TMPDIR=str(runs)) as process:
        assert Path(process.out.readline().strip()).is_dir()
        process.signal(signal.SIGTERM)
        assert process.ended() == -signal.SIGTERM
    assert not list(runs.glob("mccpo-demo-*"))


URLS = (
    "postgresql://me:s3cret@127.0.0.1:1/none",
    "postgresql://me:s3c@r/et@127.0.0.1:1/none",
    "postgresql://me@127.0.0.1:1/none?password=s3cret",
    "postgresql://me:s3cret@127.0.0.1:s3c/none",
    "postgresql://me:s3cret",
)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(
    "tokens",
    [
        ["serve", "six", "--no-keys", "--port", "0", "--database"],
        ["verify"],
        ["serve", "six", "--no-keys", "--debug", "--database"],
    ],
)
def test_the_password_of_a_database_is_told_nowhere(capsys, url, tokens):
    assert main([*tokens, url]) == 2
    assert "s3c" not in "".join(capsys.readouterr())


def test_settings_are_printed_without_passwords(runs, capsys, monkeypatch):
    monkeypatch.setenv("MCCPO_SERVE_DATABASE", URLS[1])
    for more in ([], ["--json"]):
        assert main(["serve", "six", "--no-keys", "--print-config", *more]) == 0
        said = "".join(capsys.readouterr())
        assert "postgresql://me:***@127.0.0.1:1/none" in said
        assert "s3c" not in said


def test_a_small_policy_is_trained_whatever_the_users_settings_are(runs, monkeypatch):
    """What it calls is looked at, not done: training takes a while, and is tested elsewhere."""
    calls = []

    def called(command, **options):
        calls.append((command, options))
        return subprocess.CompletedProcess(command, 2, "", "a line\nmccpo: no luck\n")

    monkeypatch.setenv("MCCPO_SEEDS", "9")
    monkeypatch.setattr("mccpo.cli.commands.small_policy.subprocess.run", called)
    with pytest.raises(MccpoError, match="could not be trained: no luck"):
        train_small(runs)
    ((command, options),) = calls
    assert command[1:4] == ["-m", "mccpo", "train"]
    assert options["cwd"] == runs
    assert "MCCPO_SEEDS" not in options["env"]


def test_keys_are_created_listed_revoked_and_asked_for(capsys):
    assert main(["keys", "create", *SIX, "--role", "client", "--tenant", "north", "--label", "the app"]) == 0
    created = capsys.readouterr()
    key = created.out.strip()
    assert key not in created.err
    with serving("six", keys=()) as (process, told):
        assert told["keys"] == 1
        assert taught(told["url"], key)
        assert httpx.get(f"{told['url']}/v1/curriculum", timeout=20).status_code == 401
        assert main(["keys", "list", *SIX, "--json"]) == 0
        (listed,) = json.loads(capsys.readouterr().out)["keys"]
        assert (listed["tenant"], listed["role"], listed["label"]) == ("north", "client", "the app")
        assert main(["keys", "revoke", listed["id"], *SIX]) == 0
        header = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{told['url']}/v1/curriculum", headers=header, timeout=20).status_code == 401
        process.signal(signal.SIGTERM)
        assert "loopback" not in process.told()
    capsys.readouterr()
    assert main(["keys", "list", *SIX]) == 0
    assert "revoked" in capsys.readouterr().out


def test_the_first_key_closes_a_service_that_runs_and_revoking_it_opens_nothing(capsys):
    with serving("six") as (process, told):
        assert taught(told["url"])
        assert httpx.get(f"{told['url']}/pages/learners", timeout=20).status_code == 200
        assert main(["keys", "create", *SIX, "--role", "admin", "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert httpx.get(f"{told['url']}/v1/curriculum", timeout=20).status_code == 401
        door = httpx.get(f"{told['url']}/pages/learners", timeout=20)
        assert (door.status_code, door.headers["location"][:14]) == (303, "/pages/sign-in")
        assert taught(told["url"], made["key"])
        assert main(["keys", "revoke", made["id"], *SIX]) == 0
        assert httpx.get(f"{told['url']}/v1/curriculum", timeout=20).status_code == 401
        Path("six/decisions-keys.json").unlink()
        assert httpx.get(f"{told['url']}/v1/curriculum", timeout=20).status_code == 401
        process.signal(signal.SIGTERM)
        assert "every request needs one" in process.told()


@pytest.mark.parametrize(
    ("whose", "served"), [(SIX, []), (["--keys", "mine.json"], ["--keys", "mine.json"])], ids=["beside", "named"]
)
def test_a_file_of_revoked_keys_starts_nothing(capsys, whose, served):
    main(["keys", "create", "--role", "admin", "--json", *whose])
    main(["keys", "revoke", json.loads(capsys.readouterr().out)["id"], *whose])
    capsys.readouterr()
    assert "no key in it works any more" in refusal(capsys, "serve", "six", *served, "--port", "0")


def test_the_keys_file_holds_no_key(runs, capsys):
    main(["keys", "create", *SIX, "--role", "admin", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["key"].rsplit("_", 1)[1] not in (runs / "six" / "decisions-keys.json").read_text()


def test_without_a_key_it_does_not_start_and_says_what_to_do(runs, capsys):
    said = refusal(capsys, "serve", "six", "--port", "0")
    assert "`mccpo keys create --run six --role admin`" in said
    assert "--no-keys" in said
    assert not (runs / "six" / "decisions.db").exists()


def test_keys_that_everybody_may_write_open_nothing(runs, capsys):
    main(["keys", "create", *SIX, "--role", "admin"])
    capsys.readouterr()
    keys = runs / "six" / "decisions-keys.json"
    keys.chmod(0o666)
    assert "chmod 600 six/decisions-keys.json" in refusal(capsys, "serve", "six", "--port", "0")
    keys.chmod(0o660)  # as a volume that a group shares may have it
    with serving("six", keys=()) as (process, told):
        assert httpx.get(f"{told['url']}/v1/curriculum", timeout=20).status_code == 401
        process.signal(signal.SIGINT)


def test_the_keys_go_with_the_record_wherever_it_is_started_from(runs, capsys):
    main(["keys", "create", *SIX, "--role", "admin", "--tenant", "local"])
    key = capsys.readouterr().out.strip()
    elsewhere = runs / "elsewhere"
    elsewhere.mkdir()
    with serving(runs / "six", keys=(), folder=elsewhere) as (process, told):
        assert taught(told["url"], key)
        assert httpx.get(f"{told['url']}/v1/curriculum", timeout=20).status_code == 401
        process.signal(signal.SIGTERM)
        process.ended()
    assert "which --no-keys would pass over" in refusal(capsys, "serve", "six", "--no-keys", "--port", "0")
    Path("six/decisions-keys.json").unlink()
    assert "was written with keys" in refusal(capsys, "serve", "six", "--no-keys", "--port", "0")
    assert "it holds none" in refusal(capsys, "serve", "six", "--port", "0")


def test_only_its_owner_reads_the_record(runs):
    with serving("six") as (_, told):
        taught(told["url"])
        modes = {path.name: path.stat().st_mode & 0o777 for path in (runs / "six").glob("decisions.db*")}
    assert modes == dict.fromkeys(("decisions.db", "decisions.db-wal", "decisions.db-shm"), 0o600)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["serve"], "no run is named"),
        (["serve", "six", "--demo"], "--demo trains a policy of its own"),
        (["serve", "--demo", "--database", "here.db"], "--demo trains a policy of its own"),
        (["serve", "--demo", "--keys", "here.json"], "--demo trains a policy of its own"),
        (["serve", "six", "--keys", "mistyped.json"], "it holds none"),
        (["serve", "six", "--keys", "mistyped.json", "--no-keys"], "contradict each other"),
        (["serve", "six", "--database", "postgresql://localhost/x"], "has no file of keys beside it"),
        (["keys", "list"], "say whose keys these are"),
        (["keys", "list", "--run", "nowhere"], "there is no run nowhere"),
        (["serve", "nowhere", "--no-keys"], "there is no run nowhere"),
        (["serve", "nowhere"], "there is no run nowhere"),
        (["serve", "nowhere", "--database", "postgresql://localhost/x"], "there is no run nowhere"),
        (["serve", "."], "cannot read policies.json"),
        (["serve", "--graph", "nothing.csv"], "there is no file nothing.csv"),
        (["serve", "six", "--no-keys", "--ready", "often"], "--ready is 'often'; give a chance such as 0.95, or theta"),
        (["serve", "six", "--no-keys", "--host", "0.0.0.0"], "no keys are asked for"),
        (["serve", "six", "--no-keys", "--host", "example.org"], "no keys are asked for"),
        (["serve", "six", "--no-keys", "--method", "magic"], "no policy of the method 'magic'"),
        (["serve", "six", "--no-keys", "--seed", "7"], "there is no seed 7"),
        (["serve", "six", "--no-keys", "--port", "99999"], "--port is 99999"),
        (["serve", "six", "--no-keys", "--database", "mysql://localhost/x"], "mysql"),
        (["serve", "six", "--no-keys", "--rate", "0"], "--rate is 0"),
        (["serve", "six", "--no-keys", "--session-minutes", "-1"], "--session-minutes is -1"),
        (["serve", "six", "--no-keys", "--defer-below", "0.9"], "--defer-below is given without --defer"),
        (["serve", "six", "--no-keys", "--defer", "nobody"], "nobody"),
        (["serve", "six", "--no-keys", "--defer", "teacher", "--defer-below", "0.7"], "the gate opens at 0.7"),
        (["serve", "six", "--no-keys", "--defer", "probe", "--ready", "0.98"], "the gate opens at 0.98"),
        (["serve", "six", "--no-keys", "--defer", "probe", "--defer-below", "nan"], "deferred below nan"),
        (["serve", "six", "--no-keys", "--bound", "colour=1"], "--bound has 'colour'"),
        (["serve", "six", "--no-keys", "--bound", "restriction_rate=-1"], "--bound has restriction_rate=-1"),
        (["serve", "six", "--no-keys", "--forgetting-days", "0"], "--forgetting-days is 0"),
        (["keys", "create", *SIX, "--role", "king"], "there is no role 'king'"),
        (["keys", "revoke", "nothing", *SIX], "has no key 'nothing'"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(capsys, tokens, message):
    assert message in refusal(capsys, *tokens)


def test_what_is_not_installed_is_named(capsys, monkeypatch):
    monkeypatch.setattr("mccpo.cli.commands.serve.find_spec", lambda name: None if name == "uvicorn" else name)
    assert "uvicorn is not installed; install mccpo[serve]" in refusal(capsys, "serve", "six", "--no-keys")


def test_a_damaged_policy_is_not_served(runs, capsys):
    path = runs / "six" / "policies.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    assert "does not hold the policies" in refusal(capsys, "serve", "six", "--no-keys")


def test_a_record_of_another_curriculum_is_not_written_to(runs, capsys):
    with serving("six") as (_, told):
        taught(told["url"])
    assert "another curriculum" in refusal(
        capsys, "serve", "five", "--no-keys", "--database", "six/decisions.db", "--port", "0"
    )


def test_a_file_that_is_no_database_is_refused(runs, capsys):
    (runs / "text.db").write_text("this is no database, and should not become one" * 100)
    assert "cannot open the database" in refusal(
        capsys, "serve", "six", "--no-keys", "--database", "text.db", "--port", "0"
    )
    assert (runs / "text.db").read_text().startswith("this is no database")


def test_a_database_of_a_newer_version_is_refused(runs, capsys):
    with sqlite3.connect("newer.db") as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.execute("INSERT INTO alembic_version VALUES ('9999')")
    connection.close()
    for tokens in (["serve", "six", "--no-keys", "--port", "0", "--database", "newer.db"], ["verify", "newer.db"]):
        assert "written by a newer mccpo" in refusal(capsys, *tokens)


def test_every_address_of_the_loopback_is_answered():
    with serving("six", "--host", "127.0.0.2") as (_, told):
        assert told["url"].startswith("http://127.0.0.2:")
        assert taught(told["url"])


def test_a_port_that_is_taken_is_refused(capsys):
    with serving("six") as (_, told):
        port = told["url"].rsplit(":", 1)[1]
        assert "cannot listen on" in refusal(capsys, "serve", "five", "--no-keys", "--port", port)


def test_a_product_has_one_thread_unless_the_operator_says_otherwise():
    """Set before anything imports NumPy, which reads the variables once."""
    code = (
        "import os, sys; from mccpo.cli.commands import serve; serve._one_thread_a_product();"
        "assert 'numpy' not in sys.modules; print(os.environ['OPENBLAS_NUM_THREADS'], os.environ['MKL_NUM_THREADS'])"
    )
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, env={**kept, "MKL_NUM_THREADS": "4"}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "4"]
