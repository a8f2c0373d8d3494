"""Rules in a teacher's words: what they parse to, and that each budget guarantees what its sentence says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mccpo.env import make
from mccpo.env.tutor import Activity, Tutor
from mccpo.errors import InputError
from mccpo.experiments.asked import requirements as rules
from mccpo.experiments.asked.requirements import Demand, Mean, Progress, Share, check, parse, translate

ANCHOR = {"c2": 0.912, "c3": 19.02, "c4": 27.87}


def percent(share):
    return f"{100 * share:.6f} %"


# Sentences


@pytest.mark.parametrize("text", rules.FORMS)
def test_every_form_that_is_named_is_understood(text):
    rule = parse(text)
    assert rule.text == text
    cost, budget = rule.budget(Tutor(), ANCHOR)
    assert budget > 0
    assert f"{cost} ≤ {budget:.4g} ({text})" in rule.explain(Tutor(), ANCHOR)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("mastery progress in at least 60 % of steps", Progress("", 0.6)),
        ("Mastery  progress in at least 62.5% of windows of 10 steps.", Progress("", 0.625, 10)),
        ("mastery progress of at least 0.01 a step in at least 60 % of steps", Progress("", 0.6, 1, 0.01)),
        ("mastery progress of at least 0 a step in at least 60 % of windows of 5 steps", Progress("", 0.6, 5, 0.0)),
        ("demand of at least 0.5 in at least 80 % of steps", Demand("", 0.5, 0.8)),
        ("progress shortfall of at most 0.01 a step on average", Mean("", "progress shortfall", 0.01)),
        ("engagement without learning of at most 0 a step on average", Mean("", "engagement without learning", 0.0)),
        ("engagement without learning at most 70 % of the unconstrained tutor’s",
         Share("", "engagement without learning", 0.7)),
        ("demand shortfall of at most 120% of the unconstrained tutor's", Share("", "demand shortfall", 1.2)),
    ],
)  # fmt: skip
def test_a_sentence_is_read_as_it_is_meant(text, rule):
    found = parse(text)
    assert found == type(rule)(found.text, **{k: v for k, v in vars(rule).items() if k != "text"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "be nice",
        "mastery progress in at most 60 % of steps",
        "mastery progress in at least 60 of steps",
        "mastery progress in at least sixty % of steps",
        "mastery progress in at least -60 % of steps",
        "mastery progress in at least 60 % of windows of 2.5 steps",
        "mastery progress in at least 60 % of steps and no hacking",
        "demand of at least 0.5 in at least 80 % of windows of 3 steps",
        "boredom of at most 0.1 a step on average",
    ],
)
def test_an_unknown_value_is_refused_with_the_valid_ones(text):
    with pytest.raises(InputError) as caught:
        parse(text)
    assert f"the rule '{text}' is not understood" in caught.value.what
    assert all(form in caught.value.fix for form in rules.FORMS)


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("mastery progress in at least 0 % of steps", "0 % is no share", "more than 0 %"),
        ("demand of at least 0.5 in at least 101 % of steps", "101 % is no share", "at most 100 %"),
        ("mastery progress in at least 9 % of windows of 0 steps", "a window has no steps", "at least 1"),
        ("mastery progress in at least 9 % of windows of 101 steps", "an episode has 100 steps", "at most 100"),
        ("mastery progress of at least 0.022 a step in at least 9 % of steps", "from 0.022 on", "c2_gain above 0.022"),
        ("demand of at least 0.6 in at least 80 % of steps", "from 0.5 on", "set c3_demand to 0.6"),
        ("demand of at least 0.2 in at least 80 % of steps", "every lesson demands that much", "leave the rule out"),
    ],
)
def test_what_says_nothing_about_the_environment_is_refused(text, what, fix):
    with pytest.raises(InputError) as caught:
        check([text], Tutor())
    assert what in caught.value.what
    assert fix in caught.value.fix


@pytest.mark.parametrize("environment", ["chain", "gate"])
@pytest.mark.parametrize("text", rules.FORMS)
def test_an_environment_without_lessons_has_no_such_rules(environment, text):
    with pytest.raises(InputError, match=f"which {environment} does not have; give a --budget"):
        check([text], make(environment))


def test_a_threshold_of_0_makes_c2_say_nothing():
    with pytest.raises(InputError, match="c2 is always 0"):
        check([rules.FORMS[0]], Tutor(c2_gain=0.0))


# Budgets


def test_the_budgets_of_the_profile():
    D = (1 - 0.99**100) / 0.01
    assert parse(rules.FORMS[1]).budget(Tutor()) == ("c2", pytest.approx(0.4 * 0.022 * D))
    assert parse(rules.FORMS[3]).budget(Tutor()) == ("c3", pytest.approx(0.2 * 0.05 * D))
    assert parse("demand of at least 0.3 in at least 80 % of steps").budget(Tutor()) == (
        "c3",
        pytest.approx(0.2 * (0.5 - 0.25) * D),
    )
    assert parse(rules.FORMS[4]).budget(Tutor()) == ("c3", pytest.approx(0.1 * D))
    assert parse(rules.FORMS[5]).budget(Tutor(), ANCHOR) == ("c4", pytest.approx(0.7 * 27.87))


def test_the_demands_that_count_match_the_activities():
    env = Tutor(activities=["practice", Activity("drill", demand=0.97)])  # the concept of demand 0.5 at 0.485
    assert parse(rules.FORMS[3]).budget(env)[1] == pytest.approx(0.2 * 0.015 * env.discounted_horizon)


def test_the_tighter_of_two_rules_on_a_cost_wins_and_the_other_says_so():
    loose, tight, other = rules.FORMS[0], rules.FORMS[2], rules.FORMS[5]
    found = translate([loose, tight, other], Tutor(), ANCHOR)
    assert found.budgets == dict(parse(text).budget(Tutor(), ANCHOR) for text in (tight, other))
    assert [("another rule is tighter" in line) for line in found.explanations] == [True, False, False]
    assert translate([tight, loose, other], Tutor(), ANCHOR).budgets == found.budgets


LOW = "demand shortfall of at most 0.1 a step on average"  # c3 ≤ 6.34


def test_stricter_of_rule_and_number_wins():
    looser = translate([LOW], Tutor(), ANCHOR, {"c3": 5.0}, {"c3": 4.0})
    assert looser.budgets == {"c3": 5.0}
    assert looser.explanations[0].endswith("; what --kappa or --budget asks for is tighter, and holds: c3 ≤ 5")
    tighter = translate([LOW], Tutor(), ANCHOR, {"c3": 7.0, "c4": 1.0}, {"c3": 4.0})
    assert tighter == translate([LOW], Tutor(), ANCHOR)


def test_a_rule_that_loosens_what_would_hold_without_it_says_so():
    found = translate([LOW], Tutor(), ANCHOR, {}, {"c3": 4.0})
    assert found.budgets["c3"] == pytest.approx(6.34, abs=5e-3)
    assert "looser than without the rule, where it would be c3 ≤ 4" in found.explanations[0]
    assert translate([LOW], Tutor(), ANCHOR, {}, {"c3": 17.1}) == translate([LOW], Tutor(), ANCHOR)


def test_rules_that_say_the_same_both_hold():
    assert not any("tighter" in line for line in translate(rules.FORMS[:2], Tutor(), None).explanations)


def test_the_rule_says_that_it_prices_lessons_by_their_expected_gain():
    rule = parse(rules.FORMS[0])
    assert "a step's gain falls short" in rule.explain(make("tutor-15-bkt", costs_on="realised"))
    assert "a step's expected gain falls short" in rule.explain(make("tutor-15-bkt"))


def test_no_rules_are_no_budgets():
    assert translate([], make("chain"), None).budgets == {}


def test_a_relative_rule_is_checked_before_training_and_resolved_after():
    assert [rule.relative for rule in check(rules.FORMS, Tutor())] == [False] * 5 + [True]
    with pytest.raises(InputError, match="unconstrained tutor is not known"):
        translate([rules.FORMS[5]], Tutor(), None)


# What a budget guarantees


def share_of(fails, weights, window):
    """The share of the windows that fail, each weighing what its steps weigh; `fails` says it of a window's steps."""
    cuts = range(0, len(weights), window)
    lost = sum(weights[at : at + window].sum() for at in cuts if fails(slice(at, at + window)))
    return lost / weights.sum()


