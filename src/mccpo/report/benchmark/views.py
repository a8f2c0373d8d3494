"""An environment of a benchmark as its report has it: the methods on it, and their cells of one κ each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from mccpo.evaluation import Summary
from mccpo.runs.benchmark import Cell, Optimum

TIED = 1e-9  # scores that differ by less do so by rounding

Measure: TypeAlias = Literal["hypervolume", "kept"]
"""What a method is scored by on an environment, over all κ."""


@dataclass(frozen=True, kw_only=True)
class CellView(Cell):
    """A cell, and what its table shows of it.

    **Fields:**

    - `link`: the folder that its numbers come from, relative to the page; empty where there is no such folder.
    - `worst`: the largest of each `J_` over the seeds that are done. `seeds`: how many seeds there were.
    """

    link: str
    worst: Mapping[str, float]
    seeds: int

    @property
    def met(self) -> bool:
        """Whether every seed came to something and kept within every budget."""
        return self.seeds_done > 0 and self.seeds_met == self.seeds


@dataclass(frozen=True)
class Pair:
    """One method on one environment: its cells from the smallest κ on, and its scores over all of them.

    **Fields:**

    - `hypervolume`: what its policies dominate. `kept`: the return share that they keep within the budgets, mean over
      κ. `beyond_rules`: the return share beyond the best mixture of simple tutors that teaches as much. Older results
      lack the last two.
    """

    method: str
    cells: tuple[CellView, ...]
    hypervolume: Summary | None
    kept: Summary | None = None
    beyond_rules: Summary | None = None

    @property
    def first(self) -> CellView:
        return self.cells[0]

    @property
    def kind(self) -> str:
        return self.first.kind

    @property
    def safe(self) -> bool:
        """Whether every seed meets every budget at every κ."""
        return self.keeps()

    def keeps(self, but: Collection[float] = ()) -> bool:
        """Whether every seed meets every budget at every κ but some; where no other is left, nobody has shown that."""
        asked = [cell for cell in self.cells if cell.kappa not in but]
        return bool(asked) and all(cell.met for cell in asked)

    @property
    def seeds_met(self) -> int:
        """Of how many runs, of a seed at a κ each, every budget is met; `seeds` is how many there were."""
        return sum(cell.seeds_met for cell in self.cells)

    @property
    def seeds(self) -> int:
        return sum(cell.seeds for cell in self.cells)

    def score(self, measure: Measure) -> Summary | None:
        return self.hypervolume if measure == "hypervolume" else self.kept

    def mean(self, measure: Measure) -> float:
        """The mean of a score over seeds."""
        score = self.score(measure)
        return score.mean if score else 0.0

    @property
    def volume(self) -> float:
        return self.mean("hypervolume")

    @property
    def applies(self) -> bool:
        """Whether it applies to any κ."""
        return any(cell.status != "does not apply" for cell in self.cells)

    @property
    def failed(self) -> CellView | None:
        """The first cell of which some seed came to nothing."""
        return next((cell for cell in self.cells if cell.status != "done"), None)

    @property
    def sampled(self) -> bool:
        """Whether episodes tell what it is worth on a finite environment too, as its kind and its seeds show.

        An outside agent is seen only through what it does. A rule has the same exact values in every seed: where they
        differ, it remembers the episode, and was played.
        """
        returns = [cell.metrics["return"].per_seed for cell in self.cells if cell.seeds_done]
        return self.kind == "outside" or (self.kind == "tutor" and any(len(set(seeds)) > 1 for seeds in returns))

    def at(self, kappa: float) -> CellView | None:
        return next((cell for cell in self.cells if cell.kappa == kappa), None)


@dataclass(frozen=True)
class EnvironmentView:
    """One environment: the problem it poses, and every method on it.

    **Fields:**

    - `missing`: why nothing was run there; empty where something was.
    - `ret`, `gain`, `costs`: what is had, learnt and spent without budgets. `budgets`, `optimum`: by κ; the second is
      empty where nobody knows it.
    """

    name: str
    missing: str
    ret: float
    gain: float
    costs: Mapping[str, float]
    constrained: tuple[str, ...]
    budgets: Mapping[float, Mapping[str, float]]
    optimum: Mapping[float, Optimum]
    pairs: tuple[Pair, ...]
    floors: Mapping[str, float] = field(default_factory=dict)
    reach: Mapping[str, float] = field(default_factory=dict)

    @property
    def finite(self) -> bool:
        return bool(self.optimum)

    def pair(self, method: str) -> Pair | None:
        return next((pair for pair in self.pairs if pair.method == method), None)

    @cached_property
    def ranked(self) -> list[Pair]:
        """Those that have a hypervolume, be it 0, the largest first."""
        return self.ranked_by("hypervolume")

    def ranked_by(self, measure: Measure) -> list[Pair]:
        """Those that have a score, be it 0, the largest first."""
        return sorted((pair for pair in self.pairs if pair.score(measure)), key=lambda pair: -pair.mean(measure))

    @cached_property
    def largest(self) -> list[Pair]:
        """Who has the largest hypervolume of all, whether it meets the budgets or not; several where they are tied."""
        return _first(self.ranked)

    @cached_property
    def best(self) -> list[Pair]:
        """Who has the largest hypervolume among those that always meet the budgets; several where they are tied.

        Who dominates nothing is best nowhere.
        """
        return _first([pair for pair in self.ranked if pair.safe])

    @cached_property
    def unmet(self) -> list[float]:
        """The κ at which no method meets the budgets in any seed."""
        met: dict[float, int] = {}
        for pair in self.pairs:
            for cell in pair.cells:
                met[cell.kappa] = met.get(cell.kappa, 0) + cell.seeds_met
        return sorted(kappa for kappa, seeds in met.items() if not seeds)

    @cached_property
    def keeping(self) -> list[Pair]:
        """Those that always meet the budgets which anybody has met, the largest hypervolume first."""
        return [pair for pair in self.ranked if pair.keeps(self.unmet)]

    @cached_property
    def reachable(self) -> list[Pair]:
        """The best of these; where all budgets were met by somebody, the best."""
        return _first(self.keeping)

    def share_of_cost(self, costs: Mapping[str, float]) -> float:
        """The share of the unconstrained cost that is spent, of whichever budgeted cost is highest."""
        shares = [costs[name] / self.costs[name] for name in self.constrained if self.costs[name]]
        return max(shares, default=0.0)


def _first(ranked: Sequence[Pair]) -> list[Pair]:
    """The first of some that are in order, and who is tied with it; who dominates nothing is first nowhere."""
    return [pair for pair in ranked if pair.volume > 0 and pair.volume >= ranked[0].volume - TIED]
