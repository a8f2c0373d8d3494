"""Training of the neural learner: its randomness, resuming, how policies are judged and selected, that it learns."""

from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mccpo
from mccpo.env import make
from mccpo.errors import InputError
from mccpo.methods import NeuralPlan, budgets_of, evaluate_neural, method_arrays, method_spec, train_neural
from mccpo.methods.engine import to_arrays
from mccpo.methods.episodes import EVALUATION_EPISODES, Episodes
from mccpo.methods.gradient import selection
from mccpo.methods.gradient import training as neural
from mccpo.methods.gradient.gradient_method import PrimalDual
from mccpo.methods.gradient.rollout import Sizes, network_of
from mccpo.methods.gradient.selection import FINALISTS, Finalists, enter, score_of, unready_excess
from mccpo.methods.gradient.training import EVALUATION, ITERATIONS

# Of the sizes and the horizon that other tests of small tutors have, too: one program serves them all.
ENV = make("tutor-15", K0=0.62, horizon=12)
PLAN = NeuralPlan(steps=1500, seeds=2, sizes=Sizes(environments=8, rollout=16, minibatch=32, epochs=1), validation=8)
BUDGETS = {"c2": 0.05, "c4": 1.5}
# One program has a network of one kind: both have the plain one here.
PLAIN = replace(method_spec("mc-cpo"), shared=False)
BOTH = [PLAIN, method_spec("unconstrained")]
TUTOR = make("tutor-15")


def leaves(runs):
    return jax.tree.leaves(tuple(getattr(runs, field.name) for field in fields(runs)))


def same_bits(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(leaves(one), leaves(other), strict=True))


@pytest.fixture(scope="module")
def trained():
    """Runs, and what a run could resume from after each of their points."""
    saved = []
    return train_neural(ENV, BOTH, BUDGETS, PLAN, after_point=lambda snapshot: saved.append(to_arrays(snapshot))), saved


def test_training_has_the_shape_of_its_plan(trained):
    runs, saved = trained
    assert PLAN.points == len(saved) == 4
    size = network_of(ENV).size
    assert runs.selected.shape == runs.last.shape == (2, 2, size)
    assert runs.multipliers.shape == (2, 2, 3)
    assert runs.curves.ret.shape == (2, 2, 4)
    assert runs.curves.costs.shape == (2, 2, 4, 3)
    np.testing.assert_array_equal(runs.steps, 3 * 128 * np.arange(1, 5))
    assert all(np.isfinite(leaf).all() for leaf in leaves(runs))
    assert not np.array_equal(runs.last[:, 0], runs.last[:, 1])


def test_the_same_seed_gives_the_same_bits_and_another_others(trained):
    runs, _ = trained
    assert same_bits(train_neural(ENV, BOTH, BUDGETS, PLAN), runs)
    other = train_neural(ENV, BOTH, BUDGETS, NeuralPlan(**(vars(PLAN) | {"seed": 1})))
    assert not np.array_equal(other.last, runs.last)


@pytest.mark.parametrize("point", [1, 3])
def test_a_resumed_run_is_the_same_as_an_unbroken_one(trained, point):
    runs, saved = trained
    assert same_bits(train_neural(ENV, BOTH, BUDGETS, PLAN, resume=saved[point - 1]), runs)


def test_a_finished_run_resumes_to_itself(trained):
    runs, saved = trained
    later = []
    assert same_bits(train_neural(ENV, BOTH, BUDGETS, PLAN, resume=saved[-1], after_point=later.append), runs)
    assert not later


def test_a_run_does_not_depend_on_the_runs_beside_it(trained):
    """As on CPU, where runs are taken one by one; vmapped on an accelerator, the same numbers may be rounded apart."""
    if jax.default_backend() != "cpu":
        pytest.skip("an accelerator takes all runs in one call")
    runs, _ = trained
    for place, spec in enumerate(BOTH):
        alone = train_neural(ENV, [spec], BUDGETS, NeuralPlan(**(vars(PLAN) | {"seeds": 1})))
        np.testing.assert_array_equal(alone.last[0, 0], runs.last[place, 0])
        np.testing.assert_array_equal(alone.selected[0, 0], runs.selected[place, 0])
        np.testing.assert_array_equal(alone.curves.ret[0, 0], runs.curves.ret[place, 0])


def test_methods_part_only_by_what_they_do(trained):
    """Every method meets the same seeds: the first learners and the first networks are the same."""
    _, saved = trained
    arrays = saved[-1]
    keys = next(value for name, value in arrays.items() if name.endswith("validating"))
    np.testing.assert_array_equal(keys[:2], keys[2:])


