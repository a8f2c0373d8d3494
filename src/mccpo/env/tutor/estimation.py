"""The tutor that goes by an estimate: mastery seen through noise, bias and delay, lessons given to the true learner."""

from __future__ import annotations

import math
from typing import Any, Generic, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env.contract import Environment, Observation, TimeStep
from mccpo.env.tutor.state import LatentT, TutorState
from mccpo.env.tutor.tutoring import Tutoring
from mccpo.env.wrapper import Wrapper
from mccpo.errors import InputError


class EstimatedState(NamedTuple, Generic[LatentT]):
    """A learner, and what the tutor takes it for.

    **Fields:**

    - `learner`: the state of the inner environment.
    - `past`: its K now, one step ago, and so on; before the first step, as it was at the start.
    - `estimate`: K̂, which the tutor sees in place of K.
    """

    learner: TutorState[LatentT]
    past: Float[Array, "steps concepts"]
    estimate: Float[Array, " concepts"]


class Estimated(Wrapper[EstimatedState[LatentT]], Generic[LatentT]):
    """A tutoring environment whose mastery a policy sees only as an estimate.

    In every step, each concept has an error ε of its own from the standard normal distribution:

        K̂ = K of `delay` steps ago + bias + sigma·ε, held to [0, 1]

    With a `memory`, the tutor goes by a running mean of these instead, of which it keeps that share in every step.

    The observation shows K̂ in place of K, and the ready mask is that of K̂; novelty, the last action and the time are
    known as they are. Lessons act on the inner environment's own state, so that reward, costs, gain and `unready` are
    the truth: even a masked policy can now teach what the learner is not ready for. A concept without prerequisites is
    always ready, so the mask is never empty. Where the inner K is an estimate itself (`tutor-15-bkt`), `unready` goes
    by that K and `truly_ready` by what the learner has mastered.

    **Parameters:**

    - `env`: the tutoring environment.
    - `sigma`, `bias`: of the error.
    - `delay`: in steps, at most `longest`.
    - `caution`: added to what the gate asks for (θ, or the confidence where the inner environment has one), up to 1 in
      all, so that the gate opens only where the estimate leaves some room for its error. A caution of 1 shuts the gate:
      no estimate opens a concept that has prerequisites. What the learner is ready for in truth still goes by θ.
    - `memory`: at least 0 and below 1; errors of single steps then cancel out, and what is new comes late.

    All but `longest` are leaves of the environment, so that `vmap` can run over them (`eqx.tree_at`), and another level
    is not another program.
    """

    env: Tutoring[LatentT]
    sigma: Float[Array, ""]
    bias: Float[Array, ""]
    delay: Int[Array, ""]
    caution: Float[Array, ""]
    memory: Float[Array, ""]
    longest: int = eqx.field(static=True)

    def __init__(
        self,
        env: Tutoring[LatentT] | Environment[Any],
        *,
        sigma: float = 0.0,
        bias: float = 0.0,
        delay: int = 0,
        caution: float = 0.0,
        memory: float = 0.0,
        longest: int = 10,
    ) -> None:
        if not isinstance(env, Tutoring):
            raise InputError("only a tutor has graded mastery to estimate", fix="give a tutoring environment")
        if not 0 <= sigma < math.inf:
            raise InputError(f"sigma is {sigma}", fix="give a standard deviation of at least 0")
        if not -1 <= bias <= 1:
            raise InputError(f"bias is {bias}", fix="give a number from -1 to 1")
        if not 0 <= caution <= 1:
            raise InputError(f"caution is {caution}", fix="give a margin from 0 to 1")
        if not 0 <= memory < 1:
            raise InputError(f"memory is {memory}", fix="give a share of at least 0 and below 1")
        if not _is_count(longest):
            raise InputError(f"longest is {longest}", fix="give a whole number of steps of at least 0")
        if not _is_count(delay) or delay > longest:
            raise InputError(f"delay is {delay}", fix=f"give a whole number of steps from 0 to {longest}")
        super().__init__(env)
        self.longest = longest
        self.sigma, self.bias = jnp.asarray(sigma, jnp.float32), jnp.asarray(bias, jnp.float32)
        self.delay = jnp.asarray(delay, jnp.int32)
        self.caution, self.memory = jnp.asarray(caution, jnp.float32), jnp.asarray(memory, jnp.float32)

    def inner(self, state: EstimatedState[LatentT]) -> Any:
        return state.learner

    @property
    def name(self) -> str:
        return "estimated"

    def observe(self, state: EstimatedState[LatentT]) -> Observation:
        return self._gated().observe(state.learner._replace(K=state.estimate))

    def _gated(self) -> Tutoring[LatentT]:
        """The inner environment behind the gate that caution leaves."""
        # No mastery and no chance is above 1, so what asks for more opens for nobody.
        most = jnp.where(self.caution < 1, 1.0, jnp.inf)
        asked = jnp.minimum(self.threshold + self.caution, most)
        if self.env.confidence is None:
            return eqx.tree_at(lambda env: env.theta, self.env, asked)
        # Without prerequisites, the chance that all of them are mastered is 1, and 1 is all that may be asked for.
        gated = np.array([bool(needs) for needs in self.env.curriculum.prerequisites.lists])
        asked = jnp.where(gated, asked, jnp.minimum(asked, 1.0))
        return eqx.tree_at(lambda env: env.confidence, self.env, asked)

    @property
    def threshold(self) -> float:
        """What the gate asks for without caution: θ of each prerequisite, or the confidence in them all."""
        return self.env.theta if self.env.confidence is None else self.env.confidence

    def reset(self, key: PRNGKeyArray) -> tuple[EstimatedState[LatentT], Observation]:
        starting, erring = jax.random.split(key)
        learner, _ = self.env.reset(starting)
        past = jnp.tile(learner.K, (self.longest + 1, 1))
        state = EstimatedState(learner, past, self._estimate(erring, past))
        return state, self.observe(state)

    def step(
        self, key: PRNGKeyArray, state: EstimatedState[LatentT], action: Int[Array, ""]
    ) -> TimeStep[EstimatedState[LatentT]]:
        moving, erring = jax.random.split(key)
        step = self.env.step(moving, state.learner, action)
        past = jnp.concatenate([step.state.K[None], state.past[:-1]])
        estimate = self.memory * state.estimate + (1 - self.memory) * self._estimate(erring, past)
        after = EstimatedState(step.state, past, estimate)
        return TimeStep(**step._asdict() | {"state": after, "obs": self.observe(after)})

    def _estimate(self, key: PRNGKeyArray, past: Float[Array, "steps concepts"]) -> Float[Array, " concepts"]:
        """K̂ as it is in one step, without memory."""
        error = self.bias + self.sigma * jax.random.normal(key, past.shape[1:])
        return jnp.clip(past[self.delay] + error, 0.0, 1.0)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
