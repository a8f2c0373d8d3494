"""Floors in a teacher's words: a small grammar of sentences, each a floor on learning, mastery or engagement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mccpo.env import Constraints
from mccpo.experiments.asked.floors import Floor

FLOOR_FORMS = (
    "learners gain at least 80 % of what can be learnt",
    "learners master at least 6 concepts",
    "the tutor keeps at least 90 % of the engagement",
)
"""One sentence of every form."""

_NUMBER = r"(?P<number>\d+(?:\.\d+)?)"
_GRAMMAR: tuple[tuple[str, bool, re.Pattern[str]], ...] = (
    ("learning", True, re.compile(rf"(?:learners )?gain at least {_NUMBER} ?% of what can be learnt")),
    ("mastered", False, re.compile(rf"(?:learners )?master at least {_NUMBER} concepts?")),
    ("engagement", True, re.compile(rf"(?:the tutor )?keeps? (?:at least )?{_NUMBER} ?% of the engagement")),
)


@dataclass(frozen=True)
class Said:
    """A floor, and the sentence that asked for it."""

    floor: Floor
    text: str

    def explain(self, constraints: Constraints) -> str:
        """The floor as it is shown back to the user."""
        name, amount = self.floor.name, constraints.floors[self.floor.name]
        reach = constraints.reach.get(name)
        whole = "" if reach is None else f", of the {reach:.4g} that is known to be reached"
        return f"{name} ≥ {amount:.4g} ({self.text}): on average over learners{whole}"


def split_sentences(texts: Sequence[str]) -> tuple[tuple[Said, ...], tuple[str, ...]]:
    """The floors that sentences ask for, and the sentences that are about something else.

    >>> floors, others = split_sentences(["Learners master at least 6 concepts."])
    >>> str(floors[0].floor), others
    ('mastered=6', ())
    """
    said, others = [], []
    for text in texts:
        floor = _floor(text)
        if floor is None:
            others.append(text)
        else:
            said.append(Said(floor, text))
    return tuple(said), tuple(others)


def _floor(text: str) -> Floor | None:
    sentence = " ".join(text.lower().split()).removesuffix(".")
    for name, relative, form in _GRAMMAR:
        if match := form.fullmatch(sentence):
            number = float(match["number"])
            return Floor(name, number / 100 if relative else number, relative)
    return None
