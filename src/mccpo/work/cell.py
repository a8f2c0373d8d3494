"""A cell of work: what it is, how it can end, and which cells wait for which.

A cell names a function and its arguments. Any process that can import the function can do the cell, and any process
that can read the run's folder can use what it leaves there: the function writes files and returns their path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, NamedTuple, Protocol

_LONGEST = 200


@dataclass(frozen=True)
class Cell:
    """A part of the work.

    **Fields:**

    - `name`: what messages call it; no two cells of a command have the same.
    - `call`: the function, as "package.module:function"; it returns the path of what it wrote.
    - `arguments`: of the function; they must be such that can be pickled.
    - `after`: the names of cells that must have ended well before this one begins.
    - `limit`: the seconds after which its process is ended; None for any.
    """

    name: str
    call: str
    arguments: tuple[Any, ...] = ()
    after: tuple[str, ...] = ()
    limit: float | None = None

    def do(self) -> str:
        """Does it, in this process; gives the path of what it wrote."""
        module, _, function = self.call.partition(":")
        return str(getattr(import_module(module), function)(*self.arguments))


class Ending(NamedTuple):
    """How a cell ended, why it did not end well, and the path of what it wrote.

    An error is one that the work raised; a crash is the end of its process by anything else.
    """

    how: Literal["done", "error", "crashed", "timed out"]
    why: str = ""
    path: str = ""


class Crew(Protocol):
    """Who does cells: several processes here, or a cluster."""

    def do(self, cells: Sequence[Cell], ended: Callable[[Cell, Ending], None]) -> None:
        """Does cells, and calls `ended` here as each of them ends.

        A cell that waits for one that did not end well is left: it neither begins nor ends.
        """


class Agenda:
    """The cells that have not begun. They begin in their order, as far as they need not wait for one another."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._waiting = list(cells)
        self._open = {cell.name for cell in self._waiting}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def next(self) -> Cell | None:
        """The first that can begin now, which is then off the agenda."""
        ready = next((cell for cell in self._waiting if self._open.isdisjoint(cell.after)), None)
        if ready is not None:
            self._waiting.remove(ready)
        return ready

    def end(self, cell: Cell, ending: Ending) -> None:
        """Notes that a cell has ended."""
        self._open.discard(cell.name)
        if ending.how != "done":
            self._leave({cell.name})

    def _leave(self, names: set[str]) -> None:
        """Leaves the cells that wait for those named, and the cells that wait for them."""
        while left := [cell for cell in self._waiting if not names.isdisjoint(cell.after)]:
            names |= {cell.name for cell in left}
            self._waiting = [cell for cell in self._waiting if cell not in left]


def line(text: str) -> str:
    r"""A message in one line of a bearable length.

    >>> line("a message\nof two lines")
    'a message of two lines'
    """
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