@st.composite
def episodes(draw):
    """An environment, a rule about its progress, and gains: none, some, enough, and falls."""
    horizon = draw(st.integers(1, 24))
    env = Tutor(horizon=horizon, gamma=draw(st.sampled_from([0.5, 0.9, 0.99, 1.0])), c2_gain=0.02)
    gain = st.sampled_from([0.0, 0.02, -0.02]) | st.floats(-0.1, 0.05)
    gains = np.array(draw(st.lists(gain, min_size=horizon, max_size=horizon)))
    window, share = draw(st.integers(1, horizon)), draw(st.floats(0.01, 0.99))
    least = draw(st.none() | st.floats(0.0, 0.019).map(lambda x: round(x, 6)))
    size = "" if least is None else f"of at least {least:.6f} a step "
    return env, parse(f"mastery progress {size}in at least {percent(share)} of windows of {window} steps"), gains


@given(episodes())
def test_a_progress_budget_bounds_the_share_of_windows_that_fail(case):
    env, rule, gains = case
    weights = env.gamma ** np.arange(env.horizon)
    J = (weights * np.maximum(0, env.c2_gain - gains)).sum()

    def fails(steps):
        return (gains[steps] <= 0).all() if rule.least is None else gains[steps].mean() < rule.least

    # The budget is (1 − P) times what it costs to fail throughout, so this is the guarantee for every P at once.
    assert rule.budget(env)[1] * share_of(fails, weights, rule.window) <= (1 - rule.share) * J + 1e-9


