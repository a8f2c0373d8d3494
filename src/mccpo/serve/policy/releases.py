"""The releases that are live: the one that decides, the one before it, and one that only looks on.

A new release takes over without a restart, and can be taken back. A shadow is asked what it would have done for a share
of the learners; its answer goes on record and is never served. The set is one immutable value: whoever read it goes on
with what they read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from mccpo.errors import InputError
from mccpo.serve.policy.decision import Decision, decide, propensities
from mccpo.serve.policy.learner_state import LearnerState
from mccpo.serve.policy.release import Release


@dataclass(frozen=True, eq=False)
class Releases:
    """The live set. `share`: of the learners, those for whom the shadow is asked too."""

    current: Release
    previous: Release | None = None
    shadow: Release | None = None
    share: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.share, bool) or not 0 <= self.share <= 1:
            raise InputError(f"the share of the shadow is {self.share}", fix="give a number from 0 to 1")
        for other in (self.previous, self.shadow):
            if other is not None:
                check_compatible(self.current, other)

    def load(self, release: Release) -> Releases:
        """Lets another release decide; the one that did so far can be rolled back to. A shadow that takes over ends."""
        if release.version == self.current.version:
            return self
        shadow = None if _is(self.shadow, release) else self.shadow
        return Releases(release, self.current, shadow, self.share if shadow else 0.0)

    def roll_back(self, to: str | None = None) -> Releases:
        """Lets the release before decide again, and keeps this one: rolled back once more, it decides again.

        Whoever names the version `to` roll back to may ask twice: the second time, it decides already.
        """
        if to == self.current.version:
            return self
        if self.previous is None:
            raise InputError("there is no release to roll back to", fix="load one")
        if to not in (None, self.previous.version):
            raise InputError(
                f"the release before is {self.previous.version}, not {to}", fix="roll back to that one, or load a run"
            )
        return self.load(self.previous)

    def watch(self, release: Release | None, share: float = 1.0) -> Releases:
        """Lets a release look on for a share of the learners; None ends it."""
        if release is not None and _is(self.current, release):
            raise InputError(f"the release {release.version} decides already", fix="shadow another")
        return replace(self, shadow=release, share=share if release is not None else 0.0)

    def shadow_for(self, learner: str) -> Release | None:
        """The shadow, if this learner is among those it is asked for: always or never, for one shadow."""
        if self.shadow is None:
            return None
        hashed = hashlib.sha256(f"{self.shadow.version}/{learner}".encode()).digest()
        return self.shadow if int.from_bytes(hashed[:8], "big") < self.share * 2**64 else None

    def told(self) -> dict[str, Any]:
        """The live set as JSON values."""
        return {
            "current": _told(self.current),
            "previous": None if self.previous is None else _told(self.previous),
            "shadow": None if self.shadow is None else _told(self.shadow),
            "share": self.share,
        }


def check_compatible(current: Release, other: Release) -> None:
    """Refuses a release under which what is known of the learners would mean something else."""
    if other.sha256.curriculum != current.sha256.curriculum:
        raise InputError(
            f"the release {other.version} has another curriculum ({other.sha256.curriculum[:12]}, not "
            f"{current.sha256.curriculum[:12]})",
            fix="serve it with a database of its own",
        )
    if other.actions != current.actions:
        raise InputError(f"the release {other.version} has other activities", fix="serve it with a database of its own")


def check_gate(current: Release, other: Release, fix: str) -> None:
    """Refuses a release that serves what the current one does not: whoever means it must say so."""
    openings = [release.stricter or release.opening for release in (current, other)]
    if openings[1].looser_than(openings[0]) or other.opening.looser_than(current.opening):
        raise InputError(
            f"the release {other.version} opens the gate at {gate_text(other)}, and {current.version}, which decides "
            f"now, at {gate_text(current)}",
            fix=fix,
        )


def gate_text(release: Release) -> str:
    """What opens a release's gate, in words."""
    opening = release.opening
    text = f"θ = {opening.theta:g}" if opening.confidence is None else f"a confidence of {opening.confidence:g}"
    return text if release.deferral is None else f"{text} (deferred below {release.deferral.below:g})"


def look_on(
    shadow: Release, standing: LearnerState, uniform: float, served: Decision, *, timeout: float
) -> dict[str, Any]:
    """What a shadow would have decided by the same draw, as JSON values, and what chance it gives to what was served.

    A shadow that fails says so here and does nothing else: a learner's decision never hangs on it.
    """
    about: dict[str, Any] = {"release": shadow.version}
    try:
        own = decide(shadow, standing, uniform, timeout=timeout)
        chance = float(propensities(shadow, standing)[served.action])
    except Exception as error:  # whatever it is: it must not reach the decision
        return about | {"failed": str(error) or type(error).__name__}
    return about | {
        "concept": own.concept,
        "activity": own.activity,
        "by": own.by,
        "reason": own.reason,
        "propensity": own.propensity,
        "agrees": own.action == served.action,
        "chance_of_served": chance,
    }


def _told(release: Release) -> dict[str, Any]:
    names = ("version", "part", "method", "seed")
    gate = {"theta": release.theta, "confidence": release.opening.confidence}
    hashes = {"sha256": release.sha256._asdict(), "digest": release.digest}
    return {**{name: getattr(release, name) for name in names}, **gate, **hashes}


def _is(one: Release | None, other: Release) -> bool:
    return one is not None and one.version == other.version
