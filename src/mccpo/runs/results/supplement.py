"""What a table may say beyond its rows: what policies do, whom they serve, what cannot be met, what is certified."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError
from mccpo.runs.checks import (
    Json,
    as_list,
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
from mccpo.runs.results.packing import DIGITS, packed, unpacked


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
        return cls(concepts, *(np.round(np.asarray(values, float), DIGITS) for values in (mastery, ready, chosen)))

    @property
    def steps(self) -> int:
        """The length of an episode."""
        return len(self.chosen)

    def as_json(self) -> Json:
        """Rows of time, columns of concepts; large tables are packed, see `mccpo.runs.results.packing`."""
        tables = {"mastery": self.mastery, "ready": self.ready, "chosen": self.chosen}
        return {"concepts": list(self.concepts), **{name: packed(table) for name, table in tables.items()}}

    @classmethod
    def parse(cls, raw: object, where: str) -> Behaviour:
        """Reads a behaviour."""
        entries = as_mapping(raw, where)
        concepts = as_texts(entries.get("concepts"), f"{where}, concepts")
        if not concepts:
            raise InputError(f"{where} names no concepts", fix="give their names in topological order")

        def table(name: str, rows: int | None) -> Float[np.ndarray, "rows columns"]:
            here = f"{where}, {name}"
            return as_shares(unpacked(entries.get(name), here), here, rows, len(concepts))

        chosen = table("chosen", None)
        return cls(
            concepts=concepts,
            mastery=table("mastery", len(chosen) + 1),
            ready=table("ready", len(chosen)),
            chosen=chosen,
        )


@dataclass(frozen=True)
class UnmetBudgets:
    """Budgets that were not met: in words, and what would help.

    - `feasible`: true where they could be met, by what was found; false where it is known that no policy meets them, by
      a proof or a bound; None where no policy was found that does, which proves nothing. `nearest` is then the best.
    - `conflict`: a smallest set of budgets that no policy meets together; `least`: the lowest value of each cost.
    - `scaling`: the common factor on all budgets within which they can be met; `floor`: the one that is believed to be
      needed at least.
    - `prices`: those at which the budgets hinder most. `policies`, `steps`: what the verdict rests on.
    """

    feasible: bool | None
    what: str
    fix: str = ""
    conflict: tuple[str, ...] = ()
    least: dict[str, float] = field(default_factory=dict)
    scaling: float | None = None
    floor: float | None = None
    prices: dict[str, float] = field(default_factory=dict)
    policies: int | None = None
    steps: int | None = None
    nearest: str = ""

    @property
    def verdict(self) -> str:
        """In a word or two: not met, not found, or infeasible."""
        return "not met" if self.feasible else "not found" if self.feasible is None else "infeasible"

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
                **({"nearest": self.nearest} if self.nearest else {}),
            }
        words = {"verdict": self.verdict, "what": self.what, "fix": self.fix, "steps": self.steps}
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
            feasible=_feasible(entries),
            what=str(entries["what"]),
            fix=str(entries.get("fix") or ""),
            conflict=as_texts(entries.get("conflict"), f"{where}, conflict"),
            least=as_numbers(entries.get("least"), f"{where}, least"),
            scaling=as_optional_number(entries.get("scale", entries.get("scaling")), f"{where}, scale"),
            floor=as_optional_number(entries.get("floor"), f"{where}, floor"),
            prices=as_numbers(entries.get("prices"), f"{where}, prices"),
            policies=as_whole(entries.get("policies"), f"{where}, policies"),
            steps=as_whole(entries.get("steps"), f"{where}, steps"),
            nearest=str(entries.get("nearest") or ""),
        )


Groups = dict[str, dict[str, float]]
"""How each group of learners fared, by metric."""


@dataclass(frozen=True, eq=False)
class Supplement:
    """What a table, or one of its settings, says beyond its rows, by method; None where it does not speak of it."""

    behaviour: dict[str, Behaviour] | None = None
    groups: dict[str, Groups] | None = None
    unmet: UnmetBudgets | None = None
    certificates: tuple[Certificate, ...] = ()

    def with_certificate(self, certificate: Certificate) -> Supplement:
        """The same with a certificate more."""
        return replace(self, certificates=(*self.certificates, certificate))

    def as_json(self) -> Json:
        """The optional fields of a table or a setting."""
        behaviour = self.behaviour
        return stated(
            conduct=None if behaviour is None else {method: seen.as_json() for method, seen in behaviour.items()},
            groups=self.groups,
            infeasible=None if self.unmet is None else self.unmet.as_json(),
            certificates=[certificate.as_json() for certificate in self.certificates] or None,
        )

    @classmethod
    def parse(cls, raw: Json, where: str) -> Supplement:
        """Reads the optional fields of a table or a setting."""
        groups, earlier = raw.get("groups"), raw.get("certificate")  # of a version that knew of one
        certified = as_list(raw.get("certificates") or ([] if earlier is None else [earlier]), f"{where}: certificates")
        return cls(
            behaviour=_behaviour(raw.get("conduct"), f"{where}: conduct"),
            groups=None if groups is None else _groups(groups, f"{where}: groups"),
            unmet=UnmetBudgets.parse(raw.get("infeasible"), where),
            certificates=tuple(Certificate.parse(one, f"{where}: certificate") for one in certified),
        )


def _feasible(entries: Json) -> bool | None:
    """Whether budgets could be met; earlier versions took what a search did not find for proof that there is none."""
    stated = entries.get("feasible")
    searched = entries.get("policies") is not None
    return None if not isinstance(stated, bool) or (stated is False and searched) else stated


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
