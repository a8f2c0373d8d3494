"""The curricula a tutor can teach: the profiles' own, random ones by seed, and a user's."""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Int

from mccpo.curriculum import Curriculum
from mccpo.env.finite.random_finite import random_curriculum
from mccpo.errors import InputError


@cache
def profile_curriculum(concepts: int) -> Curriculum:
    """The curriculum of the profiles: three strands, tied together at the odd concepts, ever more demanding.

    Concept v needs v − 3, and an odd v also v − 2; demands are evenly spaced from 0.2 to 0.9.

    >>> profile_curriculum(6).edges
    (('v0', 'v3'), ('v1', 'v3'), ('v1', 'v4'), ('v2', 'v5'), ('v3', 'v5'))
    """
    names = [f"v{v}" for v in range(concepts)]
    edges = [(names[v - back], names[v]) for v in range(3, concepts) for back in ((3, 2) if v % 2 else (3,))]
    return Curriculum.from_edges(edges, concepts=names, demand=np.linspace(0.2, 0.9, concepts))


def chosen_curriculum(curriculum: Curriculum | None, seed: int | None, concepts: int) -> Curriculum:
    """The curriculum that a user asks for: their own, a random one by its seed, or the profiles'."""
    if curriculum is not None:
        if seed is not None:
            raise InputError("curriculum and curriculum_seed are both given", fix="give one of them")
        if not isinstance(curriculum, Curriculum):
            raise InputError(f"curriculum is {curriculum!r}", fix="read it from its file with Curriculum.read(path)")
        return curriculum
    if not _is_count(concepts) or concepts < 1:
        raise InputError(f"concepts is {concepts}", fix="give a whole number of at least 1")
    if seed is None:
        return profile_curriculum(concepts)
    if not _is_count(seed):
        raise InputError(f"curriculum_seed is {seed}", fix="give a whole number from 0 on")
    return random_curriculum(np.random.default_rng([seed, concepts]), concepts)


def dependants(curriculum: Curriculum) -> Int[np.ndarray, " concepts"]:
    """How many concepts need each one, directly or not.

    >>> dependants(profile_curriculum(6)).tolist()
    [2, 3, 1, 1, 0, 0]
    """
    needs = curriculum.prerequisites.lists
    counts = np.zeros(len(curriculum), int)
    for concept in range(len(curriculum)):  # each is behind all that lies before it
        reached, waiting = set(needs[concept]), list(needs[concept])
        while waiting:
            fresh = [before for before in needs[waiting.pop()] if before not in reached]
            reached.update(fresh)
            waiting.extend(fresh)
        counts[list(reached)] += 1
    return counts


def core(curriculum: Curriculum, concepts: int) -> Curriculum:
    """The part of a curriculum on which most of it rests: the concepts with the most others behind them.

    More lies behind a prerequisite than behind what needs it, so that the core has all prerequisites of its concepts.
    Among equals the first in the curriculum's order is taken, so that there is one core of each size, and a larger one
    has all of a smaller one.

    >>> core(profile_curriculum(6), 3).edges
    ()
    >>> core(profile_curriculum(6), 4).edges
    (('v0', 'v3'), ('v1', 'v3'))
    """
    if not _is_count(concepts) or not 1 <= concepts <= len(curriculum):
        raise InputError(f"concepts is {concepts}", fix=f"give a whole number from 1 to {len(curriculum)}")
    kept = np.sort(np.argsort(-dependants(curriculum), kind="stable")[:concepts])
    names = [curriculum.concepts[place] for place in kept]
    edges = [edge for edge in curriculum.edges if edge[1] in set(names)]
    return Curriculum.from_edges(edges, concepts=names, demand=curriculum.demand[kept])


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
