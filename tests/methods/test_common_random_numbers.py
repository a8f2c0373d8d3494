"""Policies are judged with common random numbers: those of one seed meet the same learners, whatever plays them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import at_kappa, make
from mccpo.methods import evaluate_neural, method_arrays, method_spec, play_rule, policy_set
from mccpo.methods.episodes import NetworkPolicy, perform
from mccpo.methods.gradient import training
from mccpo.methods.gradient.rollout import network_of
from mccpo.methods.gradient.training import evaluation_keys
from mccpo.methods.policy_set import RulePolicies
from mccpo.methods.rules import RandomReady

ENV = make("tutor-15", K0=0.62, horizon=12)
PLAIN, NO_FRONTIER = (replace(method_spec(name), shared=False) for name in ("mc-cpo", "mc-cpo-no-frontier"))
NETWORK = network_of(ENV)
SEEDS, EPISODES = 3, 6


def of_seeds(count):
    """Parameters that differ between seeds."""
    return np.stack([np.asarray(NETWORK.init(jax.random.key(seed))) for seed in range(count)])


def network_policy(parameters):
    return NetworkPolicy(method_arrays(PLAIN, ENV), jnp.asarray(parameters), NETWORK)


def judged(parameters, episodes=EPISODES, methods=(PLAIN,), seed=5):
    return evaluate_neural(ENV, list(methods), np.asarray(parameters), episodes=episodes, seed=seed)


def played(rule, copy, episodes=EPISODES, seed=5):
    return play_rule(ENV, rule, seed, copy, episodes).episodes


def assert_same(ours, theirs):
    """The same episodes, summed up by another program."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_methods_with_the_same_parameters_have_the_same_episodes():
    parameters = of_seeds(SEEDS)
    found = judged(np.stack([parameters, parameters]), methods=(PLAIN, NO_FRONTIER))
    for leaf in jax.tree.leaves(found):
        np.testing.assert_array_equal(leaf[0], leaf[1])
    assert len(np.unique(found.ret[0].round(4))) > SEEDS * EPISODES / 2  # they are not all alike


def test_policies_judged_apart_have_it_too():
    """Another method beside it, and more seeds after it, change nothing."""
    parameters = of_seeds(SEEDS)
    alone = judged(parameters[None, :2])
    beside = judged(np.stack([parameters[::-1], parameters]), methods=(NO_FRONTIER, PLAIN))
    for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(beside), strict=True):
        np.testing.assert_allclose(one[0], other[1, :2], rtol=1e-6)


def test_seeds_with_the_same_parameters_have_episodes_of_their_own():
    ret = judged(np.repeat(of_seeds(1), SEEDS, axis=0)[None]).ret[0]
    assert all(not np.isclose(ret[one], ret[other]).all() for one in range(SEEDS) for other in range(one))


@pytest.mark.parametrize("copy", range(SEEDS))
def test_a_rule_meets_the_learners_of_the_seed(copy):
    """A network that knows nothing chooses among what is ready as the rule does that picks at random."""
    networks = judged(np.zeros((1, SEEDS, NETWORK.size), np.float32))
    assert_same(played(RandomReady(), copy), jax.tree.map(lambda leaf: leaf[0, copy], networks))


def test_a_network_is_judged_alike_as_a_rule_and_among_many():
    parameters = of_seeds(SEEDS)
    networks = judged(parameters[None])
    for copy in range(SEEDS):
        found = played(network_policy(parameters[copy]), copy)
        assert_same(found, jax.tree.map(lambda leaf, copy=copy: leaf[0, copy], networks))


def test_blocks_of_rules_and_networks_are_the_same(monkeypatch):
    for module in (training, policy_set):
        monkeypatch.setattr(module, "BLOCK", 4)
    parameters = of_seeds(2)
    networks = judged(parameters[None], episodes=10)
    found = played(network_policy(parameters[1]), 1, episodes=10)
    assert found.ret.shape == (10,)
    assert found.costs.shape == (len(ENV.cost_names), 10)
    assert_same(found, jax.tree.map(lambda leaf: leaf[0, 1], networks))
    assert not np.isclose(found.ret[:4], found.ret[4:8]).all()


