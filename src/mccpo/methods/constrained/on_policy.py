"""What constrained methods share: masked play, a critic per reward and cost, finished episodes; not how they improve.

Such a method is one small file with the mechanism that makes it itself, in `improve`. Everything else is MC-CPO's own:
the mask, the network, the rollout, the advantages and their foresight, the selection by validation. So a table that
compares them compares mechanisms.
"""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.gae import Appraisal, appraise, standard
from mccpo.methods.gradient.gradient_method import GradientMethod
from mccpo.methods.gradient.margin import final_error, finished
from mccpo.methods.gradient.ppo import Batch, Fitted, Look, Progress
from mccpo.methods.gradient.rollout import Playing, Rollout, Sizes, begin, play
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.lagrangian import aim_of
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.mc_cpo.spec import MethodArrays, MethodSpec, method_arrays


class Seen(NamedTuple):
    """What finished episodes have shown, those of the last iteration in which any ended; before that, 0 of all.

    `J_c` are their mean discounted costs, `error` the standard errors by which their policy will be judged, and
    `known` is 1 once an episode has ended.
    """

    J_c: Float[Array, " costs"]
    error: Float[Array, " costs"]
    known: Float[Array, ""]


class Evidence(NamedTuple):
    """What one iteration has shown of the policy that played it.

    **Fields:**

    - `before`, `after`: where the environments stood when it began and ended.
    - `rollout`: what was played; `appraisal`: the advantages of reward and costs, each in its own unit, and the value
      heads' targets.
    - `seen`: what the episodes that ended last have shown; `episodes`: how many ended in this iteration. There may be
      none, where episodes are longer than an iteration.
    """

    before: Playing
    after: Playing
    rollout: Rollout
    appraisal: Appraisal
    seen: Seen
    episodes: Float[Array, ""]


class OnPolicyState(NamedTuple):
    """Everything that a run needs to go on. `own` is what the method keeps beside its policy: multipliers, averages."""

    key: PRNGKeyArray
    iteration: Int[Array, ""]
    fitted: Fitted
    own: Any
    playing: Playing
    seen: Seen

    @property
    def parameters(self) -> Float[Array, "*runs parameters"]:
        return self.fitted.parameters


class Context(NamedTuple):
    """All that an improvement may go by.

    **Fields:**

    - `env`, `sizes`, `budgets`: what is trained on, how much of it in an iteration, and what may be spent.
    - `state`: the run before the improvement; `evidence`: what this iteration has shown.
    - `key`: a random key, to be used once; `share`: how much of training is over.
    """

    env: Environment[Any]
    sizes: Sizes
    budgets: Budgets
    state: OnPolicyState
    evidence: Evidence
    key: PRNGKeyArray
    share: Float[Array, ""]


