"""Serves an application on a socket; the service and what it is benchmarked against use the same."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import uvicorn
import uvloop

from mccpo.errors import InputError
from mccpo.serve.api.connections import DrainingServer, Limits, allow_connections, protocol_of


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; port 0 stands for any that is free."""
    if not 0 <= port <= 65_535:
        raise InputError(f"--port is {port}", fix="give one from 0 to 65535")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(f"cannot listen on {host}:{port}: {error}", fix="choose another --host or --port") from error
    # Connections inherit it. Without, the body of an answer waits for the client to acknowledge the head, some 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine to its end, as `asyncio.run` does, on a loop that takes less of the processor."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


async def run_app(
    app: Any,
    listener: socket.socket,
    *,
    limits: Limits | None = None,
    drain_seconds: float = 0.0,
    drain: Callable[[], None] = lambda: None,
) -> None:
    """Serves an application until the process is told to end; what is under way is answered first.

    SIGTERM calls `drain`, and is followed after so many seconds.
    """
    limits = limits or Limits()
    allow_connections(limits)
    config = uvicorn.Config(
        app,
        http=protocol_of(limits),
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(limits.idle_seconds),
        timeout_graceful_shutdown=10,
    )
    await DrainingServer(config, drain_seconds, drain).serve(sockets=[listener])
