"""The pretrained policy as a method: on a problem at hand only prices are found; and as where MC-CPO starts from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.episodes import Episodes, NetworkPolicy, evaluation_episodes
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.gradient_method import GradientMethod
from mccpo.methods.gradient.margin import as_long, error_of
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import PPOState, Progress
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.mc_cpo import MC_CPO
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.mc_cpo.spec import MethodArrays, method_arrays
from mccpo.methods.pretrained import price_search
from mccpo.methods.pretrained.context import WEIGHTS, context_of, numbers_of, own_weight
from mccpo.methods.pretrained.few_learners import AtRandom, play_at_random
from mccpo.methods.pretrained.final_choice import final_point
from mccpo.methods.pretrained.network import fold, network_at
from mccpo.methods.pretrained.price_search import Search
from mccpo.methods.pretrained.weighting import policy_at, prices_at
from mccpo.methods.pretrained.weights import pretrained_parameters
from mccpo.methods.registry import register_method

if TYPE_CHECKING:
    from mccpo.methods.gradient.training import NeuralPlan

GENERATIONS = 24
FINAL = 2048  # episodes that choose among the finalists of a search


class SearchState(NamedTuple):
    """A run of the search: a `RunState` whose parameters are those of the ordinary network.

    All candidates teach the learners that the key `learners` draws, as does the rule random-ready.
    """

    key: PRNGKeyArray
    learners: PRNGKeyArray
    iteration: Int[Array, ""]
    parameters: Float[Array, " parameters"]
    search: Search
    at_random: AtRandom
    prices: Float[Array, " costs"]


class PretrainedNetwork(GradientMethod):
    """What these methods share: the network, the mask, and the search for prices."""

    settings: PPOSettings = PPOSettings()
    shared: bool = eqx.field(static=True, default=True)

    def playing(self, env: Environment[Any]) -> MethodArrays:
        return method_arrays(replace(MC_CPO, name=self.name), env)

    def network(self, env: Environment[Any]) -> Network:
        return network_at(env)

    def _begin(self, env: Environment[Any], key: PRNGKeyArray) -> SearchState:
        # Until the first generation, which knows the budgets, there is nothing.
        nothing, search = jnp.zeros(self.network(env).size), price_search.nowhere()
        prices = jnp.zeros(len(env.cost_names))
        drawing, learners, others = jax.random.split(key, 3)
        few = as_long(env, price_search.EPISODES)
        at_random = play_at_random(env, learners, others, few)
        return SearchState(drawing, learners, jnp.zeros((), jnp.int32), nothing, search, at_random, prices)

    def _generation(
        self, env: Environment[Any], budgets: Budgets, state: SearchState, share: Float[Array, ""]
    ) -> tuple[SearchState, Episodes]:
        """One generation of the search, at `share` of it."""
        key, drawing, beginning = jax.random.split(state.key, 3)
        weights, later = jnp.asarray(pretrained_parameters()), evaluation_episodes(env)
        # The margin of the final choice, in the larger standard errors of a candidate's few episodes.
        one = jnp.ones(())
        final, few = (error_of(one, as_long(env, seen), later) for seen in (FINAL, price_search.EPISODES))
        caution = self.settings.caution * final / few
        first = price_search.start(env, budgets, beginning)
        before = jax.tree.map(lambda new, old: jnp.where(state.iteration == 0, new, old), first, state.search)
        search, found = price_search.advance(
            env,
            self.network(env),
            self.playing(env),
            budgets,
            weights,
            before,
            drawing,
            state.learners,
            state.at_random,
            caution,
            state.iteration,
            share,
        )
        parameters = policy_at(env, budgets, weights, search.mean)
        prices = prices_at(env, budgets, search.mean)
        after = SearchState(key, state.learners, state.iteration + 1, parameters, search, state.at_random, prices)
        return after, found

    def _final(
        self, env: Environment[Any], budgets: Budgets, state: SearchState, key: PRNGKeyArray, episodes: int
    ) -> Float[Array, " point"]:
        """The point that is chosen about where a search stands."""
        weights, caution = jnp.asarray(pretrained_parameters()), self.settings.caution
        network, playing = self.network(env), self.playing(env)
        mean, many = state.search.mean, state.at_random.many
        return final_point(env, network, playing, budgets, weights, mean, many, key, caution, episodes)


@register_method(label="Pretrained")
class Pretrained(PretrainedNetwork):
    """One policy for any curriculum: trained once on drawn problems, told here what counts; nothing is trained.

    **Problem:** that of MC-CPO, over the policies that one network is at different prices:

        max_w J(π(·|s, w))  s.t.  J_ci ≤ d_i and G_j ≥ f_j

    The network was trained by PPO on problems drawn at random (graphs of many shapes, learners, engagement, gates,
    horizons) to maximise w_r r_E − Σ w_i c_i + w_g ΔK at weights drawn for every episode: prices, in other units. Here
    w is found on simulated episodes by dual ascent and variation, without a gradient, to the margins by which every
    method's policy is selected. At a problem w is known for every time of an episode, and is added to the biases of the
    layers that read it and to what they make of the time: what is saved, certified and served is a network as MC-CPO
    has it.

    **Source:** A. Abels, D. M. Roijers, T. Lenaerts, A. Nowé, D. Steckelmacher, Dynamic Weights in Multi-Objective Deep
    Reinforcement Learning, ICML 2019, for policies that are told what counts; R. Y. Rubinstein, The Cross-Entropy
    Method for Combinatorial and Continuous Optimization, 1999, for how the search closes in.

    **Departures:** what carries no budget and no floor may count, too. How sharply the policy chooses is searched for
    with the weights, and how these turn from the first lesson of an episode to the last. Its card (docs/pretrained.md)
    says what it was trained on, and where it fails.

    **When to use it:** where a tutor is wanted soon, or to start MC-CPO from: see `mccpo train --from`. It applies to
    tutors on one known graph without activities, whose policy sees the tutor's belief.
    """

    name: ClassVar[str] = "pretrained"

    settings: PPOSettings = PPOSettings(averaging=0.0)

    def plan(self, plan: NeuralPlan) -> NeuralPlan:
        """As many generations as others make iterations, `GENERATIONS` at most; steps are those of its episodes.

        The policy is chosen by as many episodes however short the search is: few would ask for a wide margin.
        """
        lanes, length = price_search.CANDIDATES * price_search.EPISODES, 100
        sizes = Sizes(lanes, length, lanes, 1, min(plan.sizes.final, FINAL))
        return replace(plan, steps=min(plan.iterations, GENERATIONS) * sizes.steps, sizes=sizes)

    def start(self, env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> SearchState:
        return self._begin(env, key)

    def iterate(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: SearchState, share: Float[Array, ""]
    ) -> tuple[SearchState, Progress]:
        after, found = self._generation(env, budgets, state, share)
        return after, _progress(found, after.prices)

    def own_score(
        self,
        env: Environment[Any],
        budgets: Budgets,
        caution: Float[Array, ""] | float,
        actor: NetworkPolicy,
        key: PRNGKeyArray,
        episodes: int,
    ) -> Float[Array, ""]:
        """None is needed: where a search ends counts, and nothing that it passes through."""
        return jnp.zeros(())

    def conclude(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: SearchState, key: PRNGKeyArray
    ) -> Float[Array, " parameters"]:
        chosen = self._final(env, budgets, state, key, sizes.final)
        return policy_at(env, budgets, jnp.asarray(pretrained_parameters()), chosen)

    def prices(self, state: SearchState) -> Float[Array, "*runs costs"]:
        return state.prices


class TunedState(NamedTuple):
    """MC-CPO's state, which starts from the policy that a search `found`."""

    searching: PRNGKeyArray
    learning: PPOState
    found: Float[Array, " parameters"]

    @property
    def parameters(self) -> Float[Array, " parameters"]:
        return self.learning.parameters

    @property
    def iteration(self) -> Int[Array, ""]:
        return self.learning.iteration


