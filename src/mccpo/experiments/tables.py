"""Tables by name: each registers itself in its own file, and `mccpo reproduce NAME` runs it.

A package adds tables by entry points of the group `mccpo.tables`, each the path of a function
`produce(options, session) -> Produced`. In its pyproject.toml:

    [project.entry-points."mccpo.tables"]
    my-table = "my_package.my_module:produce"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from mccpo.env import FiniteEnvironment
from mccpo.experiments.options import Options, Session
from mccpo.experiments.table import Produced
from mccpo.registry import Registry

Produce: TypeAlias = Callable[[Options, Session], Produced]


@dataclass(frozen=True)
class TableEntry:
    """A table, and the finite environment that it trains on where its length is counted in episodes."""

    produce: Produce
    finite: Callable[[], FiniteEnvironment[Any]] | None = None

    def __call__(self, options: Options, session: Session) -> Produced:
        return self.produce(options, session)


def _adapted(_: str, produce: Any) -> TableEntry:
    return TableEntry(produce)


TABLES: Registry[TableEntry] = Registry("table", "mccpo.tables", TableEntry, _adapted)


def register_table(
    name: str, *, finite: Callable[[], FiniteEnvironment[Any]] | None = None
) -> Callable[[Produce], Produce]:
    """Registers the function below as a table; `finite` makes the environment of one that counts episodes."""

    def enter(produce: Produce) -> Produce:
        TABLES.register(name, TableEntry(produce, finite))
        return produce

    return enter
