"""`mccpo serve` is killed at random moments under load: what it has acknowledged is there after a restart, once."""

import asyncio
import http.client
import json
import random
import signal
import threading
import time
from collections import Counter

import pytest
from tests.forked import forked

from mccpo.env import make
from mccpo.serve.record import Store, rows, verify

CLIENTS, VERIFIED_EVERY = 8, 5
HUNG = 120
"""Seconds that nothing takes on the busiest machine, unless it hangs."""


class Client(threading.Thread):
    """A learner who goes on until the server is gone, and keeps what it has acknowledged."""

    def __init__(self, port, name):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HUNG)
        self.name_, self.decisions, self.outcomes, self.refused = name, [], [], []

    def run(self):
        try:
            learner = self._post("/v1/learners", {"name": self.name_})["id"]
            while True:
                decision = self._post(f"/v1/learners/{learner}/next")
                self.decisions.append(decision["id"])
                correct = random.random() < 0.7
                outcome = self._post(f"/v1/decisions/{decision['id']}/outcome", {"correct": correct})
                self.outcomes.append((decision["id"], correct, outcome["before"], outcome["after"]))
        except (OSError, http.client.HTTPException, ValueError):
            pass  # killed
        finally:
            self.connection.close()

    def _post(self, path, body=None):
        headers = {"content-type": "application/json"}
        self.connection.request("POST", path, None if body is None else json.dumps(body), headers)
        reply = self.connection.getresponse()
        content = json.loads(reply.read())
        if reply.status >= 300:
            self.refused.append(content)
            raise OSError(content)
        return content


def _killed_after(outcomes, seconds, url, run, *, of_everyone=False):
    """Starts the service, kills it so many seconds after so many outcomes, and returns its clients.

    Not so many seconds after it listens: on a busy machine it would be killed before it has done anything.
    """
    clients = []
    with forked("serve", run, "--no-keys", "--database", url, "--port", "0") as server:
        line = server.out.readline()
        assert " at http://127.0.0.1:" in line
        port = int(line.split(" at http://127.0.0.1:")[1].split(";")[0])
        clients = [Client(port, f"n{at}") for at in range(CLIENTS)]
        for client in clients:
            client.start()
        hung = time.monotonic() + HUNG
        while sum(len(client.outcomes) for client in clients) < outcomes or not all(
            client.outcomes for client in clients if of_everyone
        ):
            assert time.monotonic() < hung, "it does not get on"
            assert any(client.is_alive() for client in clients), [client.refused for client in clients]
            time.sleep(0.001)
        time.sleep(seconds)
        server.signal(signal.SIGKILL)  # nothing is flushed, nothing is closed
        assert server.ended(HUNG) == -signal.SIGKILL  # and not by itself before
    for client in clients:
        client.join(timeout=HUNG)
    assert not any(client.is_alive() for client in clients)
    assert [client.refused for client in clients] == [[]] * CLIENTS
    return clients


async def _on_record(url, whole):
    store = Store(url)
    await store.open(create=False)
    if whole:  # state equals the replay, every gate and certificate holds, nothing counts twice
        assert (await verify(store)).wrong is None
    async with store.reading() as connection:
        events = [rows.event_from_row(row) async for row in rows.events_after(connection)]
    await store.close()
    return events


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_acknowledged_writes_survive(kills, database, run_of):
    run, draw = run_of(make("tutor-15")), random.Random(11)
    decisions, outcomes, events = [], [], []
    for kill in range(1, kills + 1):
        # At any moment, also before the first outcome; once, at the end, after everyone has had one.
        after, then = draw.choice([0, 1, 5, 20, 60]), draw.uniform(0.0, 0.1)
        clients = _killed_after(after, then, database, run, of_everyone=kill == kills)
        decisions += [one for client in clients for one in client.decisions]
        outcomes += [one for client in clients for one in client.outcomes]
        events = asyncio.run(_on_record(database, whole=kill == kills or kill % VERIFIED_EVERY == 0))
        decided = Counter(one.content["decision"] for one in events if one.kind == "decision")
        reported = Counter(one.content["decision"] for one in events if one.kind == "outcome")
        assert {*decided.values(), *reported.values()} <= {1}
        assert set(decisions) <= decided.keys()
        said = {one.content["decision"]: one.content for one in events if one.kind == "outcome"}
        for decision, *acknowledged in outcomes:
            assert [said[decision][name] for name in ("correct", "before", "after")] == acknowledged
    assert len(outcomes) >= CLIENTS  # it did get somewhere
    assert len({one.learner for one in events if one.learner}) == CLIENTS  # the same learners after every restart


@pytest.fixture(autouse=True)
def _no_settings_of_the_users(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
