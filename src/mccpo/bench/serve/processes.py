"""Several processes of the service on one PostgreSQL: how many decisions they take together, and what SIGKILLs cost.

After the load, processes are killed one after the other while others go on. Then the record is replayed: everything
that was acknowledged must be there, once, by one release.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np

from mccpo.bench.serve.client import Connection
from mccpo.bench.serve.load import Pupils, Tally, enrol, teach
from mccpo.bench.serve.servers import POSTGRES, Server, database_in, postgres, service_of
from mccpo.errors import MccpoError
from mccpo.serve.record import Store, verify

COUNTS = (1, 2, 4)
CONNECTIONS = 32
ROUNDS = 3
SHARE = 320
"""Learners who are taught in one round, by one decision each."""
KILLS = 20

Note = Callable[[str], None]


def measure_processes(run: Path, note: Note, counts: Sequence[int] = COUNTS, kills: int = KILLS) -> dict[str, Any]:
    """Decisions a second by 1, 2, … processes, in turns; then SIGKILLs over the most of them, and a replay."""
    with ExitStack() as stack:
        server = stack.enter_context(postgres())
        if server is None:
            raise MccpoError(f"no PostgreSQL can be started, and {POSTGRES} names none")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mccpo-bench-")))
        url = stack.enter_context(database_in(server))
        keyring = ("--keyring", str(folder / "keyring"))
        with ExitStack() as running:
            services = [running.enter_context(service_of(run, url, *keyring)) for _ in range(max(counts))]
            pupils, _ = asyncio.run(enrol(services[0].port, len(counts) * ROUNDS * SHARE, CONNECTIONS))
            note(f"{len(services)} processes; registered {len(pupils.ids):,} learners")
            speeds = _speeds(services, pupils, counts, note)
        killed = _kill(run, url, keyring, pupils, kills, note)
        verdict = asyncio.run(_replayed(url))
    medians = {count: float(np.median(of)) for count, of in speeds.items()}
    growth = {count: medians[count] / medians[counts[0]] for count in counts}
    return {"requests_per_second": medians, "growth": growth, "kills": killed, "verified": verdict}


def _speeds(services: Sequence[Server], pupils: Pupils, counts: Sequence[int], note: Note) -> dict[int, list[float]]:
    speeds: dict[int, list[float]] = {count: [] for count in counts}
    for turn in range(ROUNDS):
        for place, count in enumerate(counts if turn % 2 == 0 else tuple(reversed(counts))):
            first = (turn * len(counts) + place) * SHARE
            tally = asyncio.run(_teach_by(services[:count], pupils, pupils.ids[first : first + SHARE], turn))
            speeds[count].append(len(tally.latencies) / tally.seconds)
        told = ", ".join(f"{count}: {speeds[count][-1]:,.0f}/s" for count in counts)
        note(f"round {turn + 1}, requests by processes: {told}")
    return speeds


async def _teach_by(services: Sequence[Server], pupils: Pupils, learners: Sequence[str], turn: int) -> Tally:
    """Teaches by several processes at once, each with its share of the connections."""
    each = CONNECTIONS // len(services)
    began = time.perf_counter()
    tallies = await asyncio.gather(
        *(
            teach(service.port, each, pupils, learners[index :: len(services)], 1, turn)
            for index, service in enumerate(services)
        )
    )
    whole = Tally()
    for tally in tallies:
        whole.add(tally)
    whole.seconds = time.perf_counter() - began
    if whole.errors or whole.unready:
        raise MccpoError(f"errors {whole.errors[:1]}, not ready {whole.unready[:1]}")
    return whole


def _kill(run: Path, url: str, keyring: tuple[str, str], pupils: Pupils, kills: int, note: Note) -> dict[str, Any]:
    """Kills a process again and again in the middle of its work, while another goes on; counts what was told."""
    draw, acknowledged = random.Random(0), []
    with service_of(run, url, *keyring) as other:
        for turn in range(kills):
            with service_of(run, url, *keyring) as victim:
                acknowledged += asyncio.run(_under_fire(victim, other, pupils, draw))
            note(f"kill {turn + 1}: {len(acknowledged):,} outcomes acknowledged in all")
        lost = asyncio.run(_lost(other.port, acknowledged))
    return {"kills": kills, "acknowledged": len(acknowledged), "lost": lost}


async def _under_fire(victim: Server, other: Server, pupils: Pupils, draw: random.Random) -> list[str]:
    """The decisions whose outcomes were acknowledged by either process until the victim was killed, and a while on."""
    done: list[str] = []
    over = asyncio.Event()

    async def teach_on(port: int, learners: list[str]) -> None:
        with suppress(OSError):
            async with Connection(port) as connection:
                for learner in learners:
                    decision = Tally().take(await connection.request("POST", f"/v1/learners/{learner}/next"))
                    if decision is not None:
                        path = f"/v1/decisions/{decision['id']}/outcome"
                        answer = await connection.request("POST", path, b'{"correct":true}')
                        if answer.status == HTTPStatus.OK:
                            done.append(decision["id"])
                    if over.is_set():
                        return

    learners = [draw.sample(pupils.ids, 200) for _ in range(16)]
    works = [
        asyncio.create_task(teach_on((victim, other)[index % 2].port, each)) for index, each in enumerate(learners)
    ]
    await asyncio.sleep(draw.uniform(0.2, 0.8))
    victim.process.send_signal(signal.SIGKILL)
    await asyncio.sleep(0.2)
    over.set()
    await asyncio.gather(*works)
    return done


async def _lost(port: int, acknowledged: Sequence[str]) -> int:
    """How many acknowledged outcomes the service does not know."""
    missing = 0
    async with Connection(port) as connection:
        for decision in acknowledged:
            answer = await connection.request("GET", f"/v1/decisions/{decision}")
            missing += answer.status != HTTPStatus.OK or json.loads(answer.body)["outcome"] is None
    return missing


async def _replayed(url: str) -> dict[str, Any]:
    store = Store(url)
    await store.open(create=False)
    try:
        verdict = await verify(store)
    finally:
        await store.close()
    return {
        "events": verdict.events,
        "decisions": verdict.decisions,
        "outcomes": verdict.outcomes,
        "releases": len(verdict.releases),
        "wrong": verdict.wrong,
    }