@register_method(label="MC-CPO from pretrained", variant=True)
class TunedMCCPO(PretrainedNetwork):
    """MC-CPO that starts from the pretrained policy as a search finds it here, and is trained on with small steps.

    **Problem:** that of MC-CPO.

    **Source:** that of `pretrained` and of `mc-cpo`.

    **Departures:** before the first step, prices are searched for as `pretrained` does; the simulated episodes of that
    search come on top of the steps of training. There is no entropy bonus and no foresight, since nothing is learnt
    anew, and learning rates are lower. The policy that the search found competes with those that training passes
    through. It takes a tenth of the steps that others are trained for:
    see `mccpo train --from pretrained`.

    **When to use it:** where the pretrained policy is not good enough and training from nothing takes too long.
    """

    name: ClassVar[str] = "mc-cpo-from-pretrained"

    settings: PPOSettings = PPOSettings(learning_rate=3e-4, entropy=0.0, foresight=0.0)

    def plan(self, plan: NeuralPlan) -> NeuralPlan:
        """A tenth of the steps that others take, and as many episodes as theirs to choose the policy by."""
        return replace(plan, steps=max(plan.steps // 10, 1), steps_a_final=max(plan.steps_a_final // 10, 1))

    def start(self, env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> TunedState:
        searching, training = jax.random.split(key)
        learning = ppo.start(env, sizes, self.network(env), training)
        # The average of parameters begins here: at what differs by little from what the search will find.
        numbers, reward = numbers_of(env), jnp.zeros(WEIGHTS).at[own_weight(env)].set(1.0)
        told, bound = context_of(numbers, reward), jnp.ones(len(env.cost_names))
        parameters = fold(jnp.asarray(pretrained_parameters()), told, jnp.zeros_like(told), numbers, env, bound)
        return TunedState(searching, learning._replace(parameters=parameters), parameters)

    def iterate(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: TunedState, share: Float[Array, ""]
    ) -> tuple[TunedState, Progress]:
        learning, found = jax.lax.cond(
            state.iteration == 0,
            lambda: self._found(env, budgets, state),
            lambda: (state.learning, state.found),
        )
        after, progress = ppo.iterate(
            env, sizes, self.playing(env), budgets, self.settings, self.network(env), learning, share
        )
        return TunedState(state.searching, after, found), progress

    def contender(self, state: TunedState) -> Float[Array, " parameters"]:
        return state.found

    def _found(
        self, env: Environment[Any], budgets: Budgets, state: TunedState
    ) -> tuple[PPOState, Float[Array, " parameters"]]:
        """The state of MC-CPO at the policy and the prices that a search finds, and that policy."""

        def one(found: SearchState, at: Int[Array, ""]) -> tuple[SearchState, None]:
            return self._generation(env, budgets, found, at / GENERATIONS)[0], None

        searching, choosing = jax.random.split(state.searching)
        search, _ = jax.lax.scan(one, self._begin(env, searching), jnp.arange(GENERATIONS))
        chosen = self._final(env, budgets, search, choosing, FINAL)
        found = policy_at(env, budgets, jnp.asarray(pretrained_parameters()), chosen)
        prices = prices_at(env, budgets, chosen)
        prices = jnp.broadcast_to(prices, state.learning.multipliers.value.shape)
        multipliers = state.learning.multipliers._replace(value=prices, integral=prices)
        return state.learning._replace(parameters=found, multipliers=multipliers), found

    def prices(self, state: TunedState) -> Float[Array, "*runs costs"]:
        return state.learning.prices


def _progress(seen: Episodes, prices: Float[Array, " costs"]) -> Progress:
    """What the episodes of a generation's best looked like."""
    steps = seen.length.sum()
    return Progress(
        ret=seen.ret.mean(),
        costs=seen.costs.mean(axis=1),
        gain=seen.gain.mean(),
        prerequisite_violation_rate=seen.unready.sum() / steps,
        multipliers=prices,
        frontier_events=jnp.zeros(()),
        violation_steps=seen.unready.sum().astype(jnp.int32),
    )
