"""How the text of a log becomes values: one field for each column of the canonical table, and what it cannot read.

A field knows its column in the file, whether a row may lack it, and which texts it takes. A row with a text that a
field cannot read, or without one that it needs, is rejected, and the reason names the column.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from mccpo.logs.table import BETWEEN_CONCEPTS, tidied

TRUTHS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "True", "TRUE", "1", "1.0", "t", "T", "yes", "Yes", "YES", "correct", "CORRECT"), True),
    **dict.fromkeys(("false", "False", "FALSE", "0", "0.0", "f", "F", "no", "No", "NO"), False),
    **dict.fromkeys(("incorrect", "INCORRECT", "wrong", "hint", "HINT"), False),
}


NO_ANSWER = ("STUDY", "UNKNOWN", "UNGRADED")
"""What stands in place of right or wrong where a learner was shown something, or nobody judged."""
NOT_KNOWN = (".", "-", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "\\N")
"""How tables say that a value is not known."""
ISO = (
    "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M", "%Y-%m-%d",
)  # fmt: skip
SPREADSHEET = tuple(
    f"{day}{hour}"
    for hour in (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "")
    for day in ("%m/%d/%Y", "%m/%d/%y")
)
"""What spreadsheets make of times: the year in four figures or in two, hours to 24 or to 12, or the day alone."""
_EARLIEST, _LATEST = -2_208_988_800_000, 7_258_118_400_000
"""The years 1900 and 2200: a number beyond them is no time, or counts in another unit. A year written out beyond them
was misread: `%Y` reads 19 as the year 19. What lies between 1900 and 1970 can be read, but no log is that old: such
times are placeholders or in a wrong unit."""


@dataclass(frozen=True)
class Field(abc.ABC):
    """One value of a row: the column it is read from, whether a row must have it, and texts that mean it has none."""

    takes: ClassVar[str] = "a value that can be read"
    """What a text of the column should have been, for the message of one that cannot be read."""

    column: str
    required: bool = False
    unknown: Sequence[str] = ()

    @property
    def raw(self) -> pl.Expr:
        """The text of the column, null where it says nothing."""
        says = pl.col(self.column) != ""
        if self.unknown:
            says &= ~pl.col(self.column).is_in(list(self.unknown))
        return pl.when(says).then(pl.col(self.column))

    @property
    @abc.abstractmethod
    def value(self) -> pl.Expr:
        """The value of the text, null where there is none or it cannot be read."""

    @property
    def quick(self) -> pl.Expr:
        """The value as most texts are written; null where it takes a closer look."""
        return self.value

    @property
    def faults(self) -> dict[str, pl.Expr]:
        """What can be wrong with the column, as reasons and the rows they hold for."""
        unreadable = {f"unreadable {self.column}": self.raw.is_not_null() & self.value.is_null()}
        return {f"missing {self.column}": self.raw.is_null()} | unreadable if self.required else unreadable


@dataclass(frozen=True)
class Text(Field):
    """A name or an id, taken as it stands: two names can differ by white space alone."""

    @property
    def value(self) -> pl.Expr:
        return self.raw

    @property
    def faults(self) -> dict[str, pl.Expr]:
        return {f"missing {self.column}": self.raw.is_null()} if self.required else {}


@dataclass(frozen=True)
class Concepts(Text):
    """The concepts of one event in one cell: each once, by its name where `names` has one, sorted and joined."""

    between: str = BETWEEN_CONCEPTS
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def value(self) -> pl.Expr:
        return self.raw.map_batches(self._tidied, return_dtype=pl.String, is_elementwise=True)

    def _tidied(self, cells: pl.Series) -> pl.Series:
        return tidied(cells, self.between, self.names)

    @property
    def faults(self) -> dict[str, pl.Expr]:
        return {f"missing {self.column}": self.value.is_null()} if self.required else {}


@dataclass(frozen=True)
class Whole(Field):
    """A count or a place in an order; `3.0` is read as 3. One below `least`, where that is given, is not known."""

    takes: ClassVar[str] = "a whole number"

    dtype: type[pl.DataType] = pl.Int32
    least: int | None = None

    @property
    def value(self) -> pl.Expr:
        return self._read if self.least is None else pl.when(self._read >= self.least).then(self._read)

    @property
    def quick(self) -> pl.Expr:
        exact = pl.col(self.column).cast(self.dtype, strict=False)
        return exact if self.least is None else pl.when(exact >= self.least).then(exact)

    @property
    def faults(self) -> dict[str, pl.Expr]:
        unreadable = self.raw.is_not_null() & self._read.is_null()
        return super().faults | {f"unreadable {self.column}": unreadable}

    @property
    def _read(self) -> pl.Expr:
        exact = pl.col(self.column).cast(self.dtype, strict=False)
        rounded = pl.col(self.column).cast(pl.Float64, strict=False)
        spelt = pl.when(rounded == rounded.floor()).then(rounded).cast(self.dtype, strict=False)
        return pl.coalesce(exact, pl.when(pl.col(self.column).str.contains(".", literal=True)).then(spelt))


@dataclass(frozen=True)
class Seconds(Field):
    """A time taken, in seconds or `unit`s of it. What is below 0 or not finite is not known."""

    takes: ClassVar[str] = "a number such as 12.5"

    unknown: Sequence[str] = (*NOT_KNOWN, "hint")
    unit: float = 1.0

    @property
    def value(self) -> pl.Expr:
        seconds = pl.col(self.column).cast(pl.Float32, strict=False) * self.unit
        return pl.when(seconds.is_finite() & (seconds >= 0)).then(seconds)

    @property
    def faults(self) -> dict[str, pl.Expr]:
        read = pl.col(self.column).cast(pl.Float32, strict=False)
        return {f"unreadable {self.column}": self.raw.is_not_null() & read.is_null()}


@dataclass(frozen=True)
class Chance(Field):
    """The chance of something that did happen: above 0, and up to 1."""

    takes: ClassVar[str] = "a number above 0 and up to 1"

    @property
    def value(self) -> pl.Expr:
        chance = pl.col(self.column).cast(pl.Float32, strict=False)
        return pl.when((chance > 0) & (chance <= 1)).then(chance)


@dataclass(frozen=True)
class Truth(Field):
    """A yes or no in any of the usual spellings, and those of `also`."""

    takes: ClassVar[str] = "1 or 0, true or false, yes or no, correct or incorrect"

    also: Mapping[str, bool] = field(default_factory=dict)

    @property
    def value(self) -> pl.Expr:
        return pl.col(self.column).replace_strict({**TRUTHS, **self.also}, default=None, return_dtype=pl.Boolean)


@dataclass(frozen=True)
class Signal(Field):
    """A mastery signal: 1 a gain, -1 a loss, 0 or no none."""

    takes: ClassVar[str] = "1, 0 or -1"

    @property
    def value(self) -> pl.Expr:
        meant = {text: int(truth) for text, truth in TRUTHS.items()} | {"-1": -1, "-1.0": -1, "+1": 1}
        return pl.col(self.column).replace_strict(meant, default=None, return_dtype=pl.Int8)


@dataclass(frozen=True)
class Time(Field):
    """A point in time. One before 1970 is refused, in words of its own."""

    takes: ClassVar[str] = "a time such as 2026-03-01 08:15"

    @property
    def value(self) -> pl.Expr:
        return pl.when(self._told.to_physical() >= 0).then(self._told)

    @property
    def faults(self) -> dict[str, pl.Expr]:
        too_early = {f"time before 1970 in {self.column}": self._told.to_physical() < 0}
        return too_early | super().faults

    @property
    @abc.abstractmethod
    def _told(self) -> pl.Expr:
        """The time as the text tells it, null where it cannot be read."""


@dataclass(frozen=True)
class Clock(Time):
    """A point in time, told by one of `formats`, by local time `hours_ahead` of UTC unless the text names an offset."""

    formats: Sequence[str] = ("%Y-%m-%d %H:%M:%S",)
    hours_ahead: float = 0.0

    @property
    def quick(self) -> pl.Expr:
        time = self._by(self.formats[0])
        return pl.when(time.to_physical() >= 0).then(time)

    @property
    def _told(self) -> pl.Expr:
        read = [self._by(form) for form in self.formats]
        return pl.coalesce(read) if len(read) > 1 else read[0]

    def _by(self, form: str) -> pl.Expr:
        time = pl.col(self.column).str.to_datetime(form, strict=False, time_unit="ms")
        time = pl.when(time.to_physical().is_between(_EARLIEST, _LATEST)).then(time)
        if form.endswith("z"):
            return time.dt.replace_time_zone(None)
        return time - pl.duration(minutes=round(self.hours_ahead * 60), time_unit="ms") if self.hours_ahead else time


@dataclass(frozen=True)
class Epoch(Time):
    """A point in time as a number, so many `per_second`, since 1970 or whatever day the data set begins with."""

    takes: ClassVar[str] = "a number, as most times of the column are"

    per_second: int = 1

    @property
    def _told(self) -> pl.Expr:
        number = pl.col(self.column).cast(pl.Float64, strict=False)
        whole = (number * (1000 / self.per_second)).round().cast(pl.Int64, strict=False)
        return pl.when(whole.is_between(_EARLIEST, _LATEST)).then(whole).cast(pl.Datetime("ms"))


@dataclass(frozen=True)
class Given(Field):
    """A value worked out from the columns by an expression of its own, which gives null where it is not known."""

    expression: pl.Expr = field(default_factory=lambda: pl.lit(None))

    @property
    def value(self) -> pl.Expr:
        return self.expression

    @property
    def faults(self) -> dict[str, pl.Expr]:
        return {f"missing {self.column}": self.expression.is_null()} if self.required else {}
