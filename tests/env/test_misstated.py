"""A tutor whose graph is wrong: the gate goes by what is stated, learners by the truth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import MisstatedTutor
from mccpo.errors import InputError

STATED = Curriculum.from_edges([("b", "a"), ("b", "c")], concepts=["a", "b", "c"])
TRUTH = Curriculum.from_edges([("a", "b"), ("a", "c"), ("b", "c")], concepts=["a", "b", "c"])
ENV = MisstatedTutor(curriculum=STATED, truth=TRUTH, eta=0.5, unready_gain=0.1, horizon=5)


@pytest.mark.parametrize("mastered", [(), ("a",), ("b",), ("a", "b"), ("a", "b", "c")])
def test_readiness_in_truth_is_by_the_true_graph_whatever_the_order_of_concepts(mastered) -> None:
    """The oracle is the true graph's own gate, in its own order."""
    state, _ = ENV.reset(jax.random.key(0))
    known = jnp.array([name in mastered for name in STATED.concepts])
    state = state._replace(latent=state.latent._replace(mastered=known))
    ready = np.asarray(ENV.truly_ready(state))
    K = np.array([float(name in mastered) for name in TRUTH.concepts])
    expected = dict(zip(TRUTH.concepts, TRUTH.ready(K, 0.5), strict=True))
    assert dict(zip(STATED.concepts, ready, strict=True)) == expected
    for at, name in enumerate(STATED.concepts):
        assert bool(ENV.truly_held(known, jnp.int32(at))) == expected[name]


def test_the_gate_and_the_pace_of_learning_go_by_different_graphs() -> None:
    state, obs = ENV.reset(jax.random.key(1))
    nothing = jnp.zeros(3, bool)
    state = state._replace(latent=state.latent._replace(mastered=nothing))
    open_by_gate = dict(zip(STATED.concepts, np.asarray(obs.action_mask), strict=True))
    assert open_by_gate == {"b": True, "a": False, "c": False}
    chances = {
        name: float(ENV.step(jax.random.key(2), state, jnp.int32(at)).gain) for at, name in enumerate(STATED.concepts)
    }
    assert chances == pytest.approx({"a": 0.5, "b": 0.05, "c": 0.05})  # only 'a' is ready in truth


def test_a_truth_of_other_concepts_is_refused() -> None:
    with pytest.raises(InputError, match="other concepts"):
        MisstatedTutor(curriculum=STATED, truth=Curriculum.from_edges([("x", "y")]))