def test_training_counts_every_unready_step(trained):
    runs, _ = trained
    counted = runs.curves.prerequisite_violation_rate * ITERATIONS * PLAN.sizes.steps
    np.testing.assert_allclose(runs.curves.violation_steps, counted, rtol=1e-4)
    assert not runs.curves.violation_steps[0].any()
    assert runs.curves.violation_steps[1].all()


def test_only_a_constrained_method_has_multipliers(trained):
    runs, _ = trained
    assert not runs.multipliers[1].any()
    assert not runs.multipliers[0, :, 1].any()  # c3 carries no budget
    assert runs.curves.multipliers[0, ..., [0, 2]].any()


# How policies are judged.


def always(env, *actions):
    """Parameters of policies that choose one action whatever they see, one of each, as of so many seeds."""
    network = network_of(env)
    policies = np.zeros((1, len(actions), network.size), np.float32)
    for place, action in enumerate(actions):
        policies[0, place, network.size - network.actions - network.signals + action] = 1e3
    return policies


def judged(name, *actions, env=TUTOR, episodes=3, seed=0):
    return evaluate_neural(
        env, [replace(method_spec(name), shared=False)], always(env, *actions), episodes=episodes, seed=seed
    )


@pytest.fixture(scope="module")
def free():
    """Two unconstrained policies: one teaches the first concept for ever, one the last."""
    return judged("unconstrained", 0, 14)


def test_a_policy_that_repeats_the_first_concept_has_the_known_values(free):
    np.testing.assert_allclose(free.ret[0, 0], 34.79, atol=5e-3)
    np.testing.assert_allclose(free.costs[0, 0, 1], 19.019, atol=5e-4)
    np.testing.assert_allclose(free.gain[0, 0], 0.7998, atol=5e-5)
    np.testing.assert_array_equal(free.length[0, 0], 100)
    np.testing.assert_array_equal(free.unready[0, 0], 0)
    assert free.violates[0, 0].all()
    assert (free.engagement[0, 0] > free.ret[0, 0]).all()


def test_unready_steps_are_counted_and_a_mask_or_a_filter_prevents_them(free):
    np.testing.assert_array_equal(free.unready[0, 1], 100)
    for name in ("post-hoc", "mc-cpo"):
        confined = judged(name, 0, 14)
        assert not confined.unready.any()
        np.testing.assert_allclose(confined.ret[0, 0], free.ret[0, 0], rtol=1e-6)
        assert (confined.gain[0, 1] > 0).all()


def test_judging_plays_one_episode_to_its_end():
    short = make("tutor-15", horizon=5)
    found = judged("unconstrained", 0, env=short)
    np.testing.assert_array_equal(found.length, 5)
    K = 0.2
    for _ in range(5):
        K += short.eta * (1 - K)
    np.testing.assert_allclose(found.gain, K - 0.2, rtol=1e-4)


