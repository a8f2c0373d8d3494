"""The load: many connections, each with learners of its own, which ask for decisions and report outcomes.

It does not trust the service: it tracks the mastery of every learner from the answers to outcomes, and checks by the
curriculum whether every decision was ready.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mccpo.bench.serve.client import Connection, Reply

RIGHT = 0.7
"""The share of right answers."""
AT_ONCE = 500
"""Learners who are registered by one request."""


@dataclass
class Tally:
    """What a load has seen: how long each answer took, what failed, what was decided unready; and what it cost."""

    latencies: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    unready: list[str] = field(default_factory=list)
    seconds: float = 0.0
    client_seconds: float = 0.0

    def take(self, reply: Reply) -> dict[str, Any] | None:
        """The content of an answer that succeeded."""
        self.latencies.append(reply.seconds)
        if reply.status >= 300:
            self.errors.append(f"{reply.status} {reply.body.decode(errors='replace')[:200]}")
            return None
        content: dict[str, Any] = json.loads(reply.body)
        return content

    def add(self, other: Tally) -> None:
        self.latencies += other.latencies
        self.errors += other.errors
        self.unready += other.unready
        self.seconds += other.seconds
        self.client_seconds += other.client_seconds


class Pupils:
    """Learners as a client knows them: their ids, and their mastery by what it was answered."""

    def __init__(self, prerequisites: Mapping[str, Sequence[str]], theta: float, initial: Mapping[str, float]) -> None:
        self.prerequisites, self.theta, self.initial = prerequisites, theta, initial
        self.ids: list[str] = []
        self.mastery: dict[tuple[str, str], float] = {}

    def ready(self, learner: str, concept: str) -> bool:
        """Whether a learner masters every prerequisite."""
        return all(
            self.mastery.get((learner, name), self.initial[name]) >= self.theta for name in self.prerequisites[concept]
        )


async def enrol(port: int, learners: int, connections: int) -> tuple[Pupils, Tally]:
    """Registers learners, and reads what is needed to judge the decisions about them."""
    ids: list[str] = []

    async def register(connection: Connection, index: int, tally: Tally) -> None:
        for number in range(index, learners, connections):
            form = {"name": f"learner {number}", "labels": {"half": "even" if number % 2 == 0 else "odd"}}
            answer = tally.take(await connection.request("POST", "/v1/learners", json.dumps(form).encode()))
            if answer is not None:
                ids.append(answer["id"])

    tally = await drive(port, connections, register)
    if not ids:
        raise ConnectionError(f"no learner could be registered: {tally.errors[:1]}")
    return await prepared(port, ids), tally


async def enrol_many(port: int, learners: int) -> Pupils:
    """Registers learners in bulk, in forty classes."""
    ids: list[str] = []

    async def register(connection: Connection, index: int, tally: Tally) -> None:
        for first in range(index * AT_ONCE, learners, AT_ONCE * 4):
            numbers = range(first, min(first + AT_ONCE, learners))
            forms = [{"name": f"learner {number}", "labels": {"class": f"class {number % 40}"}} for number in numbers]
            body = json.dumps({"learners": forms}).encode()
            answer = tally.take(await connection.request("POST", "/v1/learners/bulk", body))
            ids.extend(one["learner"]["id"] for one in (answer or {"results": []})["results"])

    tally = await drive(port, 4, register)
    if tally.errors:
        raise ConnectionError(f"learners could not be registered: {tally.errors[0]}")
    return await prepared(port, ids)


async def prepared(port: int, ids: list[str]) -> Pupils:
    """Learners who are registered, with what is needed to judge the decisions about them."""
    async with Connection(port) as connection:
        curriculum = json.loads((await connection.request("GET", "/v1/curriculum")).body)
        state = json.loads((await connection.request("GET", f"/v1/learners/{ids[0]}/state")).body)
    prerequisites = {entry["concept"]: entry["prerequisites"] for entry in curriculum["concepts"]}
    pupils = Pupils(prerequisites, state["theta"], {entry["concept"]: entry["mastery"] for entry in state["concepts"]})
    pupils.ids = ids
    return pupils


async def teach(port: int, connections: int, pupils: Pupils, learners: Sequence[str], pairs: int, seed: int) -> Tally:
    """Asks for so many decisions about each learner, one after the other, and reports their outcomes."""

    async def taught(connection: Connection, index: int, tally: Tally) -> None:
        draw = random.Random(f"{seed} {index}")
        for learner in learners[index::connections]:
            for _ in range(pairs):
                decision = tally.take(await connection.request("POST", f"/v1/learners/{learner}/next"))
                if decision is None:
                    continue
                if not pupils.ready(learner, decision["concept"]):
                    tally.unready.append(decision["id"])
                body = b'{"correct":true}' if draw.random() < RIGHT else b'{"correct":false}'
                path = f"/v1/decisions/{decision['id']}/outcome"
                outcome = tally.take(await connection.request("POST", path, body))
                if outcome is not None:
                    pupils.mastery[learner, outcome["concept"]] = outcome["after"]

    return await drive(port, connections, taught)


async def insert(port: int, connections: int, path: str, requests: int) -> Tally:
    """Sends rows to a bare endpoint."""

    async def inserted(connection: Connection, index: int, tally: Tally) -> None:
        body = json.dumps({"learner": f"learner {index}", "correct": True}).encode()
        for _ in range(index, requests, connections):
            tally.take(await connection.request("POST", path, body))

    return await drive(port, connections, inserted)


async def drive(port: int, connections: int, work: Callable[[Connection, int, Tally], Awaitable[None]]) -> Tally:
    """Lets every connection do its work at the same time; what breaks a connection ends its work, and is an error."""
    tally = Tally()

    async def run_connection(index: int) -> None:
        try:
            async with Connection(port) as connection:
                await work(connection, index, tally)
        except OSError as error:
            tally.errors.append(f"{type(error).__name__}: {error}")

    began, busy = time.perf_counter(), time.process_time()
    await asyncio.gather(*(run_connection(index) for index in range(connections)))
    tally.seconds = time.perf_counter() - began
    tally.client_seconds = time.process_time() - busy
    return tally
