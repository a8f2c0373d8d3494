"""A whole benchmark as its report has it: its environments, and what its results say over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mccpo.report.benchmark.views import EnvironmentView, Measure
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label
from mccpo.runs.benchmark import (
    Aggregate,
    Improvement,
    InterquartileMean,
    MethodRecord,
    OverallScores,
    Profile,
    ProtocolRecord,
    Unseen,
)


@dataclass(frozen=True)
class BenchmarkView:
    """A whole benchmark. What is said over environments (`aggregate` and after it) is as its results have it."""

    suite: str
    protocol: ProtocolRecord
    environments: tuple[EnvironmentView, ...]
    methods: Mapping[str, MethodRecord]
    aggregate: Mapping[str, Aggregate]
    profiles: Mapping[str, Profile]
    improvement: Mapping[str, Improvement]
    unseen: Unseen
    seconds: float | None
    linked: bool = field(default=True)
    mixes: bool = field(default=True)
    """Whether hypervolumes are closed under mixtures; those of earlier versions are not."""

    @property
    def run(self) -> list[EnvironmentView]:
        """The environments on which anything was run."""
        return [environment for environment in self.environments if not environment.missing]

    def run_on(self, environment: EnvironmentView) -> tuple[int, int]:
        """How many of the methods were run on an environment, and of how many; outside agents not counted."""
        there = {pair.method for pair in environment.pairs}
        own = [name for name, method in self.methods.items() if method.kind != "outside"]
        return sum(name in there for name in own), len(own)

    @property
    def kappas(self) -> list[float]:
        return sorted(self.protocol.kappa)

    @property
    def complete(self) -> list[str]:
        """The methods with a result on every environment that any has one on, the largest interquartile mean first.

        Only they can be ranked: an interquartile mean over other environments is of other tasks.
        """
        return self.ranked_by("hypervolume")

    def ranked_by(self, measure: Measure) -> list[str]:
        """The same methods by the interquartile mean of a score; none where it is not known."""
        complete = [method for method in self.methods if method in self.aggregate and self.aggregate[method].complete]
        known = {method: overall for method in complete if (overall := self.over(method, measure))}
        return sorted(known, key=lambda method: -known[method].iqm)

    def over(self, method: str, measure: Measure) -> InterquartileMean | None:
        """The interquartile mean of a score over environments; None where it is not known."""
        return of_measure(self.aggregate[method].scores, measure) if method in self.aggregate else None

    @property
    def partial(self) -> list[str]:
        """All others, in the order of their names as they are shown."""
        return sorted({*self.methods} - {*self.complete}, key=method_label)

    @property
    def asked(self) -> list[str]:
        """Who was asked for κ that nobody trained for: ours, those that answer below every trained κ, the others.

        To answer there a policy has to know its budgets; the others lend the policy of the next smaller κ.
        """
        return sorted(self.unseen.methods, key=lambda name: (name != OUR_METHOD, not self.sees_budgets(name)))

    def sees_budgets(self, method: str) -> bool:
        """Whether a method answers for budgets smaller than any that was trained for."""
        below = [at for at, kappa in enumerate(self.unseen.kappa) if kappa < self.kappas[0]]
        answers = self.unseen.methods.get(method, {}).values()
        return any(metrics["satisfaction_strict"][at] is not None for metrics in answers for at in below)


def of_measure(scores: OverallScores | None, measure: Measure) -> InterquartileMean | None:
    """The interquartile mean of one score."""
    if scores is None:
        return None
    return scores.hypervolume if measure == "hypervolume" else scores.kept
