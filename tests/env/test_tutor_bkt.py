"""The tutor that sees answers only: its estimate against the textbook, its learners against their groups."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.curriculum import Curriculum
from mccpo.env import GROUPS, Group, TutorBKT, describe_environment, make, rebuild_environment
from mccpo.env.tutor import Latent, posterior
from mccpo.errors import InputError
from mccpo.methods import play_rule
from mccpo.methods.rules.greedy_gain import GreedyGain
from mccpo.methods.rules.random_ready import RandomReady

LEARNERS = 3000
ALIKE = (Group("alike", share=1.0),)
DIAMOND = Curriculum.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])


@eqx.filter_jit
def play(env, key, actions):
    keys = jax.random.split(key, len(actions) + 1)

    def advance(state, chosen):
        step = env.step(chosen[0], state, chosen[1])
        return step.state, (state, step)

    return jax.lax.scan(advance, env.reset(keys[0])[0], (keys[1:], actions))[1]


def play_many(env, actions):
    keys = jax.random.split(jax.random.key(5), LEARNERS)
    return jax.device_get(jax.vmap(play, in_axes=(None, 0, None))(env, keys, jnp.array(actions)))


@pytest.fixture(scope="module")
def random_lessons():
    """Thousands of learners taught at random among the first concepts: states before, steps and actions."""
    env = TutorBKT()
    actions = np.random.default_rng(0).integers(0, 6, 100)
    return env, *play_many(env, actions), actions


def teach_many(env, state, action, learners=4000):
    teach = jax.jit(jax.vmap(lambda key: env.step(key, state, jnp.array(action))))
    return jax.device_get(teach(jax.random.split(jax.random.key(1), learners)))


def within(rate, chance, count):
    """Whether a rate over so many draws is what a chance predicts, to four standard errors."""
    return abs(rate - chance) <= 4 * math.sqrt(chance * (1 - chance) / count) + 1e-9


def textbook(K, correct, guess, slip):
    if correct:
        return K * (1 - slip) / (K * (1 - slip) + (1 - K) * guess)
    return K * slip / (K * slip + (1 - K) * (1 - guess))


@settings(deadline=None)
@given(
    K=st.floats(0.01, 0.99),
    guess=st.floats(0.01, 0.49),
    slip=st.floats(0.01, 0.49),
    eta=st.floats(0, 0.5),
    answers=st.lists(st.booleans(), min_size=1, max_size=12),
)
def test_the_estimate_is_the_textbooks_over_any_answers(K, guess, slip, eta, answers):
    ours = np.float64(K)
    with jax.enable_x64(True):  # so that what is compared is the formula and not the rounding near certainty
        for correct in answers:
            ours = posterior(ours, correct, guess, slip)
            ours = ours + eta * (1 - ours)
            K = textbook(K, correct, guess, slip)
            K = K + eta * (1 - K)
    assert float(ours) == pytest.approx(K, abs=1e-9)
    assert 0 <= float(ours) <= 1


def test_an_answer_without_a_chance_leaves_the_estimate():
    assert float(posterior(0.0, True, 0.0, 0.1)) == 0.0
    assert float(posterior(1.0, False, 0.2, 0.0)) == 1.0


def test_the_environment_keeps_that_estimate(random_lessons):
    env, _, steps, actions = random_lessons
    needs = [np.flatnonzero(row) for row in env.curriculum.prerequisites.dense]
    for learner in range(20):
        K = np.full(15, 0.2)
        for t, v in enumerate(actions):
            ready = all(K[u] >= 0.7 for u in needs[v])
            before = K[v]
            K[v] = textbook(K[v], steps.state.correct[learner, t], guess=0.2, slip=0.1)
            K[v] += 0.08 * (1.0 if ready else 0.1) * (1 - K[v])
            assert bool(steps.unready[learner, t]) is not ready
            expected = 0.08 * (1.0 if ready else 0.1) * (1 - before)
            assert steps.costs[learner, t, 0] == pytest.approx(max(0, 0.022 - expected), abs=1e-5)
        np.testing.assert_allclose(steps.state.K[learner, -1], K, atol=1e-5)


def test_the_gain_is_the_chance_that_a_lesson_masters_its_concept(random_lessons):
    """By the learner's group and what it has mastered in truth, of which the estimate says nothing."""
    env, states, steps, actions = random_lessons
    needs = env.curriculum.prerequisites.dense
    eta = 0.08 * np.array([group.eta for group in env.groups])[states.latent.group]
    knew = np.take_along_axis(states.latent.mastered, actions[None, :, None], axis=2)[..., 0]
    ready = (states.latent.mastered | ~needs[actions]).all(axis=2)
    np.testing.assert_allclose(steps.gain, np.where(knew, 0.0, eta * np.where(ready, 1.0, 0.1)), atol=1e-6)
    for group in range(len(env.groups)):
        mine = states.latent.group[:, 0] == group
        learnt = (steps.state.latent.mastered & ~states.latent.mastered)[mine].sum(axis=2)
        assert learnt.max() == 1
        spread = math.sqrt((steps.gain * (1 - steps.gain))[mine].sum())
        assert abs(learnt.sum() - steps.gain[mine].sum()) < 4 * spread
    assert steps.gain.max() <= env.gain_bound
    assert env.gain_bound == pytest.approx(eta.max())


