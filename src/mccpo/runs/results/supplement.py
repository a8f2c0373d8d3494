"""What a table may say beyond its rows: what policies do, whom they serve, what cannot be met, what is certified."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError
from mccpo.runs.checks import (
    Json,
    as_mapping,
    as_numbers,
    as_optional_number,
    as_shares,
    as_tables,
    as_texts,
    as_whole,
    stated,
)
from mccpo.runs.results.certificate import Certificate

_DIGITS = 4  # of a share or a mastery, in a file


@dataclass(frozen=True, eq=False)
class Behaviour:
    """What a policy does in an episode, step by step, as means over episodes.

    `mastery` is K before the first step and after every step. `ready` and `chosen` are the shares of episodes in which
    a concept is ready, and is taught, at a step.
    """

    concepts: tuple[str, ...]
    mastery: Float[np.ndarray, "steps+1 concepts"]
    ready: Float[np.ndarray, "steps concepts"]
    chosen: Float[np.ndarray, "steps concepts"]

    @classmethod
    def rounded(
        cls,
        concepts: tuple[str, ...],
        mastery: Float[np.ndarray, "steps+1 concepts"],
        ready: Float[np.ndarray, "steps concepts"],
        chosen: Float[np.ndarray, "steps concepts"],
    ) -> Behaviour:
        """A behaviour with as many digits as a file keeps, so that what is drawn is what is kept."""
        return cls(concepts, *(np.round(np.asarray(values, float), _DIGITS) for values in (mastery, ready, chosen)))

    @property
    def steps(self) -> int:
        """The length of an episode."""
        return len(self.chosen)

    def as_json(self) -> Json:
        """Rows of time, columns of concepts."""
        return {
            "concepts": list(self.concepts),
            "mastery": self.mastery.tolist(),
            "ready": self.ready.tolist(),
            "chosen": self.chosen.tolist(),
        }

    @classmethod
    def parse(cls, raw: object, where: str) -> Behaviour:
        """Reads a behaviour."""
        entries = as_mapping(raw, where)
        concepts = as_texts(entries.get("concepts"), f"{where}, concepts")
        if not concepts:
            raise InputError(f"{where} names no concepts", fix="give their names in topological order")
        chosen = as_shares(entries.get("chosen"), f"{where}, chosen", None, len(concepts))
        return cls(
            concepts=concepts,
            mastery=as_shares(entries.get("mastery"), f"{where}, mastery", len(chosen) + 1, len(concepts)),
            ready=as_shares(entries.get("ready"), f"{where}, ready", len(chosen), len(concepts)),
            chosen=chosen,
        )


@dataclass(frozen=True)
class UnmetBudgets:
    """Budgets that no policy meets, or (`feasible`) that could be met but were not: in words, and what would help.

    - `conflict`: a smallest set of budgets that no policy meets together; `least`: the lowest value of each cost.
    - `scaling`: the common factor on all budgets within which they can be met; `floor`: the one that is believed to be
      needed at least.
    - `prices`: those at which the budgets hinder most. `policies`, `steps`: what the verdict rests on.
    """

    feasible: bool
    what: str
    fix: str = ""
    conflict: tuple[str, ...] = ()
    least: dict[str, float] = field(default_factory=dict)
    scaling: float | None = None
    floor: float | None = None
    prices: dict[str, float] = field(default_factory=dict)
    policies: int | None = None
    steps: int | None = None

    def as_json(self) -> Json:
        """The verdict as JSON values; what hinders is told where something does."""
        if self.feasible:
            why: Json = {"scaling": self.scaling}
        else:
            why = {
                "conflict": list(self.conflict),
                "least": self.least,
                "scaling": self.scaling,
                "floor": self.floor,
                "prices": self.prices,
            }
        words = {"what": self.what, "fix": self.fix, "steps": self.steps}
        return {"feasible": self.feasible, **why, "policies": self.policies, **words}

    @classmethod
    def parse(cls, raw: object, where: str) -> UnmetBudgets | None:
        """Reads why budgets were not met, where something says so."""
        if raw is None:
            return None
        where = f"{where}: infeasible"
        entries = as_mapping(raw, where)
        if not entries.get("what"):
            raise InputError(f"{where} does not say what", fix="give a sentence that says which budgets cannot be met")
        return cls(
            feasible=entries.get("feasible") is True,
            what=str(entries["what"]),
            fix=str(entries.get("fix") or ""),
            conflict=as_texts(entries.get("conflict"), f"{where}, conflict"),
            least=as_numbers(entries.get("least"), f"{where}, least"),
            scaling=as_optional_number(entries.get("scale", entries.get("scaling")), f"{where}, scale"),
            floor=as_optional_number(entries.get("floor"), f"{where}, floor"),
            prices=as_numbers(entries.get("prices"), f"{where}, prices"),
            policies=as_whole(entries.get("policies"), f"{where}, policies"),
            steps=as_whole(entries.get("steps"), f"{where}, steps"),
        )


Groups = dict[str, dict[str, float]]
"""How each group of learners fared, by metric."""


@dataclass(frozen=True, eq=False)
class Supplement:
    """What a table, or one of its settings, says beyond its rows, by method; None where it does not speak of it."""

    behaviour: dict[str, Behaviour] | None = None
    groups: dict[str, Groups] | None = None
    unmet: UnmetBudgets | None = None
    certificate: Certificate | None = None

    def as_json(self) -> Json:
        """The optional fields of a table or a setting."""
        behaviour = self.behaviour
        return stated(
            conduct=None if behaviour is None else {method: seen.as_json() for method, seen in behaviour.items()},
            groups=self.groups,
            infeasible=None if self.unmet is None else self.unmet.as_json(),
            certificate=None if self.certificate is None else self.certificate.as_json(),
        )

    @classmethod
    def parse(cls, raw: Json, where: str) -> Supplement:
        """Reads the optional fields of a table or a setting."""
        groups, certificate = raw.get("groups"), raw.get("certificate")
        return cls(
            behaviour=_behaviour(raw.get("conduct"), f"{where}: conduct"),
            groups=None if groups is None else _groups(groups, f"{where}: groups"),
            unmet=UnmetBudgets.parse(raw.get("infeasible"), where),
            certificate=None if certificate is None else Certificate.parse(certificate, f"{where}: certificate"),
        )


def _groups(raw: object, where: str) -> dict[str, Groups]:
    return {method: as_tables(groups, f"{where}, {method}") for method, groups in as_mapping(raw, where).items()}


def _behaviour(raw: object, where: str) -> dict[str, Behaviour] | None:
    if raw is None:
        return None
    entries = as_mapping(raw, where)
    by_method = {method: Behaviour.parse(entry, f"{where}, {method}") for method, entry in entries.items()}
    if len({behaviour.concepts for behaviour in by_method.values()}) > 1:
        raise InputError(f"{where} names other concepts from method to method", fix="give all methods the same")
    return by_method
