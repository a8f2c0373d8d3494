"""`mccpo prepare`: from logs and a prerequisite graph to an environment to train in."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

from mccpo.cli.commands.logs import LogFlags, LogReading
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note
from mccpo.cli.flags import GRAPH_FILE, OnRay, RayFlags, confidence_of
from mccpo.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from mccpo.curriculum import RawGraph
    from mccpo.experiments.prepare import LogOrigin, PreparedDocument


THETA, CONFIDENCE = 0.7, 0.95
MembersFlag: TypeAlias = Annotated[
    Path | None,
    Parameter(help="A CSV of item,concept that says which concept of the graph each concept of the logs is in."),
]


def prepare(
    logs: Annotated[Path, Parameter(help="A canonical table of logs, or a log file with --format.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="The folder to write, which `compare`, `train` and the API take as a name.")],
    graph: Annotated[
        Path | None,
        Parameter(help=f"The prerequisite graph, {GRAPH_FILE}. Without one it is learnt from the responses."),
    ] = None,
    members: MembersFlag = None,
    flags: LogFlags = LogReading(),  # noqa: B008 - frozen
    minimum: Annotated[WholeNumber, Parameter(help="Events on the graph that a learner must have.")] = 30,
    episodes: Annotated[WholeNumber, Parameter(help="How many learners' episodes to keep at most.")] = 5000,
    horizon: Annotated[WholeNumber | None, Parameter(help="Steps of an episode; their mean length by default.")] = None,
    group: Annotated[str | None, Parameter(help="The group column by which learners are told apart.")] = None,
    theta: Annotated[
        float | None,
        Parameter(
            help="The mastery of each prerequisite that opens the gate, as in the paper. With --ready it opens "
            "nothing: it then is the chance of a right answer from which a judge's learners count as ready."
        ),
    ] = None,
    ready: Annotated[
        str | None,
        Parameter(
            help="How likely a learner must be ready before the gate opens a concept; 'theta' for the paper's gate. "
            "0.95 by default, unless --theta is given."
        ),
    ] = None,
    robust: Annotated[
        bool,
        Parameter(
            negative="",
            help="Draw the learners to train with from an ensemble: eight models by knowledge tracing, each fitted to "
            "resampled learners, and models of other kinds. Budgets and floors then hold for the worst of them.",
        ),
    ] = False,
    learners: Annotated[
        str,
        Parameter(
            help="The kind of learners to train with: bkt, pfa, best-lr or recurrent; or best, whichever predicts "
            "held-out learners best. The tutor's estimate is by bkt in any case."
        ),
    ] = "bkt",
    restarts: Annotated[WholeNumber, Parameter(help="Places from which the fit of knowledge tracing starts.")] = 5,
    seed: Annotated[WholeNumber, Parameter(help="The root of all random choices.")] = 0,
    json: JsonFlag = False,
    on_ray: RayFlags = OnRay(),  # noqa: B008 - frozen
) -> None:
    """Make an environment of logs: curriculum, learners, demand and engagement as the data shows them.

    Half of the learners make the environment in which a policy is trained, by knowledge tracing. The other half make
    those that judge it (judge.json and others), by models of other kinds. The same input gives the same bytes. What is
    doubtful is said on stderr, and kept in prepared.json as `warnings`. prepared.html shows how far the gate and the
    judges can be trusted.
    """
    from mccpo.experiments.prepare import PrepareOptions, check_folder
    from mccpo.experiments.prepare import prepare as run
    from mccpo.files import write_text
    from mccpo.report.preparation import PAGE, render_preparation

    options = PrepareOptions(minimum, episodes, horizon, group, *_gate(theta, ready), robust, restarts, seed, learners)
    check_folder(out)
    calls = on_ray.calls(out)
    parts = None if members is None else read_members(members)
    stated, repairs = (None, []) if graph is None else _stated(graph)
    table, origin = read_events(logs, flags)
    edges = stated or _learnt(table, logs)
    made = run(table, edges, options, members=parts, origin=origin, calls=calls).warned(repairs)
    prepared = made.compared()
    prepared.write(out)
    write_text(out / PAGE, render_preparation(out.name, prepared.document))
    for line in prepared.document.warnings:
        note(f"warning: {line}")
    result = {"prepared": str(out), **prepared.document.as_json()}
    emit(result, as_json=json, text=lambda: "\n".join(_text(out, prepared.document)))


def _gate(theta: float | None, ready: str | None) -> tuple[float, float | None]:
    """θ, and the confidence where it is that which opens the gate."""
    if ready is None and theta is None:
        return THETA, CONFIDENCE
    return THETA if theta is None else theta, confidence_of(ready)


def read_events(logs: Path, flags: LogReading) -> tuple[pl.DataFrame, LogOrigin]:
    """The events of a canonical table, or of a log file of a format, and where they come from."""
    from mccpo.experiments.prepare import LogOrigin

    if flags.format is None:
        return flags.read(logs), LogOrigin(logs.name)
    read = flags.load(logs)
    return read.table, LogOrigin(logs.name, flags.format, read.account)


def _stated(path: Path) -> tuple[RawGraph, list[str]]:
    """A graph from its file, and what to say of the faults that were repaired."""
    from mccpo.curriculum import read_raw
    from mccpo.curriculum.lint import repaired
    from mccpo.experiments.prepare import refuse_no_edges

    graph, removed = repaired(read_raw(path))
    refuse_no_edges(graph)  # before the logs are read, which may take minutes
    if not removed:
        return graph, []
    what = f"{path}: {len(removed)} faults repaired, the first at {removed[0].where} ({removed[0].why})"
    return graph, [f"{what}; `mccpo curriculum check {path}` lists all"]


def _learnt(table: pl.DataFrame, logs: Path) -> RawGraph:
    from mccpo.curriculum.derive import learn_graph
    from mccpo.logs import responses_by_concept

    graph = learn_graph(responses_by_concept(table), origin=logs.name).graph
    if graph.edges:  # otherwise it is refused, and that alone is said
        note("no --graph is given: it is learnt from the responses, and labelled as derived")
    return graph


def read_members(path: Path) -> dict[str, str]:
    """Which concept of the graph each concept of the logs is in, from a CSV of item,concept."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            rows = list(csv.DictReader(handle))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix="check the path") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file ({error})", fix="write a header item,concept") from error
    if not rows or not {"item", "concept"} <= set(rows[0]):
        raise InputError(f"{path} has no rows of item,concept", fix="write a header item,concept, then one row each")
    concept_of: dict[str, str] = {}
    for row in rows:
        item, concept = row["item"], row["concept"]
        if not item or not concept or concept_of.setdefault(item, concept) != concept:
            raise InputError(f"{path} has {item!r} in {concept!r}", fix="give each item once, with its concept")
    return concept_of


