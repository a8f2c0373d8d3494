"""A record that has grown: how fast its lists are told, and how soon a service that starts on it is ready.

Each learner is registered, begins a session, and has one decision with its outcome: four events. The service is then
killed, so that its monitor has to read what came since it was last stored; started, stopped in order, and started
again.
"""

from __future__ import annotations

import asyncio
import json
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mccpo.bench.serve.client import Connection
from mccpo.bench.serve.load import Pupils, Tally, enrol_many, teach
from mccpo.bench.serve.servers import POSTGRES, Server, database_in, postgres, service_of
from mccpo.errors import InputError, MccpoError

LEARNERS = 100_000
CONNECTIONS = 32
ASKED = 100
"""Requests for each kind of page, one after the other."""
PAGE = 100
"""Learners, decisions or statements on a page of the API."""
BARS = {"page_p99_ms": 200.0, "first_ms": 10_000.0, "ready_seconds": 5.0, "monitor_seconds": 10.0}
"""What must hold for every list, for the first request for it, and after every start."""
_PATIENCE = 120.0

Note = Callable[[str], None]


class _Start(NamedTuple):
    """A start on the record: seconds to the first answer that it is ready and to a monitor that has all events.

    `cpu_seconds` is the processor time until then, which is the same on a machine that others use, too.
    """

    ready_seconds: float
    monitor_seconds: float
    cpu_seconds: float
    megabytes: float


def measure_large_record(run: Path, note: Note, learners: int = LEARNERS) -> dict[str, Any]:
    """Fills a record on SQLite and, where there is one, on PostgreSQL; then asks for its lists, and starts on it."""
    if learners < CONNECTIONS:
        raise InputError(f"--learners is {learners}", fix=f"give at least {CONNECTIONS}, one for each connection")
    found: dict[str, Any] = {"learners": learners, "bars": BARS, "databases": {}}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mccpo-bench-")))
        found["databases"]["sqlite"] = _measured(run, f"sqlite:///{folder}/record.db", folder, learners, note)
        server = stack.enter_context(postgres())
        if server is None:
            missing = f"no server can be started, and {POSTGRES} names none"
            found["databases"]["postgresql"] = {"missing": missing}
        else:
            url = stack.enter_context(database_in(server))
            found["databases"]["postgresql"] = _measured(run, url, folder, learners, note)
    return {**found, "missed": list(missed_bars(found))}


def missed_bars(found: dict[str, Any]) -> Iterator[str]:
    """The bars that were missed, in words."""
    for name, one in found["databases"].items():
        for page, figures in one.get("pages", {}).items():
            if figures["p99_ms"] > BARS["page_p99_ms"]:
                yield f"{name}: p99 of {page} is {figures['p99_ms']:.0f} ms"
            if figures["first_ms"] > BARS["first_ms"]:
                yield f"{name}: the first request for {page} takes {figures['first_ms']:.0f} ms"
        for start, figures in one.get("starts", {}).items():
            if figures["ready_seconds"] > BARS["ready_seconds"]:
                yield f"{name}: {start}, ready after {figures['ready_seconds']:.1f} s"
            if figures["monitor_seconds"] > BARS["monitor_seconds"]:
                yield f"{name}: {start}, the monitor is complete after {figures['monitor_seconds']:.1f} s"


