"""JSON lines: one value on each line of a text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def json_lines(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """The values of a text and the lines they are on, from 1; None where a line is no JSON. Empty lines say nothing.

    `lines` must end where the file says: what Unicode counts as a line's end besides may stand within a string.

    >>> list(json_lines(['{"correct": true}', "", "{"]))
    [(1, {'correct': True}), (3, None)]
    """
    for line, text in enumerate(lines, start=1):
        if text.strip():
            try:
                yield line, json.loads(text)
            except (ValueError, RecursionError):
                yield line, None
