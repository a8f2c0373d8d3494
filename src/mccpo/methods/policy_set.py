"""The policies of one method, one a seed, whatever they are: networks that were learnt, or a rule."""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mccpo.env import Environment
from mccpo.errors import DoesNotApply, MccpoError
from mccpo.methods import engine
from mccpo.methods.episodes import Episodes, Moment, NetworkPolicy, Policy, account, perform, summed
from mccpo.methods.gradient.gradient_method import GradientMethod
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.training import BLOCK, evaluate_policies, evaluation_keys, prepare_policies
from mccpo.methods.rules import among_quick

REMEMBERED = 16
"""Of how many sets of policies the last episodes are kept: anchors, tables and judges ask for the same ones."""
_PLAYED: dict[Any, Episodes] = {}
IMPROPER = "its chances of actions are not from 0 to 1, or do not sum to 1"
_ROUNDING = 1e-4  # of chances that sum to 1 in single precision


class ImproperPolicyError(MccpoError):
    """What a rule gives as chances of actions are none."""


class PolicySet(abc.ABC):
    """The policies of one method, one a seed."""

    @property
    @abc.abstractmethod
    def seeds(self) -> int:
        """How many policies there are."""

    @abc.abstractmethod
    def only(self, seed: int) -> PolicySet:
        """The policy of one seed alone."""

    @abc.abstractmethod
    def network(self, env: Environment[Any]) -> Network | None:
        """The network that the policies are, in an environment; None of a rule."""

    @abc.abstractmethod
    def policy(self, env: Environment[Any], seed: int) -> Policy:
        """The policy of one seed in an environment."""

    @abc.abstractmethod
    def play(self, env: Environment[Any], *, episodes: int, seed: int) -> Episodes:
        """Fresh episodes of every policy, by keys that follow from a root seed; the leading axis is that of seeds."""

    def prepare(self, env: Environment[Any], *, episodes: int) -> None:
        """Compiles what `play` calls where that takes long: for another thread, while something else is under way."""
        del env, episodes


@dataclass(frozen=True, eq=False)
class NetworkPolicies(PolicySet):
    """Networks that a method learnt. `kappa` is the share of the budgets that a conditioned policy is told."""

    method: GradientMethod
    parameters: Float[np.ndarray, "seeds parameters"]
    kappa: float | None = None

    @property
    def seeds(self) -> int:
        return len(self.parameters)

    def only(self, seed: int) -> PolicySet:
        return replace(self, parameters=self.parameters[seed : seed + 1])

    def network(self, env: Environment[Any]) -> Network | None:
        return self.method.network(self._seen(env))

    def policy(self, env: Environment[Any], seed: int) -> Policy:
        playing, network = self.method.playing(env), self.method.network(self._seen(env))
        return NetworkPolicy(playing, jnp.asarray(self.parameters[seed]), network, self.kappa)

    def play(self, env: Environment[Any], *, episodes: int, seed: int) -> Episodes:
        """The episodes of every policy; many, asked for again, are not played again, few are parts of a certificate."""
        seen = self._seen(env)
        playing, network = self.method.playing(seen), self.method.network(seen)

        def play() -> Episodes:
            played = evaluate_policies(seen, [playing], network, self.parameters[None], episodes=episodes, seed=seed)
            return jax.tree.map(lambda leaf: leaf[0], played)

        if episodes <= BLOCK:
            return play()
        return _once(_key((seen, playing, self.parameters), network, episodes, seed), play)

    def prepare(self, env: Environment[Any], *, episodes: int) -> None:
        seen = self._seen(env)
        playing, network = self.method.playing(seen), self.method.network(seen)
        prepare_policies(seen, [playing], network, self.parameters[None], episodes=episodes)

    def _seen(self, env: Environment[Any]) -> Environment[Any]:
        """The environment as these policies see it."""
        return env if self.kappa is None else self.method.environment_at(env, self.kappa)


