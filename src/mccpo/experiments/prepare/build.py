"""From logs and a prerequisite graph to an environment to train in, and another one to judge by.

Learners are split in two halves by name. Knowledge tracing is fitted to one: its learners are those a policy is trained
with. Performance factors are fitted to the other: these learners judge the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from mccpo.curriculum import Curriculum, RawGraph
from mccpo.env import EVERYONE, PreparedJudge, PreparedTutor, Tutoring
from mccpo.experiments.prepare.calibration import GateCalibration, calibrate
from mccpo.experiments.prepare.checks import (
    environment_warnings,
    graph_warnings,
    judge_warnings,
    refusals,
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
from mccpo.experiments.prepare.engagement import Engagement
from mccpo.experiments.prepare.events import apart, digest, events_on_graph, mean_length, retained_episodes
from mccpo.experiments.prepare.gate_reach import GateReach, gate_reach
from mccpo.experiments.prepare.held_out import HeldOutLosses, held_out
from mccpo.experiments.prepare.judges import JudgeReport, make_judges
from mccpo.experiments.prepare.learners import (
    FitModels,
    LearnerModels,
    fit_halves,
    groups_of,
    halves,
    harmless,
    labels_of,
)
from mccpo.experiments.prepare.options import PrepareOptions
from mccpo.experiments.prepare.parameters import SharedParameters, beliefs_of, judge_of, tutor_of
from mccpo.experiments.prepare.prepared import Prepared
from mccpo.experiments.prepare.resampling import population_of, resampled, with_population
from mccpo.experiments.prepare.training_learners import (
    EnsembleKind,
    ModelChoice,
    choose_model,
    ensemble_of,
    learners_of_kind,
)
from mccpo.mastery import Responses
from mccpo.mastery.fitting import FitSettings
from mccpo.mastery.tables import responses_of
from mccpo.work import Calls, one_by_one


class ChosenEvents(NamedTuple):
    """The retained episodes, how many events are on the graph at all, the horizon, and what is doubtful."""

    retained: pl.DataFrame
    on_graph: int
    horizon: int
    warnings: tuple[str, ...]


class Halves(NamedTuple):
    """The retained answers: of the tutor's learners and of the others, who judge; and how models are fitted to them."""

    ours: Responses
    theirs: Responses
    settings: FitSettings


class TrainingLearners(NamedTuple):
    """The environment to train in and how its learners were chosen; `others` are of the tutor's kind and judge."""

    tutor: Tutoring[Any]
    engagement: Engagement
    choice: ModelChoice
    kinds: dict[str, EnsembleKind]
    others: PreparedTutor


class JudgingLearners(NamedTuple):
    """The judge of another kind, judges of `more` kinds by their files, and how well all their models predict."""

    judge: PreparedJudge
    engagement: Engagement
    losses: HeldOutLosses
    more: dict[str, Tutoring[Any]]
    reports: tuple[JudgeReport, ...]


class Environments(NamedTuple):
    """All that logs were made into, step by step: what `prepared.json` tells of.

    `mean_of` names the shares that the demands of the `graph` are the mean of.
    """

    graph: RawGraph
    mean_of: list[str]
    chosen: ChosenEvents
    people: Halves
    fitted: LearnerModels
    shared: SharedParameters
    calibration: GateCalibration | None
    reach: GateReach
    training: TrainingLearners
    judging: JudgingLearners


def prepare(
    table: pl.DataFrame,
    graph: RawGraph,
    options: PrepareOptions | None = None,
    *,
    members: Mapping[str, str] | None = None,
    origin: LogOrigin | None = None,
    models: FitModels = fit_halves,
    calls: Calls = one_by_one,
) -> Prepared:
    """Makes environments of a canonical table and a graph.

    `members` says which concept of the graph each concept of the table belongs to; without it they have the same names.
    Events on other concepts are left out, and counted. `origin` is what the document says of where the table is from.
    `models` gives the two models of learners from the responses of the two halves, where fitting them is not enough.
    `calls` says how fits that do not depend on one another are made.
    """
    options = options or PrepareOptions()
    chosen = _choose_events(table, graph, options, members)
    labels = None if options.group is None else labels_of(chosen.retained, options.group)
    graph, mean_of = _with_demand(graph, chosen.retained)
    curriculum = Curriculum.from_raw(graph)
    settings = FitSettings(restarts=options.restarts, seed=options.seed)
    people = Halves(*halves(_coded(responses_of(chosen.retained), curriculum), options.seed), settings)
    of_another_make = models is not fit_halves  # models of another make say nothing of single answers
    ours, theirs, _ = people
    fitted = models(ours, theirs, settings) if of_another_make else fit_halves(ours, theirs, settings, calls)
    beliefs, calibration = beliefs_of(fitted.tutor, curriculum, ours), None
    if options.ready is not None and not of_another_make:
        doubt, calibration = calibrate(ours, curriculum, beliefs.doubt.astype(float), options.ready, settings)
        beliefs = beliefs._replace(doubt=doubt.astype(np.float32))
    groups = EVERYONE if labels is None else groups_of(labels, ours, settings, beliefs.K0, beliefs.eta)
    shared = SharedParameters(curriculum, beliefs, groups, options.theta, options.ready, chosen.horizon)
    refuse_closed_gate(reach := gate_reach(shared))
    training = _training_learners(shared, fitted, people, options, calls)
    judging = _judging_learners(shared, fitted, people)
    made = Environments(graph, mean_of, chosen, people, fitted, shared, calibration, reach, training, judging)
    document = _document(made, options, origin or LogOrigin(), table.height)
    return Prepared(
        graph=graph,
        tutor=training.tutor,
        judge=judging.judge,
        others=training.others,
        tutor_model=fitted.tutor,
        judge_model=fitted.judge,
        episodes=chosen.retained,
        document=document,
        more_judges=judging.more,
    )


