"""Whoever reaches the port, without any key, wants others not to be answered."""

import asyncio
import signal
import socket
import time

import httpx
import pytest

from mccpo.serve.policy import load_release

from ..client import refused, serving  # noqa: TID252 - shared by the folders of these tests
from .conftest import attacked

SMALL = """
import mccpo.serve.api.listening as listening
Few = listening.Limits
listening.Limits = lambda: Few(connections=24, request_seconds=1.0)
"""


def half_open(port, count, content=b"POST /v1/learners HTTP/1.1\r\nHost: loc"):
    """Connections on which a request begins that never ends."""
    connections = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(count)]
    for connection in connections:
        connection.sendall(content)
    return connections


def answer_until_closed(connection):
    """What comes until the service closes the connection."""
    answer = b""
    try:
        while part := connection.recv(1000):
            answer += part
    except ConnectionResetError:
        pass
    connection.close()
    return answer


def test_more_half_open_requests_than_connections_keep_nobody_out(run, tmp_path):
    with attacked(run, tmp_path / "record.db", "--no-keys", before=SMALL) as target:
        unfinished = half_open(target.port, 60)
        assert target.ask("/v1/learners", "Host: localhost") == 200
        # The first are closed at once, the last when their time is up.
        assert [answer_until_closed(connection) for connection in unfinished] == [b""] * 60
        # A body that does not come, after an answer that did not wait for it.
        content = b"POST /v1/learners HTTP/1.1\r\nHost: elsewhere\r\nContent-Length: 9\r\n\r\n1"
        (connection,) = half_open(target.port, 1, content)
        assert answer_until_closed(connection).startswith(b"HTTP/1.1 403")


def test_headers_without_end_are_cut_off(run, tmp_path):
    with attacked(run, tmp_path / "record.db", "--no-keys", before=SMALL) as target:
        assert target.ask("/healthz", "Host: localhost", f"X-Long: {'x' * 20_000}") in (
            400,
            413,
        )  # at once, or in parts
        many = [f"X-{number}: {'x' * 50}" for number in range(400)]
        assert target.ask("/healthz", "Host: localhost", *many) in (400, 413)
        assert target.ask("/healthz", "Host: localhost") == 200


@pytest.mark.slow
def test_a_thousand_half_open_requests(run, tmp_path):
    with attacked(run, tmp_path / "record.db", "--no-keys") as target:
        connections = half_open(target.port, 1000)
        began = time.monotonic()
        assert target.ask("/v1/learners", "Host: localhost") == 200
        print(f"answered after {time.monotonic() - began:.3f} s")  # noqa: T201 - a figure for whoever runs it
        for connection in connections:
            connection.close()


@pytest.fixture(scope="module")
def release(run):
    return load_release(run)


def test_a_slow_body_is_given_up(release, tmp_path):
    async def dripping():
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    with serving(release, tmp_path / "record.db", body_seconds=0.1) as api:
        headers = {"content-type": "application/json"}
        refused(api("POST", "/v1/learners", content=dripping(), headers=headers), 408)
        assert api.learner("in time")


def test_readiness_is_found_out_once_for_all_who_ask(release, tmp_path, monkeypatch):
    with serving(release, tmp_path / "record.db", open_rate=1e6) as api:
        store, asked = api.app.state.service.store, []
        check = store.check_room

        async def counted():
            asked.append(1)
            await check()

        monkeypatch.setattr(store, "check_room", counted)
        answers = api.at_once(*[("GET", "/readyz", {})] * 40) + api.at_once(*[("GET", "/readyz", {})] * 40)
        assert {answer.status_code for answer in answers} == {200}
        assert len(asked) == 1


def test_health_is_limited_and_takes_nothing_from_those_with_work(release, tmp_path):
    with serving(release, tmp_path / "record.db", open_rate=5.0, slow_seconds=0.0) as api:
        answers = [api.get(path).status_code for path in ("/healthz", "/readyz", "/openapi.json") for _ in range(10)]
        assert set(answers) == {200, 429}
        assert api.learner("at work")


def test_a_service_that_is_told_to_stop_says_so_first(run, tmp_path):
    with attacked(run, tmp_path / "record.db", "--no-keys", "--drain-seconds", "2") as target:
        with httpx.Client(base_url=f"http://127.0.0.1:{target.port}", timeout=20) as client:
            assert client.get("/readyz").status_code == 200
            target.process.signal(signal.SIGTERM)
            while (told := client.get("/readyz")).status_code == 200:
                time.sleep(0.01)
            assert "about to stop" in told.text
            answer = client.post("/v1/learners", json={"name": "Ana"})
            assert (answer.status_code, answer.headers["connection"]) == (201, "close")
        assert target.process.ended() == -signal.SIGTERM
