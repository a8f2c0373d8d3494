"""How the text of a log becomes values: one field for each column of the canonical table, and what it cannot read.

A field knows its column in the file, whether a row may lack it, and which texts it takes. A row with a text that a
field cannot read, or without one that it needs, is rejected, and the reason names the column.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

TRUTHS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "True", "TRUE", "1", "1.0", "t", "T", "yes", "Yes", "YES", "correct", "CORRECT"), True),
    **dict.fromkeys(("false", "False", "FALSE", "0", "0.0", "f", "F", "no", "No", "NO"), False),
    **dict.fromkeys(("incorrect", "INCORRECT", "wrong", "hint", "HINT"), False),
}


@dataclass(frozen=True)
class Field(abc.ABC):
    """One value of a row: the column it is read from, and whether a row must have it."""

    column: str
    required: bool = False

    @property
    def raw(self) -> pl.Expr:
        """The text of the column, null where it is empty."""
        return pl.when(pl.col(self.column) != "").then(pl.col(self.column))

    @property
    @abc.abstractmethod
    def value(self) -> pl.Expr:
        """The value of the text, null where there is none or it cannot be read."""

    @property
    def faults(self) -> dict[str, pl.Expr]:
        """What can be wrong with the column, as reasons and the rows they hold for."""
        found = {f"unreadable {self.column}": self.raw.is_not_null() & self.value.is_null()}
        return {f"missing {self.column}": self.raw.is_null()} | found if self.required else found


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
class Whole(Field):
    """A count or a place in an order; `3.0` is read as 3."""

    dtype: type[pl.DataType] = pl.Int32

    @property
    def value(self) -> pl.Expr:
        exact = pl.col(self.column).cast(self.dtype, strict=False)
        rounded = pl.col(self.column).cast(pl.Float64, strict=False)
        spelt = pl.when(rounded == rounded.floor()).then(rounded).cast(self.dtype, strict=False)
        return pl.coalesce(exact, pl.when(pl.col(self.column).str.contains(".", literal=True)).then(spelt))


@dataclass(frozen=True)
class Seconds(Field):
    """A time taken, in seconds or `unit`s of it. What is below 0 or no number at all (`.`) is not known."""

    unit: float = 1.0
    unknown: Sequence[str] = (".", "NA", "NaN", "nan", "-", "hint")

    @property
    def value(self) -> pl.Expr:
        seconds = pl.col(self.column).cast(pl.Float32, strict=False) * self.unit
        return pl.when(seconds.is_finite() & (seconds >= 0)).then(seconds)

    @property
    def faults(self) -> dict[str, pl.Expr]:
        read = pl.col(self.column).cast(pl.Float32, strict=False)
        strange = self.raw.is_not_null() & read.is_null() & ~pl.col(self.column).is_in(list(self.unknown))
        return {f"unreadable {self.column}": strange}


@dataclass(frozen=True)
class Truth(Field):
    """A yes or no in any of the usual spellings."""

    @property
    def value(self) -> pl.Expr:
        return pl.col(self.column).replace_strict(dict(TRUTHS), default=None, return_dtype=pl.Boolean)


@dataclass(frozen=True)
class Clock(Field):
    """A point in time, told by one of `formats`, by local time `hours_ahead` of UTC."""

    formats: Sequence[str] = ("%Y-%m-%d %H:%M:%S",)
    hours_ahead: float = 0.0

    @property
    def value(self) -> pl.Expr:
        read = [
            pl.col(self.column).str.to_datetime(form, strict=False, time_unit="ms", time_zone=None)
            for form in self.formats
        ]
        local = pl.coalesce(read) if len(read) > 1 else read[0]
        return local - pl.duration(minutes=round(self.hours_ahead * 60), time_unit="ms") if self.hours_ahead else local


@dataclass(frozen=True)
class Epoch(Field):
    """A point in time as a number of `unit`s since 1970, or since whatever day the data set begins with."""

    per_second: int = 1

    @property
    def value(self) -> pl.Expr:
        number = pl.col(self.column).cast(pl.Float64, strict=False)
        return (number * (1000 / self.per_second)).round().cast(pl.Int64, strict=False).cast(pl.Datetime("ms"))


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