def _training_learners(
    shared: SharedParameters, fitted: LearnerModels, people: Halves, options: PrepareOptions, calls: Calls
) -> TrainingLearners:
    """The learners to train with, of the kind that is asked for or of an ensemble; and other people of theirs."""
    ours, settings = people.ours, people.settings
    choice = choose_model(options.model, ours, settings)
    tutor, engagement = learners_of_kind(choice.model, shared, fitted.tutor, ours, settings)
    believed = tutor if isinstance(tutor, PreparedTutor) else tutor_of(shared, fitted.tutor, ours)[0]
    others = with_population(believed, population_of([fitted.others], shared.curriculum))
    kinds: dict[str, EnsembleKind] = {}
    if options.robust:
        resamples = with_population(believed, resampled(ours, shared.curriculum, settings, calls))
        tutor, kinds = ensemble_of(resamples, fitted.tutor, shared, ours, settings)
    return TrainingLearners(tutor, engagement, choice, kinds, others)


def _judging_learners(shared: SharedParameters, fitted: LearnerModels, people: Halves) -> JudgingLearners:
    """The learners to judge by, and how well the models behind them predict people whom they were not fitted to."""
    ours, theirs, _ = people
    judge, engagement = judge_of(shared, harmless(fitted.judge), theirs)
    # The judge as it was fitted: that no answer harms its learners is our choice, and does not make it predict worse.
    losses = HeldOutLosses(held_out(fitted.tutor, ours, theirs), held_out(fitted.judge, theirs, ours))
    more, reports = make_judges(shared, fitted, losses.judge, ours, theirs)
    return JudgingLearners(judge, engagement, losses, more, reports)


def _document(made: Environments, options: PrepareOptions, origin: LogOrigin, in_table: int) -> PreparedDocument:
    """What `prepared.json` says; `in_table` is how many events there were at first."""
    chosen, training, judging = made.chosen, made.training, made.judging
    retained, demand = chosen.retained, training.tutor.demand
    episodes = EpisodeSummary(retained["episode"].n_unique(), mean_length(retained), chosen.horizon, digest(retained))
    return PreparedDocument(
        origin=origin,
        options=options,
        graph=_graph_summary(made.graph, made.shared.curriculum),
        groups=made.shared.groups,
        events=EventCounts(in_table, chosen.on_graph, retained.height),
        episodes=episodes,
        tutor_learners=len(np.unique(made.people.ours.learner)),
        judge_learners=len(np.unique(made.people.theirs.learner)),
        tutor_engagement=training.engagement,
        judge_engagement=judging.engagement,
        demand=DemandSummary(made.mean_of, float(demand.min()), float(demand.max())),
        models=made.fitted.report,
        held_out=judging.losses,
        choice=training.choice,
        ensemble=training.kinds,
        judges=judging.reports,
        calibration=made.calibration,
        warnings=(
            *chosen.warnings,
            *environment_warnings(
                episodes.episodes, made.reach, judging.losses, training.tutor.gamma, made.calibration
            ),
            *judge_warnings(judging.judge),
            *refusals(judging.reports),
        ),
    )


def _choose_events(
    table: pl.DataFrame, graph: RawGraph, options: PrepareOptions, members: Mapping[str, str] | None
) -> ChosenEvents:
    """The events to make environments of; refuses those of which none can be made, before anything is fitted."""
    curriculum = Curriculum.from_raw(graph)
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


def _with_demand(graph: RawGraph, retained: pl.DataFrame) -> tuple[RawGraph, list[str]]:
    """The graph with the demands that events show, and which shares these are the mean of."""
    curriculum = Curriculum.from_raw(graph)
    demand, mean_of = demand_of(apart(retained), curriculum.concepts)
    demands = {name: round(float(value), 6) for name, value in zip(curriculum.concepts, demand, strict=True)}
    demands |= graph.demand  # a graph that says itself what its concepts ask keeps that
    return replace(curriculum.to_raw(), source=graph.source).stating(demands).labelled_as(graph), mean_of


def _graph_summary(graph: RawGraph, curriculum: Curriculum) -> GraphSummary:
    derived = None if graph.derived is None else str(graph.derived)
    return GraphSummary(len(curriculum), len(curriculum.edges), graph.provenances(), derived)