@dataclass(frozen=True, eq=False)
class RulePolicies(PolicySet):
    """One rule, which every seed has: its episodes differ by their keys alone."""

    rule: Policy
    copies: int

    @property
    def seeds(self) -> int:
        return self.copies

    def only(self, seed: int) -> PolicySet:
        return replace(self, copies=1)

    def network(self, env: Environment[Any]) -> Network | None:
        return None

    def policy(self, env: Environment[Any], seed: int) -> Policy:
        return self.rule

    def play(self, env: Environment[Any], *, episodes: int, seed: int) -> Episodes:
        """The episodes of every copy; the same ones, asked for again, are not played again."""
        key = _key((env, self.rule), self.copies, episodes, seed)
        return _once(key, lambda: self._play(env, episodes, seed))

    def _play(self, env: Environment[Any], episodes: int, seed: int) -> Episodes:
        played = []
        for copy in range(self.copies):
            play = play_rule(env, self.rule, seed, copy, episodes)
            play.check()
            played.append(play.episodes)
        return jax.tree.map(lambda *leaves: np.stack(leaves), *played)


def _key(numbers: Any, *rest: Any) -> Any:
    """What episodes depend on, as a key; None where an environment or a policy cannot be told by its numbers."""
    try:
        leaves, structure = jax.tree.flatten(engine.as_arrays(numbers))
        told = tuple((leaf.shape, str(leaf.dtype), leaf.tobytes()) for leaf in map(np.asarray, leaves))
        digest = hashlib.sha256(repr(told).encode()).hexdigest()
        hash((structure, rest))
        return structure, digest, rest
    except (TypeError, ValueError):
        return None


def _once(key: Any, play: Callable[[], Episodes]) -> Episodes:
    """The episodes that `play` gives, or those that it gave for the same key a short while ago."""
    if (known := _PLAYED.get(key)) is not None:
        return known
    found = play()
    if key is not None:
        _PLAYED[key] = found
        while len(_PLAYED) > REMEMBERED:
            _PLAYED.pop(next(iter(_PLAYED)), None)
    return found


def check_rule(env: Environment[Any], name: str, rule: Policy) -> None:
    """Refuses a rule that has no answer in an environment, before anything is trained or played."""

    def first(key: PRNGKeyArray) -> Any:
        _, obs = jax.vmap(env.reset, out_axes=-1)(key[None])
        return rule.probabilities(env, rule.begin(env, 1), obs)

    try:
        jax.eval_shape(first, jax.random.key(0))
    except DoesNotApply as error:
        why = str(error).removesuffix(f"; {error.fix}")
        raise DoesNotApply(f"{name} does not apply: {why}", fix=f"leave {name} out of --methods") from error


class RulePlay(NamedTuple):
    """Episodes of a rule, and whether its chances were finite, and those of a distribution, while they went on."""

    episodes: Episodes
    finite: Bool[Array, ""] | bool
    proper: Bool[Array, ""] | bool

    def check(self) -> None:
        """Refuses chances that are none."""
        if not self.proper:
            raise ImproperPolicyError(IMPROPER)


def play_rule(env: Environment[Any], rule: Policy, seed: int, copy: int, episodes: int) -> RulePlay:
    """Plays episodes of a rule in blocks, with the random numbers that every policy of this seed has."""
    env = engine.as_arrays(env)
    actor = among_quick(env, rule)
    blocks = range(-(-episodes // BLOCK))
    keys = [evaluation_keys(seed, copy + 1, block)[copy] for block in blocks]
    played = [jax.device_get(_play_block(env, actor, key, min(episodes, BLOCK))) for key in keys]

    def joined(*leaves: np.ndarray) -> np.ndarray:
        return np.concatenate(leaves, axis=-1)[..., :episodes]

    whole = jax.tree.map(joined, *(play.episodes for play in played))
    return RulePlay(whole, all(play.finite for play in played), all(play.proper for play in played))


@eqx.filter_jit
def _play_block(env: Environment[Any], rule: Policy, key: Any, episodes: int) -> RulePlay:

    def look(moment: Moment) -> Any:
        finite, proper = jnp.isfinite(moment.chances).all(axis=0), is_distribution(moment.chances)
        return account(env, moment), (finite | ~moment.alive).all(), (proper | ~moment.alive).all()

    steps, finite, proper = perform(env, rule, key, episodes, look)
    return RulePlay(summed(env, steps), finite.all(), proper.all())


def is_distribution(chances: Any) -> Any:
    """Whether the chances of each column are those of a distribution.

    >>> bool(is_distribution(np.array([0.25, 0.75])))
    True
    """
    return (chances >= 0).all(axis=0) & (abs(chances.sum(axis=0) - 1) < _ROUNDING)
