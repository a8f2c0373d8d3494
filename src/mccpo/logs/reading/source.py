"""What a log format is: where its files are, and which of its columns give which of the canonical ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from mccpo.logs.reading.delimited import Opened
from mccpo.logs.reading.fields import Field


@dataclass(frozen=True)
class ReadOptions:
    """What a user can say about a file beyond its format.

    >>> ReadOptions(delimiter=";", mapping={"learner": "student", "correct": "right"}).mapping["learner"]
    'student'
    """

    delimiter: str | None = None
    encoding: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Canonical columns to the file's own, for tables of any shape."""
    model: str | None = None
    """The knowledge-component model, where a file has several."""


@dataclass(frozen=True, eq=False)
class Source:
    """How the rows of one log are read.

    **Fields:**

    - `open`: opens the file or files, as text.
    - `fields`: by canonical column, how it is read from the opened file. `learner` and `correct` must be there.
    - `order`: further fields that order the events of a learner, in turn; the line in the file comes last of all.
      A name of a canonical column stands for that column. Without any, the file's own order is all there is.
    - `event`: a field that tells which rows belong to one event: such rows are merged, their concepts joined.
    - `checks`: fields that the table does not keep, and without which a row is not whole.
    - `skips`: rows that are sound and no answers, by what they are: nothing else is asked of them.
    - `groups`: by group column, a field read from the file itself.
    - `groups_by_learner`: group columns kept in a file of their own: gives a frame of `learner` and `group_…` columns,
      None where there is no such file.
    - `models`: the models of knowledge components in the file; concepts are those of the first.
    """

    open: Callable[[Path, ReadOptions], Opened]
    fields: Mapping[str, Field]
    order: Sequence[str | Field] = ("time",)
    event: Field | None = None
    checks: Sequence[Field] = ()
    skips: Mapping[str, pl.Expr] = field(default_factory=dict)
    groups: Mapping[str, Field] = field(default_factory=dict)
    groups_by_learner: Callable[[Path], pl.DataFrame | None] | None = None
    models: Sequence[str] = ()
