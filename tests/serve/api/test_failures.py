"""What goes wrong around a service that runs: a clear refusal at start, or a clear 503, and never a wrong decision."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import psycopg
import pytest
from tests.forked import forked

from mccpo.bench.serve import servers
from mccpo.cli import main
from mccpo.env import make
from mccpo.errors import InputError
from mccpo.serve.policy import load_release
from mccpo.serve.record import Store, verify

QUICK = "import mccpo.serve.record.store as s; s.SERVING = (*s.SERVING, 'busy_timeout=100'); "
"""Waits for a lock for a tenth of a second only."""


@pytest.fixture(autouse=True)
def _no_settings_of_the_users(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("MCCPO_")]:
        monkeypatch.delenv(variable)


@pytest.fixture
def run(run_of, tmp_path):
    """A run of its own, which may be damaged."""
    return shutil.copytree(run_of(make("tutor-15")), tmp_path / "run")


@contextmanager
def serving(*tokens, before=""):
    """A client of a service of its own process, which is gone afterwards."""
    with forked("serve", *tokens, "--no-keys", "--port", "0", before=before) as process:
        line = process.out.readline()
        assert " at http://" in line, process.told()
        with httpx.Client(base_url=line.split(" at ")[1].split(";")[0], timeout=30) as client:
            yield client
        process.signal(signal.SIGINT)
        assert process.ended() == 130


def refused(*tokens):
    """What a call says that is refused at start: one line."""
    with forked(*tokens) as process:
        told = process.told()
        assert process.ended() == 2, told
        assert process.out.read() == ""
    assert told.count("\n") == 1
    return told


def registered(client, name="Ana"):
    return client.post("/v1/learners", json={"name": name}).raise_for_status().json()["id"]


def decided(client, learner):
    return client.post(f"/v1/learners/{learner}/next").raise_for_status().json()


def wait_until(holds, seconds=20):
    """Asks again and again, for as long as a busy machine may need."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def report(client, decision, **form):
    return client.post(f"/v1/decisions/{decision}/outcome", json={"correct": True} | form)


