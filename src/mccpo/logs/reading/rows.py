"""Every row of a log with its values, or with the reason why it has none: rejected, or skipped as no answer at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from mccpo.logs.reading.delimited import Opened
from mccpo.logs.reading.fields import Field, Text
from mccpo.logs.reading.headers import FILE, LINE
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.table import COLUMNS, GROUP, NAMES, OPTIONAL, encode

EMPTY_LINE = "empty line"
REASON = "reason"
KEY = "key_"
"""What the names of columns that order events begin with."""
EVENT = "event"
_CHECK = "check_"
_BATCH = 100_000


@dataclass(frozen=True, eq=False)
class ParsedRows:
    """All rows with their values and the number of what keeps each out of the table, 0 where nothing does.

    Numbers up to `skips` are of rows that are no answers, those above of rows to reject; `labels` says of which kind.
    `fields` says by such a label which column is at fault, and what it takes.
    """

    opened: Opened
    rows: pl.DataFrame
    reason: pl.Expr
    labels: Sequence[str]
    skips: int
    fields: Mapping[str, Field]

    @property
    def good(self) -> pl.DataFrame:
        return self.rows.filter(pl.col(REASON) == 0)

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """How many rows are rejected for which reason, and how many are skipped as what; the most frequent first."""
        numbered = self.rows.filter(pl.col(REASON) > 0).group_by(REASON).len().rows()
        rejected = Counter({self.labels[number - 1]: count for number, count in numbered if number > self.skips})
        rejected.update(line.reason for line in self.opened.ragged)
        skipped = Counter({self.labels[number - 1]: count for number, count in numbered if number <= self.skips})
        return _most_first(rejected), _most_first(skipped)


def parse_rows(source: Source, path: Path, options: ReadOptions) -> ParsedRows:
    """All rows of a log, read by its source."""
    return source.open(path, options).apply(lambda opened: _parse(source, opened))


def _parse(source: Source, opened: Opened) -> ParsedRows:
    keys = {f"{KEY}{at}": key for at, key in enumerate(source.order) if isinstance(key, Field)}
    groups = {f"{GROUP}{name}": group for name, group in source.groups.items()}
    checks = {f"{_CHECK}{at}": check for at, check in enumerate(source.checks)}
    events = {} if source.event is None else {EVENT: source.event}
    fields = {**source.fields, **groups, **keys, **events, **checks}
    skips = {EMPTY_LINE: pl.all_horizontal(pl.exclude(LINE, FILE).is_null()), **source.skips}
    faults: dict[str, pl.Expr] = {}
    at_fault: dict[str, Field] = {}
    for field in fields.values():
        faults |= field.faults
        at_fault |= dict.fromkeys(field.faults, field)
    against = {**skips, **faults}
    reason = pl.lit(0, pl.UInt8)
    for number, fault in reversed(list(enumerate(against.values(), start=1))):
        reason = pl.when(fault).then(pl.lit(number, pl.UInt8)).otherwise(reason)
    frame = _in_batches(opened.frame, fields, reason.alias(REASON), other_reasons=bool(source.skips))
    lacking = [pl.lit(None, dtype).alias(name) for name, dtype in COLUMNS.items() if name not in frame.columns]
    frame = frame.with_columns(lacking).drop("order", *checks)
    frame = with_codes(frame)
    chosen = {at: key for at, key in enumerate(source.order) if isinstance(key, str)}
    frame = frame.with_columns(pl.col(key).alias(f"{KEY}{at}") for at, key in chosen.items())
    return ParsedRows(opened, frame, reason, list(against), len(skips), at_fault)


def _in_batches(
    frame: pl.LazyFrame, fields: Mapping[str, Field], reason: pl.Expr, *, other_reasons: bool
) -> pl.DataFrame:
    """All rows with their values and reasons, some at a time: left to itself, polars reads ahead by gigabytes.

    A fault leaves no value. So where a quick look finds a value in every column that can have faults there are none,
    unless there are other reasons to keep a row out.
    """
    names = [name for name in fields if name in NAMES or name.startswith(GROUP)]
    names += [name for name, field in fields.items() if name == EVENT and isinstance(field, Text)]
    codes = {name: pl.Categorical(pl.Categories.random()) for name in names}
    kinds: dict[str, pl.DataType] = {**COLUMNS, **OPTIONAL, **codes}

    def columns(values: Mapping[str, pl.Expr]) -> list[pl.Expr]:
        typed = {name: value.cast(kinds[name]) if name in kinds else value for name, value in values.items()}
        return [pl.col(LINE), *(value.alias(name) for name, value in typed.items())]

    quick = [*columns({name: field.quick for name, field in fields.items()}), pl.lit(0, pl.UInt8).alias(REASON)]
    whole = [*columns({name: field.value for name, field in fields.items()}), reason]
    doubtful = [name for name, field in fields.items() if field.faults]

    def judged(batch: pl.DataFrame) -> pl.DataFrame:
        part = batch.lazy().select(quick if not other_reasons else whole).collect()
        if not other_reasons and any(part[name].null_count() for name in doubtful):
            part = batch.lazy().select(whole).collect()
        return part

    parts = [frame.head(0).select(whole).collect()]
    with ThreadPoolExecutor(1) as pool:  # one batch is judged while the next is read
        ahead = None
        for batch in frame.collect_batches(chunk_size=_BATCH, maintain_order=True, engine="streaming"):
            if ahead is not None:
                parts.append(ahead.result())
            ahead = pool.submit(judged, batch)
        if ahead is not None:
            parts.append(ahead.result())
    return pl.concat(parts)


def with_codes(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its names as codes, those of groups too."""
    names = [name for name in frame.columns if name in NAMES or name.startswith(GROUP)]
    return frame.with_columns(encode(frame[name]) for name in names)


def rejected_rows(parsed: ParsedRows) -> pl.DataFrame:
    """The rejected rows as they stood; the file is looked at again only when there are some."""
    opened = parsed.opened
    wrong = parsed.rows.filter(pl.col(REASON) > parsed.skips)[LINE].unique()
    some = opened.frame.filter(pl.col(LINE).is_in(wrong.implode())) if len(wrong) else opened.frame.head(0)
    rejected = some.with_columns(parsed.reason.alias(REASON)).collect(engine="streaming")
    rejected = rejected.filter(pl.col(REASON) > parsed.skips)
    if opened.locate is not None and rejected.height:
        rejected = opened.locate(rejected)
    reason = rejected[REASON].map_elements(lambda number: parsed.labels[number - 1], return_dtype=pl.String)
    ragged = pl.DataFrame(opened.ragged, {LINE: pl.UInt32, REASON: pl.String, FILE: pl.String}, orient="row")
    if FILE not in rejected.columns:
        ragged = ragged.drop(FILE)
    explained = rejected.with_columns(reason).cast({LINE: pl.UInt32})
    leading = [FILE, LINE, REASON] if FILE in explained.columns else [LINE, REASON]
    return (
        pl.concat([explained, ragged], how="diagonal")
        .select(*leading, pl.exclude(leading))
        .sort(LINE, maintain_order=True)
    )


def _most_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
