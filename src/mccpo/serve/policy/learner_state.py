"""What a policy knows of a learner, and how it changes: with a session, a decision and an outcome.

Mastery and the times each concept was practised stay with a learner from session to session. A policy was trained on
episodes; what belongs to an episode begins anew with each session: its clock t, the last action, and what was ready a
step before, from which the frontier is derived. Everything here is a pure function, so that a record can be replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from mccpo.errors import InputError
from mccpo.policy import Features, novelty_of
from mccpo.serve.policy import gate
from mccpo.serve.policy.release import Release


class LearnerState(NamedTuple):
    """A learner within a session.

    **Fields:**

    - `K`: the mastery of each concept; `practised`: how often each was chosen.
    - `t`: the decisions taken in this session.
    - `last`: the last action of the session; `previous`: which actions were ready when it was taken.
    """

    K: Float[np.ndarray, " concepts"]
    practised: Int[np.ndarray, " concepts"]
    t: int = 0
    last: int | None = None
    previous: Bool[np.ndarray, " actions"] | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain values, exact to the bit."""
        return {
            "K": self.K.tolist(),
            "practised": self.practised.tolist(),
            "t": self.t,
            "last": self.last,
            "previous": None if self.previous is None else np.flatnonzero(self.previous).tolist(),
        }


def same_state(first: LearnerState, second: LearnerState) -> bool:
    """Whether two states are equal, bit for bit."""
    if first is second:
        return True
    one, other = first.previous, second.previous
    return (
        (first.t, first.last) == (second.t, second.last)
        and np.array_equal(first.K, second.K)
        and np.array_equal(first.practised, second.practised)
        and (one is other or (one is not None and other is not None and np.array_equal(one, other)))
    )


def from_json(release: Release, content: Mapping[str, Any]) -> LearnerState:
    """The state that `to_json` wrote."""
    previous = content["previous"]
    ready = None
    if previous is not None:
        ready = np.zeros(len(release.actions), bool)
        ready[previous] = True
    K, practised = np.array(content["K"], np.float64), np.array(content["practised"], np.int64)
    return LearnerState(K, practised, content["t"], content["last"], ready)


def initial_state(release: Release) -> LearnerState:
    """A learner of whom nothing is known yet, in a first session."""
    return LearnerState(release.learner.prior.copy(), np.zeros(len(release.concepts), np.int64))


def new_session(
    release: Release, state: LearnerState, away_seconds: float = 0.0, forgetting: float | None = None
) -> LearnerState:
    """A new session, some time after the last; see `forget`."""
    return LearnerState(forget(release, state, away_seconds, forgetting).K, state.practised)


def forget(release: Release, state: LearnerState, away_seconds: float, forgetting: float | None) -> LearnerState:
    """The state of a learner who was away for some time.

    `forgetting` is the half-life in seconds of what a learner knows above the model's start K0; with None nothing is
    forgotten. Mastery below K0 stays as it is: being away teaches nothing, and must not open a gate.
    """
    if forgetting is not None and not forgetting > 0:
        raise InputError(f"the half-life of forgetting is {forgetting}", fix="give seconds above 0")
    if forgetting is None or away_seconds <= 0:
        return state
    prior = release.learner.prior
    return state._replace(K=np.minimum(state.K, prior + (state.K - prior) * 2.0 ** (-away_seconds / forgetting)))


def observe(
    release: Release, state: LearnerState
) -> tuple[Float[np.ndarray, " features"], Bool[np.ndarray, " actions"]]:
    """What the policy sees, as it did in training, and which actions are ready.

    See `mccpo.policy.Features`. A session that outruns the horizon is seen as one at its end.
    """
    ready = release.ready(state.K)
    last = np.zeros(len(release.actions))
    if state.last is not None:
        last[state.last] = 1.0
    novelty = novelty_of(state.practised, release.tutor.novelty_span)
    time = np.array([min(state.t / release.horizon, 1.0)])
    features = release.tutor.layout.flatten(Features(state.K, novelty, last, ready, (), time), np.float64)
    return features, ready.repeat(len(release.activities))


def after_decision(release: Release, state: LearnerState, action: int) -> LearnerState:
    """The state after a decision: the concept counts as practised, and what was ready is kept for the next frontier."""
    if not 0 <= action < len(release.actions):
        raise InputError(f"there is no action {action}", fix=f"give one from 0 to {len(release.actions) - 1}")
    ready = np.repeat(release.ready(state.K), len(release.activities))
    practised = state.practised.copy()
    practised[action // len(release.activities)] += 1
    return state._replace(practised=practised, t=state.t + 1, last=action, previous=ready)


def after_outcome(
    release: Release, state: LearnerState, concept: str, correct: bool, activity: str | None = None
) -> LearnerState:
    """The state after an answer: the mastery of its concept, as knowledge tracing estimates it.

    This is how `tutor-15-bkt` and prepared tutors saw mastery in training: the activity's gain multiplies the chance to
    learn, and so does `unready_gain` where the concept is not ready. An answer that the model holds impossible says
    nothing; the lesson still teaches.
    """
    at, model = release.curriculum.index(concept), release.learner
    K, rate = float(state.K[at]), learning_rate(release, state, concept, activity)
    right = float(model.predict(at, K).correct)
    if (right if correct else 1 - right) > 0:
        if rate != model.learn[at]:
            model = model._replace(learn=np.full_like(model.learn, rate))
        after = float(model.update(at, K, bool(correct)))
    else:
        after = K + (1 - K) * rate
    changed = state.K.copy()
    changed[at] = min(max(after, 0.0), 1.0)
    return state._replace(K=changed)


def learning_rate(release: Release, state: LearnerState, concept: str, activity: str | None = None) -> float:
    """The chance that a lesson teaches its concept: η times the activity's gain, less where it is not ready."""
    rate = float(release.learner.learn[release.curriculum.index(concept)])
    if activity is not None:
        rate *= release.activities[release.action(release.concepts[0], activity)].gain
    if not gate.holds(release.prerequisites, release.opening, mastery(release, state), concept):
        rate *= release.tutor.unready_gain
    return rate


def mastery(release: Release, state: LearnerState) -> dict[str, float]:
    """The mastery of each concept by name, as the gate takes it."""
    return dict(zip(release.concepts, state.K.tolist(), strict=True))
