"""The pretrained policy that is told that one thing alone counts: what budgets and floors can be shares of, at once.

Nothing is searched for but how sharply it chooses.
"""

from __future__ import annotations

from itertools import product
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.engine import as_arrays
from mccpo.methods.episodes import Episodes, NetworkPolicy, evaluate_policy
from mccpo.methods.gradient.margin import as_long
from mccpo.methods.gradient.ppo import Progress
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.mc_cpo.multipliers import Budgets, budgets_of
from mccpo.methods.policy_set import NetworkPolicies
from mccpo.methods.pretrained.context import COSTS, WEIGHTS
from mccpo.methods.pretrained.method import PretrainedNetwork
from mccpo.methods.pretrained.weighting import told
from mccpo.methods.pretrained.weights import pretrained_parameters
from mccpo.methods.registry import register_method

SHARPNESSES = (1.5, 3.0, 8.0)
EPISODES = 256  # of a hundred steps, that each is played for
ENGAGEMENT, LEARNING = 0, WEIGHTS - 1
"""The places of the weights that may count alone."""


class AloneState(NamedTuple):
    """A `RunState` in which nothing ever changes."""

    parameters: Float[Array, " parameters"]
    iteration: Int[Array, ""]


@register_method(label="Pretrained, engagement alone", variant=True)
class PretrainedEngagement(PretrainedNetwork):
    """The pretrained policy that is told that engagement alone counts: what `mccpo tutor` refers budgets to.

    **Problem:** max J(π(·|s, w)) at the w where only engagement counts, over how sharply the policy chooses.

    **Source:** that of `pretrained`.

    **Departures:** none.

    **When to use it:** in the place of `unconstrained`, where training takes too long.
    """

    name: ClassVar[str] = "pretrained-engagement"
    constrained: ClassVar[bool] = False

    def start(self, env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> AloneState:
        return AloneState(jnp.zeros(self.network(env).size), jnp.zeros((), jnp.int32))

    def iterate(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: AloneState, share: Float[Array, ""]
    ) -> tuple[AloneState, Progress]:
        nothing, unpriced = jnp.zeros(()), jnp.zeros(len(env.cost_names))
        seen = Progress(nothing, unpriced, nothing, nothing, unpriced, nothing, jnp.zeros((), jnp.int32))
        return state._replace(iteration=state.iteration + 1), seen

    def own_score(
        self,
        env: Environment[Any],
        budgets: Budgets,
        caution: Float[Array, ""] | float,
        actor: NetworkPolicy,
        key: PRNGKeyArray,
        episodes: int,
    ) -> Float[Array, ""]:
        """None is needed: nothing changes before the end."""
        return jnp.zeros(())

    def conclude(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: AloneState, key: PRNGKeyArray
    ) -> Float[Array, " parameters"]:
        return best_alone(env, self, budgets, key)[0]

    def prices(self, state: AloneState) -> Float[Array, "*runs costs"]:
        return jnp.zeros((*state.iteration.shape, len(COSTS)))


def policies_alone(env: Environment[Any], seed: int) -> tuple[NetworkPolicies, NetworkPolicies]:
    """The policy that is told that engagement alone counts, and the one that is told that learning does."""
    method = PretrainedEngagement()
    found = _played(as_arrays(env), method, budgets_of(env, {}), jax.random.key(seed))
    engaging, teaching = (NetworkPolicies(method, np.asarray(one)[None]) for one in found)
    return engaging, teaching


def prepare_alone(env: Environment[Any], episodes: int) -> None:
    """Compiles what plays the policies of `policies_alone`, whatever they turn out to be."""
    method = PretrainedEngagement()
    NetworkPolicies(method, np.zeros((1, method.network(env).size), np.float32)).prepare(env, episodes=episodes)


def best_alone(
    env: Environment[Any], method: PretrainedNetwork, budgets: Budgets, key: PRNGKeyArray
) -> tuple[Float[Array, " parameters"], Float[Array, " parameters"]]:
    """Of the policies for which one thing counts, those of the sharpness that brings most of it."""
    numbers, sharpnesses = jnp.asarray(pretrained_parameters()), map(jnp.asarray, SHARPNESSES)
    ones = [jnp.zeros(WEIGHTS).at[place].set(1.0) for place in (ENGAGEMENT, LEARNING)]
    policies = jnp.stack([told(env, budgets, numbers, one, one, by) for one, by in product(ones, sharpnesses)])
    network, playing = method.network(env), method.playing(env)

    def play(parameters: Float[Array, " parameters"]) -> Episodes:
        return evaluate_policy(env, NetworkPolicy(playing, parameters, network), key, as_long(env, EPISODES))

    seen, each = jax.lax.map(play, policies), len(SHARPNESSES)
    engaging, teaching = seen.ret[:each].mean(axis=1).argmax(), seen.learning[each:].mean(axis=1).argmax()
    return policies[engaging], policies[each + teaching]


@eqx.filter_jit
def _played(
    env: Environment[Any], method: PretrainedNetwork, budgets: Budgets, key: PRNGKeyArray
) -> tuple[Float[Array, " parameters"], Float[Array, " parameters"]]:
    return best_alone(env, method, budgets, key)
