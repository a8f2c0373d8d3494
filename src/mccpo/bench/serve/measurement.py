"""The measurement: the service and a bare endpoint take turns on the same machine, client and kind of database."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np

from mccpo.bench.serve.load import Pupils, Tally, enrol, insert, teach
from mccpo.bench.serve.servers import POSTGRES, Server, database_in, postgres, service_of, serving
from mccpo.errors import InputError
from mccpo.serve.record import Store, verify

LEARNERS = 10_000
PAIRS = 2
"""Decisions about each learner, each with its outcome."""
CONNECTIONS = 32
ROUNDS = 4
BARS = {"throughput": 0.5, "p99": 3.0, "start_seconds": 3.0, "megabytes": 300.0}
"""What must be reached: throughput and p99 in terms of the bare endpoint's, start-up, and memory with all learners."""
_BARE = {"bare": "/row", "grouped": "/grouped"}

Note = Callable[[str], None]


def measure(run: Path, note: Note, learners: int = LEARNERS, against: Path | None = None) -> dict[str, Any]:
    """Loads the service of a run's policy on SQLite and, where there is one, on PostgreSQL.

    `against` is another checkout of mccpo, whose service takes turns with this one.
    """
    if against is not None and not (against / "src/mccpo/cli/commands/serve.py").is_file():
        raise InputError(f"--against is {against}, which is no checkout of mccpo", fix="name one: git worktree add …")
    if learners < CONNECTIONS:
        raise InputError(f"--learners is {learners}", fix=f"give at least {CONNECTIONS}, one for each connection")
    result: dict[str, Any] = {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "learners": learners,
        "pairs": PAIRS,
        "connections": CONNECTIONS,
        "rounds": ROUNDS,
        "bars": BARS,
        "databases": {},
    }
    with tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder:
        urls = [f"sqlite:///{folder}/{name}.db" for name in ("served", "bare", "before")]
        result["databases"]["sqlite"] = _contest(run, urls, learners, lambda words: note(f"sqlite: {words}"), against)
    with ExitStack() as stack:
        server = stack.enter_context(postgres())
        if server is None:
            result["databases"]["postgresql"] = {"missing": f"no server can be started, and {POSTGRES} names none"}
        else:
            urls = [stack.enter_context(database_in(server)) for _ in range(3)]
            result["databases"]["postgresql"] = _contest(
                run, urls, learners, lambda words: note(f"postgresql: {words}"), against
            )
    return result


def _contest(run: Path, urls: list[str], learners: int, note: Note, against: Path | None = None) -> dict[str, Any]:
    """The service and the bare endpoints on databases of their own; then a restart, and a replay of the record."""
    tallies = {name: Tally() for name in ("served", *_BARE)}
    ratios: list[float] = []
    before = _Before(run, urls[2], against) if against is not None else None
    with _service(run, urls[0]) as service, _bare(urls[1]) as bare, before or nullcontext():
        pupils, enrolment = asyncio.run(enrol(service.port, learners, CONNECTIONS))
        note(f"registered {len(pupils.ids):,} learners in {enrolment.seconds:.1f} s")
        if before is not None:
            before.enrol(learners)
        began = service.cpu_seconds
        for turn in range(ROUNDS):
            if before is not None and turn % 2:
                before.teach(turn, note)
            rounds = _round(turn, service, bare, pupils)
            if before is not None and not turn % 2:
                before.teach(turn, note)
            for name, tally in rounds.items():
                tallies[name].add(tally)
            speeds = {name: len(tally.latencies) / tally.seconds for name, tally in rounds.items()}
            ratios.append(speeds["served"] / speeds["bare"])
            note(f"round {turn + 1}: " + ", ".join(f"{name} {speed:,.0f}/s" for name, speed in speeds.items()))
        megabytes, used = service.peak_bytes / 1e6, service.cpu_seconds - began
    with _service(run, urls[0]) as restarted:
        restart_seconds = restarted.start_seconds
    note("replaying the record")
    figures = {name: _figures(tally) for name, tally in tallies.items()}
    figures["served"]["cpu_ms"] = 1000 * used / figures["served"]["requests"]
    measured = {
        **figures,
        **({} if before is None else {"before": before.figures(), "to_before": before.ratios(figures["served"])}),
        **{f"to_{name}": _ratios(figures["served"], figures[name]) for name in _BARE},
        "round_ratios": ratios,
        "errors": (enrolment.errors + [error for tally in tallies.values() for error in tally.errors])[:20],
        "unready": tallies["served"].unready[:20],
        "start_seconds": service.start_seconds,
        "restart_seconds": restart_seconds,
        "megabytes": megabytes,
        "verified": asyncio.run(_replayed(urls[0])),
    }
    return {**measured, "missed": missed(measured)}


