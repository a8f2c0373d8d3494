"""JSON that any reader takes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mccpo.errors import InputError


def dump_json(value: Any, *, indent: int | None = None) -> str:
    """JSON that any reader takes, in the order given: NaN and infinities become null, arrays become lists."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, indent=indent)


def canonical_json(value: Any) -> str:
    """The one JSON text of plain values, to be hashed: keys sorted, no spaces; NaN is refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_json(value: Any) -> str:
    """SHA-256, in hexadecimal, of the canonical text of plain values: the same however a file lays them out."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def read_json(path: Path, *, fix: str, damaged: str = "run it again") -> dict[str, Any]:
    """Reads a JSON object from a file of ours; `fix` says what to do where there is none, `damaged` where it is."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix=fix) from error
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}", fix=damaged) from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a JSON object", fix=damaged)
    return content


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [_plain(entry) for entry in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return _plain(value.tolist())  # scalars and arrays of NumPy and JAX; anything else is a mistake, and fails here
