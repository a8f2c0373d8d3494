"""The certificate of a decision: what the gate and the choice rest on, so that anyone can derive it again.

release, policy, curriculum, learner   the version that decided, and SHA-256 of its parts
concept, activity, by, reason          what was chosen, who chose, and why it was not the policy
theta, prerequisites                   the threshold, and the mastery of every prerequisite of the concept
confidence, chance                     where the gate asks for a chance: how much of it, and that of the concept
bound, chance, wanted                  where choices are deferred: the chance that they need, that of the concept, and
                                       what the policy wanted instead, with its chance; null where that is unknown or
                                       was served
ready                                  how many concepts were ready, and SHA-256 of which
frontier                               the concepts that had become ready since the decision before
standing                               SHA-256 of all that is known of the learner, to the last bit
probabilities, draw, propensity        SHA-256 of the policy's chances, the number that drew from them, and the
                                       chance of what was chosen
t, horizon                             the step of the session, and the length that the policy was trained on
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from mccpo.serve.policy import gate
from mccpo.serve.policy.learner_state import LearnerState
from mccpo.serve.policy.release import Release

By = Literal["policy", "fallback", "teacher", "deferred", "probe"]
"""Who chose: the policy; the rule that stands in where it fails; a teacher.

Where choices are deferred, the rule that stands in is told apart: `deferred`, while a teacher is asked, or a `probe`.
"""

NOT_FINITE, FAILED, TOO_SLOW, UNREADY = "not finite", "failed", "too slow", "unready"
"""Why the policy did not decide: no distribution, an error, late, a choice that the gate keeps shut."""
BELOW = "below the bound"
"""Why it did not although it gave an answer that passes the gate: its chance is lower than deferring asks for."""


class Chosen(NamedTuple):
    """What was chosen, by whom, and with what chance; `reason` says why it was not what the policy `wanted`."""

    action: int
    by: By
    reason: str | None = None
    probabilities: str | None = None
    draw: float | None = None
    propensity: float | None = None
    wanted: int | None = None


def write_certificate(
    release: Release, standing: LearnerState, ready: Iterable[bool], mastery: dict[str, float], chosen: Chosen
) -> dict[str, Any]:
    """The certificate of a choice, as JSON values. `ready` goes over concepts."""
    concept, activity = release.actions[chosen.action]
    mask = bytes(ready)
    needed = {name: mastery[name] for name in release.prerequisites[concept]}
    return {
        "release": release.version,
        **release.sha256._asdict(),
        "concept": concept,
        "activity": activity,
        "by": chosen.by,
        "reason": chosen.reason,
        "theta": release.theta,
        "prerequisites": needed,
        **_confident(release, needed),
        **_deferring(release, mastery, needed, chosen.wanted),
        "ready": {"size": sum(mask), "sha256": hashlib.sha256(mask).hexdigest()},
        "frontier": _frontier(release, standing, mask),
        "standing": digest(standing),
        "probabilities": chosen.probabilities,
        "draw": chosen.draw,
        "propensity": chosen.propensity,
        "t": standing.t,
        "horizon": release.horizon,
    }


def _confident(release: Release, needed: Mapping[str, float]) -> dict[str, float]:
    """What a gate by confidence asks for, and the chance that the learner is ready; nothing where θ opens it."""
    if release.opening.confidence is None:
        return {}
    return {"confidence": release.opening.confidence, "chance": gate.chance(release.opening, needed, needed)}


def _deferring(
    release: Release, mastery: Mapping[str, float], needed: Mapping[str, float], wanted: int | None
) -> dict[str, Any]:
    """What deferring goes by: the bound, the chance of the concept, and what the policy wanted; nothing without it."""
    if release.deferral is None:
        return {}
    about = None
    if wanted is not None:
        concept, activity = release.actions[wanted]
        chance = gate.chance(release.opening, mastery, release.prerequisites[concept])
        about = {"concept": concept, "activity": activity, "chance": chance}
    return {"bound": release.deferral.below, "chance": gate.chance(release.opening, needed, needed), "wanted": about}


def digest(standing: LearnerState) -> str:
    """SHA-256 of a standing: K and the counts as little-endian 64-bit numbers, then t, the last action, the mask."""
    whole = hashlib.sha256(standing.K.astype("<f8", copy=False).tobytes())
    whole.update(standing.practised.astype("<i8", copy=False).tobytes())
    last = -1 if standing.last is None else standing.last
    whole.update(f"{standing.t},{last},{standing.previous is not None}".encode())
    if standing.previous is not None:
        whole.update(standing.previous.view(np.uint8).tobytes())
    return whole.hexdigest()


def digest_of_chances(chances: Float[np.ndarray, " actions+1"]) -> str:
    """SHA-256 of the chances of all actions and the no-op, as little-endian single-precision numbers."""
    return hashlib.sha256(chances.astype("<f4", copy=False).tobytes()).hexdigest()


def frontier_mask(release: Release, standing: LearnerState, ready: bytes) -> Bool[np.ndarray, " concepts"]:
    """Which concepts have become ready since the decision before; at the first of a session, none."""
    now = np.frombuffer(ready, np.bool_)
    if standing.previous is None:
        return np.zeros_like(now)
    return now & ~standing.previous[:: len(release.activities)]


def _frontier(release: Release, standing: LearnerState, ready: bytes) -> list[str]:
    concepts = release.concepts
    return [concepts[at] for at in frontier_mask(release, standing, ready).nonzero()[0].tolist()]
