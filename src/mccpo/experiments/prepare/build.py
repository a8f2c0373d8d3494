"""From logs and a prerequisite graph to an environment to train in, and another one to judge by.

Learners are split in two halves by name. Knowledge tracing is fitted to one: its learners are those a policy is trained
with. Performance factors are fitted to the other: these learners judge the policy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from jaxtyping import Float

from mccpo.curriculum import Curriculum, RawGraph
from mccpo.env import EVERYONE
from mccpo.errors import InputError
from mccpo.experiments.prepare.demand import demand_of
from mccpo.experiments.prepare.document import (
    DemandSummary,
    EpisodeSummary,
    EventCounts,
    GraphSummary,
    LogOrigin,
    PreparedDocument,
)
from mccpo.experiments.prepare.learners import FitModels, fit_halves, groups_of, halves, harmless, labels_of
from mccpo.experiments.prepare.options import PrepareOptions
from mccpo.experiments.prepare.parameters import SharedParameters, beliefs_of, judge_of, tutor_of
from mccpo.experiments.prepare.prepared import Prepared
from mccpo.logs import BETWEEN_CONCEPTS, episodes
from mccpo.mastery import Responses
from mccpo.mastery.fitting import FitSettings
from mccpo.mastery.tables import responses_of

FEWEST_LEARNERS = 4


def prepare(
    table: pl.DataFrame,
    graph: RawGraph,
    options: PrepareOptions | None = None,
    *,
    members: Mapping[str, str] | None = None,
    origin: LogOrigin | None = None,
    models: FitModels = fit_halves,
) -> Prepared:
    """Makes environments of a canonical table and a graph.

    `members` says which concept of the graph each concept of the table belongs to; without it they have the same names.
    Events on other concepts are left out, and counted. `origin` is what the document says of where the table is from.
    `models` gives the two models of learners from the responses of the two halves, where fitting them is not enough.
    """
    options = options or PrepareOptions()
    curriculum = Curriculum.from_raw(graph)
    on_graph = _on_graph(table, curriculum, members)
    retained = _retained(on_graph, options)
    labels = None if options.group is None else labels_of(retained, options.group)
    ours, theirs = halves(_coded(responses_of(retained), curriculum), options.seed)
    settings = FitSettings(restarts=options.restarts, seed=options.seed)
    fitted = models(ours, theirs, settings)
    demand, mean_of = demand_of(_apart(retained), curriculum.concepts)
    graph = _with_demand(graph, curriculum, demand)
    curriculum = Curriculum.from_raw(graph)
    beliefs = beliefs_of(fitted.tutor, curriculum)
    groups = EVERYONE if labels is None else groups_of(labels, ours, settings, beliefs.K0, beliefs.eta)
    horizon = options.horizon or max(2, round(_mean_length(retained)))
    shared = SharedParameters(curriculum, beliefs, groups, options.theta, horizon)
    tutor, tutor_engagement = tutor_of(shared, fitted.tutor, ours)
    judge, judge_engagement = judge_of(shared, harmless(fitted.judge), theirs)
    document = PreparedDocument(
        origin=origin or LogOrigin(),
        options=options,
        graph=_graph_summary(graph, curriculum),
        groups=tutor.groups,
        events=EventCounts(table.height, on_graph.height, retained.height),
        episodes=_episode_summary(retained, tutor.horizon),
        tutor_learners=len(np.unique(ours.learner)),
        judge_learners=len(np.unique(theirs.learner)),
        tutor_engagement=tutor_engagement,
        judge_engagement=judge_engagement,
        demand=DemandSummary(mean_of, float(tutor.demand.min()), float(tutor.demand.max())),
        models=fitted.report,
    )
    return Prepared(graph, tutor, judge, fitted.tutor, fitted.judge, retained, document)


def _on_graph(table: pl.DataFrame, curriculum: Curriculum, members: Mapping[str, str] | None) -> pl.DataFrame:
    """The events on concepts of the graph, named as the graph names them."""
    known = set(curriculum.concepts)
    renamed = []
    for name in table["concept"].dtype.categories:  # type: ignore[attr-defined]  # an Enum
        parts = [members.get(part, "") if members is not None else part for part in name.split(BETWEEN_CONCEPTS)]
        renamed.append(BETWEEN_CONCEPTS.join(sorted({part for part in parts if part in known})) or None)
    names = pl.Series("concept", renamed, dtype=pl.Enum(sorted({name for name in renamed if name is not None})))
    on_graph = table.with_columns(names.gather(table["concept"].to_physical())).drop_nulls("concept")
    if on_graph.height:
        return on_graph
    if table["concept"].null_count() == table.height:
        raise InputError("no event names a concept", fix="give logs whose events have concepts")
    fix = "give the graph of these logs, or --members item,concept"
    raise InputError("no event is on a concept of the graph", fix=fix)


def _retained(on_graph: pl.DataFrame, options: PrepareOptions) -> pl.DataFrame:
    retained = episodes(on_graph, options.minimum, options.episodes, seed=options.seed)
    learners = retained["episode"].n_unique()
    if learners < FEWEST_LEARNERS:
        what = f"{learners} learners have {options.minimum} events or more on the graph"
        raise InputError(f"{what}, and {FEWEST_LEARNERS} are needed", fix="lower --minimum, or give more logs")
    return retained


def _apart(events: pl.DataFrame) -> pl.DataFrame:
    """One row for each concept of each event."""
    parts = pl.col("concept").cast(pl.String).str.split(BETWEEN_CONCEPTS)
    return events.with_columns(parts.alias("concept")).explode("concept")


def _coded(responses: Responses, curriculum: Curriculum) -> Responses:
    """The responses with the codes of the curriculum."""
    position = np.array([curriculum.index(name) for name in responses.concepts], np.int32)
    return responses._replace(concept=position[responses.concept], concepts=curriculum.concepts)


def _with_demand(graph: RawGraph, curriculum: Curriculum, demand: Float[np.ndarray, " concepts"]) -> RawGraph:
    demands = {name: round(float(value), 6) for name, value in zip(curriculum.concepts, demand, strict=True)}
    demands |= graph.demand  # a graph that says itself what its concepts ask keeps that
    return replace(curriculum.to_raw(), source=graph.source).stating(demands).labelled_as(graph)


def _graph_summary(graph: RawGraph, curriculum: Curriculum) -> GraphSummary:
    derived = None if graph.derived is None else str(graph.derived)
    return GraphSummary(len(curriculum), len(curriculum.edges), graph.provenances(), derived)


def _episode_summary(retained: pl.DataFrame, horizon: int) -> EpisodeSummary:
    return EpisodeSummary(retained["episode"].n_unique(), _mean_length(retained), horizon, _digest(retained))


def _mean_length(retained: pl.DataFrame) -> float:
    return retained.height / retained["episode"].n_unique()


def _digest(retained: pl.DataFrame) -> str:
    content = retained.select(pl.col("learner").cast(pl.String), pl.col("concept").cast(pl.String), "order", "correct")
    return hashlib.sha256(content.write_csv().encode()).hexdigest()
