"""Where nothing sensible can come of logs and a graph: what is refused, and what is made with a warning.

Refused is what is certain: a graph that gates nothing or is of other logs, too few learners to tell anything from
chance, a gate that nobody can open, steps that weigh nothing. Warned of is what may be meant, may be chance, or is a
matter of degree; θ and γ can still be set when the environment is used. A warning is one line: what, then what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from mccpo.curriculum import DEFAULT_DEMAND, Curriculum, RawGraph
from mccpo.curriculum.lint import near_duplicates
from mccpo.env import PreparedJudge, PreparedTutor
from mccpo.errors import InputError
from mccpo.experiments.prepare.calibration import GateCalibration
from mccpo.experiments.prepare.events import alike_names, concepts_in
from mccpo.experiments.prepare.gate_reach import GateReach
from mccpo.experiments.prepare.held_out import HeldOutLosses
from mccpo.experiments.prepare.judges import JudgeReport
from mccpo.experiments.prepare.learners import POOLED_WITH

LEAST_SHARE, GOOD_SHARE = 0.1, 0.5
"""Of the graph's concepts, how many must have events; and below how many that is worth a warning."""
LEAST_LOCKED = 0.05
"""The share of concepts locked at the start below which a gate hardly matters."""
FEW_LEARNERS = 2 * POOLED_WITH
"""With fewer in a half than it is pooled with, a concept's numbers come more from the mean than from its answers."""
LEAST_WEIGHT = 2.0**-23
"""A step that weighs less than this, the precision of the numbers that policies are trained with, changes no sum."""
FAR_BEYOND = 3
"""How many effective horizons 1/(1 − γ) an episode may have: the last step then weighs 5 % of the first."""


def refuse_no_edges(graph: RawGraph) -> None:
    """Refuses a graph without edges: every concept would be ready at all times, whatever θ is chosen later."""
    if graph.edges:
        return
    if graph.derived is not None:
        raise InputError(
            f"no edge of a graph could be learnt from {graph.source}, so the gate would lock nothing",
            fix="give a graph with --graph, or logs of more learners",
        )
    raise InputError(
        f"the graph ({graph.source}) has no edges, so the gate would lock nothing",
        fix="say in it what comes before what",
    )


def refuse_other_graph(on_graph: pl.DataFrame, curriculum: Curriculum, source: str, *, renamed: bool) -> None:
    """Refuses a graph that is most likely of other logs: few of its concepts have events.

    Names that are bare numbers match by chance, so more of them must: two platforms both have a concept 17. With
    `renamed`, somebody said which concept of the logs is which of the graph.
    """
    met, concepts = concepts_in(on_graph), len(curriculum)
    by_chance = not renamed and all(map(_is_bare_number, met))
    share = GOOD_SHARE if by_chance else LEAST_SHARE
    if len(met) >= max(2, share * concepts):
        return
    why = ", and names that are bare numbers match by chance" if by_chance else ""
    raise InputError(
        f"{len(met)} of {concepts} concepts of {source} have events{why}",
        fix="give the graph of these logs, or --members item,concept",
    )


def refuse_horizon(horizon: int) -> None:
    """Refuses a horizon whose last steps weigh nothing: to train on them takes time and can teach nothing."""
    gamma = PreparedTutor.gamma
    if gamma**horizon < LEAST_WEIGHT:
        raise InputError(
            f"the horizon is {horizon}, and with the discount {gamma:g} its last step weighs nothing "
            f"({gamma**horizon:.0e} of the first)",
            fix=f"give --horizon {_most_steps(gamma)} or less",
        )


def refuse_closed_gate(reach: GateReach) -> None:
    """Refuses a gate that nobody can open in an episode: only the concepts without prerequisites would be taught."""
    if reach.locked and reach.fewest_lessons > reach.horizon:
        raise InputError(
            f"the gate opens no concept within {reach.horizon} steps, even where every answer is right "
            f"({reach.flag} {reach.asked:g})",
            fix=f"lower --{reach.flag}, or raise --horizon",
        )


def graph_warnings(
    table: pl.DataFrame,
    retained: pl.DataFrame,
    graph: RawGraph,
    curriculum: Curriculum,
    members: Mapping[str, str] | None,
) -> Iterator[str]:
    """What is doubtful about the graph and how the logs fit it."""
    met, concepts = concepts_in(retained), len(curriculum)
    if len(met) < GOOD_SHARE * concepts:
        yield (
            f"{len(met)} of {concepts} concepts of {graph.source} have events in the episodes, the others take the "
            "mean of these; give a graph of what the logs teach"
        )
    if members is None:
        yield from _name_warnings(table, graph, curriculum)
    if alike := near_duplicates(curriculum.concepts):
        names = ", ".join(map(repr, alike[0]))
        yield f"{graph.source} has names that look alike: {names}; if they mean one concept, give it one name"
    if len(graph.demand) == concepts > 1 and set(graph.demand.values()) == {DEFAULT_DEMAND}:
        # `convert` and `check --repair` once wrote this where a file stated no demand.
        yield (
            f"{graph.source} states the demand {DEFAULT_DEMAND:g} for every concept; remove it to have demand "
            "measured in the logs"
        )


