"""What follows from the rows of a benchmark: its cells, scores, aggregates, profiles and winners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mccpo.evaluation import Summary
from mccpo.runs.benchmark.cell import Cell
from mccpo.runs.benchmark.fields import Fields, JsonObject, as_interval, as_list, as_number
from mccpo.runs.benchmark.summary import parse_summary, summary_as_json

ByEnvironment: TypeAlias = Mapping[str, Mapping[str, Summary]]
"""A score over seeds, by environment and method."""


@dataclass(frozen=True)
class InterquartileMean:
    """An interquartile mean over seeds and environments, and its interval; a single seed has none."""

    iqm: float
    ci: tuple[float, float] | None

    def as_json(self) -> JsonObject:
        return {"iqm": self.iqm, "ci": None if self.ci is None else list(self.ci)}

    @staticmethod
    def parse(raw: Fields) -> InterquartileMean:
        stated = raw.raw["ci"]
        return InterquartileMean(raw.number("iqm"), None if stated is None else as_interval(stated, "ci"))


@dataclass(frozen=True)
class OverallScores:
    """The interquartile means of a method's hypervolume and of its kept return; older results lack the second."""

    hypervolume: InterquartileMean
    kept: InterquartileMean | None

    def as_json(self) -> JsonObject:
        kept: JsonObject = {} if self.kept is None else {"kept": self.kept.as_json()}
        return self.hypervolume.as_json() | kept

    @staticmethod
    def parse(raw: Fields) -> OverallScores:
        kept = InterquartileMean.parse(raw.part("kept")) if "kept" in raw else None
        return OverallScores(InterquartileMean.parse(raw), kept)


@dataclass(frozen=True)
class Aggregate:
    """A method over the environments that it has a result on.

    **Fields:**

    - `complete`: whether these are all environments that any method has a result on; only then can it be ranked.
    - `beside_ours`: whether MC-CPO is set beside it, as it is for every other method that is not complete. `ours`: the
      scores of MC-CPO on the same environments and seeds; None where MC-CPO lacks one of them.
    - `best_on`: the environments on which it is the best of those that always meet the budgets.
    """

    scores: OverallScores
    environments: tuple[str, ...]
    complete: bool
    beside_ours: bool = False
    ours: OverallScores | None = None
    best_on: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        ours: JsonObject = {}
        if self.beside_ours:
            ours = {"ours": None if self.ours is None else self.ours.as_json()}
        return {
            **self.scores.as_json(),
            "environments": list(self.environments),
            "complete": self.complete,
            **ours,
            "best_on": list(self.best_on),
        }

    @staticmethod
    def parse(raw: Fields) -> Aggregate:
        environments = raw.raw["environments"]
        return Aggregate(
            scores=OverallScores.parse(raw),
            # Older results count the environments without naming them.
            environments=() if isinstance(environments, int) else raw.texts("environments"),
            complete=raw.flag("complete", default=False),
            beside_ours="ours" in raw,
            ours=OverallScores.parse(raw.part("ours")) if raw.raw.get("ours") is not None else None,
            best_on=raw.texts("best_on"),
        )


@dataclass(frozen=True)
class Profile:
    """How often a seed of a method has more than `tau` of what the best on its environment has, and the interval."""

    tau: tuple[float, ...]
    share: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def as_json(self) -> JsonObject:
        return {"tau": list(self.tau), "share": list(self.share), "ci": [list(self.low), list(self.high)]}

    @staticmethod
    def parse(raw: Fields) -> Profile:
        low, high = (tuple(as_number(value, "ci") for value in as_list(end, "ci")) for end in raw.items("ci"))
        return Profile(raw.numbers("tau"), raw.numbers("share"), low, high)


@dataclass(frozen=True)
class Improvement:
    """How likely a run of one method has a larger hypervolume than a run of another, on environments of both."""

    p: float
    ci: tuple[float, float]
    environments: tuple[str, ...]

    def as_json(self) -> JsonObject:
        return {"p": self.p, "ci": list(self.ci), "environments": list(self.environments)}

    @staticmethod
    def parse(raw: Fields) -> Improvement:
        return Improvement(raw.number("p"), as_interval(raw.items("ci"), "ci"), raw.texts("environments"))


