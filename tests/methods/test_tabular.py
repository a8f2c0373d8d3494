"""The tabular learner: its step sizes, its randomness, what it averages, and that it learns."""

from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.exact import enumerate_model, evaluate, occupancy
from mccpo.methods import TabularPlan, TabularSettings, budgets_of, method_arrays, method_spec, train_tabular
from mccpo.methods.engine import to_arrays
from mccpo.methods.mc_cpo.tabular import Average, learn, policies, start

ENV = make("chain", concepts=3, horizon=3)
PLAN = TabularPlan(episodes=400, batch=10, seeds=3)
BUDGETS = {"c4": 1.5}
BOTH = [method_spec("mc-cpo"), method_spec("unconstrained")]


def same_bits(one, other):
    leaves = [jax.tree.leaves(tuple(getattr(runs, field.name) for field in fields(runs))) for runs in (one, other)]
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*leaves, strict=True))


@pytest.fixture(scope="module")
def runs():
    return train_tabular(ENV, BOTH, BUDGETS, PLAN)


def test_the_default_step_sizes_meet_the_conditions_of_the_theorem():
    """For 1/2 < a ≤ 1, Σk^-a is infinite and Σk^-2a finite; a < b parts the timescales."""
    settings = TabularSettings()
    a, b = settings.alpha_decay, settings.beta_decay
    assert 0.5 < a < b <= 1
    assert min(settings.alpha, settings.beta, settings.warm) > 0
    # The entropy bonus acts with α_k k^-c: finite in sum, so the limit is that of the Lagrangian itself.
    assert a + settings.entropy_decay > 1