def _measured(run: Path, url: str, folder: Path, learners: int, note: Note) -> dict[str, Any]:
    database = url.partition(":")[0]
    keyring = ("--keyring", str(folder / f"{database}.keyring"))
    with service_of(run, url, *keyring) as service:
        asyncio.run(_fill(service, learners))
        events = asyncio.run(_get(service.port, "/v1/anchor"))["number"]
        note(f"{database}: {events:,} events; {service.peak_bytes / 1e6:.0f} MB")
        pages = asyncio.run(_pages(service.port, learners // 2))
        note(f"{database}: lists told; {service.peak_bytes / 1e6:.0f} MB")
        exports = asyncio.run(_exports(service.port))
        note(f"{database}: exports told; {service.peak_bytes / 1e6:.0f} MB")
        megabytes = service.peak_bytes / 1e6
        service.process.send_signal(signal.SIGKILL)
        service.process.wait(_PATIENCE)
    starts = {}
    for name in ("after a SIGKILL", "after an orderly stop"):
        with service_of(run, url, *keyring) as service:
            complete = asyncio.run(_complete(service))
            used, megabytes = service.cpu_seconds, service.peak_bytes / 1e6
            starts[name] = _Start(service.start_seconds, complete, used, megabytes)._asdict()
        note(f"{database}: {name}, ready in {service.start_seconds:.1f} s, the monitor complete in {complete:.1f} s")
    return {"events": events, "megabytes": megabytes, "pages": pages, "exports": exports, "starts": starts}


async def _fill(service: Server, learners: int) -> Pupils:
    pupils = await enrol_many(service.port, learners)
    tally = await teach(service.port, CONNECTIONS, pupils, pupils.ids, 1, 0)
    if tally.errors or tally.unready:
        raise MccpoError(f"errors {tally.errors[:1]}, not ready {tally.unready[:1]}")
    return pupils


async def _complete(service: Server) -> float:
    """Seconds from the start of a service until its monitor has every event."""
    ready = time.perf_counter()
    while time.perf_counter() - ready < _PATIENCE:
        if (await _get(service.port, "/v1/monitor"))["complete"]:
            return service.start_seconds + time.perf_counter() - ready
        await asyncio.sleep(0.05)
    raise MccpoError(f"the monitor was not complete after {_PATIENCE:.0f} s")


async def _pages(port: int, half: int) -> dict[str, dict[str, float]]:
    """How long pages of each list take: the first ones, those far into the list, and those of a name or a class."""
    middle = await _middle(port)
    paths = {
        "learners, with all classes": "/pages/learners",
        "learners by a part of a name": f"/pages/learners?name=learner%20{half}",
        "learners by what many have": "/pages/learners?name=LEARNER%20",
        "those of a class by a part": f"/pages/learners?class=class%207&name={half}",
        "learners of a class": "/pages/learners?class=class%207",
        "learners far down": f"/pages/learners?skip={half}",
        "the API's learners": f"/v1/learners?limit={PAGE}&after={middle['learner']}",
        "a learner by name": f"/v1/learners?name=learner%20{half}",
        "the page of decisions": "/pages/decisions",
        "the API's decisions": f"/v1/decisions?limit={PAGE}&after={middle['number']}",
        "xAPI statements": f"/v1/xapi/statements?limit={PAGE}&after={middle['number']}",
        "xAPI statements of a learner": f"/v1/xapi/statements?limit={PAGE}&learner={middle['learner']}",
        "deferred decisions": "/v1/decisions/deferred",
        "the monitor": "/v1/monitor",
    }
    return {name: await _timed(port, path) for name, path in paths.items()}


async def _middle(port: int) -> dict[str, Any]:
    """A decision in the middle of the record."""
    last = (await _get(port, "/v1/anchor"))["number"]
    decision: dict[str, Any] = (await _get(port, f"/v1/decisions?limit=1&after={last // 2}"))["decisions"][0]
    return decision


async def _timed(port: int, path: str) -> dict[str, float]:
    tally = Tally()
    async with Connection(port) as connection:
        for _ in range(ASKED):
            reply = await connection.request("GET", path)
            if reply.status >= 300:
                raise MccpoError(f"GET {path}: {reply.status} {reply.body[:200]!r}")
            tally.latencies.append(reply.seconds)
    first, *others = tally.latencies  # the first search of names reads all of them
    p50, p99 = np.percentile(others, [50, 99]) * 1000
    return {"first_ms": first * 1000, "p50_ms": float(p50), "p99_ms": float(p99)}


async def _exports(port: int) -> dict[str, dict[str, float]]:
    """How long whole exports take, and how long others then wait for a list."""
    return {name: await _exported(port, f"/v1/decisions/export?format={name}") for name in ("ndjson", "csv")}


async def _exported(port: int, path: str) -> dict[str, float]:
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
    waits: list[float] = []
    over = asyncio.Event()

    async def look() -> None:
        async with Connection(port) as connection:
            while not over.is_set():
                waits.append((await connection.request("GET", "/pages/learners")).seconds)
                await asyncio.sleep(0.05)

    looking = asyncio.create_task(look())
    size = 0
    while chunk := await reader.read(1 << 16):
        size += len(chunk)
    seconds = time.perf_counter() - began
    over.set()
    await looking
    writer.close()
    return {"seconds": seconds, "megabytes": size / 1e6, "others_p99_ms": float(np.percentile(waits, 99) * 1000)}


async def _get(port: int, path: str) -> dict[str, Any]:
    async with Connection(port) as connection:
        reply = await connection.request("GET", path)
    if reply.status >= 300:
        raise MccpoError(f"GET {path}: {reply.status} {reply.body[:200]!r}")
    content: dict[str, Any] = json.loads(reply.body)
    return content
