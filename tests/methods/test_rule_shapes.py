"""A rule that forgets the row for doing nothing is refused, with the shape that it should give."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import pytest

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.methods import Policy, evaluate_policy


class WithoutNothing(Policy):
    """Draws among the ready actions, and leaves out the last row."""

    name: ClassVar[str] = "without-nothing"

    def probabilities(self, env: Any, memory: Any, obs: Any) -> Any:
        ready = jnp.asarray(obs.action_mask, float)
        return ready / ready.sum(axis=0)


def test_a_rule_without_the_row_for_doing_nothing_is_refused() -> None:
    env = make("tutor-15")
    with pytest.raises(InputError, match=r"WithoutNothing.probabilities gives the shape \(15, 4\); give \(16, 4\)"):
        evaluate_policy(env, WithoutNothing(), jax.random.key(0), 4)
