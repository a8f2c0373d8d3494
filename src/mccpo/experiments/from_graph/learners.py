"""A graph made into an environment, its learners from the stated prior, as a folder that is like a prepared one.

curriculum.json    the graph
tutor.json         the environment to train in: learners of platforms that are drawn from the prior
judge-others.json  the same with other platforms of the prior, to judge by
prior.json         the prior, what the gate's caution is, and what is doubtful
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

from mccpo import files
from mccpo.curriculum import Curriculum, RawGraph, write_raw
from mccpo.env import EVERYONE, OTHERS_FILE, TUTOR_FILE, PriorTutor, describe_environment
from mccpo.experiments.from_graph.caution import CONCEPTS, PLATFORMS, Caution, cautions, cautions_by_concept
from mccpo.experiments.from_graph.posterior import LearnerPosterior
from mccpo.experiments.from_graph.prior import STATED, LearnerPrior
from mccpo.experiments.from_graph.rehearsal import Rehearsal, rehearse
from mccpo.experiments.prepare.checks import gate_warnings, refuse_closed_gate
from mccpo.experiments.prepare.engagement import Engagement
from mccpo.experiments.prepare.gate_reach import GateReach, gate_reach
from mccpo.experiments.prepare.parameters import Beliefs, SharedParameters, signals_of
from mccpo.files import dump_json

DOCUMENT = "prior.json"
HORIZON = 100
MEMBERS = 16
"""Platforms that the learners of an environment come from."""
THETA = 0.7
REHEARSING = 64
"""Further platforms that the gate is rehearsed with, beside those of the tutor."""
Believed: TypeAlias = LearnerPrior | LearnerPosterior
"""What is believed of learners: the prior, or what answers made of it."""
_TUTOR, _OTHERS, _CAUTION = 0, 1, 2  # set what is drawn for each apart


@dataclass(frozen=True, eq=False)
class LearnersOfPrior:
    """What a graph without logs was made into: environments, the prior behind them, and how cautious the gate is."""

    graph: RawGraph
    tutor: PriorTutor
    others: PriorTutor
    prior: Believed
    cautions: tuple[Caution, ...]
    rehearsal: Rehearsal | None
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The prior, its means, and the caution that it asks for, as plain values."""
        return {
            **self.prior.as_json(),
            "platforms": MEMBERS,
            "caution": [one._asdict() for one in self.cautions],
            "rehearsal": None if self.rehearsal is None else self.rehearsal._asdict(),
            "warnings": list(self.warnings),
        }

    def write(self, folder: Path) -> None:
        """Writes the folder."""
        write_raw(self.graph, folder / "curriculum.json")
        for name, env in ((TUTOR_FILE, self.tutor), (OTHERS_FILE, self.others)):
            described = {"environment": env.name, "parameters": describe_environment(env)}
            files.write_text(folder / name, dump_json(described, indent=1) + "\n")
        files.write_text(folder / DOCUMENT, dump_json(self.as_json(), indent=2) + "\n")


def learners_of_prior(
    graph: RawGraph,
    *,
    confidence: float | None,
    horizon: int | None = None,
    seed: int = 0,
    prior: Believed = STATED,
) -> LearnersOfPrior:
    """Makes environments of a graph alone: what the tutor believes are the prior's means, its learners are draws.

    With the posterior of a platform it is the same, concept by concept.
    """
    curriculum = Curriculum.from_raw(graph)
    believed = prior.believed(len(curriculum))
    found = () if confidence is None else _cautions(curriculum, prior, believed, confidence, seed)
    doubt = np.array([one.doubt for one in found] if found else np.zeros(len(curriculum)), np.float32)
    K0, eta, guess, slip = believed.astype(np.float32)
    beliefs = Beliefs(K0, eta, guess, slip, doubt)
    shared = SharedParameters(curriculum, beliefs, EVERYONE, THETA, confidence, HORIZON if horizon is None else horizon)
    refuse_closed_gate(gate_reach(shared))
    rehearsal = None
    if confidence is not None and curriculum.edges:
        rehearsal, shared = _rehearsed(shared, prior, confidence, seed)
    tutor, others = (_environment(shared, prior, seed, which) for which in (_TUTOR, _OTHERS))
    warnings = (*_warnings(graph, gate_reach(shared), rehearsal), *_caution_warnings(curriculum, prior, found))
    return LearnersOfPrior(graph, tutor, others, prior, tuple(sorted(set(found))), rehearsal, warnings)


