"""A benchmark as its report has it: environments, methods on them, and cells of one κ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from mccpo.evaluation import Summary, hypervolume
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

TIED = 1e-9  # scores that differ by less do so by rounding

Measure: TypeAlias = Literal["hypervolume", "kept"]
"""What a method is scored by on an environment, over all κ."""


@dataclass(frozen=True)
class Cell:
    """One method on one environment at one κ.

    **Fields:**

    - `values`: every metric over the seeds that are done; `worst`: the largest of each `J_` over these seeds.
    - `done`, `seeds`: how many seeds came to something, and how many there were.
    - `folder`: where its numbers come from, relative to the page; empty where there is no such folder.
    """

    environment: str
    method: str
    kind: str
    kappa: float
    status: str
    why: str
    seconds: float | None
    folder: str
    values: Mapping[str, Summary]
    worst: Mapping[str, float]
    done: int
    seeds: int

    @property
    def seeds_met(self) -> int:
        """How many seeds kept within every budget (τ = 0)."""
        strict = self.values.get("satisfaction_strict")
        return 0 if strict is None else round(sum(strict.per_seed))

    @property
    def met(self) -> bool:
        """Whether every seed came to something and kept within every budget."""
        return self.done > 0 and self.seeds_met == self.seeds


@dataclass(frozen=True)
class Pair:
    """One method on one environment: its cells from the smallest κ on, and its scores over all of them.

    **Fields:**

    - `hypervolume`: what its policies dominate. `kept`: the return share that they keep within the budgets, mean over
      κ; older results do not say it.
    """

    method: str
    cells: tuple[Cell, ...]
    hypervolume: Summary | None
    kept: Summary | None = None

    @property
    def first(self) -> Cell:
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
        found = self.score(measure)
        return found.mean if found else 0.0

    @property
    def volume(self) -> float:
        return self.mean("hypervolume")

    @property
    def from_nothing(self) -> float:
        """The mean hypervolume of the plane that begins at no cost; that of the benchmark begins at the smallest κ."""
        done = [cell.values for cell in self.cells if cell.done == cell.seeds and "share" in cell.values]
        if not done:
            return 0.0
        x, y = (np.array([values[name].per_seed for values in done]).T for name in ("cost_share", "share"))
        return float(np.mean([hypervolume(spent, had) for spent, had in zip(x, y, strict=True)]))

    @property
    def applies(self) -> bool:
        """Whether it applies to any κ."""
        return any(cell.status != "does not apply" for cell in self.cells)

    @property
    def failed(self) -> Cell | None:
        """The first cell of which some seed came to nothing."""
        return next((cell for cell in self.cells if cell.status != "done"), None)

    @property
    def sampled(self) -> bool:
        """Whether episodes tell what it is worth on a finite environment too, as its kind and its seeds show.

        An outside agent is seen only through what it does. A rule has the same exact values in every seed: where they
        differ, it remembers the episode, and was played.
        """
        returns = [cell.values["return"].per_seed for cell in self.cells if cell.done]
        return self.kind == "outside" or (self.kind == "tutor" and any(len(set(seeds)) > 1 for seeds in returns))

    def at(self, kappa: float) -> Cell | None:
        return next((cell for cell in self.cells if cell.kappa == kappa), None)


@dataclass(frozen=True)
class Place:
    """One environment: the problem it poses, and everyone on it.

    **Fields:**

    - `missing`: why nothing was run there; empty where something was.
    - `ret`, `costs`: what is had, and spent, without budgets. `budgets`, `optimum`: by κ; the second empty where
      nobody knows it.
    """

    name: str
    missing: str
    ret: float
    costs: Mapping[str, float]
    constrained: tuple[str, ...]
    budgets: Mapping[float, Mapping[str, float]]
    optimum: Mapping[float, Mapping[str, Any]]
    pairs: tuple[Pair, ...]

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

    def share_of_cost(self, spent: Mapping[str, Any]) -> float:
        """What is spent of what is spent without budgets, by the cost of which it is most."""
        shares = [spent[f"J_{name}"] / self.costs[name] for name in self.constrained if self.costs[name]]
        return max(shares, default=0.0)


@dataclass(frozen=True)
class Board:
    """A whole benchmark. What is said over environments (`aggregate` and after it) is as `results.json` has it."""

    suite: str
    protocol: Mapping[str, Any]
    places: tuple[Place, ...]
    methods: Mapping[str, Mapping[str, Any]]
    aggregate: Mapping[str, Mapping[str, Any]]
    profiles: Mapping[str, Mapping[str, Any]]
    improvement: Mapping[str, Mapping[str, Any]]
    unseen: Mapping[str, Any]
    seconds: float | None
    linked: bool = field(default=True)

    @property
    def run(self) -> list[Place]:
        """The environments on which anything was run."""
        return [place for place in self.places if not place.missing]

    def run_on(self, place: Place) -> tuple[int, int]:
        """How many of the methods were run on an environment, and of how many; outside agents not counted."""
        there = {pair.method for pair in place.pairs}
        ours = [method for method, one in self.methods.items() if one["kind"] != "outside"]
        return sum(method in there for method in ours), len(ours)

    @property
    def kappas(self) -> list[float]:
        return sorted(self.protocol["kappa"])

    @property
    def complete(self) -> list[str]:
        """The methods with a result on every environment that anybody has one on, the largest interquartile mean first.

        Only they can be ranked: an interquartile mean over other environments is of other tasks.
        """
        return self.ranked_by("hypervolume")

    def ranked_by(self, measure: Measure) -> list[str]:
        """The same methods by the interquartile mean of a score; none where it is not known."""
        found = [method for method in self.methods if self.aggregate.get(method, {}).get("complete")]
        known = {method: told for method in found if (told := self.over(method, measure))}
        return sorted(known, key=lambda method: -known[method]["iqm"])

    def over(self, method: str, measure: Measure) -> Mapping[str, Any]:
        """The interquartile mean of a score over environments, and its interval; empty where nobody knows it."""
        return of_measure(self.aggregate.get(method, {}), measure)

    @property
    def partial(self) -> list[str]:
        """All others, in the order of their names as they are shown."""
        return sorted({*self.methods} - {*self.complete}, key=method_label)

    @property
    def asked(self) -> list[str]:
        """Who was asked for κ that nobody trained for: ours, those that answer below every trained κ, the others.

        To answer there a policy has to know its budgets; the others lend the policy of the next smaller κ.
        """
        found = [name for name in self.unseen if name != "kappa"]
        return sorted(found, key=lambda name: (name != OUR_METHOD, not self.told_budgets(name)))

    def told_budgets(self, method: str) -> bool:
        """Whether a method answers for budgets smaller than any that was trained for."""
        below = [at for at, kappa in enumerate(self.unseen["kappa"]) if kappa < self.kappas[0]]
        told = self.unseen.get(method, {}).values()
        return any(one["satisfaction_strict"][at] is not None for one in told for at in below)


def of_measure(told: Mapping[str, Any] | None, measure: Measure) -> Mapping[str, Any]:
    """Of what is said over environments, that of one score."""
    return (told or {}) if measure == "hypervolume" else (told or {}).get(measure, {})


def _first(ranked: Sequence[Pair]) -> list[Pair]:
    """The first of some that are in order, and who is tied with it; who dominates nothing is first nowhere."""
    return [pair for pair in ranked if pair.volume > 0 and pair.volume >= ranked[0].volume - TIED]
