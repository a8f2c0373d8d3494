"""Checks the values of a request, whatever it asks, and hashes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mccpo.files import canonical_json
from mccpo.serve.problems import Unprocessable
from mccpo.serve.record.keyring import Keyring
from mccpo.serve.service.commands import Request

MOST_TEXT = 4096
"""The most characters of a text in a request."""


def check_values(value: Any) -> None:
    """Refuses texts that a database cannot hold or that are too long, and numbers that are not finite."""
    if isinstance(value, str):
        if len(value) > MOST_TEXT:
            raise Unprocessable(f"a text has more than {MOST_TEXT} characters")
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise Unprocessable("a text holds characters that are none")
    elif isinstance(value, float) and not math.isfinite(value):
        raise Unprocessable("a number is not finite")
    elif isinstance(value, Mapping):
        check_values([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for entry in value:
            check_values(entry)


def request_digest(keyring: Keyring, request: Request) -> str:
    """A keyed hash of what is asked; without the API key, which may differ when the request is repeated."""
    asked = {name: value for name, value in asdict(request).items() if name != "key"}
    return keyring.keyed_hash("request", type(request).__name__, canonical_json(asked))
