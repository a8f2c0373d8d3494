"""What single tables of the paper find out beyond rows: noise and its claims, searches over weights, instances."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from mccpo.runs.checks import (
    Json,
    as_list,
    as_mapping,
    as_number,
    as_numbers,
    as_optional_number,
    as_tables,
    as_truth,
)


@dataclass(frozen=True)
class NoiseLevel:
    """What each method gives, by metric, when its estimate of mastery is off by `level`."""

    level: float
    rows: dict[str, dict[str, float]]

    def as_json(self) -> Json:
        """The level, then the methods, as JSON values."""
        return {"level": self.level, **self.rows}

    @classmethod
    def parse(cls, raw: object, where: str) -> NoiseLevel:
        """Reads one level."""
        entries = dict(as_mapping(raw, where))
        level = as_number(entries.pop("level", None), f"{where}, level")
        return cls(level, as_tables(entries, where))


NoiseKinds = dict[str, tuple[NoiseLevel, ...]]
"""For each kind of error, what the methods give at each level, in increasing order."""
Noise = dict[str, NoiseKinds]
"""The same for each part of a table; the only part of a table may go by no name."""


def noise_as_json(noise: Noise) -> Json:
    """What errors in the estimated mastery do, as JSON values."""
    parts = {
        part: {"kinds": {kind: [level.as_json() for level in levels] for kind, levels in kinds.items()}}
        for part, kinds in noise.items()
    }
    return parts[""] if list(parts) == [""] else parts


def parse_noise(raw: object, where: str) -> Noise | None:
    """Reads what errors in the estimated mastery do, where a table says so."""
    if raw is None:
        return None
    entries = as_mapping(raw, where)
    parts = {"": entries} if "kinds" in entries else entries
    return {part: _kinds(kinds, f"{where} {part}".strip()) for part, kinds in parts.items()}


def _kinds(raw: object, where: str) -> NoiseKinds:
    kinds = as_mapping(as_mapping(raw, where).get("kinds"), f"{where}, kinds")
    return {kind: _levels(levels, f"{where}, {kind}") for kind, levels in kinds.items()}


def _levels(raw: object, where: str) -> tuple[NoiseLevel, ...]:
    levels = [NoiseLevel.parse(level, where) for level in as_list(raw, where)]
    return tuple(sorted(levels, key=lambda level: level.level))


@dataclass(frozen=True)
class NoiseClaim:
    """What becomes of the paper's claim about noise in a part of the table.

    - `drop`: of the return of MC-CPO at the worst σ, relative to that without noise.
    - `satisfaction`: the least share of seeds that satisfy (τ = 0.1), over all σ.
    - `true_violation_rate`: at the worst σ.
    - `holds`: whether drop and satisfaction are as claimed.
    """

    part: str
    drop: float
    satisfaction: float
    true_violation_rate: float
    holds: bool

    def as_json(self) -> Json:
        """The claim as JSON values."""
        return asdict(self)

    @classmethod
    def parse(cls, raw: object, where: str) -> NoiseClaim:
        """Reads a claim."""
        entries = as_mapping(raw, where)
        return cls(
            part=str(entries.get("part")),
            **_numbers(entries, where, "drop", "satisfaction", "true_violation_rate"),
            holds=as_truth(entries.get("holds"), f"{where}, holds"),
        )


@dataclass(frozen=True)
class CalibratedGate:
    """What a gate that calibrated itself on held-out learners does on fresh ones, under one error of the estimate.

    - `part`, `method`, `error`, `level`: where, whose policies, and which error; the gate knew nothing of the last two.
    - `delta`: the share of lessons that may be unready in truth. `caution`, `memory`, `shut`: the settings chosen, and
      whether they leave nothing that has prerequisites to be taught.
    - `held_out_bound`: the bound by which the settings were trusted.
    - `true_violation_rate`, `upper`: the share of fresh lessons unready in truth, a mean over policies, and the upper
      end of a 95 % interval that holds for every policy.
    - `uncalibrated_rate`: that share behind the gate without caution, under the same error.
    - `mean_return`, `uncalibrated_return`, `exact_return`: of this gate, of the gate without caution under the same
      error, and of the same without error.
    - `mean_gain`, `uncalibrated_gain`, `exact_gain`: the mastery that learners gain in truth with the same three. What
      caution takes from them shows here: the return counts engagement.
    - `satisfaction_strict`, `uncalibrated_satisfaction`, `exact_satisfaction`: their share of seeds within budgets
      (τ = 0).
    """

    part: str
    method: str
    error: str
    level: float
    delta: float
    caution: float
    memory: float
    shut: bool
    held_out_bound: float
    true_violation_rate: float
    upper: float
    uncalibrated_rate: float
    mean_return: float
    uncalibrated_return: float
    exact_return: float
    mean_gain: float
    uncalibrated_gain: float
    exact_gain: float
    satisfaction_strict: float
    uncalibrated_satisfaction: float
    exact_satisfaction: float

    @property
    def kept(self) -> bool:
        """Whether the fresh learners confirm that at most `delta` of the lessons are unready."""
        return self.upper <= self.delta

    @property
    def lost(self) -> float:
        """The share of the return that the gate costs: against the gate without caution, under the same error."""
        return _share_lost(self.mean_return, self.uncalibrated_return)

    @property
    def lost_in_all(self) -> float:
        """The share of the return that error and gate cost together: against the gate without caution or error."""
        return _share_lost(self.mean_return, self.exact_return)

    def as_json(self) -> Json:
        """The gate as JSON values, with what follows from them."""
        return {**asdict(self), "kept": self.kept, "lost": self.lost, "lost_in_all": self.lost_in_all}

    @classmethod
    def parse(cls, raw: object, where: str) -> CalibratedGate:
        """Reads a gate."""
        entries = as_mapping(raw, where)
        numbers = [one.name for one in fields(cls) if one.name not in ("part", "method", "error", "shut")]
        return cls(
            part=str(entries.get("part")),
            method=str(entries.get("method")),
            error=str(entries.get("error")),
            **_numbers(entries, where, *numbers),
            shut=as_truth(entries.get("shut"), f"{where}, shut"),
        )


@dataclass(frozen=True)
class Search:
    """What a search over all weights of shaping finds under the budgets of a κ.

    `meeting` of the `tried` weights meet the budgets in every seed; `best` is the one of them with the highest return.
    It `matches` MC-CPO where its return is no lower.
    """

    environment: str
    kappa: float
    tried: int
    meeting: int
    best: str | None
    best_return: float | None
    mc_cpo_return: float
    mc_cpo_satisfaction: float
    matches: bool

    def as_json(self) -> Json:
        """The search as JSON values."""
        return asdict(self)

    @classmethod
    def parse(cls, raw: object, where: str) -> Search:
        """Reads a search."""
        entries = as_mapping(raw, where)
        best = entries.get("best")
        return cls(
            environment=str(entries.get("environment")),
            **_numbers(entries, where, "kappa", "mc_cpo_return", "mc_cpo_satisfaction"),
            tried=round(as_number(entries.get("tried"), f"{where}, tried")),
            meeting=round(as_number(entries.get("meeting"), f"{where}, meeting")),
            best=None if best is None else str(best),
            best_return=as_optional_number(entries.get("best_return"), f"{where}, best_return"),
            matches=as_truth(entries.get("matches"), f"{where}, matches"),
        )


@dataclass(frozen=True)
class Instance:
    """One of several random environments: its budgets, its exact optimum, and every seed's values by method.

    `parameters` are those that were drawn for it; `optimum` is empty where nobody knows it.
    """

    budgets: dict[str, float]
    optimum: dict[str, float]
    rows: dict[str, dict[str, tuple[float, ...]]]
    parameters: Json = field(default_factory=dict)

    def as_json(self) -> Json:
        """The instance as JSON values."""
        rows = {method: {metric: list(seeds) for metric, seeds in row.items()} for method, row in self.rows.items()}
        drawn = {"parameters": self.parameters} if self.parameters else {}
        return {**drawn, "budgets": self.budgets, "optimum": self.optimum, "rows": rows}

    @classmethod
    def parse(cls, raw: object, where: str) -> Instance:
        """Reads an instance."""
        entries = as_mapping(raw, where)
        rows = as_mapping(entries.get("rows"), f"{where}, rows")
        return cls(
            budgets=as_numbers(entries.get("budgets"), f"{where}, budgets"),
            optimum=as_numbers(entries.get("optimum"), f"{where}, optimum"),
            rows={method: _seeds(row, f"{where}, rows, {method}") for method, row in rows.items()},
            parameters=as_mapping(entries.get("parameters") or {}, f"{where}, parameters"),
        )


def _share_lost(now: float, before: float) -> float:
    return 1 - now / before if before else 0.0


def _seeds(raw: object, where: str) -> dict[str, tuple[float, ...]]:
    return {
        metric: tuple(as_number(value, f"{where}, {metric}") for value in as_list(values, f"{where}, {metric}"))
        for metric, values in as_mapping(raw, where).items()
    }


def _numbers(entries: Json, where: str, *names: str) -> dict[str, Any]:
    return {name: as_number(entries.get(name), f"{where}, {name}") for name in names}
