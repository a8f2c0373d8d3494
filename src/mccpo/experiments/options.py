"""What a user may choose about an experiment, and how it tells how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mccpo.algo import PAPER_METHODS, Snapshot, TabularPlan, method_spec
from mccpo.algo.engine import Arrays
from mccpo.errors import InputError

# Episodes, and episodes per update, of each finite environment: the paper's numbers of episodes.
_LENGTHS = {"gate": (20_000, 8), "chain": (200_000, 40), "random-finite": (200_000, 40)}


@dataclass(frozen=True)
class Options:
    """The choices that `compare` and `reproduce` share; what is left out has the paper's value."""

    methods: tuple[str, ...] = PAPER_METHODS
    seeds: int = 10
    episodes: int | None = None
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
            if not 0 < kappa < float("inf"):
                raise InputError(f"kappa is {kappa}", fix="give a share of the unconstrained cost, such as 0.9")

    def plan(self, environment: str) -> TabularPlan:
        """How to train on a finite environment."""
        episodes, batch = _LENGTHS[environment]
        return TabularPlan(self.episodes or episodes, batch, self.seeds, self.seed)


@dataclass(frozen=True)
class Session:
    """Where an experiment tells how far it is and keeps what it needs to go on; by default nowhere.

    `progress(label, point, points)` is called as a part of the experiment advances; `load(label)` gives the arrays of
    a part that was begun before, `save(label, snapshot)` keeps one.
    """

    progress: Callable[[str, int, int], None] | None = None
    load: Callable[[str], Arrays | None] | None = None
    save: Callable[[str, Snapshot[Any, Any]], None] | None = None