def missed(measured: dict[str, Any]) -> list[str]:
    """The bars that one database missed: in speed, in size or, most important, in being right."""
    ratios, verified = measured["to_bare"], measured["verified"]
    pairs = min(verified["decisions"], verified["outcomes"])
    start = max(measured["start_seconds"], measured["restart_seconds"])
    checks = {
        f"throughput is {ratios['throughput']:.2f} of the bare endpoint's": ratios["throughput"] >= BARS["throughput"],
        f"p99 is {ratios['p99']:.1f} times the bare endpoint's": ratios["p99"] <= BARS["p99"],
        f"start-up takes {start:.1f} s": start < BARS["start_seconds"],
        f"memory is {measured['megabytes']:.0f} MB": measured["megabytes"] < BARS["megabytes"],
        f"{len(measured['errors'])} errors": not measured["errors"],
        f"{len(measured['unready'])} decisions were not ready": not measured["unready"],
        f"the record does not hold: {verified['wrong']}": verified["wrong"] is None,
        f"only {pairs:,} pairs are on record": 2 * pairs == measured["served"]["requests"],
    }
    return [words for words, reached in checks.items() if not reached]


def _ratios(served: dict[str, float], bare: dict[str, float]) -> dict[str, float]:
    return {
        "throughput": served["per_second"] / bare["per_second"],
        "p50": served["p50_ms"] / bare["p50_ms"],
        "p99": served["p99_ms"] / bare["p99_ms"],
    }


def _round(turn: int, service: Server, bare: Server, pupils: Pupils) -> dict[str, Tally]:
    """A share of the learners, and as many requests to the bare endpoints; who goes first changes."""
    share = pupils.ids[turn::ROUNDS]
    requests = 2 * PAIRS * len(share)
    tallies: dict[str, Tally] = {}
    for name in ("served", *_BARE) if turn % 2 == 0 else (*reversed(_BARE), "served"):
        if name == "served":
            tallies[name] = asyncio.run(teach(service.port, CONNECTIONS, pupils, share, PAIRS, turn))
        else:
            tallies[name] = asyncio.run(insert(bare.port, CONNECTIONS, _BARE[name], requests))
    return tallies


class _Before:
    """The service of another checkout, on a database of its own. Used as `with _Before(…) as before`."""

    def __init__(self, run: Path, url: str, source: Path) -> None:
        self._starting = service_of(run, url, source=source)
        self._tally, self._used = Tally(), 0.0

    def __enter__(self) -> Self:
        self._server = self._starting.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._starting.__exit__(*error)

    def enrol(self, learners: int) -> None:
        self._pupils, _ = asyncio.run(enrol(self._server.port, learners, CONNECTIONS))

    def teach(self, turn: int, note: Note) -> None:
        began, share = self._server.cpu_seconds, self._pupils.ids[turn::ROUNDS]
        tally = asyncio.run(teach(self._server.port, CONNECTIONS, self._pupils, share, PAIRS, turn))
        self._tally.add(tally)
        self._used += self._server.cpu_seconds - began
        note(f"round {turn + 1}: before {len(tally.latencies) / tally.seconds:,.0f}/s")

    def figures(self) -> dict[str, float]:
        figures = _figures(self._tally)
        return {**figures, "cpu_ms": 1000 * self._used / figures["requests"]}

    def ratios(self, served: dict[str, float]) -> dict[str, float]:
        """What is served in terms of before; `work` is how many requests take the processor time of one of before."""
        figures = self.figures()
        return {**_ratios(served, figures), "work": figures["cpu_ms"] / served["cpu_ms"]}


def _service(run: Path, url: str) -> AbstractContextManager[Server]:
    return service_of(run, url)


def _bare(url: str) -> AbstractContextManager[Server]:
    return serving("-m", "mccpo.bench.serve.bare", url, ready="/healthz")


def _figures(tally: Tally) -> dict[str, float]:
    p50, p99 = np.percentile(tally.latencies, [50, 99]) * 1000 if tally.latencies else (np.nan, np.nan)
    return {
        "requests": len(tally.latencies),
        "per_second": len(tally.latencies) / tally.seconds,
        "p50_ms": float(p50),
        "p99_ms": float(p99),
        "client_share": tally.client_seconds / tally.seconds,
    }


async def _replayed(url: str) -> dict[str, Any]:
    store = Store(url)
    await store.open(create=False)
    began = time.perf_counter()
    try:
        verdict = await verify(store)
    finally:
        await store.close()
    return {
        "events": verdict.events,
        "decisions": verdict.decisions,
        "outcomes": verdict.outcomes,
        "seconds": time.perf_counter() - began,
        "wrong": verdict.wrong,
    }
