"""`mccpo audit`: how often right answers bring no gain of mastery, and how far that depends on the definition."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from mccpo import files
from mccpo.cli.commands.logs import TableFlags, TableReading, check_table
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit
from mccpo.cli.flags import OnRay, RayFlags
from mccpo.errors import InputError
from mccpo.files import dump_json

if TYPE_CHECKING:
    import polars as pl
    from jaxtyping import Float
    from numpy import ndarray

    from mccpo.logs.audit import Audit
    from mccpo.mastery.fitting import FitSettings
    from mccpo.report.audit import AuditSubject, PaperPrevalence

Model: TypeAlias = Literal["ema", "bkt", "bkt-forget"]
PAGE, RESULT = "audit.html", "audit.json"
_PAPER = {"junyi-2020": ("junyi", "Junyi Academy"), "xes3g5m": ("xes3g5m", "XES3G5M")}
"""The paper's data sets by our names of their formats: the table that has them, and what they are called."""


def audit(
    logs: Annotated[Path, Parameter(help="A canonical table of logs, or a log file with --format.")],
    /,
    *,
    flags: TableFlags = TableReading(),  # noqa: B008 - frozen
    model: Annotated[
        tuple[Model, ...],
        Parameter(negative="", help="The models of mastery to ask: a moving average, knowledge tracing; repeatable."),
    ] = ("ema", "bkt"),
    threshold: Annotated[float, Parameter(help="The gain of mastery up to which a right answer has brought none.")] = (
        0.005
    ),
    main: Annotated[
        str | None, Parameter(help="What to sum up by: signal, or a model; the platform's signal where there is one.")
    ] = None,
    minimum: Annotated[
        WholeNumber | None, Parameter(help="The fewest interactions of a retained learner; 30, or 20 for xes3g5m.")
    ] = None,
    episodes: Annotated[WholeNumber, Parameter(help="The most learners to retain.")] = 5000,
    by: Annotated[
        tuple[str, ...], Parameter(negative="", help="A group column to break down by; all of them by default.")
    ] = (),
    alpha: Annotated[float, Parameter(help="The step of the moving average.")] = 0.08,
    restarts: Annotated[WholeNumber, Parameter(help="Places from which the fit of knowledge tracing starts.")] = 5,
    seed: Annotated[WholeNumber, Parameter(help="The root of these places and of which episodes are retained.")] = 0,
    hours_ahead: Annotated[float, Parameter(help="How far local time is ahead of UTC, for months and hours.")] = 0.0,
    out: Annotated[
        Path | None,
        Parameter(
            help=f"A folder for {PAGE} and {RESULT}, or NAME.html, which has NAME.json beside it; nothing is written "
            "by default."
        ),
    ] = None,
    table: Annotated[Path | None, Parameter(help="Also write the canonical table here, NAME.parquet.")] = None,
    json: JsonFlag = False,
    on_ray: RayFlags = OnRay(),  # noqa: B008 - frozen
) -> None:
    """Measure how often answers are right and bring no gain of mastery.

    The platform's signal says what a gain is, where it has one, and so do models of mastery. The rate depends on which,
    so all are shown. Intervals take into account that the events of one learner are alike.
    """
    from mccpo.logs import writing_table
    from mccpo.logs.audit import audit as run
    from mccpo.mastery.fitting import FitSettings
    from mccpo.report.audit import AuditSubject, audit_json

    if not -24 < hours_ahead < 24:
        raise InputError(f"--hours-ahead is {hours_ahead:g}", fix="give hours ahead of UTC, such as 8")
    paths = None if out is None else _paths(out)
    folder = None if paths is None else paths[0].parent
    on_ray.calls(folder)  # what is wrong with the cluster's flags is said before the logs are read
    if table is not None:
        check_table("--table", table, logs)
    events = flags.read(logs)
    settings = FitSettings(restarts=restarts, seed=seed, alpha=alpha)
    fewest = minimum if minimum is not None else (20 if flags.format == "xes3g5m" else 30)
    models = _models(events, model, logs)
    explained: dict[str, str] = {name: _explained(name, alpha, restarts) for name in models}
    subject = AuditSubject(logs.stem or str(logs), fewest, episodes, hours_ahead, _reported(flags.format), explained)
    # All that can fail is done within, so that a command that fails leaves no table.
    with nullcontext() if table is None else writing_table(events, table):
        gains: dict[str, Any] = gains_of(events, models, settings, on_ray, folder) if models else {}
        retained = _retained(events, fewest, episodes, seed)
        result = run(
            events, gains, threshold=threshold, retained=retained, by=by or None, main=main, hours_ahead=hours_ahead
        )
        written = [] if paths is None else _write(result, subject, *paths)
    described = audit_json(result, subject) | ({"written": written} if written else {})
    emit(described, as_json=json, text=lambda: "\n".join(_text(result, subject, written)))


