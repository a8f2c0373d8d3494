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
from mccpo.logs.reading.delimited import Opened, Ragged
from mccpo.logs.reading.fields import ISO, Clock, Concepts, Field, Seconds, Signal, Text, Truth, Whole
from mccpo.logs.reading.headers import LINE
from mccpo.logs.reading.json_lines import json_lines
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.reading.text_files import check_file, open_text, reading
from mccpo.logs.sources.registry import register_source

PROFILES = "https://w3id.org/xapi/"
"""Activities below this address say which profile a statement follows, not what it is about."""
_VOIDED = "http://adlnet.gov/expapi/verbs/voided"
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_KEY_PATHS = {
    "learner": "actor", "item": "object.id", "concept": "context.contextActivities", "correct": "result.success",
    "seconds": "result.duration", "time": "timestamp",
}  # fmt: skip
_KINDS: Mapping[str, type[Field]] = {"attempts": Whole, "hints": Whole, "signal": Signal}
_ID, _VOID = "id", "voided"


@register_source("xapi", "xAPI statements (JSON lines)", takes_mapping=True)
def xapi(_: Path, options: ReadOptions) -> Source:
    """Statements, with the paths to their values where the user maps these."""
    names = [name for name in table.COLUMNS if name != "order"]
    wrong = next((name for name in options.mapping if name not in names and not name.startswith(table.GROUP)), None)
    if wrong is not None:
        fix = f"choose from {', '.join(names)} or group_NAME"
        raise InputError(f"there is no canonical column {wrong!r} to map to", fix=fix)
    key_paths = {**_KEY_PATHS, **options.mapping}
    fields: dict[str, Field] = {
        "learner": Text(key_paths["learner"], required=True),
        "item": Text(key_paths["item"], required=True),
        "concept": Concepts(key_paths["concept"]),
        "correct": Truth(key_paths["correct"], required=True),
        "seconds": Seconds(key_paths["seconds"]),
        "time": Clock(key_paths["time"], required=True, formats=ISO),
    }
    fields |= {name: kind(key_paths[name]) for name, kind in _KINDS.items() if name in key_paths}
    success = pl.col(key_paths["correct"])
    return Source(
        open=lambda path, options: _open(path, options, key_paths),
        fields=fields,
        event=Text(_ID, required=True),
        skips={"no result": success.is_null(), "voided": pl.col(_VOID) == "true"},
        groups={
            name.removeprefix(table.GROUP): Text(key_path)
            for name, key_path in key_paths.items()
            if name.startswith(table.GROUP)
        },
    )


def _open(path: Path, options: ReadOptions, key_paths: Mapping[str, str]) -> Opened:
    check_file(path)
    columns: dict[str, list[str | None]] = {key_path: [] for key_path in (*key_paths.values(), _ID)}
    lines, ragged, voided = [], [], set()
    with reading(path), open_text(path, options.encoding or "utf-8") as handle:
        for line, statement in _statements(path, handle.read()):
            if not isinstance(statement, dict):
                ragged.append(Ragged(line, "not JSON"))
                continue
            lines.append(line)
            for key_path, texts in columns.items():
                texts.append(
                    _text(statement, key_path) if key_path != _ID else _id(statement.get(_ID)) or f"line {line}"
                )
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


def _id(identifier: Any) -> str | None:
    """An id as text; what cannot be one is none."""
    return str(identifier) if isinstance(identifier, str | int) and identifier != "" else None


def _text(statement: Mapping[str, Any], key_path: str) -> str | None:
    """What a statement says at a place, as the text that fields read."""
    value = _at(statement, key_path)
    if key_path == _KEY_PATHS["learner"]:
        return _actor(value)
    if key_path == _KEY_PATHS["concept"]:
        return _activities(value)
    if key_path == _KEY_PATHS["seconds"] and isinstance(value, str):
        return _seconds(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return table.BETWEEN_CONCEPTS.join(str(item) for item in value) or None
    return None if value is None else str(value)


def _at(statement: Any, key_path: str) -> Any:
    """The value at a dotted place; keys that hold dots themselves, as addresses do, are found too."""
    if not isinstance(statement, dict):
        return None
    if key_path in statement:
        return statement[key_path]
    for at, sign in enumerate(key_path):
        if sign == "." and key_path[:at] in statement:
            return _at(statement[key_path[:at]], key_path[at + 1 :])
    return None


def _actor(actor: Any) -> str | None:
    """Who it was, by the one of the four identifiers that xAPI allows that is there."""
    if not isinstance(actor, dict):
        return None
    account = actor.get("account")
    named = account.get("name") if isinstance(account, dict) else None
    identifier = named or actor.get("mbox") or actor.get("mbox_sha1sum") or actor.get("openid")
    return None if identifier is None else str(identifier).removeprefix("mailto:")


def _activities(context: Any) -> str | None:
    for kind in ("category", "parent"):
        activities = context.get(kind) if isinstance(context, dict) else None
        listed = [activities] if isinstance(activities, dict) else activities if isinstance(activities, list) else []
        ids = [str(entry["id"]) for entry in listed if isinstance(entry, dict) and entry.get("id")]
        about = [entry for entry in ids if not entry.startswith(PROFILES)]
        if about:
            return table.BETWEEN_CONCEPTS.join(about)
    return None


def _seconds(duration: str) -> str:
    """Seconds of an ISO 8601 duration; what is none stays as it is, for the field to refuse."""
    parts = _DURATION.fullmatch(duration)
    if parts is None or not any(parts.groups()):
        return duration
    days, hours, minutes, seconds = (float(part or 0) for part in parts.groups())
    return str(86400 * days + 3600 * hours + 60 * minutes + seconds)
