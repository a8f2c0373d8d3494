"""What a policy sees of a learner whose mastery is an estimate: the estimate, its spread as well, or answers only.

The fields of the observation, in their order; each has a number for each concept or action but for `time`:

| `sees` | fields |
|---|---|
| `belief` | `mastery` K, `novelty`, `last_action`, `ready`, the learner's case, `time` |
| `spread` | the same, and before `time`: `spread` √(K(1 − K)), `trusted` the K that the gate counts on |
| `answers` | `novelty`, `last_action`, `last_right`, the learner's case, `time` |

`novelty` is exp(−n/`novelty_span`) of the n lessons that a concept had. `last_action` is 1 at the last action and 0
elsewhere, `last_right` likewise where its answer was right; both are 0 before the first. `time` is the share of the
episode that has passed. None of the fields of `answers` comes from the tutor's model of learners. The action mask does:
the gate belongs to the environment, and goes by the estimate whatever a policy sees.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.curriculum import trusted
from mccpo.errors import InputError

Sees: TypeAlias = Literal["belief", "spread", "answers"]

MORE: dict[Sees, tuple[str, ...]] = {"belief": (), "spread": ("spread", "trusted"), "answers": ()}
"""What a policy sees of each concept beside the belief."""


def check_sees(name: str, sees: str, *, estimates: bool) -> None:
    """Refuses what nobody can see, and answers in place of a mastery that is known."""
    if sees not in get_args(Sees):
        raise InputError(f"sees is {sees!r}", fix=f"choose from {', '.join(get_args(Sees))}")
    if sees != "belief" and not estimates:
        raise InputError(
            f"{name} knows what is mastered, so that sees can only be belief",
            fix="take an environment that estimates, such as tutor-15-bkt",
        )


def seen_names(sees: Sees, case: tuple[str, ...]) -> tuple[str, ...]:
    """The fields that have numbers of concepts, in their order."""
    if sees == "answers":
        return ("novelty", "last_action", "last_right", *case)
    return ("mastery", "novelty", "last_action", "ready", *case, *MORE[sees])


def spread_features(
    K: Float[Array, " concepts"], doubt: Float[Array, " concepts"]
) -> tuple[Float[Array, " concepts"], Float[Array, " concepts"]]:
    """How unsure the belief is: the standard deviation of being mastered or not, and the K that the gate counts on."""
    return jnp.sqrt(jnp.maximum(K * (1 - K), 0.0)), trusted(K, doubt)
