"""What a command hands to its cells, and they to it, as files: values of types that every process has."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from mccpo import files


def leave(path: Path, value: Any) -> Path:
    """Writes a value, whole or not at all, for another process of the same command; gives the path."""
    files.write_bytes(path, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
    return path


def take(path: str | Path) -> Any:
    """The value that another process of this command left."""
    return pickle.loads(Path(path).read_bytes())
