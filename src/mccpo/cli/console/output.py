"""How commands take `KEY=VALUE` settings and how they print results: text for people, or one strict JSON object."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from cyclopts import Parameter, Token

from mccpo.errors import InputError
from mccpo.files import dump_json

if TYPE_CHECKING:
    from rich.console import RenderableType

Value = TypeVar("Value")

TABLE_WIDTH = 110

JsonFlag: TypeAlias = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object and no more.")]
"""The type of a command's `json` parameter."""


def whole_number(_type: object, tokens: Sequence[Token]) -> int:
    """A whole number, as a flag, a variable or a settings file gives it; a fraction would otherwise be rounded."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


WholeNumber: TypeAlias = Annotated[int, Parameter(converter=whole_number)]
"""The type of a parameter that counts: `WholeNumber`, `WholeNumber | None`, also within another `Annotated`."""


def emit(result: Mapping[str, Any], *, as_json: bool, text: str | Callable[[], str | RenderableType]) -> None:
    """Prints a command's result on stdout: `result` as JSON, or else `text`, made only when it is needed."""
    if as_json:
        sys.stdout.write(dump_json(result, indent=2) + "\n")
        return
    shown = text if isinstance(text, str) else text()
    if isinstance(shown, str):
        sys.stdout.write(shown.rstrip("\n") + "\n")
        return
    from rich.console import Console

    # A pipe has no width of its own: give tables the room they are laid out for instead of the default 80 columns.
    width = None if sys.stdout.isatty() else TABLE_WIDTH
    Console(file=sys.stdout, highlight=False, width=width).print(shown)


def note(message: str) -> None:
    """Prints progress or a warning, on stderr so that results can be piped."""
    sys.stderr.write(message.rstrip("\n") + "\n")


def parse_pairs(entries: Iterable[str], flag: str, parse: Callable[[str], Value]) -> dict[str, Value]:
    """Reads `KEY=VALUE` entries of a flag, repeated or joined by commas, into a dict.

    `parse_pairs(["c3=9.5,c4=2.45"], "--budget", number)` gives `{"c3": 9.5, "c4": 2.45}`. A piece without `=` belongs
    to the value before it, so `kappa=0.9,0.7` is one entry. `parse` is `number` or `literal` or any function that
    raises ValueError, with words that fit after "must be", on a text it cannot take.
    """
    found: dict[str, Value] = {}
    for entry in _entries(entries):
        key, mark, text = (part.strip() for part in entry.rpartition("="))
        if not mark or not key:
            raise InputError(f"{flag} has {entry!r}", fix=f"write {flag} NAME=VALUE")
        if key in found:
            raise InputError(f"{flag} sets {key!r} twice", fix="set it once")
        try:
            found[key] = parse(text)
        except ValueError as error:
            raise InputError(f"{flag} has {entry!r}", fix=f"the value must be {error}") from error
    return found


def _entries(texts: Iterable[str]) -> list[str]:
    entries: list[str] = []
    for text in texts:
        start = len(entries)
        for piece in text.split(","):
            if "=" in piece or len(entries) == start:
                entries.append(piece)
            else:
                entries[-1] += f",{piece}"
    return entries


def number(text: str) -> float:
    """A finite number, for `parse_pairs`."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number") from None
    if not math.isfinite(value):
        raise ValueError("a finite number")
    return value


def literal(text: str) -> Any:
    """A number, true, false, null, a quoted text or a list as JSON writes them; any other text stands for itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