def _text(out: Path, document: PreparedDocument) -> Iterator[str]:
    graph, episodes = document.graph, document.episodes
    derived = "" if graph.derived is None else f" ({graph.derived})"
    yield f"{out}: {graph.concepts} concepts, {graph.edges} edges{derived}"
    yield "events    " + ", ".join(f"{count:,} {where}" for where, count in document.events.as_json().items())
    yield (
        f"episodes  {episodes.episodes:,} of {episodes.mean_length:.1f} events on average: horizon {episodes.horizon}"
    )
    yield (
        f"learners  {document.tutor_learners:,} to train with ({document.choice.model}), "
        f"{document.judge_learners:,} others to judge by"
    )
    if document.ensemble:
        shares = ", ".join(f"{name} {kind.share:.0%}" for name, kind in document.ensemble.items())
        yield f"{'':<10}drawn from an ensemble: {shares}, by how well each predicts learners held out"
    yield f"{'engaged':<10}a right answer counts half, going on to another within half an hour counts half; fitted as"
    for who, mastery, fit in (("tutor", "K", document.tutor_engagement), ("judge", "p", document.judge_engagement)):
        yield (
            f"{'':<10}{fit.base:.3f} − {fit.difficulty:.3f}·demand·(1 − "
            f"{mastery}) + {fit.novelty:.3f}·novelty (R² {fit.r_squared:.2f}, {who})"
        )
    demand = document.demand
    yield f"demand    {demand.least:.2f} to {demand.most:.2f}, the mean of {', '.join(demand.mean_of)}"
    if (gate := document.calibration) is not None and gate.answers:
        yield (
            f"gate      at {document.options.ready:g}: where it calls a concept mastered, {gate.right:.1%} of "
            f"{gate.answers:,} held-out answers are right, {gate.said:.1%} was said"
        )
        yield f"{'':<10}stricter for {gate.stricter} of {len(gate.concepts)} concepts, as these answers ask"
    for judge in document.judges:
        if (loss := judge.held_out) is None:
            yield f"{judge.file:<24}not made: {judge.refused}"
            continue
        verdict = "" if judge.refused is None else "   does not judge"
        yield (
            f"{judge.file:<24}{judge.kind:<22}held out: AUC {loss.auc:.3f}, log-loss {loss.log_loss:.3f} "
            f"(constant {loss.constant:.3f}){verdict}"
        )
    if len(document.groups) > 1:
        yield "groups    " + ", ".join(f"{group.name} {group.share:.0%}" for group in document.groups)
    yield f"next: mccpo compare {out}"