def test_nothing_is_gained_of_a_lesson_that_is_not_given():
    env = TutorBKT()
    state, _ = env.reset(jax.random.key(0))
    assert float(env.step(jax.random.key(1), state, jnp.array(env.num_actions)).gain) == 0.0


@pytest.mark.parametrize("K", [0.2, 0.6, 0.95])
def test_lessons_are_priced_by_their_expected_gain(K):
    """Over learners who are as the estimate says, the mean change of K is the gain that the costs go on."""
    env = TutorBKT(groups=ALIKE, K0=K)
    keys = jax.random.split(jax.random.key(3), 20_000)
    state, _ = jax.vmap(env.reset)(keys)
    step = jax.device_get(jax.jit(jax.vmap(env.step, in_axes=(0, 0, None)))(keys, state, jnp.array(0)))
    change = step.state.K[:, 0] - state.K[:, 0]
    spread = change.std() / math.sqrt(len(keys))
    assert abs(change.mean() - 0.08 * (1 - K)) < 4 * spread
    np.testing.assert_allclose(step.costs[:, 0], max(0.0, 0.022 - 0.08 * (1 - K)), atol=1e-6)


def test_costs_can_be_on_the_realised_change(random_lessons):
    _, states, _, _ = random_lessons
    state = jax.tree.map(lambda leaf: jnp.asarray(leaf[0, 50]), states)
    step = teach_many(TutorBKT(costs_on="realised"), state, 1)
    np.testing.assert_allclose(step.costs[:, 0], np.maximum(0, 0.022 - (step.state.K - state.K)[:, 1]), atol=1e-6)
    with pytest.raises(InputError, match="costs_on is 'luck'; choose from"):
        TutorBKT(costs_on="luck")


def test_the_estimate_can_fall_and_the_ready_set_shrink_but_nothing_is_unlearnt(random_lessons):
    env, states, steps, _ = random_lessons
    assert (steps.state.K < states.K - 0.1).any()
    before = env.curriculum.ready(states.K, env.theta)
    assert (before & ~steps.obs.action_mask).any()
    assert (states.latent.mastered <= steps.state.latent.mastered).all()
    assert (steps.state.latent.group == states.latent.group[:, :1]).all()
    assert ((steps.state.K >= 0) & (steps.state.K <= 1)).all()


def test_answers_come_from_guess_and_slip(random_lessons):
    _, states, steps, actions = random_lessons
    knew = np.take_along_axis(states.latent.mastered, actions[None, :, None], axis=2)[..., 0]
    for mastered, chance in ((True, 0.9), (False, 0.2)):
        answers = steps.state.correct[knew == mastered]
        assert within(answers.mean(), chance, len(answers))


def test_groups_come_in_their_shares_with_their_own_start():
    env = make("tutor-15-bkt", K0=0.4)
    states, _ = jax.device_get(jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(2), 9000)))
    assert env.group_names == ("fast", "typical", "slow")
    for number, group in enumerate(GROUPS):
        mine = states.latent.group == number
        assert within(mine.mean(), group.share, len(mine))
        started = states.latent.mastered[mine]
        assert within(started.mean(), 0.4 * group.K0, started.size)
    np.testing.assert_allclose(states.K, 0.4)


