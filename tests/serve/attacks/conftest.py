"""Services to attack, each in a process of its own, and raw requests to them."""

import re
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.forked import forked

from mccpo.env import make


class Target(NamedTuple):
    """A service that listens on a port of this machine; its process, and the file of its record."""

    port: int
    process: object
    record: Path

    def send(self, request: str | bytes, seconds: float = 20.0) -> bytes:
        """All that is answered to raw bytes, until the service closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(request.encode() if isinstance(request, str) else request)
            answer = b""
            while part := connection.recv(65_536):
                answer += part
        return answer

    def ask(self, path: str, *headers: str, method: str = "GET", version: str = "1.1", body: str = "") -> int:
        """The status of the answer to a request with exactly these headers."""
        lines = [f"{method} {path} HTTP/{version}", *headers, "Connection: close"]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return int(self.send("\r\n".join([*lines, "", body])).split()[1])


@contextmanager
def attacked(run, record, *tokens, **how):
    with forked("serve", run, "--database", record, "--port", "0", *tokens, **how) as process:
        line = process.out.readline()
        assert line, process.told()
        yield Target(int(re.search(r":(\d+);", line)[1]), process, record)


@pytest.fixture(scope="session")
def run(run_of):
    return run_of(make("tutor-15", concepts=6, horizon=20))


@pytest.fixture(autouse=True)
def _no_settings_of_the_users(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