@dataclass(frozen=True)
class Leaders:
    """Who has the largest mean hypervolume of some methods: several where they are tied, none where all have 0."""

    methods: tuple[str, ...]
    hypervolume: float | None

    def as_json(self, prefix: str = "") -> JsonObject:
        return {
            f"{prefix}method": next(iter(self.methods), None),
            f"{prefix}methods": list(self.methods),
            f"{prefix}hypervolume": self.hypervolume,
        }

    @staticmethod
    def parse(raw: Fields, prefix: str = "") -> Leaders:
        return Leaders(raw.texts(f"{prefix}methods"), raw.optional_number(f"{prefix}hypervolume"))


@dataclass(frozen=True)
class Winners:
    """Who leads on an environment.

    **Fields:**

    - `overall`: of all methods. `safe`: of those that always meet the budgets, which `safe_methods` names.
    - `unmet`: the κ at which no method meets the budgets in any seed. `reachable`: who leads of those that always meet
      the budgets at every other κ; None in older results, which have neither.
    """

    overall: Leaders
    safe: Leaders
    safe_methods: tuple[str, ...]
    unmet: tuple[float, ...] = ()
    reachable: Leaders | None = None

    def as_json(self) -> JsonObject:
        reachable: JsonObject = {}
        if self.reachable is not None:
            reachable = {"unmet": list(self.unmet), **self.reachable.as_json("reachable_")}
        return {
            **self.overall.as_json(),
            **self.safe.as_json("safe_"),
            "safe": list(self.safe_methods),
            **reachable,
        }

    @staticmethod
    def parse(raw: Fields) -> Winners:
        known = "unmet" in raw
        return Winners(
            overall=Leaders.parse(raw),
            safe=Leaders.parse(raw, "safe_"),
            safe_methods=raw.texts("safe"),
            unmet=raw.numbers("unmet") if known else (),
            reachable=Leaders.parse(raw, "reachable_") if known else None,
        )


@dataclass(frozen=True)
class Findings:
    """Everything that follows from rows.

    **Fields:**

    - `aggregate`, `profiles`: by method. `improvement`: by method, then by the other method.
    - `hypervolume`, `kept`, `beyond_rules`: by environment and method; older results lack the last two.
    - `winners`: by environment.
    """

    cells: tuple[Cell, ...]
    aggregate: Mapping[str, Aggregate]
    profiles: Mapping[str, Profile]
    improvement: Mapping[str, Mapping[str, Improvement]]
    hypervolume: ByEnvironment
    kept: ByEnvironment | None
    winners: Mapping[str, Winners]
    beyond_rules: ByEnvironment | None = None

    def as_json(self) -> JsonObject:
        kept: JsonObject = {} if self.kept is None else {"kept": _scores_json(self.kept)}
        if self.beyond_rules is not None:
            kept["beyond_rules"] = _scores_json(self.beyond_rules)
        return {
            "cells": [cell.as_json() for cell in self.cells],
            "aggregate": {method: aggregate.as_json() for method, aggregate in self.aggregate.items()},
            "profiles": {method: profile.as_json() for method, profile in self.profiles.items()},
            "improvement": {
                method: {other: improvement.as_json() for other, improvement in others.items()}
                for method, others in self.improvement.items()
            },
            "hypervolume": _scores_json(self.hypervolume),
            **kept,
            "winners": {environment: winners.as_json() for environment, winners in self.winners.items()},
        }

    @staticmethod
    def parse(raw: Fields) -> Findings:
        return Findings(
            cells=tuple(Cell.parse(cell) for cell in raw.items("cells")),
            aggregate={method: Aggregate.parse(fields) for method, fields in raw.parts("aggregate").items()},
            profiles={method: Profile.parse(fields) for method, fields in raw.parts("profiles").items()},
            improvement={
                method: {other: Improvement.parse(fields) for other, fields in others.all_parts().items()}
                for method, others in raw.parts("improvement").items()
            },
            hypervolume=_parse_scores(raw.part("hypervolume")),
            kept=_parse_scores(raw.part("kept")) if "kept" in raw else None,
            winners={name: Winners.parse(fields) for name, fields in raw.parts("winners").items()}
            if "winners" in raw
            else {},
            beyond_rules=_parse_scores(raw.part("beyond_rules")) if "beyond_rules" in raw else None,
        )


def _scores_json(scores: ByEnvironment) -> JsonObject:
    return {
        environment: {method: summary_as_json(summary) for method, summary in methods.items()}
        for environment, methods in scores.items()
    }


def _parse_scores(raw: Fields) -> ByEnvironment:
    return {
        environment: {method: parse_summary(summary) for method, summary in methods.raw.items()}
        for environment, methods in raw.all_parts().items()
    }