def test_updates_shrink_by_the_exponents_of_the_settings():
    settings = TabularSettings(entropy=0.0)
    settings = settings._replace(rule=settings.rule._replace(proportional=0.0))
    method, budgets = method_arrays(method_spec("mc-cpo"), ENV), budgets_of(ENV, {"c4": 0.1})
    first = start(ENV, jax.random.key(0))
    step = jax.jit(lambda state: learn(ENV, method, budgets, settings, state, 50, 10**9)[0])
    now = step(first._replace(update=jnp.asarray(1000)))
    assert float(jnp.abs(now.theta).max()) > 0
    assert float(now.multipliers.integral[2]) > 0
    for k in (2000, 25_000):
        later = step(first._replace(update=jnp.asarray(k)))
        elapsed = (1 + k / settings.warm) / (1 + 1000 / settings.warm)
        np.testing.assert_allclose(later.theta, now.theta * elapsed**-settings.alpha_decay, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(
            later.multipliers.integral, now.multipliers.integral * elapsed**-settings.beta_decay, rtol=1e-4
        )


def test_the_same_seed_gives_the_same_bits(runs):
    assert same_bits(runs, train_tabular(ENV, BOTH, BUDGETS, PLAN))


def test_seeds_differ(runs):
    assert len(set(map(bytes, runs.last[0]))) == PLAN.seeds
    other = train_tabular(ENV, BOTH, BUDGETS, replace(PLAN, seed=1))
    assert not set(map(bytes, other.last[0])) & set(map(bytes, runs.last[0]))


def test_a_resumed_run_is_the_unbroken_one_bit_for_bit(runs):
    kept = []
    train_tabular(ENV, BOTH, BUDGETS, PLAN, after_point=kept.append)
    assert [snapshot.point for snapshot in kept] == list(range(1, PLAN.points + 1))
    for point in (1, PLAN.points // 2, PLAN.points):
        assert same_bits(runs, train_tabular(ENV, BOTH, BUDGETS, PLAN, resume=to_arrays(kept[point - 1])))


def test_a_method_does_not_depend_on_those_beside_it(runs):
    others = train_tabular(ENV, [method_spec("reward-shaped"), method_spec("mc-cpo")], BUDGETS, PLAN)
    for name in ("last", "averaged", "executed", "multipliers"):
        assert np.array_equal(getattr(others, name)[1], getattr(runs, name)[0])
    assert not np.array_equal(others.last[0], runs.last[1])


def test_the_averaged_policy_is_worth_the_mean_of_the_iterates():
    """A policy with the mean discounted occupancy of others has their mean return and mean costs."""
    model, method, draw = enumerate_model(ENV), method_arrays(method_spec("mc-cpo"), ENV), np.random.default_rng(0)
    visits, iterates = np.zeros((ENV.num_states, ENV.num_actions)), []
    for _ in range(7):
        policy = draw.dirichlet(np.full(ENV.num_actions, 0.3), model.num_states) * model.mask + 1e-9 * model.mask
        policy /= policy.sum(axis=1, keepdims=True)
        visits[model.index] += occupancy(model, np.pad(policy, ((0, 0), (0, 1))), model.gamma)[:, :-1]
        iterates.append(policy)
    values = [evaluate(model, policy) for policy in iterates]
    state = start(ENV, jax.random.key(0))._replace(average=Average(jnp.asarray(visits), jnp.zeros(3), jnp.ones(())))
    averaged, _ = policies(ENV, method, state)
    found = evaluate(model, np.asarray(averaged)[model.index])
    assert found.ret == pytest.approx(np.mean([value.ret for value in values]), abs=1e-5)
    for cost in ENV.cost_names:
        assert found.costs[cost] == pytest.approx(np.mean([value.costs[cost] for value in values]), abs=1e-5)
    # The mean of the policies themselves is another policy, worth something else.
    assert abs(found.costs["c4"] - evaluate(model, np.mean(iterates, axis=0)).costs["c4"]) > 0.005


def test_averages_are_over_the_second_half_of_training():
    kept = []
    train_tabular(ENV, BOTH, BUDGETS, PLAN, after_point=kept.append)
    half = PLAN.points // 2
    updates = [float(snapshot.states.average.updates[0]) for snapshot in kept]
    assert updates[half - 1] == 0
    assert updates[half] == PLAN.updates_per_point
    assert updates[-1] == PLAN.updates / 2
    # One unit of discounted visits per step of an episode, 10 episodes per update.
    visits = float(kept[-1].states.average.occupancy[0].sum())
    assert visits == pytest.approx(ENV.discounted_horizon * PLAN.batch * PLAN.updates / 2, rel=0.05)


def test_where_the_average_saw_nothing_the_last_policy_stands_in():
    state = start(ENV, jax.random.key(0))
    averaged, last = policies(ENV, method_arrays(method_spec("mc-cpo"), ENV), state)
    assert np.array_equal(averaged, last)
    np.testing.assert_allclose(averaged.sum(axis=1), 1, atol=1e-6)


def test_the_unconstrained_learner_hacks_the_gate_and_mc_cpo_does_not():
    env = make("gate")
    model = enumerate_model(env)
    methods = [method_spec(name) for name in ("unconstrained", "post-hoc", "mc-cpo")]
    found = train_tabular(env, methods, env.fixed_budgets, TabularPlan(episodes=20_000, batch=20, seeds=3))
    free, filtered, safe = ([evaluate(model, policy[model.index]) for policy in row] for row in found.executed)
    assert min(value.pi_hack for value in free) > 0.9
    assert max(value.pi_hack for value in safe) < 0.05
    assert min(value.ret for value in safe) > 0.95 * env.R
    assert max(value.prerequisite_violation_rate for value in safe) == 0
    assert max(value.ret for value in filtered) < 0.1


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"batch": 0}, {"seeds": 0}, {"episodes": 5, "batch": 6}])
def test_a_plan_that_trains_nothing_is_refused(wrong):
    with pytest.raises(InputError):
        TabularPlan(**{"episodes": 100, "batch": 10, **wrong})


def test_what_is_not_finite_and_no_method_are_refused():
    with pytest.raises(InputError, match="tutor-15 is not finite"):
        train_tabular(make("tutor-15"), BOTH, {}, PLAN)
    with pytest.raises(InputError, match="no method"):
        train_tabular(ENV, [], {}, PLAN)
