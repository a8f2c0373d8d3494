"""What a table may say beyond its rows: how its tutors act, whom they serve, what cannot be met, what is certified."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError
from mccpo.report.checks import Json, as_list, as_mapping, as_number, as_numbers, as_shares, as_texts, as_truth


@dataclass(frozen=True, eq=False)
class Conduct:
    """What a tutor does in an episode, step by step, as means over episodes.

    `mastery` is K before the first step and after every step. `ready` and `chosen` are the shares of episodes in which
    a concept is ready, and is taught, at a step.
    """

    concepts: tuple[str, ...]
    mastery: Float[np.ndarray, "steps+1 concepts"]
    ready: Float[np.ndarray, "steps concepts"]
    chosen: Float[np.ndarray, "steps concepts"]

    @property
    def steps(self) -> int:
        return len(self.chosen)


@dataclass(frozen=True)
class Infeasible:
    """Budgets that no policy meets, or (`feasible`) that could be met but were not: in words, and what would help."""

    feasible: bool
    what: str
    fix: str
    conflict: tuple[str, ...]
    least: dict[str, float]
    scale: float | None


@dataclass(frozen=True)
class Bound:
    """The upper confidence bound on what must stay within a limit, where the certificate says each."""

    budget: float | None
    bound: float | None
    mean: float | None
    passed: bool | None


@dataclass(frozen=True)
class Certificate:
    """Whether a policy may be released: a bound on every budgeted cost, and on the prerequisite violation rate.

    `reason` says why the latter is what it is. `method` and `part` of the run are what was certified, by so many
    `episodes`, in which the policies saw mastery with a deviation of `estimation_error`.
    """

    confidence: float
    passed: bool
    budgets: dict[str, Bound]
    prerequisite: Bound | None
    reason: str
    method: str
    part: str
    episodes: float | None
    estimation_error: float


@dataclass(frozen=True)
class NoiseLevel:
    """What each method gives when its estimate of mastery is off by `level`."""

    level: float
    rows: dict[str, dict[str, float]]


Noise = dict[str, dict[str, tuple[NoiseLevel, ...]]]
"""For each environment and each kind of error, what the methods give at each level, in increasing order."""


@dataclass(frozen=True, eq=False)
class Supplement:
    """What a table, or one of its settings, says beyond its rows; most say little of it."""

    conduct: dict[str, Conduct] = field(default_factory=dict)
    groups: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    infeasible: Infeasible | None = None
    certificate: Certificate | None = None

    @classmethod
    def parse(cls, raw: Json, where: str) -> Supplement:
        """Reads the optional fields of a table or a setting."""
        conduct = _conducts(raw.get("conduct"), f"{where}: conduct")
        groups = as_mapping(raw.get("groups"), f"{where}: groups")
        certified = raw.get("certificate")
        return cls(
            conduct=conduct,
            groups={method: _named_numbers(one, f"{where}: groups, {method}") for method, one in groups.items()},
            infeasible=infeasible(raw.get("infeasible"), where),
            certificate=None if certified is None else certificate(certified, f"{where}: certificate"),
        )


def infeasible(raw: object, where: str) -> Infeasible | None:
    """Why budgets cannot be met, where something says so."""
    if raw is None:
        return None
    where = f"{where}: infeasible"
    found = as_mapping(raw, where)
    if not found.get("what"):
        raise InputError(f"{where} does not say what", fix="give a sentence that says which budgets cannot be met")
    scale = found.get("scale", found.get("scaling"))
    return Infeasible(
        feasible=found.get("feasible") is True,
        what=str(found["what"]),
        fix=str(found.get("fix") or ""),
        conflict=as_texts(found.get("conflict"), f"{where}, conflict"),
        least=as_numbers(found.get("least"), f"{where}, least"),
        scale=None if scale is None else as_number(scale, f"{where}, scale"),
    )


def noise(raw: object, where: str) -> Noise:
    """What errors in the estimated mastery do, by environment where the results tell several apart, else under ""."""
    found = as_mapping(raw, where)
    parts = {"": found} if "kinds" in found else found
    return {name: _kinds(part, f"{where} {name}".strip()) for name, part in parts.items()}


def _kinds(raw: object, where: str) -> dict[str, tuple[NoiseLevel, ...]]:
    kinds = as_mapping(as_mapping(raw, where).get("kinds"), f"{where}, kinds")
    return {
        kind: tuple(
            sorted((_level(one, f"{where}, {kind}") for one in as_list(levels, f"{where}, {kind}")), key=_place)
        )
        for kind, levels in kinds.items()
    }


def _place(one: NoiseLevel) -> float:
    return one.level


def _level(raw: object, where: str) -> NoiseLevel:
    entries = as_mapping(raw, where)
    level = as_number(entries.get("level"), f"{where}, level")
    return NoiseLevel(level, _named_numbers({key: value for key, value in entries.items() if key != "level"}, where))


def _named_numbers(raw: object, where: str) -> dict[str, dict[str, float]]:
    return {name: as_numbers(one, f"{where}, {name}") for name, one in as_mapping(raw, where).items()}


def _conducts(raw: object, where: str) -> dict[str, Conduct]:
    found = {method: _conduct(one, f"{where}, {method}") for method, one in as_mapping(raw, where).items()}
    if len({one.concepts for one in found.values()}) > 1:
        raise InputError(f"{where} names other concepts from method to method", fix="give all methods the same")
    return found


def _conduct(raw: object, where: str) -> Conduct:
    found = as_mapping(raw, where)
    concepts = as_texts(found.get("concepts"), f"{where}, concepts")
    if not concepts:
        raise InputError(f"{where} names no concepts", fix="give their names in topological order")
    chosen = as_shares(found.get("chosen"), f"{where}, chosen", None, len(concepts))
    steps = len(chosen)
    return Conduct(
        concepts=concepts,
        mastery=as_shares(found.get("mastery"), f"{where}, mastery", steps + 1, len(concepts)),
        ready=as_shares(found.get("ready"), f"{where}, ready", steps, len(concepts)),
        chosen=chosen,
    )


def certificate(raw: object, where: str) -> Certificate:
    """What a certificate says, as `mccpo certify` keeps it."""
    found = as_mapping(raw, where)
    budgets = as_mapping(found.get("budgets"), f"{where}, budgets")
    prerequisite = found.get("prerequisite")
    reason = as_mapping(prerequisite, f"{where}, prerequisite").get("reason")
    episodes = found.get("episodes")
    return Certificate(
        confidence=as_number(found.get("confidence"), f"{where}, confidence"),
        passed=as_truth(found.get("passed"), f"{where}, passed"),
        budgets={cost: _bound(one, f"{where}, {cost}") for cost, one in budgets.items()},
        prerequisite=None if prerequisite is None else _bound(prerequisite, f"{where}, prerequisite"),
        reason=str(reason or ""),
        method=str(found.get("method") or ""),
        part=str(found.get("part") or ""),
        episodes=None if episodes is None else as_number(episodes, f"{where}, episodes"),
        estimation_error=as_number(found.get("estimation_error") or 0.0, f"{where}, estimation_error"),
    )


def _bound(raw: object, where: str) -> Bound:
    found = as_mapping(raw, where)
    numbers = as_numbers({key: found.get(key) for key in ("budget", "bound", "mean")}, where)
    return Bound(
        numbers.get("budget"),
        numbers.get("bound"),
        numbers.get("mean"),
        None if found.get("passed") is None else as_truth(found["passed"], f"{where}, passed"),
    )
