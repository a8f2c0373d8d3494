"""Background work that ends because it is told to.

A cancellation alone is not enough: libraries may swallow one (`asyncio.wait_for` of Python 3.11 does), and then waiting
for the task never ends. So the work gets an event that tells it to stop, which it checks in every turn. The
cancellation only interrupts what it happens to wait for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def background(*works: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Runs every `work(stop)` beside the block; at its end tells them to stop, and waits until they have."""
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
    """Waits until the event is set, but at most so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
