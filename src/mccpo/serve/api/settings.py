"""The settings of the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mccpo.serve.access.keys import KeyFile
from mccpo.serve.monitor.monitor import BOUNDS
from mccpo.serve.policy.deferral import Deferral
from mccpo.serve.policy.release import Ready
from mccpo.serve.record.anchors import Signer


@dataclass(frozen=True)
class Settings:
    """How requests are admitted, and what the monitor watches for.

    - `keys`: who may call; with None, or while none is asked for, only callers on the loopback.
    - `rate`, `burst`: requests a second of one key in the long run, and at once.
    - `open_rate`: requests a second of one address, for what needs no key.
    - `failed_rate`: refused keys a second of one address, in the long run; a wrong key beyond that is not looked at.
    - `slow_seconds`: how long whoever exceeds one of the two waits for the refusal.
    - `most_header_bytes`: the most bytes of a request's headers.
    - `most_bytes`: the largest body of a request that is read; `body_seconds`: how long it may take to arrive.
    - `runs`: the folder that releases can be loaded from.
    - `ready`, `deferral`: what `load_release` takes, so that a release loaded later is as strict as the first.
    - `anchor_seconds`: how often the end of the record is written to the security log, and to `anchor_file` if there
      is one; `signer`: what anchors are signed with, if at all.
    - `bounds`: how far groups may lie apart before the monitor gives an alarm.
    """

    keys: KeyFile | None
    rate: float = 2_000.0
    burst: int = 4_000
    open_rate: float = 10.0
    failed_rate: float = 0.5
    slow_seconds: float = 1.0
    most_header_bytes: int = 16 * 1024
    most_bytes: int = 256 * 1024
    body_seconds: float = 8.0
    runs: Path | None = None
    ready: Ready | None = None
    deferral: Deferral | None = None
    anchor_seconds: float = 3600.0
    anchor_file: Path | None = None
    signer: Signer | None = None
    bounds: Mapping[str, float] = field(default_factory=lambda: dict(BOUNDS))

    @property
    def asking(self) -> KeyFile | None:
        """The keys, if one is required now; None while callers on the loopback need none."""
        return self.keys if self.keys is not None and self.keys.asks else None
