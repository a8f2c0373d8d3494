"""Calls of functions that do not depend on one another: one after another in this process, or as cells of a crew."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mccpo.errors import MccpoError
from mccpo.work.cell import Cell, Crew, Ending
from mccpo.work.shipping import leave, take


@dataclass(frozen=True)
class Call:
    """A function that can be imported, its arguments, and what messages call it."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    def value(self) -> Any:
        """What the function gives."""
        return self.function(*self.arguments)


class Calls(Protocol):
    """How several calls are made; what they give is in their order."""

    def __call__(self, calls: Sequence[Call], /) -> list[Any]: ...


def one_by_one(calls: Sequence[Call], /) -> list[Any]:
    """Makes calls in this process."""
    return [call.value() for call in calls]


@dataclass(frozen=True)
class ByCrew:
    """Makes calls as cells of a crew. Arguments and values are files in a folder that is removed when all have ended.

    `told(ended, all)` is called as each ends.
    """

    crew: Crew
    folder: Path
    told: Callable[[int, int], None] = field(default=lambda _ended, _all: None)

    def __call__(self, calls: Sequence[Call], /) -> list[Any]:
        folder, endings = self.folder.absolute(), dict[str, Ending]()

        def ended(cell: Cell, ending: Ending) -> None:
            endings[cell.name] = ending
            self.told(len(endings), len(calls))

        try:
            cells = [
                Cell(call.name, f"{__name__}:answer", (leave(folder / f"{at}.call", call), folder / f"{at}.value"))
                for at, call in enumerate(calls)
            ]
            self.crew.do(cells, ended)
            return [_value(call.name, endings[call.name]) for call in calls]
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def answer(asked: Path, answered: Path) -> Path:
    """What a process does for a call: leaves its value, or the error that says what is wrong with the input."""
    try:
        value = take(asked).value()
    except MccpoError as error:
        return leave(answered, error)
    return leave(answered, value)


def _value(name: str, ending: Ending) -> Any:
    if ending.how != "done":
        raise MccpoError(f"{name}: {ending.why}")
    value = take(ending.path)
    if isinstance(value, MccpoError):
        raise value
    return value
