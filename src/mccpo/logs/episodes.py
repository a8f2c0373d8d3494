"""The episodes of a log: what each learner did, from first to last, where there is enough of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import numpy as np
import polars as pl

from mccpo.errors import InputError

MINIMUM = 30
MOST = 5_000


def episodes(
    table: pl.DataFrame,
    minimum: int = MINIMUM,
    most: int | None = MOST,
    concepts: Collection[str] | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """The rows of the retained learners, with the number of the `episode` and the `step` in it.

    An episode is all that a learner did, of the given `concepts` only where these are named. Learners with fewer than
    `minimum` such events are left out; of the others `most` are taken, by a hash of their name and the seed, so that
    which ones does not depend on how many there are or on the order of the file.

    >>> rows = {"learner": ["Ana", "Ana", "Bo"], "concept": ["adding"] * 3, "order": [0, 1, 0], "correct": [True] * 3}
    >>> table = pl.DataFrame(rows).cast({"learner": pl.Enum(["Ana", "Bo"]), "concept": pl.Enum(["adding"])})
    >>> episodes(table, minimum=2)["learner"].to_list()
    ['Ana', 'Ana']
    """
    if minimum < 1 or (most is not None and most < 1):
        raise InputError(f"minimum is {minimum} and most is {most}", fix="give whole numbers of at least 1")
    if concepts is not None:
        known = set(table["concept"].dtype.categories)  # type: ignore[attr-defined]  # an Enum
        wanted = sorted(known & set(concepts))
        table = table.filter(pl.col("concept").is_in(pl.Series(wanted, dtype=table["concept"].dtype)))
    names = table["learner"].dtype.categories  # type: ignore[attr-defined]
    code = table["learner"].to_physical().to_numpy()
    counts = np.bincount(code, minlength=len(names))
    enough = np.flatnonzero(counts >= minimum)
    if most is not None and len(enough) > most:
        rank = [hashlib.blake2b(f"{seed}:{names[int(at)]}".encode(), digest_size=8).digest() for at in enough]
        chosen = sorted(range(len(enough)), key=rank.__getitem__)[:most]
        enough = np.sort(enough[chosen])
    number = np.full(len(names), -1, np.int32)
    number[enough] = np.arange(len(enough))
    retained = table.with_columns(pl.Series("episode", number[code])).filter(pl.col("episode") >= 0)
    starts = np.repeat(np.cumsum(counts[enough]) - counts[enough], counts[enough])
    return retained.with_columns(pl.Series("step", (np.arange(retained.height) - starts).astype(np.int32)))
