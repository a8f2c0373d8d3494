"""Where a learner stands, what is taught in one step, and what it brings."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from jaxtyping import Array, Bool, Float, Int

LatentT = TypeVar("LatentT")


class TutorState(NamedTuple, Generic[LatentT]):
    """Where a learner stands.

    **Fields:**

    - `K`: the mastery of each concept, in [0, 1], on which the gate, the engagement and the costs go.
    - `novelty`: exp(−n/`novelty_span`), n the times each concept was taught.
    - `last`: the last action taken, `num_actions` before the first.
    - `correct`: the learner's record: whether the last answer was right; false before the first.
    - `t`: the steps taken.
    - `latent`: what no tutor sees; None where K is all there is to know.
    - `case`: what else the tutor knows of this learner, such as its targets; None where learners begin alike.
    """

    K: Float[Array, " concepts"]
    novelty: Float[Array, " concepts"]
    last: Int[Array, ""]
    correct: Bool[Array, ""]
    t: Int[Array, ""]
    latent: LatentT
    case: Any = None


class Lesson(NamedTuple):
    """What is taught in one step.

    **Fields:**

    - `concept`: its position; `taught`: the same as a mask, all false for the no-op.
    - `K`: its mastery beforehand; `ready`: whether its prerequisites' mastery lets it be taught.
    - `rate`: the learning rate of the activity, η times its gain, for a concept that is ready.
    """

    concept: Int[Array, ""]
    taught: Bool[Array, " concepts"]
    K: Float[Array, ""]
    ready: Bool[Array, ""]
    rate: Float[Array, ""]


class Progress(NamedTuple, Generic[LatentT]):
    """What a lesson brings.

    **Fields:**

    - `K`: the concept's mastery afterwards, as the tutor sees it; `correct`: whether the answer was right.
    - `gain`: the mastery gained by which the lesson is priced: c2 and c4 go on it.
    - `learnt`: the mastery gained by which the tutor is judged: ΔK.
    - `felt`: the mastery by which the learner feels how hard the lesson is: r_E goes on it.
    """

    K: Float[Array, ""]
    gain: Float[Array, ""]
    learnt: Float[Array, ""]
    felt: Float[Array, ""]
    correct: Bool[Array, ""]
    latent: LatentT
