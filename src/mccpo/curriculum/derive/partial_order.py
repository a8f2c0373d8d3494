"""Learns which concepts come before which from what learners know: partial order knowledge structures.

If u comes before v, whoever knows v knows u, and whoever does not know u does not know v. The method of Desmarais,
Maluf and Liu (1996; Desmarais, Meshkinfam and Gagnon 2006) takes an edge u → v where binomial tests find both
conditional rates above a floor and a test finds the two concepts associated. Here it has four additions. Many pairs
are tested, so the tests of association and of direction are held to a false discovery rate (Benjamini and Hochberg
1995). A direction must itself be significant: the two ways of knowing just one of the concepts are compared by
McNemar's exact test. Learners who answered only one of the two say nothing about the pair. The association can be
tested within strata of equal ability (Mantel and Haenszel 1959), since able learners know more of everything.

Each concept keeps the strongest few of the edges that pass. Cycles lose their weakest edge, and edges that others imply
go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import scipy  # whose parts load when they are used
from jaxtyping import Bool, Float

from mccpo.curriculum.derive.pruning import acyclic, reduced, strongest
from mccpo.curriculum.derive.recipe import Derived, derivation, graph_of
from mccpo.curriculum.derive.scores import Scores, answered_before, check_scores, in_order, incidence
from mccpo.curriculum.formats.raw import Evidence, Fact
from mccpo.errors import InputError

RECIPE = "responses"
EQUAL_ABILITY = 5
"""The classes of ability within which the edges found among all learners are looked at once more."""
_SHRINK = 3.0
"""Answers as good as expected that are added to each learner's own, so that few answers make no extreme ability."""

Square: TypeAlias = Float[np.ndarray, "V V"]


@dataclass(frozen=True)
class LearnChoices:
    """How an edge is judged."""

    min_learners: int = 30
    """Pairs that fewer learners answered both of are not tested."""
    false_discoveries: float = 0.05
    """The share of false findings that is tolerated among the associations, and among the directions."""
    floor: float = 0.5
    """What both conditional rates must exceed."""
    floor_error: float = 0.2
    """The error of the binomial test that they do."""
    strata: int = 1
    """Learners are compared within this many classes of ability; 1 compares them all."""
    orient: Literal["responses", "order", "reach", "responses+order", "responses+reach"] = "responses"
    """What comes first: the concept that is more often known, first answered, or answered by more learners."""
    weigh: Literal["shared", "none"] = "shared"
    """Whether an association weighs more the larger the share of learners who met both among those who met either."""
    max_prerequisites: int = 2
    """How many prerequisites a concept keeps."""
    known_from: float = 0.5
    """The score from which a learner counts as knowing a concept."""


class Pairs(NamedTuple):
    """What the responses say of every pair; rows are the first concept u, columns the second, v."""

    learners: Square
    """Who answered both."""
    known_if_known: Square
    """P(u known | v known)."""
    unknown_if_unknown: Square
    """P(v unknown | u unknown)."""
    association: Square
    """The z-value of the association."""
    association_q: Square
    """The false discovery rate at which it would just be found; 1 where a pair is not tested."""
    direction: Square
    """The z-value of u before v."""
    direction_q: Square
    strength: Square
    passed: Bool[np.ndarray, "V V"]
    """Where u → v passes every test."""