@pytest.mark.parametrize("least", [None, 0.01])
@pytest.mark.parametrize(("window", "gamma"), [(1, 0.9), (4, 0.9), (12, 0.99), (3, 1.0)])
def test_no_larger_progress_budget_would_do(least, window, gamma):
    """Windows that fail at the least cost there is: every gain but the last is enough, and the last undoes them."""
    env = Tutor(horizon=12, gamma=gamma, c2_gain=0.02)
    gains = np.zeros(12)
    if least is not None:
        gains[:] = 0.02
        gains[window - 1 :: window] = window * least - (window - 1) * 0.02
    size = "" if least is None else f"of at least {least} a step "
    rule = parse(f"mastery progress {size}in at least 25 % of windows of {window} steps")
    J = (gamma ** np.arange(12) * (0.02 - gains)).sum()
    assert rule.budget(env)[1] == pytest.approx(0.75 * J)


@given(
    st.integers(0, 1000),
    st.sampled_from([0.25, 0.3, 0.5]),
    st.lists(st.integers(0, 5), min_size=8, max_size=8),
)
def test_a_demand_budget_bounds_the_share_of_steps_that_ask_too_little(seed, least, taught):
    env = Tutor(curriculum_seed=seed, concepts=6, horizon=8, gamma=0.9)
    assume((env.demand < least).any())
    demand = env.demand[taught]
    weights = 0.9 ** np.arange(8)
    J = (weights * np.maximum(0, env.c3_demand - demand)).sum()
    budget = parse(f"demand of at least {least} in at least 40 % of steps").budget(env)[1]
    short = share_of(lambda at: demand[at] < least, weights, 1)
    assert budget * short <= 0.6 * J + 1e-6


def test_the_guarantees_hold_in_episodes_of_the_environment():
    """Random lessons for many learners; expected shares against expected costs, all as the environment counts them."""
    env = make("tutor-15-bkt", horizon=20, costs_on="realised")  # so that c2 sees mastery fall

    def learner(key):
        state, _ = env.reset(key)

        def one(state, draw):
            step = env.step(draw, state, jax.random.randint(jax.random.fold_in(draw, 1), (), 0, 3))
            return step.state, (step.gain, step.costs, jnp.asarray(env.demand)[step.state.last])

        return jax.lax.scan(one, state, jax.random.split(jax.random.fold_in(key, 2), 20))[1]

    gains, costs, demand = map(np.asarray, jax.jit(jax.vmap(learner))(jax.random.split(jax.random.key(0), 64)))
    weights = env.gamma ** np.arange(20)
    J = dict(zip(env.cost_names, (weights[:, None] * costs).sum(axis=1).mean(axis=0), strict=True))
    cases = {
        "mastery progress in at least 50 % of windows of 3 steps": (gains, lambda part: (part <= 0).all(), 3),
        "mastery progress of at least 0.02 a step in at least 50 % of windows of 6 steps": (
            gains, lambda part: part.mean() < 0.02, 6,
        ),
        "demand of at least 0.3 in at least 50 % of steps": (demand, lambda part: (part < 0.3 - 1e-6).all(), 1),
    }  # fmt: skip
    failing = {}
    for text, (rows, fails, window) in cases.items():
        found = [share_of(lambda at, row=row, fails=fails: fails(row[at]), weights, window) for row in rows]
        failing[text] = np.mean(found)
        cost, budget = parse(text).budget(env)
        assert budget * failing[text] <= 0.5 * J[cost] + 1e-6
    assert max(failing.values()) > 0.1  # something did fail, so there was something to bound