def _models(events: pl.DataFrame, asked: tuple[Model, ...], logs: Path) -> tuple[Model, ...]:
    """The models to ask, each once: none where no event names a concept."""
    if events["concept"].null_count() < events.height:
        return tuple(dict.fromkeys(asked))
    if events["signal"].null_count() == events.height:
        fix = "give logs that name concepts, for a model"
        raise InputError(f"{logs} has neither concepts nor a signal of mastery", fix=fix)
    return ()


def _paths(out: Path) -> tuple[Path, Path]:
    """Where the page and the numbers go: `--out` is the page if it ends in .html, else a folder, as with `report`."""
    if out.suffix.lower() in (".html", ".htm"):
        return out, out.with_suffix(".json")
    if out.suffix or out.is_file():
        raise InputError(f"--out is {out}, which is no folder", fix="name a page that ends in .html, or a folder")
    return out / PAGE, out / RESULT


def _write(result: Audit, subject: AuditSubject, page: Path, numbers: Path) -> list[str]:
    """Writes the audit and its page, both or neither, and says where."""
    from mccpo.report.audit import audit_json, render_audit

    text = render_audit(result, subject)
    with files.replacing(numbers) as stored, files.replacing(page) as shown:
        stored.write_text(dump_json(audit_json(result, subject), indent=1) + "\n", encoding="utf-8")
        shown.write_text(text, encoding="utf-8")
    return [str(numbers), str(page)]


def gains_of(
    table: pl.DataFrame, models: tuple[Model, ...], settings: FitSettings, on_ray: OnRay, out: Path | None
) -> dict[str, Float[ndarray, " rows"]]:
    """What each event adds to the mastery of its concepts by each model; NaN where it has none."""
    from mccpo.mastery.tables import gains_by_model

    calls = on_ray.calls(out)
    if on_ray.ray is None or out is None:
        return gains_by_model(table, models, settings, calls)
    out.mkdir(parents=True, exist_ok=True)
    left_in = out.absolute() / ".events.parquet"
    try:
        return gains_by_model(table, models, settings, calls, left_in)
    finally:
        left_in.unlink(missing_ok=True)


def _retained(table: pl.DataFrame, minimum: int, most: int, seed: int) -> Any:
    """Which rows are of the retained episodes; None where no learner has enough."""
    import numpy as np

    from mccpo.logs import episodes

    retained = episodes(table.select("learner", "concept").with_row_index("row"), minimum, most, seed=seed)
    if not retained.height:
        return None
    mask = np.zeros(table.height, bool)
    mask[retained["row"].to_numpy()] = True
    return mask


def _explained(name: Model, alpha: float, restarts: int) -> str:
    if name == "ema":
        return f"moving average of right answers per learner and concept, α = {alpha:g}, from 0.2"
    kind = "with forgetting in pauses, " if name == "bkt-forget" else ""
    return f"Bayesian knowledge tracing, {kind}fitted to these logs, the best of {restarts} restarts per concept"


def _reported(format: str | None) -> PaperPrevalence | None:
    from mccpo.experiments.paper import reported as paper
    from mccpo.report.audit import PaperPrevalence

    if format not in _PAPER:
        return None
    table, data = _PAPER[format]
    prevalence = paper.tables()[table]["prevalence"]
    return PaperPrevalence(data, int(prevalence["events"]), int(prevalence["analysed"]))


def _text(audit: Audit, subject: AuditSubject, written: list[str]) -> Iterator[str]:
    from mccpo.report.audit import against_paper, headline, left_out, moved

    yield f"{subject.name}: {audit.interactions:,} interactions of {audit.learners:,} learners"
    yield headline(audit)
    yield "what is counted: right answers that bring no gain of mastery K, which is told by"
    for measure in audit.measures:
        yield f"  {measure.title:<18}{measure.formula}"
    yield from left_out(audit)
    yield ""
    yield from _rates(audit, subject)
    yield moved(audit)
    paper = against_paper(audit, subject)
    if paper is not None:
        yield paper
    if written:
        yield f"wrote {', '.join(written)}"


def _rates(audit: Audit, subject: AuditSubject) -> Iterator[str]:
    from mccpo.report.audit import POPULATIONS, interval, percent

    for population, name in POPULATIONS.items():
        rows = [row for row in audit.prevalence if row.population == population and row.of == "judged"]
        if rows:
            yield name if population == "all" else f"{name} ({subject.episodes})"
            yield f"  {'told by':<18}{'rate':>9}  {'95 % interval':<18}{'counted':>12} of {'judged':<12}"
        for row in rows:
            rate, right = row.rate, audit.rate(row.measure, population, "correct")
            yield (
                f"  {audit.measure(row.measure).title:<18}{percent(rate.rate):>9}  {interval(rate):<18}"
                f"{rate.events:>12,} of {rate.analysed:<12,}{percent(right.rate):>8} of right answers"
            )
