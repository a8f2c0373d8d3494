"""A tutor as a table: its exact values are those of its episodes, and a learnt policy's rows are its own."""

import equinox as eqx
import jax
import numpy as np
import pytest

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.exact import enumerate_model, evaluate
from mccpo.methods import method_arrays, method_spec
from mccpo.methods.episodes import NetworkPolicy, evaluate_policy
from mccpo.methods.gradient.rollout import network_of
from mccpo.methods.rules import ZPDES, GreedyGain, MasteryLearning, RandomReady, remembers, tabulate
from mccpo.policy import masked_softmax

EPISODES = 4000


@pytest.mark.parametrize("tutor", [RandomReady(), MasteryLearning()], ids=lambda tutor: tutor.name)
def test_the_exact_values_match_episodes(tutor):
    env = make("chain")
    model = enumerate_model(env)
    exact = evaluate(model, tabulate(env, tutor)[model.index])
    seen = eqx.filter_jit(evaluate_policy)(env, tutor, jax.random.key(3), EPISODES)

    def close(sample, value):
        error = np.std(sample) / np.sqrt(EPISODES)
        assert abs(np.mean(sample) - value) <= 4 * error + 1e-5

    close(seen.ret, exact.ret)
    close(seen.gain, exact.gain)
    for name, cost in zip(env.cost_names, seen.costs, strict=True):
        close(cost, exact.costs[name])
    assert exact.prerequisite_violation_rate == 0


def test_a_learnt_policys_rows_are_what_its_network_says_in_each_state():
    env = make("chain", concepts=3, horizon=2)
    network = network_of(env)
    parameters = 3 * network.init(jax.random.key(1))
    table = tabulate(env, NetworkPolicy(method_arrays(method_spec("mc-cpo"), env), parameters, network))
    assert table.shape == (env.num_states, env.num_actions + 1)
    obs = jax.vmap(lambda number: env.observe(env.state(number)))(np.arange(env.num_states))
    logits, _ = network.apply(parameters, obs.features.T)
    np.testing.assert_allclose(table[:, :-1], masked_softmax(logits.T, obs.action_mask).probs, atol=1e-6)
    assert (table[:, -1] == 0).all()


def test_what_has_no_table_is_refused():
    assert remembers(make("chain"), ZPDES())
    assert not remembers(make("chain"), GreedyGain())
    with pytest.raises(InputError, match="zpdes remembers"):
        tabulate(make("chain"), ZPDES())
    with pytest.raises(InputError, match="tutor-15 is not finite"):
        tabulate(make("tutor-15"), GreedyGain())
