"""The page of error messages, read from the code: what each says, and what it advises."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import mccpo

_ERRORS = ("InputError", "DoesNotApply")
SOURCE = Path(mccpo.__file__).parent
_INTRO = """# Error messages

Every message of wrong input, with its fix. The command line prints both in one line, as `mccpo: MESSAGE; FIX`, and
ends with [exit code 2](errors.md#exit-codes). `…` stands for a value. Search this page for a part of the message that
you see.
"""


class Message(NamedTuple):
    """What is wrong, and what to do."""

    room: str
    what: str
    fix: str


def messages(source: Path = SOURCE) -> Iterator[Message]:
    """Every `InputError(what, fix=…)` whose words stand in the code."""
    for path in sorted(source.rglob("*.py")):
        room = path.relative_to(source).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _ERRORS and node.args:
                fixes = [keyword.value for keyword in node.keywords if keyword.arg == "fix"]
                what = _words(node.args[0])
                if fixes and any(character.isalpha() for character in what):
                    yield Message(room, what, _words(fixes[0]))


def _words(node: ast.expr) -> str:
    """The words of a text; values that only a call knows are dots."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_words(part) for part in parts)
        case ast.BinOp(left=left, right=right):
            return _words(left) + _words(right)
        case ast.IfExp(body=body):
            return _words(body)
        case _:
            return "…"


def page() -> str:
    """A list for each room."""
    rooms: dict[str, list[str]] = {}
    for message in dict.fromkeys(messages()):
        rooms.setdefault(message.room, []).append(f"- **{_plain(message.what)}** — {_plain(message.fix)}")
    parts = [f"## {room}\n\n" + "\n".join(sorted(entries)) for room, entries in sorted(rooms.items())]
    return f"{_INTRO}\n" + "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Words that Markdown leaves as they are."""
    for character in "\\`*_{}[]<>$":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())