def learn_graph(scores: Scores, choices: LearnChoices | None = None, origin: str = "responses") -> Derived:
    """The graph that the scores speak for. A concept without an edge stays a concept.

    Among all learners an association may come from ability alone, so every edge also says how strong it is among
    learners of equal ability, and the notes how many edges would be found there.
    """
    choices, scores = choices or LearnChoices(), in_order(scores)
    pairs = pair_statistics(scores, choices)
    strongest_edges = strongest(pairs.passed, pairs.strength, choices.max_prerequisites)
    chosen = reduced(acyclic(strongest_edges, pairs.strength))
    equals = pairs if choices.strata > 1 else pair_statistics(scores, replace(choices, strata=EQUAL_ABILITY))
    confirmed = int((chosen & (equals.association_q <= choices.false_discoveries)).sum())
    names = scores.concepts
    evidence = {
        (names[start], names[end]): Evidence("learnt from responses", _support(pairs, equals, start, end))
        for start, end in np.argwhere(chosen)
    }
    met = np.bincount(scores.concept, minlength=len(names))
    graph = graph_of(_easiest_first(scores), evidence, origin, derivation(RECIPE, origin, choices))
    tested = int(np.triu(pairs.learners >= choices.min_learners, 1).sum())
    notes = (
        f"{tested} of {len(names) * (len(names) - 1) // 2} pairs have {choices.min_learners} learners or more",
        f"{int(pairs.passed.sum())} edges pass the tests, {int(strongest_edges.sum())} are among the strongest of "
        f"their concept, {int(chosen.sum())} are left without cycles and implied edges",
        f"{confirmed} of these are associated among learners of equal ability; the others may be mere difficulty",
        f"{int((met < choices.min_learners).sum())} concepts have fewer than {choices.min_learners} learners",
    )
    return Derived(graph, notes=notes)


def pair_statistics(scores: Scores, choices: LearnChoices) -> Pairs:
    """Tests every pair of concepts."""
    check_scores(scores)
    _check(choices, scores)
    both, first_only, neither, z = _tables(scores, choices)
    learners = both + first_only + first_only.T + neither
    tested = learners >= choices.min_learners
    np.fill_diagonal(tested, False)
    met = np.bincount(scores.concept, minlength=len(scores.concepts)).astype(np.float64)
    direction, direction_p = _direction(scores, choices, first_only, met[:, None] - learners, tested)
    association_q = _false_discovery_rates(scipy.stats.norm.sf(z), tested)
    direction_q = _false_discovery_rates(direction_p, tested)
    known, unknown = both + first_only.T, first_only.T + neither  # of v known; of u unknown
    share = learners / np.maximum(met[:, None] + met[None, :] - learners, 1.0)
    passed = (
        tested
        & (association_q <= choices.false_discoveries)
        & (direction_q <= choices.false_discoveries)
        & (direction > 0)
        & (scipy.stats.binom.sf(both - 1, known, choices.floor) <= choices.floor_error)
        & (scipy.stats.binom.sf(neither - 1, unknown, choices.floor) <= choices.floor_error)
    )
    return Pairs(
        learners, both / np.maximum(known, 1), neither / np.maximum(unknown, 1), z, association_q,
        direction, direction_q, z * share if choices.weigh == "shared" else z, passed,
    )  # fmt: skip


def _tables(scores: Scores, choices: LearnChoices) -> tuple[Square, Square, Square, Square]:
    """Who knows both, the first only, and neither of every pair, and the z-value of their association.

    It is the Mantel–Haenszel statistic over the strata of ability; with one stratum that is the correlation of the two
    times the root of one less than the number of learners.
    """
    known, unknown = incidence(scores, choices.known_from)
    stratum = _strata(scores, choices, known.shape[0])
    n = len(scores.concepts)
    both, first_only, neither, excess, variance = np.zeros((5, n, n))
    for chosen in (stratum == which for which in range(choices.strata)):
        K, U = known[chosen], unknown[chosen]
        a, b, d = ((left.T @ right).toarray().astype(np.float64) for left, right in ((K, K), (K, U), (U, U)))
        c, total = b.T, np.maximum(a + b + b.T + d, 2.0)
        excess += a - (a + b) * (a + c) / total
        variance += (a + b) * (c + d) * (a + c) * (b + d) / (total**2 * (total - 1))
        both, first_only, neither = both + a, first_only + b, neither + d
    z = np.divide(excess, np.sqrt(variance), out=np.zeros_like(excess), where=variance > 0)
    return both, first_only, neither, z


