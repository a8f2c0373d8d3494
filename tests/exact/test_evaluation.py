"""Exact values agree with closed forms, with plain recursion and with episodes played in the environment."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.errors import InputError
from mccpo.exact import evaluate, occupancy, rhsi, satisfies

SUPPORTS = ["masked", "all", "no-op"]
GAMMA = 0.99


def always(model, action):
    return np.eye(model.num_actions)[np.full(model.num_states, model.action_names.index(action))]


def summed(values):
    """The numbers of `Values` in one list, for comparisons."""
    return [
        values.ret,
        *values.costs.values(),
        values.engagement,
        values.gain,
        values.pi_hack,
        values.violation_rate,
        values.prerequisite_violation_rate,
    ]


def test_always_hacking_on_the_chain(finite):
    values = evaluate(finite("chain").model, always(finite("chain").model, "hack"))
    discounted = (1 - GAMMA**5) / (1 - GAMMA)
    assert values.ret == pytest.approx(4.90099501)
    assert values.costs == pytest.approx({"c2": 0, "c3": 0, "c4": discounted})
    assert (values.engagement, values.gain, values.pi_hack) == pytest.approx((5, 0, 1))
    assert (values.violation_rate, values.prerequisite_violation_rate) == pytest.approx((1, 0))


def test_always_the_first_concept_on_the_chain(finite):
    values = evaluate(finite("chain").model, always(finite("chain").model, "1"))
    in_vain = sum(GAMMA**t * (1 - 0.8 * 0.2**t) for t in range(5))
    assert values.ret == pytest.approx(0.6 * 4.90099501)
    assert values.costs == pytest.approx({"c2": in_vain, "c3": 0, "c4": in_vain})
    assert values.gain == pytest.approx(1 - 0.2**5)
    assert values.violation_rate == pytest.approx(1)


def test_always_an_unready_concept_on_the_chain(finite):
    values = evaluate(finite("chain").model, always(finite("chain").model, "5"))
    assert values.costs == pytest.approx({"c2": 0, "c3": 4.90099501, "c4": 0})
    assert (values.ret, values.violation_rate, values.prerequisite_violation_rate) == pytest.approx((0, 0, 1))


def test_each_choice_on_the_gate(finite):
    model = finite("gate").model
    assert summed(evaluate(model, always(model, "hack"))) == pytest.approx([1, 1, 1, 0, 1, 1, 0])
    assert summed(evaluate(model, always(model, "prog"))) == pytest.approx([0.6, 0, 0.6, 1, 0, 0, 0])
    assert summed(evaluate(model, always(model, "next"))) == pytest.approx([0, 0, 0, 0, 0, 0, 1])
    assert summed(evaluate(model, np.array([[0.5, 0.2, 0.2, 0.1]]))) == pytest.approx(
        [0.5, 0.2, 0.5, 0.5, 0.2, 0.2, 0.2]
    )


def by_recursion(policy, t=0, known=0):
    """A chain's (return, c2, c3, c4, engagement, gain, hacks, unready, clean) from a state on, in plain Python.

    `policy` maps (t, concepts known) to the chances of concepts 1 to 5, hack and the no-op.
    """
    if t == 5:
        return np.array([0.0] * 8 + [1.0])
    total = np.zeros(9)
    for action, chance in enumerate(policy[t, known]):
        hacks, idle, unready = action == 5, action == 6, known < action < 5
        learns = 0.8 if action == known < 5 else 0.0
        reward = 1.0 if hacks else 0.0 if idle or unready else 0.6
        for probability, gain in ((learns, 1), (1 - learns, 0)):
            c4 = float(reward > 0 and not gain)
            now = np.array([reward, c4 * (not hacks), unready, c4, reward, gain, hacks, unready, 0.0])
            later = by_recursion(policy, t + 1, known + gain) if probability else np.zeros(9)
            later[:4] *= GAMMA
            later[8] *= c4 == 0
            total += chance * probability * (now + later)
    return total


@pytest.mark.parametrize("support", SUPPORTS)
def test_values_match_plain_recursion(finite, random_policy, support):
    case = finite("chain")
    policy = random_policy(case.model, 5, support)
    full = np.pad(policy, ((0, 0), (0, 7 - policy.shape[1])))
    states = jax.vmap(case.env.state)(jnp.asarray(case.model.index))
    table = {(int(t), int(K.sum())): row for K, t, row in zip(states.K, states.t, full, strict=True)}
    *sums, gain, hacks, unready, clean = by_recursion(table).tolist()
    expected = [*sums, gain, hacks / 5, 1 - clean, unready / 5]
    assert summed(evaluate(case.model, policy)) == pytest.approx(expected)


def play(case, policy, episodes):
    """Sample means and standard errors of what `Values` holds, from episodes of `step`."""
    env = case.env
    table = np.zeros((env.num_states, env.num_actions + 1))
    table[case.model.index, : policy.shape[1]] = policy
    logits = jnp.log(jnp.asarray(table))

    def advance(carry, key):
        state, discount = carry
        draw, move = jax.random.split(key)
        action = jax.random.categorical(draw, logits[env.index(state)])
        step = env.step(move, state, action)
        broken = step.costs[jnp.array([env.cost_names.index(c) for c in env.constrained])].any()
        hacks = jnp.append(jnp.asarray(env.hack), False)[action]
        row = [discount * step.reward, *(discount * step.costs), step.reward, step.gain, hacks, broken, step.unready]
        return (step.state, discount * env.gamma), jnp.stack([jnp.asarray(x, jnp.float32) for x in row])

    def episode(key):
        start, rest = jax.random.split(key)
        rows = jax.lax.scan(advance, (env.reset(start)[0], 1.0), jax.random.split(rest, env.horizon))[1]
        share = jnp.ones(rows.shape[1]).at[jnp.array([-3, -1])].set(1 / env.horizon)
        return (rows.sum(axis=0) * share).at[-2].set(rows[:, -2].max())

    samples = np.asarray(jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(9), episodes)), float)
    return samples.mean(axis=0), samples.std(axis=0) / np.sqrt(episodes)


@pytest.mark.parametrize(("name", "support"), [("chain", "no-op"), ("random", "all")])
def test_values_match_played_episodes(finite, random_policy, name, support):
    case = finite(name)
    policy = random_policy(case.model, 3, support)
    mean, error = play(case, policy, episodes=4000)
    exact = np.array(summed(evaluate(case.model, policy)))
    # The share of episodes with a violation is near 1, where a sample of ones has no spread: by the binomial instead.
    error[-2] = np.sqrt(exact[-2] * (1 - exact[-2]) / 4000)
    assert (np.abs(mean - exact) <= 4 * error + 1e-5).all(), (mean, exact, error)
    assert (error[:-1] > 0).sum() >= len(error) - 2  # the comparison is not of constants


def test_occupancy_discounts_the_length_of_the_episode(finite, random_policy):
    model = finite("random").model
    policy = random_policy(model, 1, "no-op")
    assert occupancy(model, policy, 0.9).sum() == pytest.approx(sum(0.9**t for t in range(6)))
    assert occupancy(model, policy, 1.0).sum() == pytest.approx(6)


@pytest.mark.parametrize("wrong", ["shape", "negative", "sum", "nan"])
def test_what_is_no_policy_is_refused(finite, wrong):
    model = finite("chain").model
    policy = always(model, "hack")
    if wrong == "shape":
        policy = policy[:-1]
    elif wrong == "negative":
        policy[0, :2] = (-0.5, 0.5)
    elif wrong == "sum":
        policy[0, 0] = 0.1
    else:
        policy[0, 0] = np.nan
    fix = "give one row of 6" if wrong == "shape" else "normalise each row"
    with pytest.raises(InputError, match=fix):
        evaluate(model, policy)


def test_rhsi_is_one_for_the_unconstrained_policy_and_falls_with_return_and_cost(finite):
    model = finite("chain").model
    worst = evaluate(model, always(model, "hack"))
    half = evaluate(model, 0.5 * always(model, "hack") + 0.5 * always(model, "5"))
    assert rhsi(worst, worst, ("c4",)) == pytest.approx(1)
    assert rhsi(half, worst, ("c4",)) == pytest.approx(0.5 * 0.5)
    # c2 does not arise under the unconstrained policy, so it cannot be compared and is left out.
    assert rhsi(half, worst, ("c2", "c4")) == pytest.approx(0.25)
    assert rhsi(half, worst, ("c2",)) == 0


def test_rhsi_has_no_upper_bound(finite):
    model = finite("chain").model
    anchor = evaluate(model, always(model, "hack"))
    dearer = replace(anchor, costs={name: 2 * cost for name, cost in anchor.costs.items()})
    assert rhsi(dearer, anchor, ("c4",)) == pytest.approx(2)


def test_rhsi_takes_the_root_mean_square_over_costs(finite):
    model = finite("random").model
    worst = evaluate(model, always(model, "hack"))
    other = evaluate(model, always(model, model.action_names[0]))
    shares = [other.costs[c] / worst.costs[c] for c in ("c3", "c4")]
    expected = other.ret / worst.ret * np.sqrt((shares[0] ** 2 + shares[1] ** 2) / 2)
    assert shares[0] != pytest.approx(shares[1])
    assert rhsi(other, worst, ("c3", "c4")) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cost", "budget", "tolerance", "met"),
    [
        (1.0, 1.0, 0.0, True),
        (1.01, 1.0, 0.0, False),
        (1.1, 1.0, 0.1, True),
        (1.11, 1.0, 0.1, False),
        (0.004, 0.0, 0.0, True),
        (0.006, 0.0, 0.1, False),
    ],
)
def test_budgets_are_met_within_the_tolerance_and_zero_budgets_within_the_slack(cost, budget, tolerance, met):
    assert satisfies({"c": cost, "x": 9.0}, {"c": budget}, {"c": 0.005}, tolerance) is met


def test_every_budget_must_be_met():
    assert not satisfies({"a": 0.5, "b": 2.0}, {"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.0}, 0.1)


def test_rhsi_rewards_disengagement_and_depends_on_its_anchor(finite):
    """What tables say beside it: it falls to 0 without engagement, exceeds 1, and moves with its anchor."""
    model = finite("chain").model
    hack, unready, first = (evaluate(model, always(model, action)) for action in ("hack", "5", "1"))
    assert (rhsi(unready, hack, ("c4",)), unready.gain) == (0.0, 0.0)  # no better than hacking for who is to learn
    assert rhsi(hack, hack, ("c4",)) == pytest.approx(1.0)
    assert rhsi(hack, first, ("c4",)) > 1.0
    assert rhsi(first, hack, ("c4",)) != pytest.approx(rhsi(first, first, ("c4",)))
