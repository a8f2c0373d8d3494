"""Serves an application on a socket; the service and what it is benchmarked against use the same."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn

from mccpo.errors import InputError


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


async def run_app(app: Any, listener: socket.socket) -> None:
    """Serves an application until the process is told to end; what is under way is answered first."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=10
    )
    await uvicorn.Server(config).serve(sockets=[listener])
