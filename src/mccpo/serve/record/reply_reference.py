"""What the database stores of an answer under its idempotency key: which event the answer was built from."""

from __future__ import annotations

import json
from typing import NamedTuple

from mccpo.files import canonical_json


class ReplyReference(NamedTuple):
    """The number of the answer's event, if it has one, and whether the answer repeated an earlier one."""

    number: int | None
    again: bool

    def to_text(self) -> str:
        """As stored."""
        return canonical_json(self._asdict())

    @classmethod
    def parse(cls, text: str) -> ReplyReference:
        """The reference in a stored text; ValueError or TypeError if it is none."""
        content = json.loads(text)
        if not isinstance(content, dict) or content.keys() != set(cls._fields):
            raise ValueError("is not in the form of a reply")
        reference = cls(**content)
        if type(reference.number) not in (int, type(None)) or type(reference.again) is not bool:
            raise ValueError("is not in the form of a reply")
        return reference
