"""The load of the bench: it counts what fails, sees what is not ready, and ends with a record that holds."""

import asyncio
import json
from contextlib import nullcontext

import pytest

from mccpo.bench.serve import large_record
from mccpo.bench.serve import measurement as bench
from mccpo.bench.serve.client import Connection
from mccpo.bench.serve.load import Pupils, drive, teach
from mccpo.bench.serve.measurement import measure, missed
from mccpo.bench.serve.servers import serving
from mccpo.env import make
from mccpo.errors import InputError, MccpoError

from ..serve.conftest import run_of as run_of  # noqa: TID252 - the same runs are served


def against(answer, work):
    """Does some work against a server that answers every request by `answer(head) -> pieces of bytes`."""

    async def talk(reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = head.lower().partition("content-length: ")[2].partition("\r\n")[0]
                await reader.readexactly(int(length or 0))
                for piece in answer(head):
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def both():
        async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
            return await work(server.sockets[0].getsockname()[1])

    return asyncio.run(both())


def whole(content, status=200):
    body = json.dumps(content).encode()
    return b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body


def test_the_client_puts_answers_together_whatever_pieces_they_come_in():
    answer = whole({"a": "é" * 50}, 201)

    async def ask(port):
        async with Connection(port) as connection:
            return [await connection.request("POST", "/x", b"{}") for _ in range(3)]

    replies = against(lambda _: (answer[at : at + 7] for at in range(0, len(answer), 7)), ask)
    assert [reply.status for reply in replies] == [201] * 3
    assert [json.loads(reply.body) for reply in replies] == [{"a": "é" * 50}] * 3
    assert all(reply.seconds > 0 for reply in replies)


def test_a_server_that_hangs_up_is_an_error():
    async def ask(connection, _, tally):
        tally.take(await connection.request("GET", "/"))

    def hang_up(_):
        raise ConnectionError

    tally = against(hang_up, lambda port: drive(port, 3, ask))
    assert len(tally.errors) == 3
    assert tally.latencies == []


def taught(concept, status=200):
    """What a load counts when the service always decides for the same concept; `b` needs `a`."""

    def answer(head):
        if "/next" in head:
            yield whole({"id": "dec_1", "concept": concept}, status)
        else:
            yield whole({"concept": concept, "after": 0.95})

    pupils = Pupils({"a": [], "b": ["a"]}, 0.8, {"a": 0.2, "b": 0.2})
    return against(answer, lambda port: teach(port, 2, pupils, ["x", "y"], 2, seed=0)), pupils


def test_decisions_are_judged_by_the_outcomes_and_the_curriculum():
    ready, pupils = taught("a")
    assert (len(ready.latencies), ready.unready, ready.errors) == (8, [], [])
    assert pupils.ready("x", "b")  # a is mastered now
    unready, _ = taught("b")
    assert unready.unready == ["dec_1"] * 4


def test_refusals_are_errors_and_not_followed_by_outcomes():
    tally, _ = taught("a", status=503)
    assert len(tally.errors) == len(tally.latencies) == 4
    assert tally.errors[0].startswith("503 ")


def test_what_does_not_start_says_why():
    with pytest.raises(MccpoError, match="no module of ours"), serving("-c", "exit('no module of ours')", ready="/"):
        pass


def test_too_few_learners_are_refused(tmp_path):
    with pytest.raises(InputError, match="--learners is 3"):
        measure(tmp_path, print, 3)


FINE = {
    "to_bare": {"throughput": 0.6, "p99": 2.9},
    "start_seconds": 2.0,
    "restart_seconds": 2.5,
    "megabytes": 200.0,
    "errors": [],
    "unready": [],
    "served": {"requests": 8},
    "verified": {"wrong": None, "decisions": 4, "outcomes": 4},
}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("to_bare", {"throughput": 0.4, "p99": 1.0}, "throughput is 0.40"),
        ("to_bare", {"throughput": 1.0, "p99": 3.5}, "p99 is 3.5 times"),
        ("start_seconds", 3.2, "start-up takes 3.2 s"),
        ("restart_seconds", 4.0, "start-up takes 4.0 s"),
        ("megabytes", 301.0, "memory is 301 MB"),
        ("errors", ["503"], "1 errors"),
        ("unready", ["dec_1"], "1 decisions were not ready"),
        ("verified", {"wrong": "decision 3", "decisions": 4, "outcomes": 4}, "decision 3"),
        ("verified", {"wrong": None, "decisions": 4, "outcomes": 3}, "only 3 pairs"),
    ],
)
def test_every_bar_can_be_missed(name, value, words):
    assert missed(FINE) == []
    (found,) = missed(FINE | {name: value})
    assert words in found


@pytest.mark.slow
def test_a_small_load_from_start_to_replay(run_of, monkeypatch):
    monkeypatch.setattr(bench, "CONNECTIONS", 4)
    monkeypatch.setattr(bench, "ROUNDS", 2)
    monkeypatch.setattr(bench, "postgres", nullcontext)
    found = measure(run_of(make("tutor-15")), lambda _: None, 20)
    one = found["databases"]["sqlite"]
    assert (one["errors"], one["unready"]) == ([], [])
    assert [one[way]["requests"] for way in ("served", "bare", "grouped")] == [80, 80, 80]
    verified = one["verified"]
    assert (verified["wrong"], verified["decisions"], verified["outcomes"]) == (None, 40, 40)
    assert verified["events"] == 1 + 20 + 20 + 80  # the release, learners, their sessions, decisions and outcomes
    assert 20 < one["megabytes"] < 300
    assert len(one["round_ratios"]) == 2
    assert "names none" in found["databases"]["postgresql"]["missing"]


@pytest.mark.slow
def test_a_small_record_is_listed_searched_and_started_on(run_of, monkeypatch):
    monkeypatch.setattr(large_record, "CONNECTIONS", 4)
    monkeypatch.setattr(large_record, "ASKED", 3)
    monkeypatch.setattr(large_record, "postgres", nullcontext)
    found = large_record.measure_large_record(run_of(make("tutor-15")), lambda _: None, 200)
    one = found["databases"]["sqlite"]
    assert one["events"] == 1 + 4 * 200  # the release; learners, their sessions, decisions and outcomes
    assert len(one["starts"]) == 2
    assert all(0 < start["ready_seconds"] <= start["monitor_seconds"] for start in one["starts"].values())
    assert all(figures["first_ms"] > 0 for figures in one["pages"].values())
    assert "names none" in found["databases"]["postgresql"]["missing"]


SLOW = {
    "pages": {"the page": {"first_ms": 20_000.0, "p50_ms": 1.0, "p99_ms": 300.0}},
    "starts": {"after a SIGKILL": {"ready_seconds": 6.0, "monitor_seconds": 11.0, "megabytes": 1.0}},
}


def test_every_bar_of_a_large_record_can_be_missed():
    told = list(large_record.missed_bars({"databases": {"sqlite": SLOW}}))
    words = ("p99 of the page", "first request for the page", "ready after 6.0 s", "complete after 11.0 s")
    assert len(told) == len(words)
    assert all(word in line for word, line in zip(words, told, strict=True))