def _name_warnings(table: pl.DataFrame, graph: RawGraph, curriculum: Curriculum) -> Iterator[str]:
    named = concepts_in(table)
    shared = named & set(curriculum.concepts)
    if all(map(_is_bare_number, shared)) and len(shared) < GOOD_SHARE * len(named):
        yield (
            f"the logs and {graph.source} share {len(shared)} names, all bare numbers, and {len(named - shared)} "
            "concepts of the logs are not on the graph; check that both number the same concepts"
        )
    if alike := alike_names(table, curriculum):
        logged, stated = next(iter(alike.items()))
        yield (
            f"{len(alike)} concepts of the logs are left out though the graph has one spelt alike, such as {logged!r} "
            f"and {stated!r}; name them alike, or give --members item,concept"
        )


def environment_warnings(
    learners: int, reach: GateReach, losses: HeldOutLosses, gamma: float, calibration: GateCalibration | None = None
) -> Iterator[str]:
    """What is doubtful about the environments that were made."""
    if learners < FEW_LEARNERS:
        yield (
            f"{learners} learners make both environments, so a concept's numbers come more from the mean over "
            "concepts than from its own answers; lower --minimum, or give more logs"
        )
    yield from gate_warnings(reach)
    if calibration is not None and not calibration.answers:
        yield (
            "no concept is called mastered of enough held-out learners to tell whether the gate is right; give more "
            "logs, or try policies on judge-others.json"
        )
    if calibration is not None and calibration.contradicted:
        yield (
            f"of {len(calibration.contradicted)} concepts that the gate calls mastered, such as "
            f"{calibration.contradicted[0]!r}, held-out learners answer fewer right than the model says; check what is "
            "taught under that name"
        )
    # A warning, not a refusal: of few learners this may be chance, and of many a constant may be the truth.
    if not losses.tutor.beats_constant:
        yield (
            "knowledge tracing predicts held-out learners no better than a constant (log-loss "
            f"{losses.tutor.log_loss:.3f}, constant {losses.tutor.constant:.3f}); give more logs, or concepts that "
            "answers depend on"
        )
    if reach.horizon > _most_steps(gamma):
        yield (
            f"the horizon is {reach.horizon}, but with the discount {gamma:g} an episode counts for little after "
            f"{round(1 / (1 - gamma))} steps, and the last step for {gamma**reach.horizon:.1%} of the first; give "
            f"--horizon {_most_steps(gamma)} or less, or train with --set gamma={_fitting_discount(reach.horizon)}"
        )


def refusals(judges: Sequence[JudgeReport]) -> Iterator[str]:
    """The judges whose models are no better than a constant, and that do not judge for that."""
    for judge in judges:
        if judge.refused is not None and judge.held_out is not None:
            yield f"{judge.file} ({judge.kind}) does not judge: {judge.refused}; give more logs"


def judge_warnings(judge: PreparedJudge) -> Iterator[str]:
    """Where the judge's learners cannot be ready in truth, whatever they practise."""
    pace = np.maximum(np.maximum(judge.success, judge.failure), 0.0) / (1 - judge.decay)  # all that can still count
    best = 1 / (1 + np.exp(-(np.asarray(judge.ease) + pace)))
    needed = {name for name, _ in judge.curriculum.edges}
    never = [name for name, chance in zip(judge.curriculum.concepts, best, strict=True) if chance < judge.mastered_at]
    if never := [name for name in never if name in needed]:
        yield (
            f"of {len(never)} concepts that others need, such as {never[0]!r}, no practice brings the judge's learners "
            f"to {judge.mastered_at:g} right answers, from where they are ready; lower --theta, "
            "or take judge-others.json"
        )


def gate_warnings(reach: GateReach) -> Iterator[str]:
    """What is doubtful about a gate: that it locks next to nothing, or opens late."""
    # Warnings, not refusals: an estimate falls with wrong answers, and θ can be set anew when the environment is used.
    if reach.locked < LEAST_LOCKED * reach.concepts:
        yield (
            f"the gate locks {reach.locked} of {reach.concepts} concepts at the start ({reach.flag} {reach.asked:g}), "
            f"so it hardly constrains what is taught; raise --{reach.flag}, or give a graph with more edges"
        )
    if reach.locked and reach.expected_lessons > reach.horizon:
        yield (
            f"the gate opens no concept within {reach.horizon} steps for the average learner ({reach.flag} "
            f"{reach.asked:g}); lower --{reach.flag}, or raise --horizon"
        )


def _is_bare_number(name: str) -> bool:
    return name.replace(".", "", 1).isdecimal()  # a column of ids with gaps is often written as 17.0


def _most_steps(gamma: float) -> int:
    return round(FAR_BEYOND / (1 - gamma)) if gamma < 1 else 2**31


def _fitting_discount(horizon: int) -> str:
    """A discount whose effective horizon is about the episode, in as many digits as that takes."""
    return f"{1 - 1 / horizon:.{len(str(horizon))}f}"
