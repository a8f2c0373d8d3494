"""Large tables of shares in a JSON file: as lists they would take a line for every number, packed a few bytes.

A packed table is {"shape": [rows, columns], "packed": TEXT}. TEXT is base64 of zlib of the numbers, row by row, each
times 10,000 and as two bytes, the lower first. So it is read in any language; in Python by

    np.frombuffer(zlib.decompress(base64.b64decode(TEXT)), "<u2").reshape(shape) / 10_000
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError

DIGITS = 4
"""Of a share or a mastery, in a file."""
LISTED = 5_000
"""Numbers of a table up to which it is a list of rows."""
_LARGEST = 2**28  # numbers of a table that is read, far more than any that is written


def packed(table: Float[np.ndarray, "rows columns"]) -> object:
    """A table of numbers from 0 to 1 for a JSON file: a list of rows, or packed where it is large.

    >>> packed(np.array([[0.25, 1.0]]))
    [[0.25, 1.0]]
    >>> sorted(packed(np.zeros((100, 100))))
    ['packed', 'shape']
    """
    if table.size <= LISTED:
        return table.tolist()
    numbers = np.rint(np.asarray(table) * 10**DIGITS).astype("<u2")
    return {"shape": list(table.shape), "packed": base64.b64encode(zlib.compress(numbers.tobytes(), 9)).decode()}


def unpacked(raw: object, where: str) -> object:
    """What was packed as a list of rows; anything else as it is.

    >>> unpacked(packed(np.full((60, 100), 0.25)), "it")[59][99]
    0.25
    """
    if not isinstance(raw, Mapping):
        return raw
    fix = "give a list of rows, or a table that was packed by mccpo"
    shape = raw.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int and size > 0 for size in shape) or len(shape) != 2:
        raise InputError(f"{where} has the shape {shape}", fix=fix)
    wanted = 2 * math.prod(shape)
    try:
        reader = zlib.decompressobj()
        content = reader.decompress(base64.b64decode(str(raw.get("packed")), validate=True), min(wanted, _LARGEST) + 1)
    except (binascii.Error, zlib.error) as error:
        raise InputError(f"{where} cannot be unpacked: {error}", fix=fix) from error
    if len(content) != wanted:
        raise InputError(f"{where} is not {shape[0]} rows of {shape[1]} numbers", fix=fix)
    rows: list[list[float]] = (np.frombuffer(content, "<u2").reshape(shape) / 10**DIGITS).tolist()
    return rows