def _strata(scores: Scores, choices: LearnChoices, learners: int) -> np.ndarray:
    """The class of ability of every learner: by how much better than others they do on the concepts they met."""
    answered = np.bincount(scores.concept, minlength=len(scores.concepts))
    mean = np.bincount(scores.concept, scores.score, len(scores.concepts)) / np.maximum(answered, 1)
    better = np.bincount(scores.learner, scores.score - mean[scores.concept], learners)
    ability = better / (np.bincount(scores.learner, minlength=learners) + _SHRINK)
    return np.searchsorted(np.quantile(ability, np.linspace(0, 1, choices.strata + 1)[1:-1]), ability)


def _direction(
    scores: Scores, choices: LearnChoices, first_only: Square, reached_alone: Square, tested: Bool[np.ndarray, "V V"]
) -> tuple[Square, Square]:
    """The z-value of u before v, and the two-sided p-value, from the kinds of evidence that were chosen (Stouffer)."""
    kinds = choices.orient.split("+")
    z, p = np.zeros_like(first_only), np.ones_like(first_only)
    for kind in kinds:
        if kind == "order":
            speaks_for = answered_before(scores)
        else:
            speaks_for = first_only if kind == "responses" else reached_alone
        pro, contra = speaks_for[tested], speaks_for.T[tested]
        p[tested] = np.minimum(2 * scipy.stats.binom.cdf(np.minimum(pro, contra), pro + contra, 0.5), 1.0)
        z[tested] += np.sign(pro - contra) * scipy.stats.norm.isf(np.maximum(p[tested], 1e-300) / 2)
    if len(kinds) > 1:
        z /= np.sqrt(len(kinds))
        p[tested] = 2 * scipy.stats.norm.sf(np.abs(z[tested]))
    return z, p


def _false_discovery_rates(p: Square, tested: Bool[np.ndarray, "V V"]) -> Square:
    """The q-value of each tested pair by the rule of Benjamini and Hochberg; a pair counts once, whatever its order."""
    q = np.ones_like(p)
    once = np.triu(tested)
    if once.any():
        q[once] = scipy.stats.false_discovery_control(p[once])
    return np.minimum(q, q.T)


def _easiest_first(scores: Scores) -> list[str]:
    """The concepts by mean score, so that the graph reads from easy to hard where its edges do not say."""
    answered = np.maximum(np.bincount(scores.concept, minlength=len(scores.concepts)), 1)
    mean = np.bincount(scores.concept, scores.score, len(scores.concepts)) / answered
    return [scores.concepts[index] for index in np.argsort(-mean, kind="stable")]


def _support(pairs: Pairs, equals: Pairs, start: int, end: int) -> dict[str, Fact]:
    squares = {
        "prerequisite_known_if_concept_known": pairs.known_if_known,
        "concept_unknown_if_prerequisite_unknown": pairs.unknown_if_unknown,
        "association_z": pairs.association,
        "association_q": pairs.association_q,
        "association_z_at_equal_ability": equals.association,
        "direction_z": pairs.direction,
        "direction_q": pairs.direction_q,
    }
    learners: dict[str, Fact] = {"learners": int(pairs.learners[start, end])}
    return learners | {name: float(f"{square[start, end]:.4g}") for name, square in squares.items()}


def _check(choices: LearnChoices, scores: Scores) -> None:
    for name in ("false_discoveries", "floor", "floor_error", "known_from"):
        if not 0.0 < getattr(choices, name) <= 1.0:
            raise InputError(f"{name} is {getattr(choices, name)}", fix="give a number above 0 and at most 1")
    for name in ("min_learners", "strata", "max_prerequisites"):
        if getattr(choices, name) < 1:
            raise InputError(f"{name} is {getattr(choices, name)}", fix="give a whole number from 1")
    if "order" in choices.orient and scores.first is None:
        raise InputError("the responses have no order", fix="orient by responses or by reach")
