"""The folder in which one run leaves for the next what it need not do again.

anchors/            unconstrained runs, by what they depend on
programs-MACHINE/   compiled programs, in jax's own format; another processor has another folder
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

VARIABLE = "MCCPO_CACHE"


def folder() -> Path | None:
    """The folder that `MCCPO_CACHE` names, else the user's; None where it cannot be written to."""
    try:
        place = _place()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except (OSError, RuntimeError):  # the latter where nobody's home is known
        return None
    return place


def use() -> None:
    """Keeps the programs that a command compiles where there is a folder for them, and takes those that are there."""
    if (place := folder()) is not None:
        keep_programs(place)


def keep_programs(place: Path) -> None:
    """Makes jax keep what it compiles, down to the smallest program: a command consists of a hundred of them.

    Where the user has told jax of a folder, it stays that one.
    """
    import jax

    from mccpo.runs import machine, prune

    if jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    programs = place / f"programs-{machine()}"
    with suppress(OSError):
        programs.mkdir(mode=0o700, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(programs))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        prune(programs)


def _place() -> Path:
    if named := os.environ.get(VARIABLE):
        return Path(named)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "mccpo"
    return Path.home() / ".cache" / "mccpo"