def _cautions(
    curriculum: Curriculum,
    prior: Believed,
    believed: Float[np.ndarray, "4 concepts"],
    confidence: float,
    seed: int,
) -> tuple[Caution, ...]:
    """How cautious the gate is about each concept: by the prior about all alike, by a posterior about each."""
    needed = curriculum.most_needed_with.tolist()
    if isinstance(prior, LearnerPrior):
        alike = cautions(prior.draw(PLATFORMS, CONCEPTS, _CAUTION), believed[:, 0].tolist(), confidence, needed, seed)
        return tuple(alike[together] for together in needed)
    return cautions_by_concept(prior.draw(PLATFORMS, len(needed), _CAUTION), believed, confidence, needed, seed)


def _rehearsed(
    shared: SharedParameters, prior: Believed, confidence: float, seed: int
) -> tuple[Rehearsal, SharedParameters]:
    """The gate made as cautious as a rehearsal on the graph asks for; the judges have no part in it."""

    def stricter(halvings: int) -> SharedParameters:
        doubt = (1 - (1 - shared.beliefs.doubt) * 2.0**-halvings).astype(np.float32)
        return replace(shared, beliefs=shared.beliefs._replace(doubt=doubt))

    def environments(halvings: int) -> Sequence[PriorTutor] | None:
        now = stricter(halvings)
        reach = gate_reach(now)
        if reach.locked and reach.fewest_lessons > reach.horizon:
            return None
        return [_environment(now, prior, seed, _TUTOR), _environment(now, prior, seed, _CAUTION, REHEARSING)]

    rehearsal = rehearse(environments, confidence, seed)
    return rehearsal, stricter(rehearsal.halvings)


def _environment(
    shared: SharedParameters, prior: Believed, seed: int, which: int, members: int = MEMBERS
) -> PriorTutor:
    engagement = Engagement(*prior.engaged, r_squared=float("nan"), mean=float("nan"))
    first = float((shared.beliefs.eta * (1 - shared.beliefs.K0)).mean())
    population = prior.draw(members, len(shared.curriculum), 3 * seed + which)
    return PriorTutor(**shared.as_arguments(), **signals_of(engagement, first), population=population)


def _warnings(graph: RawGraph, reach: GateReach, rehearsal: Rehearsal | None) -> Iterator[str]:
    yield from gate_warnings(reach)
    if rehearsal is not None and not rehearsal.enough:
        yield (
            f"in a rehearsal on this graph {rehearsal.unready:.1%} of lessons were unready in truth, where "
            f"{rehearsal.most:.1%} may be, with as cautious a gate as learners can open; give --logs, or a longer "
            "--horizon"
        )
    if not graph.demand:
        yield f"{graph.source} states no demand: every concept is taken to ask the same, so c3 is 0 whatever is taught"


def _caution_warnings(curriculum: Curriculum, prior: Believed, found: tuple[Caution, ...]) -> Iterator[str]:
    """Where the gate is not as right as it says, in the worst case; a concept that none needs opens nothing."""
    needed = {name for name, _ in curriculum.edges}
    all_of_them = zip(found, curriculum.concepts, strict=True) if found else ()
    short = [(one, name) for one, name in all_of_them if name in needed and not one.enough]
    if not short:
        return
    one, name = max(short)
    asks = f"where {one.together} prerequisites are needed together, the gate asks for {one.asked:.4f} of each, and "
    if isinstance(prior, LearnerPrior):
        right = f"is right in {one.true:.4f} of cases by the prior" if one.opens else "is out of reach on some platform"
        yield f"{asks}{right}; give --logs, or state fewer prerequisites"
    else:
        right = f"is right in {one.true:.4f} of cases by the answers" if one.opens else "next to nobody gets there"
        yield f"{asks}{right}, as with {name!r}; let more learners answer, or state fewer prerequisites"
