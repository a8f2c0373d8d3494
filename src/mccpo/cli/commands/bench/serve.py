"""`mccpo bench serve`: the decision service under load."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mccpo.cli.commands.serve import check_installed
from mccpo.cli.commands.small_policy import train_small
from mccpo.cli.console.output import emit, note
from mccpo.errors import GateFailed, InputError

PARTS = ("load", "disturbed", "processes", "restart")


def bench_serve(learners: int | None, parts: list[str], against: Path | None, *, as_json: bool) -> None:
    """Trains a small policy, serves it under load, and prints what was found; fails where a bar is missed."""
    check_installed()
    if unknown := [part for part in parts if part not in PARTS]:
        raise InputError(f"the serve bench has no part {unknown[0]!r}", fix=f"choose from {', '.join(PARTS)}")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder:
        note("training a small policy")
        run = train_small(Path(folder))
        for part in parts or ["load"]:
            found |= _measured(part, run, learners, against)
    emit(found, as_json=as_json, text=lambda: "\n".join(_all_lines(found)))
    missed = [f"{name}: {words}" for name, one in found.get("databases", {}).items() for words in one.get("missed", ())]
    missed += [*found.get("disturbed", {}).get("missed", []), *found.get("restart", {}).get("missed", [])]
    killed = found.get("processes")
    if killed is not None and (killed["kills"]["lost"] or killed["verified"]["wrong"]):
        missed.append(f"{killed['kills']['lost']} outcomes were lost; the record: {killed['verified']['wrong']}")
    if missed:
        raise GateFailed("; ".join(missed))


def _measured(part: str, run: Path, learners: int | None, against: Path | None) -> dict[str, Any]:
    from mccpo.bench.serve import (
        LEARNERS,
        measure,
        measure_disturbances,
        measure_large_record,
        measure_processes,
    )

    if part == "disturbed":
        return {"disturbed": measure_disturbances(run, note, **({} if learners is None else {"learners": learners}))}
    if part == "restart":
        return {"restart": measure_large_record(run, note, **({} if learners is None else {"learners": learners}))}
    if part == "processes":
        return {"processes": measure_processes(run, note)}
    more = {} if against is None else {"against": against}
    return measure(run, note, LEARNERS if learners is None else learners, **more)


def _all_lines(found: dict[str, Any]) -> Iterator[str]:
    if "databases" in found:
        yield from lines(found)
    if "disturbed" in found:
        one = found["disturbed"]
        yield f"disturbed, with {one['learners']:,} learners (medians over rounds; {one['megabytes']:.0f} MB):"
        for name, figures in one["figures"].items():
            told = f"p50 {figures['p50_ms']:.1f} ms, p99 {figures['p99_ms']:.1f}, slowest {figures['slowest_ms']:.0f}"
            yield f"  {name:<9}{figures['per_second']:>7,.0f} requests/s, {told}"
        yield (
            f"  p99 with open monitors {one['monitor_p99']:.2f} times that without; beside health checks "
            f"{one['readyz_throughput']:.2f} of the throughput"
        )
    if "restart" in found:
        yield from _restart(found["restart"])
    if "processes" in found:
        one = found["processes"]
        for count, speed in one["requests_per_second"].items():
            yield f"processes on PostgreSQL: {count}: {speed:,.0f} requests/s, {one['growth'][count]:.2f} times one's"
        kills, verified = one["kills"], one["verified"]
        holds = "everything on record holds" if verified["wrong"] is None else "THE RECORD DOES NOT HOLD"
        yield (
            f"{kills['kills']} SIGKILLs: {kills['acknowledged']:,} outcomes acknowledged, {kills['lost']} lost; "
            f"{verified['events']:,} events by {verified['releases']} release(s), {holds}"
        )


def _restart(found: dict[str, Any]) -> Iterator[str]:
    for name, one in found["databases"].items():
        if "missing" in one:
            yield f"{name} is not measured: {one['missing']}"
            continue
        yield f"{name}, with {found['learners']:,} learners and {one['events']:,} events ({one['megabytes']:.0f} MB):"
        for page, figures in one["pages"].items():
            yield (
                f"  {page:<30}p50 {figures['p50_ms']:>6.1f} ms, p99 {figures['p99_ms']:>6.1f} ms, "
                f"the first {figures['first_ms']:>6.1f} ms"
            )
        for kind, figures in one["exports"].items():
            yield (
                f"  all decisions as {kind:<13}{figures['seconds']:.1f} s, {figures['megabytes']:.0f} MB; p99 of the "
                f"page of learners meanwhile {figures['others_p99_ms']:.0f} ms"
            )
        for start, figures in one["starts"].items():
            yield (
                f"  {start:<30}ready in {figures['ready_seconds']:.1f} s, the monitor complete in "
                f"{figures['monitor_seconds']:.1f} s and {figures['cpu_seconds']:.1f} s of a processor; "
                f"{figures['megabytes']:.0f} MB"
            )


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
    if "before" in one:
        before, ratios = one["before"], one["to_before"]
        yield (
            f"{'':14}before: {before['per_second']:,.0f} requests/s, p99 {before['p99_ms']:.1f} ms; now "
            f"{ratios['throughput']:.2f} times as many, p99 {ratios['p99']:.2f} times as long, and "
            f"{ratios['work']:.2f} requests in the processor time of one"
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