def test_each_group_learns_at_its_own_rate():
    env = TutorBKT()
    _, steps = play_many(env, [0] * 10)
    for number, group in enumerate(GROUPS):
        mine = steps.state.latent.group[:, -1] == number
        chance = 1 - (1 - 0.2 * group.K0) * (1 - 0.08 * group.eta) ** 10
        assert within(steps.state.latent.mastered[mine, -1, 0].mean(), chance, mine.sum())


def test_the_tutor_is_told_no_group():
    env = TutorBKT()
    state, _ = env.reset(jax.random.key(0))
    latents = [Latent(jnp.zeros(15, bool), jnp.array(group)) for group in range(3)]
    step = jax.jit(env.step)
    steps = [step(jax.random.key(7), state._replace(latent=latent), jnp.array(0)) for latent in latents]
    assert len({tuple(step.obs.features.tolist()) for step in steps}) == 1


@pytest.mark.parametrize(("prerequisites", "slowed"), [((), 0.1), ((0,), 0.1), ((0, 1), 1.0)])
def test_true_readiness_decides_how_fast_the_learner_learns(prerequisites, slowed):
    env = TutorBKT(groups=ALIKE, eta=0.5)
    mastered = jnp.zeros(15, bool).at[jnp.array(prerequisites, jnp.int32)].set(True)
    state = env.reset(jax.random.key(0))[0]._replace(latent=Latent(mastered, jnp.zeros((), jnp.int32)))
    steps = teach_many(env, state, 3)
    assert within(steps.state.latent.mastered[:, 3].mean(), 0.5 * slowed, 4000)
    assert bool(env.truly_ready(state)[3]) is (slowed == 1.0)
    assert steps.unready.all()  # by the estimate, which is what the mask goes by


def test_true_readiness_matches_the_latent_learner(random_lessons):
    env, states, _, _ = random_lessons
    latest = jax.tree.map(lambda leaf: leaf[:, -1], states)
    ready = jax.vmap(env.truly_ready)(latest)
    needs = env.curriculum.prerequisites.dense
    expected = [[all(mastered[needs[v]]) for v in range(15)] for mastered in latest.latent.mastered]
    np.testing.assert_array_equal(ready, expected)
    believed = env.curriculum.ready(latest.K, env.theta)
    assert (believed & ~np.asarray(ready)).any()
    assert (~believed & np.asarray(ready)).any()


def test_the_estimate_is_calibrated_where_all_learners_are_alike():
    env = TutorBKT(groups=ALIKE)
    _, steps = play_many(env, [0] * 6)
    K, mastered = steps.state.K[:, -1, 0], steps.state.latent.mastered[:, -1, 0]
    values, counts = np.unique(K.round(4), return_counts=True)
    for value in values[counts > 100]:
        alike = np.isclose(K, value, atol=1e-4)
        assert within(mastered[alike].mean(), K[alike].mean(), alike.sum())


@pytest.mark.parametrize(("guess", "slip"), [(0.2, 0.1), (0.05, 0.3), (0.3, 0.0)])
def test_the_bound_on_costs_is_the_worst_answer(guess, slip):
    env = TutorBKT(guess=guess, slip=slip, costs_on="realised")
    K = np.linspace(0, 1, 100_001)
    fall = K - np.asarray(posterior(K, False, guess, slip))
    worst = fall[:-1].max() if slip == 0 else fall.max()  # certain mastery that cannot slip stays certain
    assert env.largest_fall == pytest.approx(worst, abs=1e-4)
    np.testing.assert_allclose(env.cost_bounds, [0.022 + env.largest_fall, 0.3, 0.611 + 10.5 * env.largest_fall])


def test_activities_scale_both_the_estimate_and_the_learner():
    env = make("tutor-15-bkt", groups=ALIKE, eta=0.5, activities=["encouragement", "practice"])
    nothing = Latent(jnp.zeros(15, bool), jnp.zeros((), jnp.int32))
    state = env.reset(jax.random.key(0))[0]._replace(latent=nothing)
    for action, eta in ((0, 0.05), (1, 0.5)):
        steps = teach_many(env, state, action)
        assert within(steps.state.latent.mastered[:, 0].mean(), eta, 4000)
        after = np.array([textbook(0.2, correct, 0.2, 0.1) for correct in steps.state.correct])
        np.testing.assert_allclose(steps.state.K[:, 0], after + eta * (1 - after), atol=1e-6)
    assert env.truly_ready(state).tolist() == [True] * 6 + [False] * 24


