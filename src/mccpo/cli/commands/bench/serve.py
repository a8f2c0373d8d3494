"""`mccpo bench serve`: the decision service under load."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mccpo.cli.commands.serve import check_installed
from mccpo.cli.commands.small_policy import train_small
from mccpo.cli.console.output import emit, note
from mccpo.errors import GateFailed


def bench_serve(learners: int | None, *, as_json: bool) -> None:
    """Trains a small policy, serves it under load, and prints what was found; fails where a bar is missed."""
    check_installed()
    from mccpo.bench.serve import LEARNERS, measure

    with tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder:
        note("training a small policy")
        found = measure(train_small(Path(folder)), note, LEARNERS if learners is None else learners)
    emit(found, as_json=as_json, text=lambda: "\n".join(lines(found)))
    missed = [f"{name}: {words}" for name, one in found["databases"].items() for words in one.get("missed", ())]
    if missed:
        raise GateFailed("; ".join(missed))


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The figures as text."""
    yield (
        f"decisions and outcomes of {found['learners']:,} learners, {found['pairs']} pairs each, on {found['cores']} "
        f"cores over {found['connections']} connections; bare: one row and one commit a request; grouped: rows that "
        "wait share a commit"
    )
    yield f"  {'database':<12}{'':<9}{'requests/s':>11}{'ratio':>7}{'p50 ms':>8}{'p99 ms':>8}{'ratio':>7}{'client':>8}"
    for name, one in found["databases"].items():
        if "missing" in one:
            yield f"  {name:<12}is not measured: {one['missing']}"
        else:
            yield from _database(name, one)


def _database(name: str, one: dict[str, Any]) -> Iterator[str]:
    for way in ("served", "bare", "grouped"):
        figures, ratios = one[way], one.get(f"to_{way}")
        speed, slow = ("", "") if ratios is None else (f"{ratios['throughput']:.2f}", f"{ratios['p99']:.2f}")
        yield (
            f"  {name if way == 'served' else '':<12}{way:<9}{figures['per_second']:>11,.0f}{speed:>7}"
            f"{figures['p50_ms']:>8.1f}{figures['p99_ms']:>8.1f}{slow:>7}{figures['client_share']:>8.0%}"
        )
    verified = one["verified"]
    yield (
        f"{'':14}started in {one['start_seconds']:.1f} s, again with the record in {one['restart_seconds']:.1f} s; "
        f"{one['megabytes']:.0f} MB at most; {len(one['errors'])} errors, {len(one['unready'])} unready decisions"
    )
    holds = "everything on record holds" if verified["wrong"] is None else "THE RECORD DOES NOT HOLD"
    yield f"{'':14}{holds}: {verified['events']:,} events replayed in {verified['seconds']:.1f} s"
    for words in one["missed"]:
        yield f"{'':14}MISSED: {words}"
