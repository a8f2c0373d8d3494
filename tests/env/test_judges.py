"""Learners who judge: their chances against the models that they are made of, and what is refused."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import (
    PracticeWeights,
    PreparedBestLR,
    PreparedRecurrent,
    RecurrentWeights,
    cut,
    describe_environment,
    rebuild_environment,
)
from mccpo.env.tutor import Lesson
from mccpo.errors import InputError
from mccpo.files import dump_json
from mccpo.mastery import BestLR, Weights, gated

CONCEPTS = ("a", "b", "c")
CURRICULUM = Curriculum([("a", "b")], CONCEPTS, {"a": 0.2, "b": 0.5, "c": 0.8})
DRAW = np.random.default_rng(0)
ANSWERS = [(0, True), (2, False), (0, True), (0, False), (2, True), (0, True)]


def best_lr_model():
    """Best-LR with chance weights, but for all answers in total, which it leaves aside."""
    shared = DRAW.normal(size=len(BestLR.SHARED)) * 0.3
    shared[BestLR.ITEM.stop : BestLR.CONCEPT] = 0.0
    own = np.concatenate([DRAW.normal(size=(3, 3)) * 0.5, np.zeros((1, 3))])
    return BestLR(Weights(shared, own, np.zeros(1), CONCEPTS, ()))


def best_lr(model, ability=(0.0,), items=((0.0,),) * 3):
    shared, own = model.weights.shared, model.weights.own[:3]
    practice = shared[BestLR.CONCEPT : BestLR.CONCEPT + 6]
    weights = PracticeWeights(shared[0] + own[:, 0], own[:, 1], own[:, 2], practice, np.array(ability), np.array(items))
    return PreparedBestLR(curriculum=CURRICULUM, weights=weights, horizon=9)


def recurrent(units=4):
    shapes = (2, 3, 3 * units), (3 * units, units), (units,), (3, units), (3,)
    weights = RecurrentWeights(*(DRAW.normal(size=shape) for shape in shapes))
    return PreparedRecurrent(curriculum=CURRICULUM, weights=weights, horizon=9)


def lesson(concept):
    taught = jnp.arange(3) == concept
    return Lesson(jnp.asarray(concept), taught, jnp.asarray(0.2), jnp.asarray(True), jnp.asarray(0.1), jnp.asarray(1.0))


def after(env, answers, weight=1.0):
    latent = env.latent(jax.random.key(0))
    for concept, right in answers:
        latent = env.practised(latent, lesson(concept), jnp.asarray(right), jnp.asarray(weight))
    return latent


def test_a_learner_of_best_lr_answers_as_its_model_says():
    model = best_lr_model()
    env, history = best_lr(model), model.init()
    for concept, right in ANSWERS:
        model.update(history, None, [CONCEPTS[concept]], right)
    expected = [model.predict(history, None, [name]).mastery for name in CONCEPTS]
    latent = after(env, ANSWERS)
    np.testing.assert_allclose(env.chances(latent), expected, atol=1e-5)
    np.testing.assert_allclose(env.chance(latent, 2), expected[2], atol=1e-5)


def test_able_learners_answer_right_more_often_and_stay_who_they_are():
    env = best_lr(best_lr_model(), ability=(-1.0, 1.0))
    starts = [env.latent(jax.random.key(seed)) for seed in range(12)]
    assert {float(one.ability) for one in starts} == {-1.0, 1.0}
    low, high = (next(one for one in starts if one.ability == level) for level in (-1.0, 1.0))
    assert (env.chances(high) > env.chances(low)).all()
    taught = env.practised(low, lesson(0), jnp.asarray(False), jnp.asarray(1.0))
    assert taught.ability == low.ability
    np.testing.assert_array_equal(env.chances(taught)[1:], env.chances(low)[1:])  # others are as they were


def test_items_are_met_as_often_as_their_levels_say():
    env = best_lr(best_lr_model(), items=((-3.0, 3.0),) * 3)
    latent = env.latent(jax.random.key(0))
    met = {round(float(env.chance_now(jax.random.key(seed), latent, jnp.asarray(1))), 4) for seed in range(12)}
    assert len(met) == 2
    assert float(env.chance(latent, jnp.asarray(1))) == pytest.approx(np.mean(list(met)), abs=1e-4)


def test_a_recurrent_learner_reads_its_answers_one_by_one():
    env = recurrent()
    weights, units = env.weights, np.zeros(4)
    for concept, right in ANSWERS:
        units = gated(weights.answer[int(right), concept], weights.recurrent, weights.candidate, units)
    expected = 1 / (1 + np.exp(-(weights.out @ units + weights.bias)))
    np.testing.assert_allclose(env.chances(after(env, ANSWERS)), expected, atol=1e-5)


@pytest.mark.parametrize("env", [best_lr(best_lr_model()), recurrent()], ids=["best-lr", "recurrent"])
class TestBoth:
    def test_a_lesson_that_hardly_reaches_a_learner_moves_it_little(self, env):
        start = env.chances(env.latent(jax.random.key(0)))
        whole, tenth = (np.abs(env.chances(after(env, [(0, True)], weight)) - start).max() for weight in (1.0, 0.1))
        assert 0 < tenth < 0.5 * whole

    def test_it_comes_back_from_json_and_can_be_cut(self, env):
        described = dump_json(describe_environment(env))
        again = rebuild_environment(env.name, json.loads(described))
        assert type(again) is type(env)
        assert dump_json(describe_environment(again)) == described
        smaller = cut(env, 2)
        assert smaller.curriculum.concepts == ("a", "b")
        latent = smaller.latent(jax.random.key(0))
        np.testing.assert_allclose(smaller.chances(latent), env.chances(env.latent(jax.random.key(0)))[:2], atol=1e-6)

    def test_weights_that_do_not_fit_are_refused(self, env):
        with pytest.raises(InputError, match="the weights have ease"):
            type(env)(curriculum=CURRICULUM, weights={"ease": [1.0]})
        name = "bias" if isinstance(env, PreparedRecurrent) else "ease"
        with pytest.raises(InputError, match="of the weights has the shape"):
            type(env)(curriculum=CURRICULUM, weights=env.weights._replace(**{name: np.ones((3, 2))}))
        with pytest.raises(InputError, match="the weights are of 3 concepts"):
            type(env)(concepts=2, weights=env.weights)
        with pytest.raises(InputError, match="is not a finite number"):
            type(env)(curriculum=CURRICULUM, weights=type(env.weights)(*(values * np.nan for values in env.weights)))
