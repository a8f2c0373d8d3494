"""What the results of a benchmark say of an environment: the problem that it poses, or why nothing was run there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from mccpo.runs.benchmark.fields import Fields, JsonObject


@dataclass(frozen=True)
class Anchor:
    """What is had, and spent, without budgets: every share of the benchmark refers to it."""

    ret: float
    costs: Mapping[str, float]
    engagement: float
    gain: float
    pi_hack: float
    violation_rate: float
    prerequisite_violation_rate: float
    learning: float = 0.0
    mastered: float = 0.0
    true_violation_rate: float | None = None

    def as_json(self) -> JsonObject:
        content = {**asdict(self), "costs": dict(self.costs)}
        # Results of versions that did not measure these come back as they were.
        later = ("learning", "mastered", "true_violation_rate")
        return {name: value for name, value in content.items() if value or name not in later}

    @staticmethod
    def parse(raw: Fields) -> Anchor:
        rates = (
            *("engagement", "gain", "pi_hack", "violation_rate", "prerequisite_violation_rate"),
            *("learning", "mastered"),
        )
        numbers = (raw.number(name, default=0.0) for name in (*rates, "true_violation_rate"))
        return Anchor(raw.number("ret"), raw.named_numbers("costs"), *numbers)


@dataclass(frozen=True)
class Optimum:
    """The metrics of the best policy within the budgets of a κ; `infeasible` says why there is no such policy."""

    metrics: Mapping[str, float | None] = field(default_factory=dict)
    infeasible: str = ""

    @property
    def ret(self) -> float | None:
        """The return; None where the budgets cannot be met."""
        return self.metrics.get("return")

    def cost(self, name: str) -> float | None:
        """What it spends of a cost; None where that is not known."""
        return self.metrics.get(f"J_{name}")

    def as_json(self) -> JsonObject:
        return {"infeasible": self.infeasible} if self.infeasible else dict(self.metrics)

    @staticmethod
    def parse(raw: Fields) -> Optimum:
        if "infeasible" in raw:
            return Optimum(infeasible=raw.text("infeasible"))
        return Optimum({name: raw.optional_number(name) for name in raw.raw})


@dataclass(frozen=True)
class NotRun:
    """An environment on which nothing was run, and why."""

    why: str

    def as_json(self) -> JsonObject:
        return {"why": self.why}


@dataclass(frozen=True)
class ProblemRecord:
    """The problem that an environment poses: `budgets` and `optimum` by κ, the second None where nobody knows it.

    `floors` are amounts that hold at every κ; `reach` is the most that is known to be reached of each.
    """

    anchor: Anchor
    budgets: Mapping[float, Mapping[str, float]]
    optimum: Mapping[float, Optimum] | None
    finite: bool
    costs: tuple[str, ...]
    constrained: tuple[str, ...]
    actions: int
    horizon: int
    gamma: float
    floors: Mapping[str, float] = field(default_factory=dict)
    reach: Mapping[str, float] = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        optimum = None
        if self.optimum is not None:
            optimum = {str(kappa): best.as_json() for kappa, best in self.optimum.items()}
        return {
            "anchor": self.anchor.as_json(),
            "budgets": {str(kappa): dict(budgets) for kappa, budgets in self.budgets.items()},
            "optimum": optimum,
            "finite": self.finite,
            "costs": list(self.costs),
            "constrained": list(self.constrained),
            "actions": self.actions,
            "horizon": self.horizon,
            "gamma": self.gamma,
            **({"floors": dict(self.floors), "reach": dict(self.reach)} if self.floors else {}),
        }


def parse_environment(raw: Fields) -> ProblemRecord | NotRun:
    """Reads what the results say of an environment."""
    if "why" in raw:
        return NotRun(raw.text("why"))
    budgets, optimum = raw.part("budgets"), raw.raw["optimum"]
    return ProblemRecord(
        anchor=Anchor.parse(raw.part("anchor")),
        budgets={float(kappa): budgets.named_numbers(kappa) for kappa in budgets.raw},
        optimum=None
        if optimum is None
        else {float(kappa): Optimum.parse(best) for kappa, best in Fields(optimum).all_parts().items()},
        finite=raw.flag("finite"),
        costs=raw.texts("costs"),
        constrained=raw.texts("constrained"),
        actions=raw.whole("actions"),
        horizon=raw.whole("horizon"),
        gamma=raw.number("gamma"),
        floors=raw.named_numbers("floors") if "floors" in raw else {},
        reach=raw.named_numbers("reach") if "reach" in raw else {},
    )
