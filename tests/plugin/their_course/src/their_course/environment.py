"""An environment of this package."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx

from mccpo import Tutor


class TheirTutor(Tutor):
    """Four concepts in three strands, taught in twelve lessons."""

    name: ClassVar[str] = "their-tutor"

    concepts: int = eqx.field(static=True, default=4)
    horizon: int = eqx.field(static=True, default=12)
