"""`mccpo bench`: the speed figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
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
        help="Parts joined by commas. The neural bench has, all by default: speed, best, roofline, start, memory, "
        "growth. The serve bench has, load by default: load, disturbed, processes, "
        "restart."
    ),
]
RowsFlag = Annotated[
    str | None,
    Parameter(help="Rows of the logs of the logs bench, joined by commas; 1000000,4000000,16200000 by default."),
]

AgainstFlag = Annotated[
    Path | None,
    Parameter(help="Another checkout of mccpo, whose service takes turns with this one in the serve bench."),
]
LearnersFlag = Annotated[WholeNumber | None, Parameter(help="Learners of the serve bench; 10000 by default.")]
CellFlag = Annotated[
    WholeNumber | None, Parameter(help="Seconds that a cell of the ray bench computes, about; 20 by default.")
]


def bench(
    what: Literal["tabular", "neural", "learner", "logs", "serve", "ray", "scale"],
    /,
    *,
    parts: PartsFlag = None,
    rows: RowsFlag = None,
    learners: LearnersFlag = None,
    against: AgainstFlag = None,
    cell_seconds: CellFlag = None,
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
        ray: cells of work on a Ray cluster of this machine, two nodes beside one, and beside plain processes.
        scale: building, training, serving and showing curricula of 100 to 3,277 concepts.
    """
    if what not in ("neural", "serve") and parts is not None:
        raise InputError(f"the {what} bench has no parts", fix="leave out --parts")
    if what != "logs" and rows is not None:
        raise InputError(f"the {what} bench has no rows", fix="leave out --rows")
    if what != "serve" and learners is not None:
        raise InputError(f"the {what} bench has no learners", fix="leave out --learners")
    if what != "serve" and against is not None:
        raise InputError(f"the {what} bench has no --against", fix="leave it out")
    if what != "ray" and cell_seconds is not None:
        raise InputError(f"the {what} bench has no --cell-seconds", fix="leave it out")
    names = [name.strip() for name in (parts or "").split(",") if name.strip()]
    if what == "serve":
        bench_serve(learners, names, against, as_json=json)
        return
    if what == "ray":
        _bench_ray(cell_seconds, as_json=json)
        return
    if what == "scale":
        from mccpo.bench import scale as bench_scale

        grown = bench_scale.measure(bench_scale.CONCEPTS, note)
        emit(grown, as_json=json, text=lambda: "\n".join(bench_scale.lines(grown)))
        return
    from mccpo.bench import logs as bench_logs
    from mccpo.bench import mastery as bench_learner
    from mccpo.bench import neural as bench_neural
    from mccpo.bench import tabular as bench_tabular
    from mccpo.cli.commands.bench.text import neural_lines, tabular_lines
    from mccpo.experiments import Session

    with progress() as show:
        session = Session(progress=show)
        where = bench_neural.Bench(session, cache.folder(), note)
        if what == "tabular":
            tabular = bench_tabular.measure(session)
            result, lines = tabular.as_json(), tabular_lines(tabular)
        elif what == "neural":
            neural = bench_neural.measure(names, where)
            result, lines = neural.as_json(), neural_lines(neural)
        elif what == "logs":
            result = bench_logs.measure(_sizes(rows), cache.folder(), note).as_json()
            lines = _logs(result)
        else:
            result = bench_learner.measure(where).as_json()
            lines = _learner(result)
    emit(result, as_json=json, text=lambda: "\n".join(lines))


def _bench_ray(cell_seconds: int | None, *, as_json: bool) -> None:
    from mccpo.bench import ray_cells

    found = ray_cells.measure(note, ray_cells.SECONDS if cell_seconds is None else cell_seconds).as_json()
    emit(found, as_json=as_json, text=lambda: "\n".join(_ray(found)))


def _ray(found: dict[str, Any]) -> Iterator[str]:
    yield f"cells of work on {found['cores']} cores, of which {found['load']:.1f} were wanted before"
    yield (
        f"  a cell that does nothing: {found['ray_seconds']:.2f} s on Ray, {found['process_seconds']:.2f} s by a plain "
        f"process: {found['overhead_seconds']:.2f} s more"
    )
    yield f"  cells that compute for {found['cell_seconds']:.1f} s, by the medians of {len(found['one_node'])} turns:"
    yield (
        f"    on Ray: {found['one_node_seconds']:.1f} s on one node of one core, {found['two_nodes_seconds']:.1f} s on "
        f"two: {found['speed_up']:.2f} times as fast"
    )
    yield (
        f"    by plain processes: {found['one_process_seconds']:.1f} s by one, {found['two_processes_seconds']:.1f} s "
        f"by two: {found['ceiling']:.2f} times as fast, which is what the machine has to give"
    )


def _sizes(rows: str | None) -> tuple[int, ...]:
    from mccpo.bench import logs as bench_logs

    try:
        return bench_logs.ROWS if rows is None else tuple(int(size) for size in rows.split(","))
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
