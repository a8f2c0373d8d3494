"""Whether decisions go on while others ask for more than their share: open monitors, health checks, idlers."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from mccpo.bench.serve.client import HOST, Connection
from mccpo.bench.serve.load import Tally, enrol_many, teach
from mccpo.bench.serve.servers import Server, service_of
from mccpo.errors import InputError

LEARNERS = 100_000
CONNECTIONS = 16
ROUNDS = 9
SHARE = 100
"""Learners who are taught in one round, by one decision each."""
PAGES, CHECKERS, IDLERS = 3, 20, 1000
LEAST = ROUNDS * SHARE * 4
BARS = {"monitor_p99": 1.5, "readyz_throughput": 0.9, "idle_slowest_seconds": 1.0}
"""What must hold: p99 and throughput in terms of the undisturbed, and the slowest answer beside idlers.

Each is the median over rounds, in which all take turns: other work of the machine disturbs some of them.
"""

Note = Callable[[str], None]


def measure_disturbances(run: Path, note: Note, learners: int = LEARNERS) -> dict[str, Any]:
    """Teaches in turns alone and beside each disturbance, on SQLite with so many learners registered."""
    if learners < LEAST:
        raise InputError(f"--learners is {learners}", fix=f"give at least {LEAST}, so that each round has its own")
    with (
        tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder,
        service_of(run, f"sqlite:///{folder}/record.db") as server,
    ):
        return asyncio.run(_measured(server, note, learners))


async def _measured(server: Server, note: Note, learners: int) -> dict[str, Any]:
    pupils = await enrol_many(server.port, learners)
    note(f"registered {len(pupils.ids):,} learners; {server.peak_bytes / 1e6:.0f} MB")
    ways: dict[str, Callable[[int], AbstractAsyncContextManager[None]]] = {
        "alone": _nothing, "monitor": _open_monitors, "readyz": _health_checks, "idle": _idlers,
    }  # fmt: skip
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    errors: list[str] = []
    for turn in range(ROUNDS):
        order = list(ways) if turn % 2 == 0 else list(reversed(ways))
        for place, name in enumerate(order):
            first = (turn * len(ways) + place) * SHARE
            async with ways[name](server.port):
                tally = await teach(server.port, CONNECTIONS, pupils, pupils.ids[first : first + SHARE], 1, turn)
            rounds[name].append(_figures(tally))
            errors += tally.errors
        note(f"round {turn + 1}: " + ", ".join(f"{name} {rounds[name][-1]['per_second']:,.0f}/s" for name in ways))
    result = {
        "learners": learners,
        "figures": {name: {key: _median(of, key) for key in of[0]} for name, of in rounds.items()},
        "monitor_p99": _median_ratio(rounds, "monitor", "p99_ms"),
        "readyz_throughput": _median_ratio(rounds, "readyz", "per_second"),
        "idle_slowest_seconds": _median(rounds["idle"], "slowest_ms") / 1000,
        "errors": errors[:20],
        "megabytes": server.peak_bytes / 1e6,
        "bars": BARS,
    }
    return {**result, "missed": missed_bars(result)}


def missed_bars(result: dict[str, Any]) -> list[str]:
    """The bars that were missed, in words."""
    checks = {
        f"with open monitors p99 is {result['monitor_p99']:.2f} times that without": (
            result["monitor_p99"] <= BARS["monitor_p99"]
        ),
        f"beside health checks there are {result['readyz_throughput']:.2f} of the decisions": (
            result["readyz_throughput"] >= BARS["readyz_throughput"]
        ),
        f"beside idlers an answer took {result['idle_slowest_seconds']:.2f} s": (
            result["idle_slowest_seconds"] <= BARS["idle_slowest_seconds"]
        ),
        f"{len(result['errors'])} errors": not result["errors"],
    }
    return [words for words, reached in checks.items() if not reached]


def _median(rounds: list[dict[str, float]], key: str) -> float:
    return float(np.median([figures[key] for figures in rounds]))


def _median_ratio(rounds: dict[str, list[dict[str, float]]], name: str, key: str) -> float:
    """The median over rounds of a figure in terms of that of the undisturbed turn of the same round."""
    pairs = zip(rounds[name], rounds["alone"], strict=True)
    return float(np.median([figures[key] / alone[key] for figures, alone in pairs]))


def _figures(tally: Tally) -> dict[str, float]:
    p50, p99, slowest = np.percentile(tally.latencies, [50, 99, 100]) * 1000
    speed = len(tally.latencies) / tally.seconds
    return {"per_second": speed, "p50_ms": float(p50), "p99_ms": float(p99), "slowest_ms": float(slowest)}


@asynccontextmanager
async def _nothing(_: int) -> AsyncIterator[None]:
    yield


@asynccontextmanager
async def _open_monitors(port: int) -> AsyncIterator[None]:
    """Pages of the monitor that renew their numbers and curves every second, five times as often as a browser does."""
    async with _tasks([_ask_again(port, "/pages/monitor/numbers", 1.0) for _ in range(PAGES)]):
        yield


@asynccontextmanager
async def _health_checks(port: int) -> AsyncIterator[None]:
    async with _tasks([_ask_again(port, "/readyz", 0.0) for _ in range(CHECKERS)]):
        yield


@asynccontextmanager
async def _idlers(port: int) -> AsyncIterator[None]:
    """Connections that begin a request and never end it."""
    opened = []
    for _ in range(IDLERS):
        _, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"POST /v1/learners HTTP/1.1\r\nHost: loc")
        opened.append(writer)
    try:
        yield
    finally:
        for writer in opened:
            writer.close()


@asynccontextmanager
async def _tasks(works: list[Any]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(work) for work in works]
    await asyncio.sleep(0.2)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ask_again(port: int, path: str, pause: float) -> None:
    """Asks for a path again and again, on a new connection whenever the last one ends."""
    while True:
        with suppress(OSError):
            async with Connection(port) as connection:
                while True:
                    await connection.request("GET", path)
                    await asyncio.sleep(pause)
        await asyncio.sleep(0.05)