@pytest.mark.parametrize("few", [3, 4, 9])
def test_the_first_of_many_episodes_of_a_rule_match_few(monkeypatch, few):
    monkeypatch.setattr(policy_set, "BLOCK", 4)
    many, fewer = (played(RandomReady(), 1, episodes=episodes) for episodes in (11, few))
    for one, other in zip(jax.tree.leaves(many), jax.tree.leaves(fewer), strict=True):
        assert (one.shape[-1], other.shape[-1]) == (11, few)
        np.testing.assert_allclose(one[..., :few], other, rtol=1e-6)


def test_more_episodes_than_a_block_has():
    found = played(RandomReady(), 0, episodes=1003)
    assert found.ret.shape == (1003,)
    first = played(RandomReady(), 0, episodes=1000)
    np.testing.assert_allclose(found.ret[:1000], first.ret, rtol=1e-6)
    assert not np.isclose(found.ret[1000:], found.ret[:3]).any()


def test_copies_of_a_rule_are_its_seeds():
    found = RulePolicies(RandomReady(), SEEDS).play(ENV, episodes=EPISODES, seed=5)
    assert found.ret.shape == (SEEDS, EPISODES)
    for copy in range(SEEDS):
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(played(RandomReady(), copy)), strict=True):
            np.testing.assert_array_equal(one[copy], other)
    fewer = RulePolicies(RandomReady(), 2).play(ENV, episodes=EPISODES, seed=5)
    np.testing.assert_array_equal(found.ret[:2], fewer.ret)
    assert not np.array_equal(found.ret, RulePolicies(RandomReady(), SEEDS).play(ENV, episodes=EPISODES, seed=6).ret)


def test_a_block_that_fails_fails_the_rule(monkeypatch):
    """What is found in one block counts for all of them."""
    monkeypatch.setattr(policy_set, "BLOCK", 4)
    inner, blocks = policy_set._play_block, []

    def spoilt(*given):
        blocks.append(given)
        play = inner(*given)
        return play._replace(finite=len(blocks) != 2, proper=len(blocks) != 3)

    monkeypatch.setattr(policy_set, "_play_block", spoilt)
    found = play_rule(ENV, RandomReady(), 5, 0, 12)
    assert (bool(found.finite), bool(found.proper)) == (False, False)
    keys = np.stack([np.asarray(jax.random.key_data(given[2])) for given in blocks])
    assert len(np.unique(keys, axis=0)) == 3


def test_a_key_does_not_depend_on_how_many_there_are():
    few, many = (np.asarray(jax.random.key_data(evaluation_keys(5, count, 1))) for count in (2, 30))
    np.testing.assert_array_equal(few, many[:2])
    other = np.asarray(jax.random.key_data(evaluation_keys(5, 30, 0)))
    assert len(np.unique(np.concatenate([many, other]), axis=0)) == 60


def first_states(env, actor):
    """What is seen of the first four learners of a seed before anybody has taught them."""
    seen = perform(env, actor, evaluation_keys(5, 2)[1], 4, lambda moment: moment.obs.features)
    return np.asarray(seen[0])


def test_first_states_depend_on_the_seed_alone():
    """Where every learner comes with a curriculum of its own, tutors that differ are given the same ones."""
    env = make("random-curricula")
    network = network_of(env)
    one = first_states(env, RandomReady())
    other = first_states(env, NetworkPolicy(method_arrays(PLAIN, env), network.init(jax.random.key(0)), network))
    np.testing.assert_array_equal(one, other)
    assert len(np.unique(one, axis=1).T) == 4


@pytest.mark.parametrize("name", ["random-curricula", "tutor-15-goal"])
def test_first_states_are_the_same_for_a_policy_that_is_told_kappa(name):
    env = make(name)
    plain, told = (first_states(world, RandomReady()) for world in (env, at_kappa(env, 0.7)))
    np.testing.assert_array_equal(plain, told[:-1])