@pytest.mark.parametrize(
    ("parameters", "what", "fix"),
    [
        ({"groups": ()}, "groups is []", "at least one"),
        ({"groups": (Group("a", 0.5), Group("a", 0.5))}, "groups is ['a', 'a']", "name of its own"),
        ({"groups": (Group("a", 0.5), Group("b", 0.4))}, "the shares are [0.5, 0.4]", "sum to 1"),
        ({"groups": (Group("a", 1.5),)}, "the share of a is 1.5", "[0, 1]"),
        ({"groups": (Group("a", 1.0, K0=9.0),)}, "K0 of a is 1.8", "[0, 1]"),
        ({"groups": (Group("a", 1.0, eta=-1.0),)}, "eta of a is -0.08", "[0, 1]"),
        ({"eta": 0.6, "activities": ["challenge"]}, "eta of fast is 1.125", "[0, 1]"),
        ({"K0": 0.8}, "K0 of fast is 1.2", "[0, 1]"),
        ({"guess": 0.7, "slip": 0.4}, "guess is 0.7 and slip is 0.4", "less than 1"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_impossible_parameters_are_refused_with_a_way_out(parameters, what, fix):
    with pytest.raises(InputError) as refused:
        make("tutor-15-bkt", **parameters)
    assert what in refused.value.what
    assert fix in refused.value.fix


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_unready_share_keeps_its_promise_where_the_model_is_right(confidence):
    """The promise of the gate, for tutors that go as far as it lets them."""
    env = make("tutor-15-bkt", confidence=confidence, groups=ALIKE, horizon=60)
    for rule in (GreedyGain(), RandomReady()):
        played = play_rule(env, rule, seed=3, copy=0, episodes=1000).episodes
        unready, lessons = played.untrue.sum(), played.length.sum()
        assert unready <= (1 - confidence) * lessons
        assert played.unready.sum() == 0  # by the gate's own account
    assert played.gain.mean() > 1


def test_the_gate_asks_for_all_prerequisites_at_once_and_sets_doubt_aside():
    env = make("tutor-15-bkt", curriculum=DIAMOND, confidence=0.9, doubt=[0.0, 0.0, 0.5, 0.0])
    for K, expected in [
        ([0.0, 0.94, 0.98, 0.0], [True, False, False, True]),
        ([0.9, 0.94, 0.98, 0.0], [True, True, True, False]),  # 0.98 at half its odds is 0.961; 0.94 of it is 0.903
        ([0.9, 0.93, 0.98, 0.0], [True, True, True, False]),
    ]:
        state = env.reset(jax.random.key(0))[0]._replace(K=jnp.array(K))
        chance = env.curriculum.joint_chance(np.array(K), np.array(env.doubt))
        assert env.ready(state).tolist() == (chance >= 0.9).tolist()
        assert [bool(env.concept_ready(state, jnp.array(at))) for at in range(4)] == (chance >= 0.9).tolist()
        assert env.ready(state).tolist()[:3] == expected[:3]


def test_enough_of_every_prerequisite_opens_the_gate():
    env = make("tutor-15-bkt", curriculum=DIAMOND, confidence=0.9, doubt=0.3)
    state = env.reset(jax.random.key(0))[0]
    assert env.ready(state._replace(K=env.enough * 1.0001)).all()
    assert not env.ready(state._replace(K=env.enough * 0.999))[1:].any()


def test_a_confidence_is_refused_where_it_means_nothing():
    with pytest.raises(InputError, match="tutor-15 knows what is mastered"):
        make("tutor-15", confidence=0.95)
    for wrong in (0.0, 1.0, 7, math.nan):
        with pytest.raises(InputError, match="the confidence is"):
            make("tutor-15-bkt", confidence=wrong)
    with pytest.raises(InputError, match="doubt"):
        make("tutor-15-bkt", confidence=0.9, doubt=1.5)


def test_what_describes_an_environment_says_how_its_gate_opens():
    plain, sure = make("tutor-15-bkt"), make("tutor-15-bkt", confidence=0.95, doubt=0.2)
    assert not {"confidence", "doubt"} & describe_environment(plain).keys()
    again = rebuild_environment("tutor-15-bkt", describe_environment(sure))
    assert (again.confidence, float(again.doubt)) == (0.95, pytest.approx(0.2))
