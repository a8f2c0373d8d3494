"""An HTTP client that costs little: one request at a time on a connection that stays open.

Client and server share the machine. A client that did more than it must would be measured in the server's place.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple, Self

HOST = "127.0.0.1"
PATIENCE = 60.0
"""Seconds after which a connection whose request has had no answer is given up."""
_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class Reply(NamedTuple):
    """An answer; `seconds` is the time from the last byte of the request to the last one of the answer."""

    status: int
    body: bytes
    seconds: float


class Connection(asyncio.Protocol):
    """One connection to a server of this machine. Used as `async with Connection(port) as connection`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Reply] | None = None
        self._began = 0.0
        self._read = bytearray()
        self._body = self._whole = 0

    async def __aenter__(self) -> Self:
        self._transport, _ = await self._loop.create_connection(lambda: self, HOST, self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._transport is not None:
            self._transport.close()

    async def request(self, method: str, path: str, body: bytes = b"") -> Reply:
        """Sends a request, and waits for the answer; `ConnectionError` where there is none."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        head = f"{method} {path} HTTP/1.1\r\nhost: {HOST}\r\n"
        if body:
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self._answer = self._loop.create_future()
        timer = self._loop.call_later(PATIENCE, self._transport.abort)
        self._transport.write(head.encode() + b"\r\n" + body)
        self._began = self._loop.time()
        try:
            return await self._answer
        finally:
            timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Takes what has come; an answer is whole once it is as long as its head says."""
        self._read += data
        if not self._whole:
            end = self._read.find(_END)
            if end < 0:
                return
            self._body = end + len(_END)
            self._whole = self._body + _length(self._read[:end].lower())
        if len(self._read) < self._whole:
            return
        reply = Reply(
            int(self._read[9:12]), bytes(self._read[self._body : self._whole]), self._loop.time() - self._began
        )
        del self._read[: self._whole]
        self._whole = 0
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(reply)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError(str(error or "the server closed the connection")))


def _length(head: bytes | bytearray) -> int:
    at = head.find(_LENGTH)
    return 0 if at < 0 else int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0])
