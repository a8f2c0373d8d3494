"""`mccpo bench`: the speed figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from mccpo.cli import cache
from mccpo.cli.output import JsonFlag, emit, note
from mccpo.cli.progress import progress
from mccpo.errors import InputError

PartsFlag = Annotated[
    str | None,
    Parameter(
        help="Parts of the neural bench joined by commas, all by default: speed, best, roofline, start, memory, growth."
    ),
]


def bench(what: Literal["tabular", "neural"], /, *, parts: PartsFlag = None, json: JsonFlag = False) -> None:
    """Measure the speed, side by side with another implementation in one run.

    Parameters
    ----------
    what
        tabular: the gate's and the chain's table in full (ten seeds, five methods, all episodes), beside a NumPy loop.
        neural: training on tutor-15, beside MaskablePPO in an environment that is created in the cache folder.
    """
    from mccpo.experiments import Session, bench_neural, bench_tabular

    if what == "tabular" and parts is not None:
        raise InputError("the tabular bench has no parts", fix="leave out --parts")
    names = [name.strip() for name in (parts or "").split(",") if name.strip()]
    with progress() as show:
        session = Session(progress=show)
        if what == "tabular":
            found = bench_tabular.measure(session)
        else:
            found = bench_neural.measure(names, bench_neural.Bench(session, cache.folder(), note))
    emit(found, as_json=json, text=lambda: _tabular(found) if what == "tabular" else "\n".join(_neural(found)))


def _tabular(found: dict[str, Any]) -> str:
    lines = [f"{'table':<8}{'seconds':>10}{'of it compiling':>18}{'episodes/s':>14}{'NumPy episodes/s':>19}"]
    lines += [
        f"{name:<8}{table['seconds']:>10.1f}{table['compile_seconds']:>18.1f}{table['episodes_per_second']:>14,.0f}"
        f"{table['plain_episodes_per_second']:>19,.0f}"
        for name, table in found["tables"].items()
    ]
    lines.append(
        f"both tables in {found['seconds']:.1f} s on {found['cores']} cores; a plain NumPy loop on one core would take "
        f"{found['plain_seconds']:.0f} s: {found['ratio']:.1f} times, {found['ratio_per_core']:.1f} times per core"
    )
    return "\n".join(lines)


def _neural(found: dict[str, Any]) -> Iterator[str]:
    yield f"tutor-15 on {found['cores']} cores ({found['device']}), {found['seeds']} seeds, steps/s of all together"
    for name in ("speed", "best"):
        if name in found:
            yield from _contest(name, found[name])
    if "roofline" in found:
        line = found["roofline"]
        yield (
            f"roofline: {line['flops_per_step']:,} FLOP a step × {line['steps_per_second']:,.0f} steps/s = "
            f"{line['flops_per_second'] / 1e9:.1f} GFLOP/s, {line['share']:.0%} of the "
            f"{line['products_flops_per_second'] / 1e9:.1f} GFLOP/s of its products alone (validation not counted)"
        )
    if "start" in found:
        start = found["start"]
        yield (
            f"start: {start['compile_seconds']:.1f} s of compiling without a cache; a first `mccpo compare` trains "
            f"after {start['first_compare_seconds']:.1f} s, the next after {start['second_compare_seconds']:.1f} s"
        )
    if "memory" in found:
        yield f"memory: {found['memory']['peak_gib']:.2f} GiB at most with {found['memory']['runs']} runs"
    if "growth" in found:
        yield from _growth(found["growth"])


def _contest(name: str, contest: dict[str, Any]) -> Iterator[str]:
    yield "at identical settings" if name == "speed" else "each at its fastest setting"
    yield f"  {'environments × steps, minibatch, epochs':<42}{'steps/s':>11}{'per core':>11}{'ours is':>14}  who"
    for who, speed in contest["speeds"].items():
        sizes = speed.get("sizes", contest.get("sizes"))
        settings = f"{sizes['environments']} × {sizes['rollout']}, {sizes['minibatch']}, {sizes['epochs']}"
        ratio = f"{contest['ratios'][who]:.1f} times" if who in contest["ratios"] else ""
        yield (
            f"  {settings:<42}{speed['steps_per_second']:>11,.0f}{speed['steps_per_second_per_core']:>11,.0f}"
            f"{ratio:>14}  {who}"
        )
    if contest["peer_missing"] is not None:
        yield f"  MaskablePPO is not measured: {contest['peer_missing']}"


def _growth(growth: dict[str, Any]) -> Iterator[str]:
    yield f"growth\n  {'concepts':>8}{'steps/s':>11}{'FLOP a step':>14}  curriculum"
    for row in growth["sizes"]:
        figures = f"{row['concepts']:>8}{row['steps_per_second']:>11,.0f}{row['flops_per_step']:>14,}"
        yield f"  {figures}  {row['curriculum']}"
    verdict = "no faster than" if growth["falls_no_faster_than_linearly"] else "FASTER THAN"
    yield f"  steps/s falls {verdict} linearly in concepts"
