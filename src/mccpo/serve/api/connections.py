"""Connections with limits: on headers, on the time that a request may take to arrive, and on how many there are.

uvicorn waits for ever for a request that has begun, or that never does. A thousand of these would take all the files
that a process may open, and nobody else would be answered.
"""

from __future__ import annotations

import asyncio
import resource
import time
from signal import SIGTERM
from typing import Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Limits(NamedTuple):
    """What a connection may take.

    - `connections`: how many there may be; where one more comes, the one that has waited longest for its request goes.
    - `header_bytes`: the most bytes of a request's line and headers.
    - `request_bytes`: the most bytes of a request in all, however it is cut into chunks and what comes after them.
    - `request_seconds`: the longest that a request may take to arrive, its body too.
    - `idle_seconds`: the longest that a connection may stay between two requests.
    - `unread_seconds`: the longest that an answer may wait to be read.
    """

    connections: int = 4096
    header_bytes: int = 16 * 1024
    request_bytes: int = 1024 * 1024
    request_seconds: float = 10.0
    idle_seconds: float = 5.0
    unread_seconds: float = 30.0


class LimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 by httptools, whose requests must arrive in time and be of bounded size. `sweep` ends what does not."""

    limits = Limits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._awaited = time.monotonic()
        self._unread: float | None = None
        self._arriving = self._in_head = True
        self._received = 0
        if len(self.connections) > self.limits.connections:
            _make_room(self.connections)

    @property
    def awaited(self) -> float | None:
        """Since when the rest of a request is awaited; None while none is."""
        return self._awaited if self._arriving else None

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        most = self.limits.header_bytes if self._in_head else self.limits.request_bytes
        if self._arriving and self._received > most and not self.transport.is_closing():
            self.send_400_response("The request is too large.")

    def on_message_begin(self) -> None:
        self._arriving = self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._arriving, self._in_head, self._received = False, True, 0
        super().on_message_complete()

    def overdue(self, now: float) -> bool:
        """Whether a request, or the reading of its answer, takes longer than it may."""
        late = self.awaited is not None and now - self.awaited > self.limits.request_seconds
        return late or (self._unread is not None and now - self._unread > self.limits.unread_seconds)

    def on_response_complete(self) -> None:
        self._awaited = time.monotonic()
        self._arriving = not self.pipeline  # a request that was sent ahead is there already
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._unread = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread = None
        super().resume_writing()


def _make_room(connections: set[Any]) -> None:
    waiting = [each for each in connections if each.awaited is not None]
    if waiting:
        min(waiting, key=lambda each: each.awaited).transport.abort()


def sweep(connections: set[Any]) -> None:
    """Ends the connections that are overdue."""
    now = time.monotonic()
    for connection in [each for each in connections if each.overdue(now)]:
        connection.transport.abort()


def allow_connections(limits: Limits) -> None:
    """Lets the process open as many files as connections may need, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def protocol_of(limits: Limits) -> type[LimitedProtocol]:
    """The protocol with these limits; there are fewer connections where the process may not open as many files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = limits.connections if soft == resource.RLIM_INFINITY else min(limits.connections, max(16, soft - 128))
    return type("Protocol", (LimitedProtocol,), {"limits": limits._replace(connections=most)})


class DrainingServer(uvicorn.Server):
    """A server that sweeps its connections, and on SIGTERM goes on for a while before it stops.

    Meanwhile it says that it is not ready, so that a load balancer sends no more; `drain` is told when that begins. A
    second signal ends it at once.
    """

    def __init__(self, config: uvicorn.Config, seconds: float, drain: Any) -> None:
        super().__init__(config)
        self._seconds, self._drain, self._until = seconds, drain, None if seconds > 0 else 0.0

    def handle_exit(self, sig: int, frame: Any) -> None:
        super().handle_exit(sig, frame)
        if sig == SIGTERM and self._until is None:
            self.should_exit, self._until = False, time.monotonic() + self._seconds
            self._drain()

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            sweep(self.server_state.connections)
        if self._until and time.monotonic() >= self._until:
            return True
        return await super().on_tick(counter)