class OnPolicy(GradientMethod):
    """A method that plays with its policy, and improves the policy by what it saw."""

    def own(self, env: Environment[Any], key: PRNGKeyArray) -> Any:
        """What the method keeps beside its policy, before the first iteration: a tree of arrays.

        By default a number for each cost, at zero: prices, most often.
        """
        del key
        return jnp.zeros(len(env.cost_names))

    @abc.abstractmethod
    def improve(self, context: Context) -> tuple[Fitted, Any]:
        """The policy after the evidence, and what is kept beside it."""

    def own_prices(self, own: Any) -> Float[Array, "*runs costs"]:
        """The multipliers among what is kept; by default that is all that is kept."""
        found: Float[Array, "*runs costs"] = own
        return found

    def prices(self, state: OnPolicyState) -> Float[Array, "*runs costs"]:
        return self.own_prices(state.own)

    def playing(self, env: Environment[Any]) -> MethodArrays:
        return method_arrays(MethodSpec(self.name, masked=True, constrained=self.constrained), env)

    def start(self, env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> OnPolicyState:
        key, weights, learners = jax.random.split(key, 3)
        policy, beside = jax.random.split(weights)
        parameters = self.network(env).init(policy)
        zero = jnp.zeros_like(parameters)
        fitted, costs = Fitted(parameters, zero, zero), jnp.zeros(len(env.cost_names))
        seen, playing = Seen(costs, costs, jnp.zeros((), jnp.float32)), begin(env, sizes, learners)
        return OnPolicyState(key, jnp.zeros((), jnp.int32), fitted, self.own(env, beside), playing, seen)

    def iterate(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: OnPolicyState, share: Float[Array, ""]
    ) -> tuple[OnPolicyState, Progress]:
        key, playing_key, improving = jax.random.split(state.key, 3)
        network = self.network(env)
        after, rollout = play(env, sizes, self.playing(env), network, state.parameters, state.playing, playing_key)
        found = appraise(env, network, budgets, self.settings, state.parameters, after, rollout, share)
        episodes = rollout.ended.sum().astype(jnp.float32)
        last = finished(rollout)
        new = Seen(last.J_c, final_error(env, sizes, last), jnp.ones((), jnp.float32))
        seen = jax.tree.map(lambda new, old: jnp.where(episodes > 0, new, old), new, state.seen)
        evidence = Evidence(state.playing, after, rollout, found, seen, episodes)
        fitted, own = self.improve(Context(env, sizes, budgets, state, evidence, improving, share))
        moved = OnPolicyState(key, state.iteration + 1, fitted, own, after, seen)
        return moved, ppo.progress_of(rollout, self.own_prices(own))

    def ascend(self, context: Context, advantage: Float[Array, "time batch"]) -> Fitted:
        """PPO's clipped update on an advantage of the method's own making, which is standardised here."""
        evidence = context.evidence
        return self.learn(context, ppo.batch_of(evidence.rollout, standard(advantage), evidence.appraisal.targets))

    def learn(self, context: Context, batch: Any, loss: ppo.Objective = ppo.objective) -> Fitted:
        """The policy after steps of Adam down a loss over a batch, PPO's by default."""
        network, state = self.network(context.env), context.state
        settings, key, share = self.settings, context.key, context.share
        return ppo.learn(
            network, context.sizes, settings, state.fitted, state.iteration, batch, key, share, loss
        )  # fmt: skip

    def aim(self, context: Context) -> Budgets:
        """The budgets that training aims at, a little below those asked for, as MC-CPO's does."""
        return aim_of(context.budgets, self.settings, context.evidence.seen.error)

    def excess(self, context: Context) -> Float[Array, " costs"]:
        """(J_c - d)/scale of the episodes that ended last against what training aims at; 0 before any, or unbudgeted.

        It stands as long as no other episode ends. What adds it up must not count it again: see `new_excess`.
        """
        budgets, seen = context.budgets, context.evidence.seen
        off = budgets.active * (seen.J_c - self.aim(context).limit) / budgets.scale
        return jnp.where(seen.known > 0, off, 0.0)

    def new_excess(self, context: Context) -> Float[Array, " costs"]:
        """The same where an episode ended in this iteration, else 0."""
        return jnp.where(context.evidence.episodes > 0, self.excess(context), 0.0)


def penalised(
    estimates: Float[Array, "time signals batch"], prices: Float[Array, " costs"]
) -> Float[Array, "time batch"]:
    """A_r - Σ λ_i A_ci: what an action adds to the Lagrangian."""
    return estimates[:, 0] - jnp.einsum("tcb,c->tb", estimates[:, 1:], prices)


def ratio_of(seen: Look, batch: Batch) -> Float[Array, " batch"]:
    """π_θ/π_k of the actions taken, for a batch that is `wide`."""
    return jnp.exp(jnp.minimum(seen.log_prob - batch.log_prob, ppo.LARGEST_CHANGE))


def upkeep(
    settings: PPOSettings, entropy_weight: Float[Array, ""], seen: Look, targets: Float[Array, "signals batch"]
) -> Float[Array, ""]:
    """What a loss has beside its policy's part: squared error of the value heads, less the entropy bonus."""
    misses = 0.5 * ((seen.values - targets) ** 2).mean(axis=1).sum()
    return settings.value_weight * misses - entropy_weight * seen.entropy.mean()
