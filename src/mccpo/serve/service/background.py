"""Work that goes on beside the service and ends because it is told to.

A cancellation alone is not enough: libraries may swallow one (`asyncio.wait_for` of Python 3.11 does), and whoever then
waits for the task waits for ever. So the work is handed an event that says when to stop, looks at it in every turn, and
the cancellation only interrupts what it happens to wait for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def background(*works: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Runs each `work(stop)` beside the block; when the block ends, tells them to stop and waits until they have."""
    stop = asyncio.Event()
    tasks = [asyncio.create_task(work(stop)) for work in works]
    try:
        yield
    finally:
        stop.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def pause(event: asyncio.Event, seconds: float) -> None:
    """Waits until the event is set, for so many seconds at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