def test_judging_is_reproducible_and_uses_keys_of_its_own(trained, monkeypatch):
    used = []
    inner = neural._judge_all
    monkeypatch.setattr(neural, "_judge_all", lambda *given: used.append(given[4]) or inner(*given))
    runs, saved = trained
    one, same, other = (evaluate_neural(ENV, BOTH, runs.selected, episodes=4, seed=seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one.ret, other.ret)
    judging = {tuple(key) for key in np.asarray(jax.random.key_data(used[0])).reshape(-1, 2)}
    assert len(judging) == 2  # one for each seed, which both methods have
    seeds = jax.vmap(lambda seed: jax.random.fold_in(jax.random.key(0), seed))(jnp.arange(1000))
    trained_with = {
        tuple(key) for key in np.asarray(jax.random.key_data(jax.vmap(jax.random.split)(seeds))).reshape(-1, 2)
    }
    for arrays in saved:
        for name, keys in arrays.items():
            if name.endswith(("validating", ".key")):
                trained_with |= {tuple(key) for key in keys.reshape(-1, 2)}
    assert not judging & trained_with
    assert EVALUATION >= 2**31 - 1  # the number of no seed


def test_many_episodes_are_played_in_blocks_and_the_nth_is_always_the_same(trained, monkeypatch):
    runs, _ = trained

    def play(episodes):
        return evaluate_neural(ENV, BOTH, runs.selected, episodes=episodes, seed=0)

    whole = play(4)
    blocks = []
    inner = neural._judge_all
    monkeypatch.setattr(neural, "_judge_all", lambda *given: blocks.append(given[4:]) or inner(*given))
    monkeypatch.setattr(neural, "BLOCK", 4)
    many, fewer = play(11), play(9)
    assert [episodes for _, episodes in blocks] == [4, 4, 4, 4, 4, 4]
    keys = np.concatenate([np.asarray(jax.random.key_data(keys)) for keys, _ in blocks[:3]])
    assert len(np.unique(keys, axis=0)) == 3 * 2  # one for each block and seed, which both methods have
    for one, other, first in zip(*map(jax.tree.leaves, (many, fewer, whole)), strict=True):
        assert one.shape[-1] == 11
        np.testing.assert_array_equal(one[..., :9], other)
        np.testing.assert_array_equal(one[..., :4], first)
    assert not np.array_equal(many.ret[..., 4:8], many.ret[..., :4])


def test_ctrl_c_is_heard_between_blocks(trained, monkeypatch):
    runs, _ = trained
    monkeypatch.setattr(neural, "BLOCK", 4)
    inner, played = neural._judge_all, []

    def judge(*given):
        if played:
            raise KeyboardInterrupt  # as the handler of the signal does once Python runs again
        played.append(given)
        return inner(*given)

    monkeypatch.setattr(neural, "_judge_all", judge)
    with pytest.raises(KeyboardInterrupt):
        evaluate_neural(ENV, BOTH, runs.selected, episodes=10**9, seed=0)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"methods": []}, "no method"),
        ({"parameters": np.zeros((1, 2, 3), np.float32)}, "shape"),
        ({"parameters": np.zeros(3, np.float32)}, "shape"),
        ({"episodes": 0}, "episodes is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_what_cannot_be_judged_is_refused(change, what):
    given = {"methods": [PLAIN], "parameters": always(TUTOR, 0), "episodes": 1, "seed": 0} | change
    with pytest.raises(InputError, match=what):
        evaluate_neural(TUTOR, **given)


def test_no_method_is_refused():
    with pytest.raises(InputError, match="no method"):
        train_neural(ENV, [], {}, PLAN)


def test_the_learner_is_at_hand():
    assert {"NeuralPlan", "train_neural", "evaluate_neural"} <= set(mccpo.__all__)
    assert all(hasattr(mccpo, name) for name in mccpo.__all__)
    assert mccpo.train_neural is train_neural


# Selection.

LIMITS = budgets_of(TUTOR, {"c2": 1.0, "c4": 10.0})


def score(ret, c2, c4, *, name="mc-cpo", limits=LIMITS, share=0.5, spread=0.0, caution=2.0):
    one = jnp.ones(4)
    costs = jnp.stack([c2 * one, 99.0 * one, c4 + spread * jnp.array([1.0, -1.0, 1.0, -1.0])])
    seen = Episodes(ret * one, costs, one, one, one > 0, 0 * one, 0 * one, one, one, one)
    return float(score_of(method_arrays(method_spec(name), TUTOR), limits, caution, seen, jnp.asarray(share)))


def test_a_policy_within_budget_is_preferred_whatever_the_return():
    assert score(0.0, 0.5, 5.0) > score(60.0, 1.01, 5.0)
    assert score(0.0, 0.5, 5.0) > score(60.0, 0.0, 10.01)


def test_among_policies_within_budget_the_return_decides():
    assert score(30.0, 0.9, 9.0) > score(29.0, 0.1, 1.0)


def test_chance_asks_for_a_margin_and_certainty_for_none():
    assert score(30.0, 0.5, 10.0) == 30.0
    assert score(30.0, 0.5, 9.9, spread=1.0) < 0 < score(30.0, 0.5, 9.9, spread=1.0, caution=0.0)
    margin = 2.0 * (1 / 4 + 1 / EVALUATION_EPISODES) ** 0.5  # two standard errors of four episodes that differ by 1
    assert score(30.0, 0.5, 10 - 1.01 * margin, spread=1.0) == 30.0
    assert score(30.0, 0.5, 10 - 0.99 * margin, spread=1.0) < 0


def test_more_unready_lessons_than_the_gate_promises_count_as_a_missed_budget():
    gated = make("tutor-15-bkt", confidence=0.95)
    unready = jnp.array([0.0, 10.0, 0.0, 10.0])  # of a hundred lessons: 5 %, which is what the gate allows
    one = jnp.ones(4)
    seen = Episodes(30.0 * one, jnp.zeros((3, 4)), one, one, one > 0, 0 * one, unready, 100 * one, one, one)

    def judged(env, caution, seen=seen):
        excess = unready_excess(env, caution, seen)
        method = method_arrays(method_spec("mc-cpo"), TUTOR)
        return float(score_of(method, LIMITS, caution, seen, jnp.asarray(0.5), unready=excess))

    assert judged(gated, 0.0) == 30.0
    error = 0.05 * (1 / 4 + 1 / EVALUATION_EPISODES) ** 0.5  # of a share that is 0 or 10 % of an episode
    np.testing.assert_allclose(unready_excess(gated, 2.0, seen), 2.0 * error / 0.05, rtol=1e-4)
    assert judged(gated, 2.0) < 0
    assert judged(gated, 2.0, seen._replace(untrue=0 * one)) == 30.0
    assert judged(make("tutor-15-bkt"), 2.0) == 30.0  # a threshold promises nothing
    assert make("tutor-15").unready_allowed is None


def test_finalists_are_the_best_that_were_seen():
    scores = np.random.default_rng(0).permutation(20.0 * np.arange(20)).astype(np.float32)
    finalists = Finalists(jnp.full(FINALISTS, -jnp.inf), jnp.zeros((FINALISTS, 2)))
    for number in scores:
        finalists = enter(finalists, jnp.asarray(number), jnp.array([number, -number]))
    np.testing.assert_array_equal(np.sort(finalists.score), np.sort(scores)[-FINALISTS:])
    np.testing.assert_array_equal(finalists.parameters[:, 0], finalists.score)
    np.testing.assert_array_equal(finalists.parameters[:, 1], -finalists.score)


def test_the_choice_is_a_finalist_that_meets_the_budgets():
    """Of three policies one overspends, one is safe and dull, one is safe and better: the last is chosen."""
    env = make("tutor-15", horizon=20)
    over, dull, best = always(env, 0, 2, 1)[0]
    worth = evaluate_neural(env, [PLAIN], np.stack([over, dull, best])[None], episodes=1, seed=0)
    J_c3 = worth.costs[0, :, 1, 0]
    assert J_c3[0] > J_c3[2] > J_c3[1]
    assert worth.ret[0, 0, 0] > worth.ret[0, 2, 0] > worth.ret[0, 1, 0]
    learner, sizes = PrimalDual(method_arrays(PLAIN, env)), Sizes(8, 16, 32, 1, final=64)
    state = jax.jit(lambda key: selection.start(env, sizes, learner, key))(jax.random.key(0))
    policies = jnp.stack([over, dull, best, dull, over, dull])
    state = state._replace(finalists=Finalists(jnp.arange(6.0), policies))
    limits = budgets_of(env, {"c3": float(J_c3[2]) + 1e-3})
    chosen = jax.jit(lambda state: selection.conclude(env, sizes, learner, limits, state))(state)
    np.testing.assert_array_equal(chosen, best)


def test_among_policies_over_budget_the_smallest_excess_decides():
    assert score(10.0, 1.2, 5.0) > score(60.0, 1.3, 5.0)
    assert score(10.0, 1.2, 11.0) > score(60.0, 0.5, 12.5)  # relative to each budget
    assert score(10.0, 1.2, 11.9) == score(60.0, 1.2, 5.0)  # the worst counts


def test_without_budgets_the_newest_policy_is_selected():
    for name in ("unconstrained", "reward-shaped", "post-hoc"):
        assert score(0.0, 9.0, 99.0, name=name, share=0.6) > score(60.0, 0.0, 0.0, name=name, share=0.5)


def test_a_budget_of_zero_can_be_met():
    limits = budgets_of(TUTOR, {"c2": 0.0})
    assert score(30.0, 0.0, 9.0, limits=limits) > score(20.0, 0.0, 9.0, limits=limits) > 0
    assert score(30.0, 0.01, 9.0, limits=limits) < 0


def test_the_selected_policy_is_the_last_where_there_are_no_budgets(trained):
    runs, _ = trained
    np.testing.assert_array_equal(runs.selected[1], runs.last[1])


# Learning.


def test_a_short_run_improves_on_the_first_policy():
    plan = NeuralPlan(steps=60_000, seeds=1)
    runs = train_neural(TUTOR, [method_spec("unconstrained")], {}, plan)
    first = network_of(TUTOR).init(jax.random.key(0))[None, None]
    before, after = (
        evaluate_neural(TUTOR, [method_spec("unconstrained")], np.asarray(policy), episodes=100, seed=0).ret.mean()
        for policy in (first, runs.selected)
    )
    assert after > before + 5


@pytest.mark.parametrize("name", ["steps", "seeds", "validation"])
def test_a_plan_of_nothing_is_refused(name):
    with pytest.raises(InputError, match=f"{name} is 0; give"):
        NeuralPlan(**{name: 0})
