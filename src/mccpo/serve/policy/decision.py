"""A decision: drawn from the policy, checked by the gate, certified; and the check of a certificate.

The policy proposes and the gate disposes. Where the policy gives no sound answer in time, or proposes what the learner
is not ready for, a fixed rule stands in (`stand_in`). So it does where the release defers choices that only just pass.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from mccpo.errors import InputError, MccpoError
from mccpo.serve.policy import gate
from mccpo.serve.policy.certificate import (
    BELOW,
    FAILED,
    NOT_FINITE,
    TOO_SLOW,
    UNREADY,
    By,
    Chosen,
    digest_of_chances,
    write_certificate,
)
from mccpo.serve.policy.learner_state import LearnerState, mastery, observe
from mccpo.serve.policy.network import executed
from mccpo.serve.policy.release import Release
from mccpo.serve.policy.stand_in import Refusal as Refusal
from mccpo.serve.policy.stand_in import StandIn

log = logging.getLogger("mccpo.serve")

TIMEOUT = 0.05
"""Seconds that a policy may take; it needs some ten-thousandths of one."""
_LOST = (NOT_FINITE, FAILED, TOO_SLOW)
_UNSURE = 1e-12  # by how much, relatively, two machines may differ in a chance before it is told in single precision
_MOST_UNSURE = 8

Chances = Float[np.ndarray, " actions+1"]


class Decision(NamedTuple):
    """What to teach next. `reason` says why it was not the policy that chose; `certificate` what it all rests on."""

    action: int
    concept: str
    activity: str
    by: By
    reason: str | None
    propensity: float | None
    certificate: dict[str, Any]


def decide(
    release: Release,
    standing: LearnerState,
    uniform: float,
    *,
    timeout: float = TIMEOUT,
    clock: Callable[[], float] = time.perf_counter,
) -> Decision:
    """Decides by one number drawn uniformly from [0, 1); raises `Refusal` where nothing may be taught.

    The propensity is the chance with which this very action is served in this standing, the rule that stands in for
    unready choices included; where the policy failed altogether, the choice is the rule's alone, and its chance 1.
    """
    if not 0 <= uniform < 1:
        raise InputError(f"the number to draw by is {uniform}", fix="give one from [0, 1)")
    known = _sound(release, standing)
    features, ready = observe(release, standing)
    chances, reason = _asked(release, features, ready, timeout, clock)
    stand_in = StandIn(release, known)
    if chances is None:
        chosen = Chosen(stand_in.instead_of(None), stand_in.by, reason, propensity=1.0)
    else:
        chosen = _drawn(stand_in, ready, chances, float(uniform))
    return _decision(release, standing, known, ready, chosen)


def override(release: Release, standing: LearnerState, concept: str, activity: str | None = None) -> Decision:
    """A teacher's choice, through the same gate: `Refusal` where the learner is not ready for it."""
    known = _sound(release, standing)
    action = release.action(concept, activity)
    missing = gate.unmet(release.prerequisites, release.opening, known, concept)
    if missing:
        raise Refusal(f"the learner is not ready for {concept!r}: {', '.join(missing)} not mastered")
    _, ready = observe(release, standing)
    return _decision(release, standing, known, ready, Chosen(action, "teacher"))


def propensities(release: Release, standing: LearnerState) -> Float[np.ndarray, " actions"]:
    """The chance with which each action is served, gate included; other policies' decisions are weighed by it."""
    known = _sound(release, standing)
    features, ready = observe(release, standing)
    chances, _ = _asked(release, features, ready, math.inf, lambda: 0.0)
    served, stand_in = np.zeros(len(release.actions)), StandIn(release, known)
    if chances is None:
        served[stand_in.instead_of(None)] = 1.0
        return served
    shut = stand_in.shut(ready)
    served[~shut] = chances[:-1][~shut]
    for action, spilt in _spilt(stand_in, shut, chances).items():
        served[action] += spilt
    return served


