"""The figures of the tabular and the neural bench as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from mccpo.bench import fresh, neural_results, tabular


def tabular_lines(bench: tabular.TabularBench) -> Iterator[str]:
    """A line for each table, then both together."""
    yield f"{'table':<8}{'seconds':>10}{'of it compiling':>18}{'episodes/s':>14}{'NumPy episodes/s':>19}"
    for name, table in bench.tables.items():
        yield (
            f"{name:<8}{table.seconds:>10.1f}{table.compile_seconds:>18.1f}{table.episodes_per_second:>14,.0f}"
            f"{table.plain_episodes_per_second:>19,.0f}"
        )
    yield (
        f"both tables in {bench.seconds:.1f} s on {bench.cores} cores; a plain NumPy loop on one core would take "
        f"{bench.plain_seconds:.0f} s: {bench.ratio:.1f} times, {bench.ratio_per_core:.1f} times per core"
    )


def neural_lines(bench: neural_results.NeuralBench) -> Iterator[str]:
    """The machine, then the lines of every part."""
    yield f"tutor-15 on {bench.cores} cores ({bench.device}), {bench.seeds} seeds, steps/s of all together"
    for part in bench.parts.values():
        yield from _part(part)


def _part(part: neural_results.Part) -> Iterator[str]:
    match part:
        case neural_results.IdenticalSettings():
            yield "at identical settings"
            speeds = {name: neural_results.SpeedAt(part.sizes, speed) for name, speed in part.speeds.items()}
            yield from _contest(speeds, part.ratios, part.peer)
        case neural_results.FastestSettings():
            yield "each at its fastest setting"
            yield from _contest(part.fastest, part.ratios, part.peer)
        case neural_results.Roofline():
            for below, network in ((part.plain, neural_results.OURS), (part.shared, neural_results.SHARED)):
                yield (
                    f"roofline: {below.flops_per_step:,} FLOP a step × {below.steps_per_second:,.0f} steps/s = "
                    f"{below.flops_per_second / 1e9:.1f} GFLOP/s, {below.share:.0%} of the "
                    f"{below.products_flops_per_second / 1e9:.1f} GFLOP/s of its products alone (validation not "
                    f"counted), {network}"
                )
        case neural_results.Start():
            yield (
                f"start: {part.compile_seconds:.1f} s of compiling without a cache; a first `mccpo compare` trains "
                f"after {part.first_compare_seconds:.1f} s, the next after {part.second_compare_seconds:.1f} s"
            )
        case fresh.Memory():
            yield f"memory: {part.peak_gib:.2f} GiB at most with {part.runs} runs"
        case neural_results.Growth():
            yield from _growth(part)


def _contest(
    speeds: dict[str, neural_results.SpeedAt], ratios: neural_results.Ratios, peer: neural_results.PeerState
) -> Iterator[str]:
    yield f"  {'environments × steps, minibatch, epochs':<42}{'steps/s':>11}{'per core':>11}{'ours is':>14}  who"
    for who, measured in speeds.items():
        settings = "{environments} × {rollout}, {minibatch}, {epochs}".format(**asdict(measured.sizes))
        ratio = f"{ratios.by_peer[who]:.1f} times" if who in ratios.by_peer else ""
        yield (
            f"  {settings:<42}{measured.speed.per_second:>11,.0f}{measured.speed.per_core:>11,.0f}{ratio:>14}  {who}"
        )
    if peer.missing is not None:
        yield f"  MaskablePPO is not measured: {peer.missing}"


def _growth(growth: neural_results.Growth) -> Iterator[str]:
    yield f"growth\n  {'concepts':>8}{'steps/s':>11}{'FLOP a step':>14}  curriculum"
    for step in growth.steps:
        figures = f"{step.concepts:>8}{step.speed.per_second:>11,.0f}{step.flops_per_step:>14,}"
        yield f"  {figures}  {step.curriculum}"
    verdict = "no faster than" if growth.falls_no_faster_than_linearly else "FASTER THAN"
    yield f"  steps/s falls {verdict} linearly in concepts"
