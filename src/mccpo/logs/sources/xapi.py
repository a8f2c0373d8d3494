"""xAPI statements: JSON lines, plain or gzipped, or a JSON document as a record store exports it.

A statement with `result.success` is an answer; those without are skipped, as are voided ones. The object is the item.
The concepts are the activities in `context.contextActivities.category` (but not those that only name a profile), or
else in `parent`, unless `concept` is mapped to another place, as in `--map
concept=context.extensions.https://example.org/skill`. Other canonical columns can be mapped to places in the same way.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from mccpo.errors import InputError
from mccpo.logs import table
from mccpo.logs.reading.fields import ISO, Clock, Concepts, Field, Seconds, Signal, Text, Truth, Whole
from mccpo.logs.reading.json_lines import json_lines
from mccpo.logs.reading.opening import LINE, Opened, Ragged, check_file, open_text, reading
from mccpo.logs.sources.source import Opening, Source, SourceOf

NAME = "xapi"
TITLE = "xAPI statements (JSON lines)"
PROFILES = "https://w3id.org/xapi/"
"""Activities below this address say which profile a statement follows, not what it is about."""
_VOIDED = "http://adlnet.gov/expapi/verbs/voided"
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_PLACES = {
    "learner": "actor", "item": "object.id", "concept": "context.contextActivities", "correct": "result.success",
    "seconds": "result.duration", "time": "timestamp",
}  # fmt: skip
_KINDS: Mapping[str, type[Field]] = {"attempts": Whole, "hints": Whole, "signal": Signal}
_ID, _VOID = "id", "voided"


def _source(_: Path, opening: Opening) -> Source:
    names = [name for name in table.COLUMNS if name != "order"]
    wrong = next((name for name in opening.mapping if name not in names and not name.startswith(table.GROUP)), None)
    if wrong is not None:
        fix = f"choose from {', '.join(names)} or group_NAME"
        raise InputError(f"there is no canonical column {wrong!r} to map to", fix=fix)
    places = {**_PLACES, **opening.mapping}
    fields: dict[str, Field] = {
        "learner": Text(places["learner"], required=True),
        "item": Text(places["item"], required=True),
        "concept": Concepts(places["concept"]),
        "correct": Truth(places["correct"], required=True),
        "seconds": Seconds(places["seconds"]),
        "time": Clock(places["time"], required=True, formats=ISO),
    }
    fields |= {name: kind(places[name]) for name, kind in _KINDS.items() if name in places}
    success = pl.col(places["correct"])
    return Source(
        name=NAME,
        title=TITLE,
        opened=lambda path, opening: _opened(path, opening, places),
        fields=fields,
        event=Text(_ID, required=True),
        skips={"no result": success.is_null(), "voided": pl.col(_VOID) == "true"},
        groups={
            name.removeprefix(table.GROUP): Text(place)
            for name, place in places.items()
            if name.startswith(table.GROUP)
        },
    )


XAPI = SourceOf(NAME, TITLE, _source, mapped=True)


def _opened(path: Path, opening: Opening, places: Mapping[str, str]) -> Opened:
    check_file(path)
    columns: dict[str, list[str | None]] = {place: [] for place in (*places.values(), _ID)}
    lines, ragged, voided = [], [], set()
    with reading(path), open_text(path, opening.encoding or "utf-8") as handle:
        for line, statement in _statements(path, handle.read()):
            if not isinstance(statement, dict):
                ragged.append(Ragged(line, "not JSON"))
                continue
            lines.append(line)
            for place, texts in columns.items():
                texts.append(_text(statement, place) if place != _ID else _id(statement.get(_ID)) or f"line {line}")
            if _at(statement, "verb.id") == _VOIDED and (void := _id(_at(statement, "object.id"))) is not None:
                voided.add(void)
    schema = {LINE: pl.UInt32, **dict.fromkeys(columns, pl.String)}
    frame = pl.LazyFrame({LINE: lines, **columns}, schema)
    gone = pl.col(_ID).is_in(list(voided)).cast(pl.String).alias(_VOID)
    return Opened(frame.with_columns(gone), ragged)


def _statements(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """Statements and the lines they are on; in one document, their places in it."""
    text = text.removeprefix("\ufeff")
    document = _document(path, text)
    if document is not None:
        yield from enumerate(document, start=1)
        return
    yield from json_lines(io.StringIO(text, newline=""))


def _document(path: Path, text: str) -> list[Any] | None:
    """The statements of a text that is one document, None where each has a line of its own."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip()[:1] == "[" or re.match(r'\s*\{\s*"(statements|more)"\s*:', text):
            raise InputError(f"{path} is no JSON ({error})", fix="check it, or give one statement a line") from error
        return None
    if isinstance(document, dict) and "statements" in document:
        document = document["statements"]
        if not isinstance(document, list):
            raise InputError(f"{path}: its 'statements' are no list", fix="give a list of statements")
    return document if isinstance(document, list) else None


def _id(found: Any) -> str | None:
    """An id as text; what cannot be one is none."""
    return str(found) if isinstance(found, str | int) and found != "" else None


def _text(statement: Mapping[str, Any], place: str) -> str | None:
    """What a statement says at a place, as the text that fields read."""
    found = _at(statement, place)
    if place == _PLACES["learner"]:
        return _actor(found)
    if place == _PLACES["concept"]:
        return _activities(found)
    if place == _PLACES["seconds"] and isinstance(found, str):
        return _seconds(found)
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, list):
        return table.BETWEEN_CONCEPTS.join(str(each) for each in found) or None
    return None if found is None else str(found)


def _at(statement: Any, place: str) -> Any:
    """The value at a dotted place; keys that hold dots themselves, as addresses do, are found too."""
    if not isinstance(statement, dict):
        return None
    if place in statement:
        return statement[place]
    for at, sign in enumerate(place):
        if sign == "." and place[:at] in statement:
            return _at(statement[place[:at]], place[at + 1 :])
    return None


def _actor(actor: Any) -> str | None:
    """Who it was, by the one of the four identifiers that xAPI allows that is there."""
    if not isinstance(actor, dict):
        return None
    account = actor.get("account")
    named = account.get("name") if isinstance(account, dict) else None
    found = named or actor.get("mbox") or actor.get("mbox_sha1sum") or actor.get("openid")
    return None if found is None else str(found).removeprefix("mailto:")


def _activities(context: Any) -> str | None:
    for kind in ("category", "parent"):
        found = context.get(kind) if isinstance(context, dict) else None
        each = [found] if isinstance(found, dict) else found if isinstance(found, list) else []
        ids = [str(one["id"]) for one in each if isinstance(one, dict) and one.get("id")]
        about = [one for one in ids if not one.startswith(PROFILES)]
        if about:
            return table.BETWEEN_CONCEPTS.join(about)
    return None


def _seconds(duration: str) -> str:
    """Seconds of an ISO 8601 duration; what is none stays as it is, for the field to refuse."""
    found = _DURATION.fullmatch(duration)
    if found is None or not any(found.groups()):
        return duration
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return str(86400 * days + 3600 * hours + 60 * minutes + seconds)
