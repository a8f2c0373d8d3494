"""What a user may choose about an experiment, and how it tells how far it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mccpo.algo import PAPER_METHODS, NeuralPlan, Snapshot, TabularPlan, method_spec
from mccpo.algo.engine import Arrays
from mccpo.curriculum import Curriculum
from mccpo.errors import InputError

# Episodes, and episodes per update, of each finite environment: the paper's numbers of episodes.
_LENGTHS = {"gate": (20_000, 8), "chain": (200_000, 40), "random-finite": (200_000, 40)}


@dataclass(frozen=True)
class Options:
    """The choices that `compare` and `reproduce` share; what is left out has the paper's value."""

    methods: tuple[str, ...] = PAPER_METHODS
    seeds: int = 10
    episodes: int | None = None
    steps: int | None = None
    seed: int = 0
    kappa: tuple[float, ...] = ()
    budgets: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.methods:
            raise InputError("no method is named", fix="name one or more, such as --methods mc-cpo")
        for name in self.methods:
            method_spec(name)
        for kappa in self.kappa:
            if self.kappa.count(kappa) > 1:
                raise InputError(f"kappa {kappa} is named twice", fix="name each level once")
            if not 0 < kappa < float("inf"):
                raise InputError(f"kappa is {kappa}", fix="give a share of the unconstrained cost, such as 0.9")
        if len(self.kappa) > 1 and self.budgets:
            raise InputError("several kappa and a --budget contradict each other", fix="give one or the other")

    def plan(self, environment: str) -> TabularPlan:
        """How to train on a finite environment."""
        episodes, batch = _LENGTHS[environment]
        if self.steps is not None:
            raise InputError(f"{environment} is trained by episodes, not steps", fix="give --episodes")
        return TabularPlan(episodes if self.episodes is None else self.episodes, batch, self.seeds, self.seed)

    def neural_plan(self, environment: str) -> NeuralPlan:
        """How to train on an environment that is not finite."""
        if self.episodes is not None:
            raise InputError(f"{environment} is trained by steps, not episodes", fix="give --steps")
        return NeuralPlan(NeuralPlan.steps if self.steps is None else self.steps, self.seeds, self.seed)

    def only_kappa(self, table: str) -> float | None:
        """The one level of a table that takes one."""
        if len(self.kappa) > 1:
            raise InputError(f"{table} takes one kappa", fix="run `mccpo compare` for several")
        return self.kappa[0] if self.kappa else None


def describe(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an environment in words and numbers; a curriculum by its size and a digest of its content."""
    return {name: _describe(value) for name, value in parameters.items()}


def _describe(value: Any) -> Any:
    if not isinstance(value, Curriculum):
        return value
    content = repr((value.concepts, value.edges, value.demand.tolist()))
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    return f"{len(value)} concepts, {len(value.edges)} edges, sha256 {digest}"


@dataclass(frozen=True)
class Session:
    """Where an experiment tells how far it is and keeps what it needs to go on; by default nowhere.

    `progress(label, point, points)` is called as a part of the experiment advances; `load(label)` gives the arrays of
    a part that was begun before, `save(label, snapshot)` keeps one.
    """

    progress: Callable[[str, int, int], None] | None = None
    load: Callable[[str], Arrays | None] | None = None
    save: Callable[[str, Snapshot[Any, Any]], None] | None = None
