"""The checkpoints of a run: one file for each part, from which the part goes on to the same bits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from mccpo import files
from mccpo.errors import InputError, MccpoError

SAVE_EVERY = 5.0  # seconds between checkpoints; a part also leaves one when it ends or is interrupted


class Checkpoints:
    """The folder of a run's checkpoints."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._saved: dict[str, float] = {}
        self._labels: dict[Path, str] = {}

    def path(self, label: str) -> Path:
        """The file of a part."""
        path = self._folder / f"{label.replace(' ', '-').replace('/', '-')}.safetensors"
        if (other := self._labels.setdefault(path, label)) != label:
            raise MccpoError(f"the parts '{other}' and '{label}' of the run have one checkpoint")
        return path

    def load(self, label: str) -> dict[str, np.ndarray] | None:
        """The checkpoint of a part, if there is one."""
        path = self.path(label)
        return read_checkpoint(path) if path.exists() else None

    def is_due(self, label: str) -> bool:
        """Whether a part has left none for a while; the first time that this is asked, it has not."""
        now = time.monotonic()
        if now - self._saved.setdefault(label, now) < SAVE_EVERY:
            return False
        self._saved[label] = now
        return True

    def write(self, label: str, arrays: Mapping[str, np.ndarray]) -> Path:
        """Keeps a checkpoint of a part; gives its file."""
        files.write_bytes(self.path(label), save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
        return self.path(label)


def read_checkpoint(path: Path) -> dict[str, np.ndarray]:
    """Reads the arrays of a checkpoint."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        fix = "delete it and resume; its part starts anew"
        raise InputError(f"{path} is not a checkpoint: {error}", fix=fix) from error
