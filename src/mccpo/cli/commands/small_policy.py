"""A small policy, for what needs one and has none: the demonstration of the service, and its bench."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mccpo.cli.commands.cache import VARIABLE
from mccpo.errors import MccpoError

ENVIRONMENT = "tutor-15-bkt"
STEPS = 20_000


def train_small(folder: Path) -> Path:
    """Trains MC-CPO for a few seconds into a run in `folder`, by a process of its own: jax stays out of this one.

    The user's settings are for other runs than this: neither their file nor their variables are read.
    """
    run = folder / "demo"
    command = [sys.executable, "-m", "mccpo", "train", ENVIRONMENT, "--seeds", "1", "--steps", str(STEPS)]
    ours = {name: text for name, text in os.environ.items() if not name.startswith("MCCPO_") or name == VARIABLE}
    trained = subprocess.run(
        [*command, "--out", str(run)], cwd=folder, env=ours, capture_output=True, text=True, check=False
    )
    if trained.returncode != 0:
        said = trained.stderr.strip().splitlines() or ["it said nothing"]
        raise MccpoError(f"the small policy could not be trained: {said[-1].removeprefix('mccpo: ')}")
    return run
