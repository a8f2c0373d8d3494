"""What learners of each model cost, where they are drawn from several: budgets and floors are to hold for every member.

Of each member there are few episodes, and the worst of several noisy means lies above the worst of the true ones. So a
member is told by two things, a mean that is known better and how far the member is from it. In training, that is the
mean over all learners, and the difference is remembered over more episodes than one iteration has. Where policies are
chosen, it is the mean over members of its kind, and the difference is drawn towards 0 by what chance explains of it, as
an empirical Bayes estimate is. Members that are alike then cost no margin.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from mccpo.env import Ensemble
from mccpo.methods.episodes import Episodes
from mccpo.methods.gradient.margin import Finished, error_of
from mccpo.methods.gradient.rollout import Rollout

REMEMBERED = 50.0
"""How many episodes of a member say how far it is from the mean, before older ones fade."""


class Standing(NamedTuple):
    """The costs of every member, and the standard error by which a later evaluation of them will differ."""

    J_c: Float[Array, "*members costs"]
    error: Float[Array, "*members costs"]


class _Means(NamedTuple):
    """Of every member the number of episodes and the mean of their costs; how episodes differ from their member's."""

    episodes: Float[Array, " members"]
    mean: Float[Array, "members costs"]
    spread: Float[Array, " costs"]


def differences(
    before: Float[Array, "members costs"], rollout: Rollout, seen: Finished
) -> Float[Array, "members costs"]:
    """How far the costs of each member are from the mean over all, after the episodes that ended in a rollout."""
    if len(before) == 1:
        return before
    costs = jnp.moveaxis(rollout.totals[:, 1:], 1, 0).reshape(rollout.totals.shape[1] - 1, -1)
    means = _means(costs, rollout.member.ravel(), rollout.ended.ravel(), len(before))
    new = means.episodes / (means.episodes + REMEMBERED)
    return before + new[:, None] * (means.mean - seen.J_c - before)


def training_error(
    seen: Finished, ensemble: Ensemble, apart: Float[Array, "members costs"], final: float, later: float
) -> Float[Array, "members costs"]:
    """The error of a `Standing` by `final` episodes, foreseen from how episodes differ and members are apart."""
    alike, shares = _alike(ensemble), jnp.asarray(ensemble.shares)[:, None]
    within = apart - (alike * shares.T) @ apart / (alike @ shares)
    noise = seen.spread**2 / (2 * REMEMBERED)  # of a mean that fades by so many episodes
    weight = _weight(alike, within**2 - noise, seen.spread**2 / (final * shares))
    return error_of(seen.spread, _effective(weight, final * (alike @ shares), final * shares), later)


def standing(seen: Episodes, ensemble: Ensemble, later: float) -> Standing:
    """What episodes of a policy say its costs are for every member."""
    episodes, members = seen.ret.shape[0], len(ensemble.kinds)
    if members == 1 or seen.member is None:
        return Standing(seen.costs.mean(axis=1), error_of(seen.costs.std(axis=1), episodes, later))
    means, alike = _means(seen.costs, seen.member, jnp.ones(episodes, bool), members), _alike(ensemble)
    count = means.episodes[:, None]
    of_kind, own = jnp.maximum(alike @ count, 1.0), jnp.maximum(count, 1.0)
    mean = alike @ (count * means.mean) / of_kind
    apart, chance = jnp.where(count > 0, means.mean - mean, 0.0), means.spread**2 / own
    weight = _weight(alike, apart**2 - chance, chance)
    return Standing(mean + weight * apart, error_of(means.spread, _effective(weight, of_kind, own), later))


def _alike(ensemble: Ensemble) -> Float[Array, "members members"]:
    """1 where two members are of one kind, else 0."""
    kinds = jnp.asarray(ensemble.kinds)
    return (kinds[:, None] == kinds).astype(jnp.float32)


def _means(
    costs: Float[Array, "costs episodes"], member: Int[Array, " episodes"], counts: Bool[Array, " episodes"], of: int
) -> _Means:
    """Means of the costs of every member over the episodes that count; 0 where it has none."""
    belongs = (jax.nn.one_hot(member, of) * counts[:, None]).T  # [members, episodes]
    episodes = belongs.sum(axis=1)
    some = jnp.maximum(episodes, 1.0)[:, None]
    mean = belongs @ costs.T / some
    apart = jnp.where(counts, costs - mean.T[:, member], 0.0)
    return _Means(episodes, mean, jnp.sqrt((apart**2).sum(axis=1) / jnp.maximum(episodes.sum(), 1.0)))


def _weight(
    alike: Float[Array, "members members"],
    between: Float[Array, "members costs"],
    chance: Float[Array, "members costs"],
) -> Float[Array, "members costs"]:
    """How much a member's own mean counts beside that of its kind: the share of its distance that is not chance.

    `between` is the squared distance of each less what chance adds to it, which is noisy: members of a kind share it.
    """
    square = jnp.maximum(alike @ between / alike.sum(axis=1, keepdims=True), 0.0)
    return square / jnp.maximum(square + chance, 1e-12)


def _effective(
    weight: Float[Array, "members costs"], of_kind: Float[Array, "members 1"], own: Float[Array, "members 1"]
) -> Float[Array, "members costs"]:
    """By how many episodes a mixture of a kind's mean and a member's own is told."""
    return 1.0 / ((1.0 - weight) / of_kind + weight / own)
