"""What a policy sees of a learner whose mastery is an estimate, and what only critics see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum, trusted
from mccpo.env import Estimated, Privileged, describe_environment, make, rebuild_environment, with_floors, with_gate_of
from mccpo.errors import DoesNotApply, InputError
from mccpo.methods import METHODS, check_rule

DIAMOND = Curriculum.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
SMALL = {"curriculum": DIAMOND, "horizon": 6}


def state_of(env, **changes):
    return env.start(jax.random.key(0))._replace(**changes)


def seen(env, state):
    return {name: np.asarray(env.view(env.observe(state).features, name)) for name in env.observation_fields}


def test_answers_show_the_lesson_its_answer_and_the_time():
    env = make("tutor-15-answers", **SMALL)
    assert {name: field.shape for name, field in env.observation_fields.items()} == {
        "novelty": (4,),
        "last_action": (4,),
        "last_right": (4,),
        "time": (),
    }
    first = seen(env, state_of(env))
    assert (first["last_action"].sum(), first["last_right"].sum(), first["time"]) == (0, 0, 0)
    novelty = jnp.array([1.0, 0.5, 1.0, 1.0])
    for right in (True, False):
        taught = state_of(env, last=jnp.array(1), correct=jnp.array(right), t=jnp.array(3), novelty=novelty)
        found = seen(env, taught)
        assert found["last_action"].tolist() == [0, 1, 0, 0]
        assert found["last_right"].tolist() == [0, int(right), 0, 0]
        assert found["novelty"].tolist() == novelty.tolist()
        assert found["time"] == 0.5


def test_nothing_that_the_tutor_estimates_is_among_the_answers():
    """Whatever K is, and the learner in truth, the features stay the same; the gate goes by K."""
    env = make("tutor-15-answers", **SMALL)
    low = state_of(env, K=jnp.full(4, 0.1))
    high = low._replace(K=jnp.full(4, 0.99), latent=low.latent._replace(mastered=~low.latent.mastered))
    one, other = env.observe(low), env.observe(high)
    np.testing.assert_array_equal(one.features, other.features)
    assert one.action_mask.tolist() == [True, False, False, False]
    assert other.action_mask.all()


def test_the_twin_differs_in_what_is_seen_alone():
    twin, belief = make("tutor-15-answers", **SMALL), make("tutor-15-bkt", **SMALL)
    key, action = jax.random.key(3), jnp.array(0)
    steps = [env.step(key, env.start(jax.random.key(1)), action) for env in (twin, belief)]
    for name in ("state", "reward", "costs", "gain", "unready", "terminated"):
        jax.tree.map(np.testing.assert_array_equal, *(getattr(step, name) for step in steps))
    np.testing.assert_array_equal(steps[0].obs.action_mask, steps[1].obs.action_mask)
    np.testing.assert_array_equal(
        make("tutor-15-bkt", sees="answers", **SMALL).observe(steps[0].state).features, steps[0].obs.features
    )


def test_the_spread_stands_beside_the_belief():
    plain, env = (make("tutor-15-bkt", confidence=0.9, doubt=0.3, sees=sees, **SMALL) for sees in ("belief", "spread"))
    state = state_of(env, K=jnp.array([0.0, 0.5, 0.9, 1.0]))
    found, fields = seen(env, state), list(env.observation_fields)
    assert fields == [*list(plain.observation_fields)[:-1], "spread", "trusted", "time"]
    np.testing.assert_allclose(found["spread"], [0.0, 0.5, 0.3, 0.0], atol=1e-6)
    np.testing.assert_allclose(found["trusted"], trusted(np.asarray(state.K), 0.3), atol=1e-6)
    for name, part in seen(plain, state).items():
        np.testing.assert_array_equal(found[name], part)


def test_what_is_seen_is_kept_with_the_environment():
    assert "sees" not in describe_environment(make("tutor-15-bkt"))
    for env in (make("tutor-15-answers"), make("prepared", sees="spread")):
        again = rebuild_environment(env.name, describe_environment(env))
        assert list(again.observation_fields) == list(env.observation_fields)


@pytest.mark.parametrize(
    ("name", "sees", "why"),
    [
        ("tutor-15-bkt", "everything", "sees is 'everything'; choose from belief, spread, answers"),
        ("tutor-15", "answers", "tutor-15 knows what is mastered, so that sees can only be belief"),
    ],
)
def test_what_cannot_be_seen_is_refused_in_one_line(name, sees, why):
    with pytest.raises(InputError, match=why) as caught:
        make(name, sees=sees)
    assert "\n" not in str(caught.value)


def test_a_judge_shows_what_training_showed():
    trained, judge = make("prepared", sees="answers", **SMALL), make("prepared-judge", **SMALL)
    shown = with_gate_of(judge, trained)
    assert list(shown.observation_fields) == list(trained.observation_fields)
    assert list(with_gate_of(judge, make("prepared", **SMALL)).observation_fields) == list(judge.observation_fields)


def test_a_judge_has_the_gate_of_training_and_a_truth_of_its_own():
    trained, judge = make("prepared", theta=0.95, **SMALL), make("prepared-judge", **SMALL)
    shown = with_gate_of(judge, trained)
    K = jnp.full((2, len(judge.curriculum)), jnp.array([[0.8], [0.96]]))
    np.testing.assert_array_equal(shown.opens(K), trained.opens(K))
    assert (np.asarray(shown.opens(K)) != np.asarray(judge.opens(K))).any()
    state, _ = judge.reset(jax.random.key(0))
    np.testing.assert_array_equal(shown.knows(state), judge.knows(state))
    assert make("prepared-judge", theta=0.6, **SMALL).mastered_at == 0.6
    with pytest.raises(InputError, match=r"mastered_at is 1\.5"):
        make("prepared-judge", mastered_at=1.5, **SMALL)


def test_a_rule_that_goes_by_mastery_says_that_there_is_none():
    env = make("tutor-15-answers", **SMALL)
    rule = METHODS["mastery-learning"].build()
    _, obs = jax.vmap(env.reset, out_axes=-1)(jax.random.split(jax.random.key(0), 2))
    with pytest.raises(DoesNotApply, match="tutor-15-answers shows no mastery to go by"):
        rule.probabilities(env, rule.begin(env, 2), obs)


# What only critics see.


def test_critics_see_the_true_learner_and_the_estimate():
    inner = make("tutor-15-answers", **SMALL)
    env = Privileged(with_floors(inner, {"learning": 1.0}))
    state = state_of(inner, K=jnp.array([0.9, 0.2, 0.3, 0.4]))
    found = {name: np.asarray(env.view(env.observe(state).features, name)) for name in env.observation_fields}
    np.testing.assert_array_equal(found["estimate"], state.K)
    assert found["opened"].tolist() == [1, 1, 1, 0]
    np.testing.assert_array_equal(found["mastered"], state.latent.mastered)
    assert found["group"].tolist() == [int(at == state.latent.group) for at in range(3)]
    np.testing.assert_array_equal(env.observe(state).features[: inner.num_features], inner.observe(state).features)
    assert (env.floors, env.cost_names) == ({"learning": 1.0}, ("c2", "c3", "c4", "learning"))
    key = jax.random.key(2)
    _, obs = env.reset(key)
    step = env.step(key, state, jnp.array(0))
    assert obs.features.shape == step.obs.features.shape == (env.num_features,)
    np.testing.assert_array_equal(step.obs.features, env.observe(step.state).features)


def test_nothing_is_hidden_where_mastery_is_known():
    assert not make("tutor-15").hidden_fields
    assert make("tutor-15").hidden(None).shape == (0,)
    assert Estimated(make("tutor-15-bkt"), sigma=0.1).hidden_fields


def test_a_rule_that_goes_by_mastery_is_refused_before_training():
    rule = METHODS["zpdes"].build()
    with pytest.raises(DoesNotApply, match="zpdes does not apply: tutor-15-answers shows no mastery"):
        check_rule(make("tutor-15-answers"), "zpdes", rule)
    check_rule(make("tutor-15-bkt"), "zpdes", rule)
