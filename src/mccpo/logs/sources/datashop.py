"""DataShop exports: student-steps and transactions, tab-separated, plain or gzipped, and the KDD Cup 2010's variant.

An event is a learner's first attempt at a step; a hint asked for first counts as not correct. In student-steps each row
is one. In transactions it is the row whose `Attempt At Step` is 1: later ones are skipped, and counted in attempts and
hints. The item is the problem and its step. The concepts are those of one knowledge-component model, the first unless
another is named. Times are local, and taken as they stand. What is in several samples is a duplicate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from mccpo.errors import InputError
from mccpo.logs.reading.delimited import Opened, header_of, open_table
from mccpo.logs.reading.fields import (
    ISO,
    NO_ANSWER,
    NOT_KNOWN,
    SPREADSHEET,
    Clock,
    Field,
    Given,
    Seconds,
    Text,
    Truth,
    Whole,
)
from mccpo.logs.reading.headers import check_columns
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.reading.text_files import is_parquet
from mccpo.logs.sources.registry import register_source
from mccpo.logs.table import BETWEEN_CONCEPTS, tidied

_MODEL = re.compile(r"KC ?\((.*)\)(?:\.\d+)?")
_WHO, _PROBLEM, _STEP, _VIEW = "Anon Student Id", "Problem Name", "Step Name", "Problem View"
_OUTCOMES = {"OK": True, "OK_AMBIGUOUS": True, "BUG": False, "ERROR": False, "JIT": False, "INITIAL_HINT": False}
"""What some tutors write besides CORRECT, INCORRECT and HINT."""
_ANSWERS, _HINTS = "answers at step", "hints at step"
_GROUPS = {"condition": ("Condition", "Condition Name"), "school": ("School",), "class": ("Class",)}


def models(header: Sequence[str]) -> list[str]:
    """The knowledge-component models that a header names."""
    return list(dict.fromkeys(match[1] for name in header if (match := _MODEL.fullmatch(name))))


@register_source("datashop", "DataShop (student-step or transaction export; KDD Cup 2010)", takes_model=True)
def datashop(path: Path, options: ReadOptions) -> Source:
    """Steps or transactions, by what columns there are."""
    delimiter, encoding = options.delimiter or "\t", options.encoding or "utf-8"
    header = header_of(path, delimiter=delimiter, encoding=encoding, numbered=True)
    steps = "Outcome" not in header
    kdd = "Correct First Attempt" in header
    needed = [_WHO, _PROBLEM, _STEP]
    if steps:
        needed += ["First Transaction Time", "Correct First Attempt" if kdd else "First Attempt"]
    else:
        needed += ["Time", "Outcome", "Attempt At Step"]
    check_columns(path, header, needed, delimiter)
    components = _components(path, header, options.model)
    fields: dict[str, Field] = {
        "learner": Text(_WHO, required=True),
        "item": Given(_STEP, expression=pl.concat_str(_PROBLEM, _STEP, separator=" / ", ignore_nulls=True)),
        **({"concept": Given(components[0], expression=_joined(components))} if components else {}),
        **(_of_steps(header, needed[-1]) if steps else _of_transactions(header)),
    }
    groups = {name: next((column for column in names if column in header), None) for name, names in _GROUPS.items()}
    texts = [name for name in (_WHO, _PROBLEM, _STEP, *components, *groups.values()) if name is not None]

    def open_(path: Path, _: ReadOptions) -> Opened:
        # Between tabs text stands as it is, and a quote may be a sign of inches.
        quoted = delimiter != "\t"
        table = open_table(path, header, delimiter=delimiter, encoding=encoding, numbered=True, quoted=quoted)
        table = table if quoted or is_parquet(path) else _changed(table, _unwrapped(texts))
        return table if steps else _changed(table, _totals(header))

    return Source(
        open=open_,
        fields=fields,
        order=("time", *([Whole(_VIEW)] if _VIEW in header else [])),
        checks=(Text(_PROBLEM, required=True),),
        skips={} if steps else _NO_EVENTS,
        groups={name: Text(column, unknown=NOT_KNOWN) for name, column in groups.items() if column is not None},
        models=sorted(models(header), key=lambda name: options.model is not None and name != options.model),
    )


_NO_EVENTS = {
    "no outcome": pl.col("Outcome").is_null() | pl.col("Outcome").is_in(["", *NO_ANSWER]),
    "later attempt": pl.col("Attempt At Step").cast(pl.Int64, strict=False) > 1,
}


def _of_steps(header: Sequence[str], correct: str) -> dict[str, Field]:
    fields: dict[str, Field] = {
        "correct": Truth(correct, required=True),
        "time": Clock("First Transaction Time", required=True, unknown=NOT_KNOWN, formats=(*ISO, *SPREADSHEET)),
    }
    if "Step Duration (sec)" in header:
        fields["seconds"] = Seconds("Step Duration (sec)")
    if "Hints" in header:
        fields["hints"] = Whole("Hints", unknown=NOT_KNOWN, least=0)
    if {"Incorrects", "Corrects"} <= set(header):
        tries = Whole("Incorrects").value + Whole("Corrects").value
        fields["attempts"] = Given("Corrects", expression=tries)
    return fields


def _of_transactions(header: Sequence[str]) -> dict[str, Field]:
    fields: dict[str, Field] = {
        "correct": Truth("Outcome", required=True, also=_OUTCOMES),
        "time": Clock("Time", required=True, unknown=NOT_KNOWN, formats=(*ISO, *SPREADSHEET)),
        "attempts": Given(_ANSWERS, expression=pl.col(_ANSWERS)),
        "hints": Given(_HINTS, expression=pl.col(_HINTS)),
    }
    if "Duration (sec)" in header:
        fields["seconds"] = Seconds("Duration (sec)")
    return fields


def _changed(table: Opened, columns: Sequence[pl.Expr]) -> Opened:
    """A table with some columns worked out anew, also once it is mended."""
    mend = table.mend
    return replace(
        table,
        frame=table.frame.with_columns(columns),
        mend=None if mend is None else lambda: _changed(mend(), columns),
    )


def _unwrapped(names: Sequence[str]) -> list[pl.Expr]:
    """Texts without the quotes around them, which some copies have where others have none."""
    text = pl.col(names)
    within = text.str.head(-1).str.tail(-1).str.replace_all('""', '"', literal=True)
    return [pl.when(text.str.contains('^"(?:[^"]|"")*"$')).then(within).otherwise(text)]


def _totals(header: Sequence[str]) -> list[pl.Expr]:
    """How many answers and hints the step of each transaction has in all."""
    step = [_WHO, _PROBLEM, _STEP, *([_VIEW] if _VIEW in header else [])]
    hint = pl.col("Outcome").str.contains("(?i)hint").fill_null(False)
    answer = pl.col("Outcome").is_not_null() & ~hint
    return [answer.sum().over(step).alias(_ANSWERS), hint.sum().over(step).alias(_HINTS)]


def _components(path: Path, header: Sequence[str], model: str | None) -> list[str]:
    """The columns of a model: one, or in transactions one for each concept a step can have."""
    known = models(header)
    if model is not None and model not in known:
        fix = f"choose from {', '.join(known)}" if known else "leave --model out"
        raise InputError(f"{path} has no model {model!r}", fix=fix)
    chosen = model if model is not None else next(iter(known), None)
    return [name for name in header if (match := _MODEL.fullmatch(name)) and match[1] == chosen]


def _joined(columns: Sequence[str]) -> pl.Expr:
    together = pl.concat_str(columns, separator=BETWEEN_CONCEPTS, ignore_nulls=True)
    cells = pl.when(together != "").then(together)
    return cells.map_batches(tidied, return_dtype=pl.String, is_elementwise=True)