def recheck(
    release: Release, standing: LearnerState, concept: str, activity: str | None, certificate: Mapping[str, Any]
) -> str | None:
    """Derives a certificate again from the standing it was given in; None where it holds, else what does not.

    The ready set is worked out by the plain gate, not by the arrays that the policy saw. That a policy failed cannot
    be derived again; that what was served in its place was the safe choice, and ready, can.
    """
    try:
        known = _sound(release, standing)
        action = release.action(concept, activity)
        chosen = _rederived(release, standing, known, action, certificate)
    except MccpoError as error:
        return str(error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"the certificate cannot be read ({error!r})"
    if isinstance(chosen, str):
        return chosen
    if chosen.action != action:
        return f"the choice must have been {' '.join(release.actions[chosen.action])!r}, not {concept!r}"
    if not _may_be_served(release, known, chosen):
        return f"{concept!r} was not ready"
    ready = (gate.holds(release.prerequisites, release.opening, known, name) for name in release.concepts)
    expected = write_certificate(release, standing, ready, known, chosen)
    for key in (*expected, *certificate):
        if key not in expected or key not in certificate or not _same(expected[key], certificate[key]):
            return f"{key} is {certificate.get(key)!r}, not {expected.get(key)!r}"
    return None


def _sound(release: Release, standing: LearnerState) -> dict[str, float]:
    """The mastery by name; what is no standing of this release's learners is refused."""
    concepts, actions = len(release.concepts), len(release.actions)
    fits = standing.K.shape == standing.practised.shape == (concepts,)
    fits = fits and (standing.previous is None or standing.previous.shape == (actions,))
    if not (fits and (standing.last is None or 0 <= standing.last < actions) and standing.t >= 0):
        raise Refusal("what is known of the learner does not fit the curriculum")
    known = mastery(release, standing)
    for name, value in known.items():
        if not 0 <= value <= 1:
            raise Refusal(f"the mastery of {name!r} is {value}")
    return known


def _asked(
    release: Release,
    features: Float[np.ndarray, " features"],
    ready: Bool[np.ndarray, " actions"],
    timeout: float,
    clock: Callable[[], float],
) -> tuple[Chances | None, str | None]:
    """The policy's chances, told in single precision; or None, and why. Too late is told afterwards, not cut short."""
    begun = clock()
    try:
        chances = executed(release.network.logits(features), ready, masked=release.masked, rule=release.rule)
    except Exception:  # whatever it is that fails, a learner is waiting
        log.exception("the policy failed, and a safe concept is served in its place")
        return None, FAILED
    if chances is None:
        return None, NOT_FINITE
    if chances.shape != (len(release.actions) + 1,) or not 0.999 < chances.sum() < 1.001:
        return None, FAILED
    if clock() - begun > timeout:
        return None, TOO_SLOW
    return chances.astype(np.float32), None


def _drawn(stand_in: StandIn, ready: Bool[np.ndarray, " actions"], chances: Chances, uniform: float) -> Chosen:
    """What the policy draws, or what stands in where that is not served; its chance counts every way to it."""
    drawn = _sample(chances, uniform)
    wanted = None if drawn == len(chances) - 1 else drawn  # the last is the no-op
    served = wanted is not None and stand_in.sure(wanted)
    action = drawn if served else stand_in.instead_of(wanted)
    spilt = _spilt(stand_in, stand_in.shut(ready), chances).get(action, 0.0)
    propensity, told = min(float(chances[action]) + spilt, 1.0), digest_of_chances(chances)
    if served:
        return Chosen(action, "policy", None, told, uniform, propensity)
    reason = BELOW if wanted is not None and stand_in.ready(wanted) else UNREADY
    return Chosen(action, stand_in.by, reason, told, uniform, propensity, wanted)


def _spilt(stand_in: StandIn, shut: Bool[np.ndarray, " actions"], chances: Chances) -> dict[int, float]:
    """The chance of all that is not served, shut actions and the no-op, by the action that stands in for it."""
    lost: dict[int, list[float]] = {}
    for wanted in np.flatnonzero(shut & (chances[:-1] > 0)).tolist():
        lost.setdefault(stand_in.instead_of(wanted), []).append(float(chances[wanted]))
    spilt = {action: math.fsum(parts) for action, parts in lost.items()}
    if chances[-1] > 0:
        action = stand_in.instead_of(None)
        spilt[action] = spilt.get(action, 0.0) + float(chances[-1])
    return spilt


def _sample(chances: Chances, uniform: float) -> int:
    """The first action at which the sum of chances exceeds the number; where none does, the last with any chance."""
    total, last = 0.0, len(chances) - 1
    for action, chance in enumerate(chances.tolist()):
        if chance > 0:
            total, last = total + chance, action
            if total > uniform:
                break
    return last


def _decision(
    release: Release,
    standing: LearnerState,
    known: dict[str, float],
    ready: Bool[np.ndarray, " actions"],
    chosen: Chosen,
) -> Decision:
    if not _may_be_served(release, known, chosen):  # every way here has been through the gate; it costs little to ask
        raise Refusal("the learner is not ready for what was chosen")
    of_concepts = ready[:: len(release.activities)].tolist()
    certificate = write_certificate(release, standing, of_concepts, known, chosen)
    concept, activity = release.actions[chosen.action]
    return Decision(chosen.action, concept, activity, chosen.by, chosen.reason, chosen.propensity, certificate)


def _may_be_served(release: Release, known: dict[str, float], chosen: Chosen) -> bool:
    """Whether a choice passes its gate. Teachers decide for themselves what lies below the bound of deferring."""
    stand_in = StandIn(release, known)
    return stand_in.ready(chosen.action) if chosen.by == "teacher" else stand_in.sure(chosen.action)


def _rederived(
    release: Release, standing: LearnerState, known: dict[str, float], action: int, certificate: Mapping[str, Any]
) -> Chosen | str:
    """The choice as it must have been by what the certificate says of it; or what contradicts it."""
    by, reason, stand_in = certificate["by"], certificate["reason"], StandIn(release, known)
    if by == "teacher":
        return Chosen(action, "teacher")
    if by == stand_in.by and reason in _LOST:
        return Chosen(stand_in.instead_of(None), stand_in.by, reason, propensity=1.0)
    if (by, reason) not in (("policy", None), (stand_in.by, UNREADY), (stand_in.by, BELOW)):
        return f"by is {by!r} and reason is {reason!r}"
    draw = certificate["draw"]
    if not isinstance(draw, float) or not 0 <= draw < 1:
        return f"draw is {draw!r}"
    features, ready = observe(release, standing)
    exact = executed(release.network.logits(features), ready, masked=release.masked, rule=release.rule)
    if exact is None:
        return "the policy gives no probabilities here"
    for chances in _tellings(exact):
        if digest_of_chances(chances) == certificate["probabilities"]:
            return _drawn(stand_in, ready, chances, draw)
    return "probabilities are others than the policy's"


def _tellings(exact: Chances) -> Iterator[Chances]:
    """The chances in single precision; then also as a machine would tell them that differs in the last digits.

    Where a chance lies on the edge between two single-precision numbers, another processor may have rounded it to the
    other one. There are seldom any such, and almost never two.
    """
    told = exact.astype(np.float32)
    yield told
    lower, upper = ((exact * (1 + sign * _UNSURE)).astype(np.float32) for sign in (-1, 1))
    unsure = np.flatnonzero(lower != upper)[:_MOST_UNSURE]
    for choice in product(*((lower[at], upper[at]) for at in unsure)):
        other = told.copy()
        other[unsure] = choice
        yield other


def _same(expected: Any, found: Any) -> bool:
    """Equal in value and in kind: a certificate's 1 is not true, nor is its 1.0 a count."""
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and expected.keys() == found.keys()
            and all(_same(expected[key], found[key]) for key in expected)
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(_same, expected, found))
    return type(expected) is type(found) and expected == found
