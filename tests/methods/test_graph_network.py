"""The network on the curriculum's graph: who hears of whom, concepts treated alike, and both ways of passing on."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Conditioned, make
from mccpo.methods.gradient.graph_network import GraphNetwork, graph_network_of, shared_network_of
from mccpo.methods.gradient.network import Network
from mccpo.policy import GraphPolicyNetwork

CHAIN = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5))


def network(concepts=6, edges=CHAIN, **other):
    """Two features a concept, and one of the whole learner; one action a concept, and one of none."""
    return GraphNetwork(
        2 * concepts + 1,
        concepts + 1,
        3,
        concepts=concepts,
        edges=edges,
        blocks=((0, 1), (concepts, 1)),
        fixed=((0.5,),) * concepts,
        **other,
    )


@functools.partial(jax.jit, static_argnames="net")
def applied(net, parameters, features):
    return net.apply(parameters, features)


def weights(net, seed=0):
    """Weights of a trained kind: none of them zero or small."""
    return 0.5 * jax.random.normal(jax.random.key(seed), (net.size,))


def scores_before_pooling(net, parameters, features):
    """The logits with what is pooled of all concepts taken out, so that only what edges carry is left."""
    shapes = net.shapes
    parts = [np.array(part) for part in net.unpack(parameters)]
    parts[-5][:, shapes[0][0] :] = 0.0
    return applied(net, np.concatenate([part.ravel() for part in parts]), features)[0][: net.concepts]


@pytest.mark.parametrize("name", ["gate", "chain", "tutor-15", "tutor-15-activities", "tutor-15-goal"])
def test_it_fits_the_environment_and_starts_near_uniform(name):
    env = make(name)
    net = graph_network_of(env)
    assert isinstance(net, GraphNetwork)
    assert hash(net) == hash(graph_network_of(make(name)))
    parameters = jax.jit(lambda key: net.init(key))(jax.random.key(0))
    assert parameters.shape == (net.size,)
    _, obs = jax.jit(jax.vmap(lambda key: env.reset(key), out_axes=-1))(jax.random.split(jax.random.key(1), 3))
    logits, values = applied(net, parameters, obs.features)
    assert logits.shape == (env.num_actions, 3)
    assert np.abs(logits).max() < 0.2
    np.testing.assert_array_equal(values, np.zeros((1 + len(env.cost_names), 3)))


def test_each_feature_of_a_tutor_goes_to_its_concept():
    """A change of what is seen of one concept alone changes what its neighbours within two steps say, and no others."""
    env = make("tutor-15-goal", activities=("hint", "practice"))
    net = graph_network_of(env)
    parameters = weights(net)
    _, obs = jax.jit(lambda key: env.reset(key))(jax.random.key(0))
    features = np.asarray(obs.features)
    graph = np.eye(15, dtype=bool) | env.curriculum.prerequisites.dense | env.curriculum.prerequisites.dense.T
    reached = (graph @ graph)[:, 4]
    assert not reached.all()
    # K, novelty, the last action of two, ready and target of concept 4, by the order in which a tutor shows them.
    for place in (4, 15 + 4, 30 + 8, 30 + 9, 60 + 4, 75 + 4):
        changed = features + 0.5 * (np.arange(len(features)) == place).astype(np.float32)
        before, after = (_by_concept(net, parameters, one[:, None], 15, 2) for one in (features, changed))
        np.testing.assert_array_equal(np.abs(after - before).max(axis=1) > 1e-7, reached)


def _by_concept(net, parameters, features, concepts, activities):
    parts = [np.array(part) for part in net.unpack(parameters)]
    parts[-5][:, net.shapes[0][0] :] = 0.0
    logits, _ = applied(net, np.concatenate([part.ravel() for part in parts]), features)
    return np.asarray(logits).reshape(concepts, activities)


def test_messages_reach_two_steps_along_edges_both_ways():
    net = network()
    parameters, features = weights(net), jnp.full((13, 1), 0.3)
    moved = features.at[2].add(0.5)
    change = np.abs(scores_before_pooling(net, parameters, moved) - scores_before_pooling(net, parameters, features))
    np.testing.assert_array_equal(change[:, 0] > 1e-7, [True, True, True, True, True, False])


def test_the_direction_of_an_edge_matters():
    features = jax.random.uniform(jax.random.key(3), (13, 4))
    one, other = network(), network(edges=tuple((to, of) for of, to in CHAIN))
    assert not np.allclose(applied(one, weights(one), features)[0], applied(other, weights(other), features)[0])


def test_renaming_the_concepts_renames_the_actions_and_nothing_else():
    net, order = network(), np.array([3, 0, 5, 1, 4, 2])
    place = np.argsort(order)
    renamed = network(edges=tuple((int(place[of]), int(place[to])) for of, to in CHAIN))
    features = np.asarray(jax.random.uniform(jax.random.key(3), (13, 4)))
    moved = np.concatenate([features[:6][order], features[6:12][order], features[12:]])
    logits, values = map(np.asarray, applied(net, weights(net), features))
    other_logits, other_values = applied(renamed, weights(net), moved)
    np.testing.assert_allclose(other_logits[:6], logits[:6][order], atol=1e-5)
    np.testing.assert_allclose(other_logits[6], logits[6], atol=1e-5)
    np.testing.assert_allclose(other_values, values, atol=1e-5)


@pytest.mark.parametrize("shape", [{}, {"rounds": 0, "sees_neighbours": True, "heard": 4}], ids=["rounds", "heard"])
def test_gradients_are_those_that_jax_finds_by_itself(shape):
    """Of a graph with a concept of 70 neighbours, which takes more than one table to list."""
    edges = (*((of, 79) for of in range(70)), *((0, to) for to in range(70, 79)), (3, 4))
    net = network(80, edges, **shape)
    plain = GraphPolicyNetwork(**{field.name: getattr(net, field.name) for field in dataclasses.fields(net)})
    features = jax.random.uniform(jax.random.key(3), (161, 4))

    def gradient(which):
        return jax.jit(jax.grad(lambda parameters: sum((part**2).sum() for part in which.apply(parameters, features))))

    np.testing.assert_allclose(gradient(net)(weights(net)), gradient(plain)(weights(net)), rtol=2e-4, atol=1e-3)


def test_learners_with_own_graphs_get_no_edges():
    assert graph_network_of(make("random-curricula", graphs=2)).edges == ()
    wrapped = graph_network_of(Conditioned(make("tutor-15"), (0.4, 1.0), relative=True))
    assert type(wrapped) is Network


# Weights that concepts share.


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("tutor-15", {}),
        ("tutor-15-bkt", {}),
        ("tutor-15-activities", {}),
        ("chain", {"concepts": 4}),
        ("prepared", {}),
        ("fractions", {"horizon": 20}),
    ],
)
def test_shared_weights_fit_an_environment_and_start_near_uniform(name, more):
    env = make(name, **more)
    net = shared_network_of(env)
    assert isinstance(net, GraphNetwork)
    assert net.sees_neighbours
    assert hash(net) == hash(shared_network_of(make(name, **more)))
    parameters = jax.jit(lambda key: net.init(key))(jax.random.key(0))
    _, obs = jax.jit(jax.vmap(lambda key: env.reset(key), out_axes=-1))(jax.random.split(jax.random.key(1), 3))
    logits, values = applied(net, parameters, obs.features)
    assert logits.shape == (env.num_actions, 3)
    assert np.abs(logits).max() < 0.2
    np.testing.assert_array_equal(values, np.zeros((1 + len(env.cost_names), 3)))


@pytest.mark.parametrize("name", ["tutor-15", "tutor-15-bkt", "chain", "tutor-15-activities"])
def test_shared_weights_are_as_many_whatever_the_number_of_concepts(name):
    sizes = [{"concepts": concepts} for concepts in (3, 6, 7)]
    shapes = {shared_network_of(make(name, **({"curriculum_seed": 1} if "tutor" in name else {}), **more)).shapes
              for more in sizes}  # fmt: skip
    assert len(shapes) == 1


def test_shared_weights_of_one_curriculum_play_another():
    small, large = (make("tutor-15", curriculum_seed=2, concepts=concepts) for concepts in (5, 130))
    parameters = weights(shared_network_of(small))
    for env in (small, large):
        _, obs = jax.jit(lambda key, env=env: env.reset(key))(jax.random.key(0))
        logits, _ = shared_network_of(env).apply(np.asarray(parameters), np.asarray(obs.features)[:, None])
        assert logits.shape == (env.num_actions, 1)
        assert np.isfinite(logits).all()


def test_a_concept_hears_of_its_neighbours_alone():
    """Where what is pooled of all concepts is taken out, a change of one concept shows one step along edges."""
    env = make("tutor-15")
    net = shared_network_of(env)
    parameters = weights(net)
    _, obs = jax.jit(lambda key: env.reset(key))(jax.random.key(0))
    features = np.asarray(obs.features)
    near = np.eye(15, dtype=bool) | env.curriculum.prerequisites.dense | env.curriculum.prerequisites.dense.T
    assert not near[:, 4].all()
    moved = features.copy()
    moved[4] += 0.5  # its mastery, with which the features begin
    change = np.abs(
        _by_concept(net, parameters, moved[:, None], 15, 1) - _by_concept(net, parameters, features[:, None], 15, 1)
    )[:, 0]
    np.testing.assert_array_equal(change > 1e-7, near[:, 4])


def test_what_the_tutor_believes_of_each_concept_is_seen_with_it():
    """Rates of learning tell concepts apart that are else alike; a learner of another rate is seen otherwise."""
    slow, fast = make("tutor-15"), make("tutor-15", eta=0.3)
    one, other = shared_network_of(slow), shared_network_of(fast)
    assert (one.shapes, one.fixed != other.fixed) == (other.shapes, True)
    eta, K0, guess, slip = (np.array([row[at] for row in one.fixed]) for at in (2, 3, 4, 5))
    np.testing.assert_allclose([eta, K0], [[slow.eta] * 15, [slow.K0] * 15], rtol=1e-6)
    np.testing.assert_allclose([guess, slip], [[slow.guess] * 15, [slow.slip] * 15], rtol=1e-6)


def test_without_a_graph_shared_weights_are_a_plain_network():
    assert type(shared_network_of(Conditioned(make("tutor-15"), (0.4, 1.0), relative=True))) is Network
    assert shared_network_of(make("random-curricula", graphs=2)).edges == ()
