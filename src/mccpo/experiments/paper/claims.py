"""The paper's claims as data: what each says, where, and what decides it. `docs/paper.md` is made from them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from mccpo.errors import InputError

CLAIM_VERDICTS = ("reproduced", "differs", "refuted", "open")
KINDS = ("theorem", "table", "sentence")
_SIGNS = ("<", ">", "≈")


class Cells(NamedTuple):
    """A group of cells of a table of the paper: in which of our tables and settings they stand."""

    table: str
    setting: str
    methods: tuple[str, ...]
    metrics: tuple[str, ...]


class Comparison(NamedTuple):
    """What must hold between two numbers, each a value's name or a number: `≈` is to within a share of the right."""

    left: str | float
    sign: str
    right: str | float
    share: float = 0.0

    def holds(self, numbers: Mapping[str, float]) -> bool:
        """Whether it does."""
        left, right = (numbers[side] if isinstance(side, str) else side for side in (self.left, self.right))
        if self.sign == "≈":
            return abs(left - right) <= self.share * abs(right)
        return left < right if self.sign == "<" else left > right


@dataclass(frozen=True)
class Claim:
    """One theorem, table or sentence with a number of the paper.

    **Fields:**

    - `where`, `says`, `kind`: where it stands, what it says, and what it is, one of `KINDS`.
    - `command`: what measures it. `evidence`: what was found, with names of `values` in braces; `note`: what to know.
    - `values`: numbers of published results, by name: table, setting, method, metric and statistic, or table, `tests`,
      the test's name and what of it. `instead`: the same in other results, for where those are not published.
    - `holds`, `otherwise`: what decides the verdict, and what it is where that does not hold.
    - `verdict`: what it is where no published number decides it; empty where one does.
    - `cells`: those of a table of the paper.
    """

    where: str
    says: str
    kind: str
    command: str
    evidence: str = ""
    note: str = ""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    holds: tuple[Comparison, ...] = ()
    otherwise: str = "differs"
    verdict: str = ""
    cells: tuple[Cells, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"'{self.where}' is a {self.kind!r}", fix=f"use one of {', '.join(KINDS)}")
        for verdict in (self.otherwise, *([self.verdict] if self.verdict else [])):
            if verdict not in CLAIM_VERDICTS:
                raise InputError(f"'{self.where}' is {verdict!r}", fix=f"use one of {', '.join(CLAIM_VERDICTS)}")
        if sum(map(bool, (self.verdict, self.holds, self.cells and not self.verdict))) != 1:
            raise InputError(f"'{self.where}' has no verdict, or two", fix="give a verdict, what must hold, or cells")
        for comparison in self.holds:
            if comparison.sign not in _SIGNS:
                raise InputError(f"'{self.where}' compares by {comparison.sign!r}", fix=f"use one of {_SIGNS}")


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the paper."""
    text = files("mccpo.experiments.paper").joinpath("claims.toml").read_text(encoding="utf-8")
    return tuple(_claim(entry) for entry in tomllib.loads(text)["claim"])


def _claim(entry: dict[str, Any]) -> Claim:
    values, instead = (
        {name: tuple(path) for name, path in entry.pop(key, {}).items()} for key in ("values", "instead")
    )
    holds = tuple(Comparison(*parts) for parts in entry.pop("holds", ()))
    cells = tuple(
        Cells(table, setting, tuple(methods), tuple(metrics))
        for table, setting, methods, metrics in entry.pop("cells", ())
    )
    return Claim(**entry, values=values, instead=instead, holds=holds, cells=cells)
