"""From logs and a prerequisite graph to an environment to train in, and another one to judge by.

Learners are split in two halves by name. Knowledge tracing is fitted to one: its learners are those a policy is trained
with. Performance factors are fitted to the other: these learners judge the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from mccpo.curriculum import Curriculum, RawGraph
from mccpo.env import EVERYONE
from mccpo.experiments.prepare.calibration import calibrate
from mccpo.experiments.prepare.checks import (
    environment_warnings,
    graph_warnings,
    judge_warnings,
    refuse_closed_gate,
    refuse_horizon,
    refuse_no_edges,
    refuse_other_graph,
)
from mccpo.experiments.prepare.demand import demand_of
from mccpo.experiments.prepare.document import (
    DemandSummary,
    EpisodeSummary,
    EventCounts,
    GraphSummary,
    LogOrigin,
    PreparedDocument,
)
from mccpo.experiments.prepare.events import apart, digest, events_on_graph, mean_length, retained_episodes
from mccpo.experiments.prepare.gate_reach import gate_reach
from mccpo.experiments.prepare.held_out import HeldOutLosses, held_out
from mccpo.experiments.prepare.learners import FitModels, fit_halves, groups_of, halves, harmless, labels_of
from mccpo.experiments.prepare.options import PrepareOptions
from mccpo.experiments.prepare.parameters import SharedParameters, beliefs_of, judge_of, tutor_of
from mccpo.experiments.prepare.prepared import Prepared
from mccpo.experiments.prepare.resampling import population_of, resampled, with_population
from mccpo.mastery import Responses
from mccpo.mastery.fitting import FitSettings
from mccpo.mastery.tables import responses_of


class ChosenEvents(NamedTuple):
    """The retained episodes, how many events are on the graph at all, the horizon, and what is doubtful."""

    retained: pl.DataFrame
    on_graph: int
    horizon: int
    warnings: tuple[str, ...]


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
    chosen = _choose_events(table, graph, curriculum, options, members)
    retained = chosen.retained
    labels = None if options.group is None else labels_of(retained, options.group)
    ours, theirs = halves(_coded(responses_of(retained), curriculum), options.seed)
    settings = FitSettings(restarts=options.restarts, seed=options.seed)
    fitted = models(ours, theirs, settings)
    demand, mean_of = demand_of(apart(retained), curriculum.concepts)
    graph = _with_demand(graph, curriculum, demand)
    curriculum = Curriculum.from_raw(graph)
    beliefs, calibration = beliefs_of(fitted.tutor, curriculum, ours), None
    if options.ready is not None and models is fit_halves:  # models of another make say nothing of single answers
        doubt, calibration = calibrate(ours, curriculum, beliefs.doubt.astype(float), options.ready, settings)
        beliefs = beliefs._replace(doubt=doubt.astype(np.float32))
    groups = EVERYONE if labels is None else groups_of(labels, ours, settings, beliefs.K0, beliefs.eta)
    shared = SharedParameters(curriculum, beliefs, groups, options.theta, options.ready, chosen.horizon)
    refuse_closed_gate(reach := gate_reach(shared))
    tutor, tutor_engagement = tutor_of(shared, fitted.tutor, ours)
    others = with_population(tutor, population_of([fitted.others], curriculum))
    if options.robust:
        tutor = with_population(tutor, resampled(ours, curriculum, settings))
    judge, judge_engagement = judge_of(shared, harmless(fitted.judge), theirs)
    # The judge as it was fitted: that no answer harms its learners is our choice, and does not make it predict worse.
    losses = HeldOutLosses(held_out(fitted.tutor, ours, theirs), held_out(fitted.judge, theirs, ours))
    episodes = EpisodeSummary(retained["episode"].n_unique(), mean_length(retained), chosen.horizon, digest(retained))
    document = PreparedDocument(
        origin=origin or LogOrigin(),
        options=options,
        graph=_graph_summary(graph, curriculum),
        groups=tutor.groups,
        events=EventCounts(table.height, chosen.on_graph, retained.height),
        episodes=episodes,
        tutor_learners=len(np.unique(ours.learner)),
        judge_learners=len(np.unique(theirs.learner)),
        tutor_engagement=tutor_engagement,
        judge_engagement=judge_engagement,
        demand=DemandSummary(mean_of, float(tutor.demand.min()), float(tutor.demand.max())),
        models=fitted.report,
        held_out=losses,
        calibration=calibration,
        warnings=(
            *chosen.warnings,
            *environment_warnings(episodes.episodes, reach, losses, tutor.gamma, calibration),
            *judge_warnings(judge),
        ),
    )
    return Prepared(graph, tutor, judge, others, fitted.tutor, fitted.judge, retained, document)


def _choose_events(
    table: pl.DataFrame,
    graph: RawGraph,
    curriculum: Curriculum,
    options: PrepareOptions,
    members: Mapping[str, str] | None,
) -> ChosenEvents:
    """The events to make environments of; refuses those of which none can be made, before anything is fitted."""
    refuse_no_edges(graph)
    on_graph = events_on_graph(table, curriculum, members)
    refuse_other_graph(on_graph, curriculum, graph.source, renamed=members is not None)
    retained = retained_episodes(on_graph, options)
    horizon = options.horizon or max(2, round(mean_length(retained)))
    refuse_horizon(horizon)
    return ChosenEvents(
        retained, on_graph.height, horizon, tuple(graph_warnings(table, retained, graph, curriculum, members))
    )


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
