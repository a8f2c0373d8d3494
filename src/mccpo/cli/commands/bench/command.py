"""`mccpo bench`: the speed figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from mccpo.cli.commands import cache
from mccpo.cli.commands.bench.serve import bench_serve
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note
from mccpo.cli.console.progress import progress
from mccpo.errors import InputError

PartsFlag = Annotated[
    str | None,
    Parameter(
        help="Parts of the neural bench joined by commas, all by default: speed, best, roofline, start, memory, growth."
    ),
]
RowsFlag = Annotated[
    str | None,
    Parameter(help="Rows of the logs of the logs bench, joined by commas; 1000000,4000000,16200000 by default."),
]

LearnersFlag = Annotated[WholeNumber | None, Parameter(help="Learners of the serve bench; 10000 by default.")]


def bench(
    what: Literal["tabular", "neural", "learner", "logs", "serve"],
    /,
    *,
    parts: PartsFlag = None,
    rows: RowsFlag = None,
    learners: LearnersFlag = None,
    json: JsonFlag = False,
) -> None:
    """Measure the speed, side by side with another implementation in one run.

    Parameters
    ----------
    what
        tabular: the gate's and the chain's table in full (ten seeds, five methods, all episodes), beside a NumPy loop.
        neural: training on tutor-15, beside MaskablePPO in an environment that is created in the cache folder.
        learner: fitting knowledge tracing to ASSISTments 2009, beside pyBKT in an environment of the same kind.
        logs: from made-up logs to their audit, beside polars, which only reads and writes them, and beside pandas.
        serve: decisions and outcomes of the service, on the loopback, beside an endpoint that inserts one row durably.
    """
    if what != "neural" and parts is not None:
        raise InputError(f"the {what} bench has no parts", fix="leave out --parts")
    if what != "logs" and rows is not None:
        raise InputError(f"the {what} bench has no rows", fix="leave out --rows")
    if what != "serve" and learners is not None:
        raise InputError(f"the {what} bench has no learners", fix="leave out --learners")
    if what == "serve":
        bench_serve(learners, as_json=json)
        return
    from mccpo.bench import logs as bench_logs
    from mccpo.bench import mastery as bench_learner
    from mccpo.bench import neural as bench_neural
    from mccpo.bench import tabular as bench_tabular
    from mccpo.experiments import Session

    names = [name.strip() for name in (parts or "").split(",") if name.strip()]
    with progress() as show:
        session = Session(progress=show)
        if what == "tabular":
            found = bench_tabular.measure(session)
        elif what == "logs":
            found = bench_logs.measure(_sizes(rows), cache.folder(), note).as_json()
        else:
            place = bench_neural.Bench(session, cache.folder(), note)
            found = bench_neural.measure(names, place) if what == "neural" else bench_learner.measure(place).as_json()
    lines = {"tabular": _tabular, "neural": _neural, "learner": _learner, "logs": _logs}[what]
    emit(found, as_json=json, text=lambda: "\n".join(lines(found)))


def _sizes(rows: str | None) -> tuple[int, ...]:
    from mccpo.bench.logs import ROWS

    try:
        return ROWS if rows is None else tuple(int(size) for size in rows.split(","))
    except ValueError:
        raise InputError(f"--rows is {rows!r}", fix="give whole numbers joined by commas") from None


def _logs(found: dict[str, Any]) -> Iterator[str]:
    yield f"from CSV to an audit on {found['cores']} cores, the best of {found['rounds']} rounds"
    yield f"  {'rows':>12}{'polars s':>10}{'mccpo s':>9}{'ratio':>7}{'of CPU':>8}{'µs a row':>10}{'GiB':>6}  stages"
    for size in found["sizes"]:
        ours = size["mccpo"]
        stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in ours["stages"].items())
        a_row = ours["seconds"] / size["rows"] * 1e6
        yield (
            f"  {size['rows']:>12,}{size['polars']['seconds']:>10.2f}{ours['seconds']:>9.2f}{size['ratio']:>7.2f}"
            f"{size['cpu_ratio']:>8.2f}{a_row:>10.2f}{ours['peak_gib']:>6.2f}  {stages}"
        )
    if found["linear"] is not None:
        yield f"  time grows {'no faster than' if found['linear'] else 'FASTER THAN'} linearly in rows"
    if "pandas" in found:
        yield _pandas(found["pandas"])


def _pandas(found: dict[str, Any]) -> str:
    if "missing" in found:
        return f"  pandas is not measured: {found['missing']}"
    same = "the same results" if found["equal"] else f"OTHER RESULTS ({'; '.join(found['differences'])})"
    ratio = f"mccpo is {found['ratio']:.1f} times as fast"
    return f"  pandas at {found['rows']:,} rows: {found['seconds']:.1f} s, {ratio}, {same}"


def _tabular(found: dict[str, Any]) -> Iterator[str]:
    yield f"{'table':<8}{'seconds':>10}{'of it compiling':>18}{'episodes/s':>14}{'NumPy episodes/s':>19}"
    for name, table in found["tables"].items():
        yield (
            f"{name:<8}{table['seconds']:>10.1f}{table['compile_seconds']:>18.1f}{table['episodes_per_second']:>14,.0f}"
            f"{table['plain_episodes_per_second']:>19,.0f}"
        )
    yield (
        f"both tables in {found['seconds']:.1f} s on {found['cores']} cores; a plain NumPy loop on one core would take "
        f"{found['plain_seconds']:.0f} s: {found['ratio']:.1f} times, {found['ratio_per_core']:.1f} times per core"
    )


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


def _learner(found: dict[str, Any]) -> Iterator[str]:
    yield (
        f"knowledge tracing of {found['concepts']} concepts from {found['rows']:,} answers of "
        f"{found['learners']:,} learners: {found['restarts']} restarts, tolerance {found['tolerance']:g}, "
        f"at most {found['limit']} steps"
    )
    heads = (("threads", 7), ("seconds", 9), ("of it EM", 10), ("steps", 8), ("log-likelihood", 16), ("AUC", 8))
    yield "".join(f"{head:>{width}}" for head, width in heads) + f"{'ours is':>12}  who"
    for threads, contest in found["threads"].items():
        yield _fit_line(threads, contest["ours"], "", "mccpo")
        for name, peer in contest["peers"].items():
            yield _fit_line(threads, peer, f"{peer['ratio']:.1f} times", name)
        for name, peer in contest["peers"].items():
            yield (
                f"{'':7}beside {name}: {len(peer['worse'])} concepts worse and {len(peer['better'])} better by more "
                f"than 0.1 %; {peer['em_ratio']:.1f} times as fast as its EM alone"
            )
    bounded = found["bounded"]
    yield f"compiling ours took {found['compile_seconds']:.1f} s more, once"
    yield f"guess and slip bounded: log-likelihood {bounded['log_likelihood']:,.1f}, AUC {bounded['auc']:.4f}"
    if found["peer_missing"] is not None:
        yield f"pyBKT is not measured: {found['peer_missing']}"


def _fit_line(threads: str, one: dict[str, Any], ratio: str, name: str) -> str:
    climb = f"{one['em_seconds']:.2f}" if "em_seconds" in one else ""
    return (
        f"{threads:>7}{one['seconds']:>9.2f}{climb:>10}{one['steps']:>8,}{one['log_likelihood']:>16,.1f}"
        f"{one['auc']:>8.4f}{ratio:>12}  {name}"
    )