def problem(answer, status):
    """The detail of a refusal of that status."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    content = answer.json()
    assert content["status"] == status
    return content["detail"]


def holds(url):
    """What a replay of the record counts, which finds nothing wrong."""

    async def replayed():
        store = Store(str(url))
        await store.open(create=False)
        try:
            return await verify(store)
        finally:
            await store.close()

    verdict = asyncio.run(replayed())
    assert verdict.wrong is None
    return verdict.decisions, verdict.outcomes


# ---- the policy


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x40
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize("file", ["policies.safetensors", "policies.json"])
@pytest.mark.parametrize("damage", [flip, cut, os.remove])
def test_a_corrupted_run_is_refused(run, damage, file):
    damage(run / file)
    with pytest.raises(InputError, match="policies"):
        load_release(run)


def test_what_is_refused_at_start_leaves_no_record(run):
    flip(run / "policies.safetensors")
    assert "policies" in refused("serve", run, "--no-keys", "--port", "0")
    assert not (run / "decisions.db").exists()


def test_a_corrupted_policy_is_not_loaded_into_a_service_that_runs(run):
    other = shutil.copytree(run, run.with_name("other"))
    flip(other / "policies.safetensors")
    with serving(run) as client:
        learner = registered(client)
        answer = client.post("/v1/releases", json={"run": "other"})
        assert "does not hold the policies" in problem(answer, 422)
        assert decided(client, learner)["by"] == "policy"
    assert holds(run / "decisions.db") == (1, 0)


def test_a_damaged_policy_is_found_at_the_next_start(run):
    with serving(run) as client:
        learner = registered(client)
        before = decided(client, learner)
        flip(run / "policies.safetensors")
        report(client, before["id"]).raise_for_status()
        after = decided(client, learner)
        assert after["certificate"]["policy"] == before["certificate"]["policy"]
    assert "does not hold the policies" in refused("serve", run, "--no-keys", "--port", "0")
    assert holds(run / "decisions.db") == (2, 1)  # what decided is kept with what it decided


# ---- the curriculum


def test_another_curriculum_is_neither_served_on_the_record_nor_loaded(run, run_of):
    other = shutil.copytree(run_of(make("tutor-15", curriculum_seed=7)), run.with_name("other"))
    with serving(run) as client:
        decision = decided(client, registered(client))
        answer = client.post("/v1/releases", json={"run": "other"})
        assert "curriculum" in problem(answer, 422)
        again = decided(client, decision["learner"])
        assert again["certificate"]["curriculum"] == decision["certificate"]["curriculum"]
    assert "another curriculum" in refused(
        "serve", other, "--no-keys", "--database", run / "decisions.db", "--port", "0"
    )
    assert holds(run / "decisions.db") == (1, 0)


# ---- the database


FULL = {
    "no file may grow": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000)); ",
    "no page is free": "import mccpo.serve.record.store as s; s.SERVING = (*s.SERVING, 'max_page_count=120'); ",
}


@pytest.mark.parametrize(
    "limit",
    [FULL["no page is free"], pytest.param(FULL["no file may grow"], marks=pytest.mark.slow)],
    ids=["no page is free", "no file may grow"],
)
def test_a_full_disk_is_a_503_and_nothing_that_was_acknowledged_is_lost(run, tmp_path, limit):
    """A bound on the size of files, or of the database, which the service meets as it would a full disk."""
    record = tmp_path / "record.db"
    acknowledged, refusals = {}, 0
    with serving(run, "--database", record, before=limit) as client:
        assert client.get("/readyz").status_code == 200
        learner = registered(client)
        for _ in range(2_000):
            answer = client.post(f"/v1/learners/{learner}/next")
            if answer.status_code == 200:
                decision = answer.json()["id"]
                acknowledged.setdefault(decision, None)
                answer = report(client, decision)
                if answer.status_code == 200:
                    acknowledged[decision] = answer.json()["after"]
            if answer.status_code != 200:
                assert "nothing was done" in problem(answer, 503)
                refusals += 1
            if refusals == 10:
                break
        assert "full" in problem(client.get("/readyz"), 503) or "I/O" in problem(client.get("/readyz"), 503)
        assert client.get("/healthz").status_code == 200
        state = client.get(f"/v1/learners/{learner}/state").raise_for_status().json()
    assert len(acknowledged) > 10
    assert refusals == 10
    reported = [after for after in acknowledged.values() if after is not None]
    assert holds(record) == (len(acknowledged), len(reported))
    with serving(run, "--database", record) as client:  # there is room again
        lines = client.get("/v1/decisions/export").raise_for_status().text.splitlines()
        assert [json.loads(line)["decision"] for line in lines] == list(acknowledged)
        assert client.get(f"/v1/learners/{learner}/state").json() == state
        assert report(client, decided(client, learner)["id"]).json()["counted"]
    assert holds(record)[1] == len(reported) + 1


def test_a_database_that_is_removed_is_a_503_until_it_is_back(run, tmp_path):
    record, away = tmp_path / "record.db", tmp_path / "away.db"
    with serving(run, "--database", record) as client:
        learner = registered(client)
        decision = decided(client, learner)
        record.rename(away)
        problem(client.post(f"/v1/learners/{learner}/next"), 503)
        problem(report(client, decision["id"]), 503)
        problem(client.get(f"/v1/learners/{learner}/state"), 503)
        problem(client.get("/readyz"), 503)
        record.write_bytes(b"")  # another file of that name is not the record
        problem(report(client, decision["id"]), 503)
        assert record.read_bytes() == b""
        away.replace(record)
        assert report(client, decision["id"]).json()["counted"]
        assert client.get("/readyz").status_code == 200
    assert holds(record) == (1, 1)


def test_a_locked_database_answers_503_until_it_is_unlocked(run, tmp_path):
    record = tmp_path / "record.db"
    with serving(run, "--database", record, before=QUICK) as client:
        learner = registered(client)
        decision = decided(client, learner)
        other = sqlite3.connect(record, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        problem(report(client, decision["id"]), 503)
        problem(client.get("/readyz"), 503)
        assert client.get(f"/v1/learners/{learner}/state").json()["decision"] == decision["id"]  # reading goes on
        other.execute("ROLLBACK")
        other.close()
        assert report(client, decision["id"]).json()["counted"]
    assert holds(record) == (1, 1)


def test_a_server_of_postgres_that_is_gone_is_a_503(run, postgres_server):
    with servers.database_in(postgres_server) as url, serving(run, "--database", url) as client:
        learner = registered(client)
        decided(client, learner)
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            name = url.rsplit("/", 1)[1].split("?")[0]
            connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
            problem(client.post(f"/v1/learners/{learner}/next"), 503)
            problem(client.get("/readyz"), 503)
            connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        assert decided(client, learner)["again"]
        assert client.get("/readyz").status_code == 200


def test_a_postgres_that_stops_and_starts_again_needs_no_restart_of_the_service(run, monkeypatch):
    monkeypatch.delenv(servers.POSTGRES, raising=False)  # one of our own, which may be stopped
    with servers.postgres() as server:
        if server is None:
            pytest.skip("there is no PostgreSQL here to start")
        folder = server.rsplit("=", 1)[1]
        user = "postgres" if os.geteuid() == 0 else None
        control = (user, servers._programs() / "pg_ctl", "-D", f"{folder}/data", "-w")
        with servers.database_in(server) as url, serving(run, "--database", url) as client:
            decision = decided(client, registered(client))
            servers._call(*control, "-m", "immediate", "stop")
            assert "nothing was done" in problem(report(client, decision["id"]), 503)
            problem(client.get("/readyz"), 503)
            problem(client.get(f"/v1/learners/{decision['learner']}/state"), 503)
            assert client.get("/healthz").status_code == 200
            servers._call(*control, "-o", f"-c listen_addresses='' -k {folder}", "-l", f"{folder}/log", "start")
            wait_until(lambda: client.get("/readyz").status_code == 200)  # what it found last is kept for a moment
            assert report(client, decision["id"]).json()["counted"]
            assert holds(url) == (1, 1)


def test_a_locked_postgres_answers_503_until_it_is_unlocked(run, postgres_server):
    quick = "import mccpo.serve.record.store as s; s.BUSY = 1.0; "
    with servers.database_in(postgres_server) as url, serving(run, "--database", url, before=quick) as client:
        decision = decided(client, registered(client))
        with psycopg.connect(url) as other:
            other.execute("SELECT * FROM head FOR UPDATE")
            problem(report(client, decision["id"]), 503)
            problem(client.get("/readyz"), 503)
        assert report(client, decision["id"]).json()["counted"]


# ---- those who ask


def test_two_clients_at_once_get_one_decision_and_its_outcome_counts_once(run):
    with serving(run) as client, ThreadPoolExecutor(8) as threads:
        learner = registered(client)
        for turn in range(1, 6):
            answers = list(threads.map(lambda _: decided(client, learner), range(8)))
            assert len({one["id"] for one in answers}) == 1
            assert sum(not one["again"] for one in answers) == 1
            decision = answers[0]["id"]
            outcomes = [one.json() for one in threads.map(lambda _: report(client, decision), range(8))]  # noqa: B023
            assert sum(not one["again"] for one in outcomes) == 1
            assert len({(one["number"], one["before"], one["after"]) for one in outcomes}) == 1
            state = client.get(f"/v1/learners/{learner}/state").json()
            assert sum(one["practised"] for one in state["concepts"]) == turn
    assert holds(run / "decisions.db") == (5, 5)


def test_an_outcome_that_differs_or_belongs_to_nothing_is_refused(run):
    with serving(run) as client:
        learner = registered(client)
        decision = decided(client, learner)["id"]
        first = report(client, decision, seconds=4).json()
        state = client.get(f"/v1/learners/{learner}/state").json()
        assert report(client, decision, seconds=4).json() == first | {"again": True}
        assert "another outcome" in problem(report(client, decision, correct=False), 409)
        problem(report(client, f"dec_{0:024x}"), 404)
        assert client.get(f"/v1/learners/{learner}/state").json() == state


def test_an_outcome_that_comes_too_late_is_on_record_and_changes_nothing(run, capsys):
    with serving(run, "--late-hours", 0.2 / 3600) as client:
        learner = registered(client)
        decision = decided(client, learner)
        before = client.get(f"/v1/learners/{learner}/state").json()["concepts"]
        time.sleep(0.3)
        outcome = report(client, decision["id"]).json()
        assert (outcome["late"], outcome["counted"]) == (True, False)
        assert outcome["after"] == outcome["before"]
        assert client.get(f"/v1/learners/{learner}/state").json()["concepts"] == before
        assert report(client, decision["id"]).json() == outcome | {"again": True}
        assert not decided(client, learner)["again"]  # it no longer waits
    assert holds(run / "decisions.db") == (2, 1)
    capsys.readouterr()
    assert main(["verify", str(run / "decisions.db"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"]
