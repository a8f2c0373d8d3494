"""The network in NumPy: the chances that jax gives, and none where there are none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.env import Activity, make
from mccpo.experiments.saved_policies import read_policies
from mccpo.methods import execute, method_arrays, method_spec
from mccpo.policy import FILTERS, masked_softmax
from mccpo.serve.policy import load_release
from mccpo.serve.policy.network import executed

from ..conftest import network_for  # noqa: TID252 - the network that the runs were made with

ENVIRONMENTS = {
    "fractions": make("fractions"),
    "more than a matrix is made for": make("tutor-15", concepts=120, curriculum_seed=1),
    "tutor-15-bkt": make("tutor-15-bkt"),
    "activities": make("tutor-15", concepts=4, activities=("hint", Activity("quiz", 0.7, 0.5, -0.1))),
    "prepared": make("prepared", concepts=6, K0=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
}


def in_jax(env, method):
    """What the trained policy does, as training has it: the chances by its parameters, features and mask."""
    spec = method_spec(method)
    network, numbers, hack = network_for(env, spec), method_arrays(spec, env), jnp.asarray(env.hack)

    @jax.jit  # one program, where the same operation by operation would be dozens to compile
    def chances(parameters, features, mask):
        logits, _ = network.apply(parameters, features[:, None])
        probs = masked_softmax(logits[:, 0], mask | ~numbers.masked).probs
        return execute(numbers, probs, mask, hack)

    return lambda parameters, features, mask: np.asarray(chances(parameters, features.astype(np.float32), mask))


def assert_same_chances(folder, method):
    kept = next(each for each in read_policies(folder) if each.method.name == method)
    draw, trained = np.random.default_rng(1), in_jax(kept.env, method)
    for seed in (0, 1):
        release = load_release(folder, method=method, seed=seed)
        for _ in range(20):
            features = draw.random(kept.env.num_features)
            mask = draw.random(kept.env.num_actions) < 0.5
            mask[0] = True
            found = executed(release.network.logits(features), mask, masked=release.masked, rule=release.rule)
            expected = trained(kept.parameters[seed], features, mask)
            np.testing.assert_allclose(found, expected, atol=1e-6, rtol=0)
            assert method == "unconstrained" or not found[:-1][~mask].any()


@pytest.mark.parametrize("method", ["mc-cpo", "unconstrained"])
def test_logits_match_training_with_and_without_shared_weights(trained_run, method):
    """What values were estimated by is left out, and what is left says the same."""
    kept = next(each for each in read_policies(trained_run) if each.method.name == method)
    network = network_for(kept.env, kept.method)
    assert (network.kind == "graph") is kept.method.shared is (method == "mc-cpo")
    features = np.random.default_rng(2).random((kept.env.num_features, 30)).astype(np.float32)
    for seed in (0, 1):
        served = load_release(trained_run, method=method, seed=seed).network
        assert served.network.signals == 1 < network.signals
        expected, _ = network.apply(kept.parameters[seed].astype(np.float64), features.astype(np.float64))
        trained, _ = network.apply(jnp.asarray(kept.parameters[seed]), jnp.asarray(features))
        found = np.stack([served.logits(column) for column in features.T.astype(np.float64)], axis=1)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found, trained, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", ["mc-cpo", "unconstrained"])
def test_chances_match_the_trained_policy(trained_run, method):
    assert_same_chances(trained_run, method)


@pytest.mark.parametrize("env", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_chances_are_right_for_every_kind_of_tutor(run_of, env):
    folder = run_of(env, "mc-cpo", "post-hoc", "post-hoc-block")
    for method in ("mc-cpo", "post-hoc", "post-hoc-block"):
        assert_same_chances(folder, method)


numbers = st.floats() | st.sampled_from([0.0, np.inf, -np.inf, np.nan, 1e308, -1e308])


def cases(sizes):
    return sizes.flatmap(
        lambda size: st.tuples(
            st.lists(numbers, min_size=size, max_size=size).map(np.array),
            st.lists(st.booleans(), min_size=size, max_size=size).map(np.array),
        )
    )


@given(cases(st.just(5)), st.sampled_from(list(FILTERS)), st.booleans())
def test_filters_match_training(case, rule, masked):
    logits, ready = case
    env = ENVIRONMENTS["prepared"]
    found = executed(logits, ready, masked=masked, rule=rule)
    trained = masked_softmax(logits, ready if masked else np.ones_like(ready))
    assert (found is None) == bool(trained.degenerate)
    if found is not None:
        spec = method_arrays(method_spec("post-hoc"), env)
        numbers = type(spec)(**vars(spec) | {"filter": jnp.asarray(list(FILTERS).index(rule))})
        probs = jnp.asarray(trained.probs)
        expected = execute(numbers, probs, jnp.asarray(ready), jnp.zeros(len(ready), bool))
        np.testing.assert_allclose(found, expected, atol=1e-6, rtol=0)
