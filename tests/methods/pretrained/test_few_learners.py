"""What few learners say of all learners: budgets that move with whom a search met."""

import jax
import jax.numpy as jnp
import numpy as np

from mccpo import make
from mccpo.methods import budgets_of
from mccpo.methods.pretrained.few_learners import AtRandom, moved_budgets, play_at_random

ENV = make("tutor-15", concepts=6)


def test_a_policy_whose_costs_follow_random_ready_is_judged_by_all_learners():
    # Costs are 3 of every learner, and as much more as the learner is slow; the policy costs half of it.
    random = np.random.default_rng(0)
    errors, plain = [], []
    for _ in range(200):
        slow = random.normal(size=24)
        known = np.stack([np.zeros(24), 3 + slow, np.zeros(24)])
        costs = known / 2 + 0.1 * random.normal(size=(3, 24))
        held = moved_budgets(
            budgets_of(ENV, {"c3": 1.5}), jnp.asarray(costs), AtRandom(jnp.asarray(known), jnp.array([0.0, 3.0, 0.0]))
        )
        errors.append(costs[1].mean() - float(held.limit[1]))
        plain.append(costs[1].mean() - 1.5)
    assert abs(np.mean(errors)) < 0.01
    assert np.std(errors) < np.std(plain) / 3


def test_a_policy_whose_costs_have_nothing_to_do_with_them_keeps_its_budget():
    known = jnp.array([[0.0] * 4, [1.0, 2.0, 3.0, 4.0], [0.0] * 4])
    held = moved_budgets(budgets_of(ENV, {"c3": 1.5}), known[:, ::-1], AtRandom(known, jnp.array([0.0, 1.0, 0.0])))
    assert float(held.limit[1]) == 1.5  # the two go against each other, which is no reason to allow more or less


def test_random_ready_costs_the_few_what_it_costs_the_many_on_average():
    few = jax.vmap(lambda key: play_at_random(ENV, key, jax.random.key(1), 8).few.mean(axis=-1))(
        jax.random.split(jax.random.key(0), 64)
    )
    many = play_at_random(ENV, jax.random.key(0), jax.random.key(1), 8).many
    np.testing.assert_allclose(few.mean(axis=0), many, rtol=0.03)
    assert float(few[:, 1].std()) > 0
