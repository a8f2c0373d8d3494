"""The settings of the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mccpo.serve.access.keys import KeyFile
from mccpo.serve.monitor.monitor import BOUNDS
from mccpo.serve.policy.deferral import Deferral


@dataclass(frozen=True)
class Settings:
    """How requests are admitted, and what the monitor watches for.

    - `keys`: who may call; with None, or while there is no key, only callers on the loopback.
    - `rate`, `burst`: requests a second of one key in the long run, and at once.
    - `most_bytes`: the largest body of a request that is read.
    - `runs`: the folder that releases can be loaded from.
    - `ready`, `deferral`: what `load_release` takes, so that a release loaded later is as strict as the first.
    - `bounds`: how far groups may lie apart before the monitor gives an alarm.
    """

    keys: KeyFile | None = None
    rate: float = 2_000.0
    burst: int = 4_000
    most_bytes: int = 256 * 1024
    runs: Path | None = None
    ready: float | None = None
    deferral: Deferral | None = None
    bounds: Mapping[str, float] = field(default_factory=lambda: dict(BOUNDS))

    @property
    def asking(self) -> KeyFile | None:
        """The keys, if one is required now; None while callers on the loopback need none."""
        return self.keys if self.keys is not None and self.keys.asks else None
