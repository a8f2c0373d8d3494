"""The monitor's numbers against ones worked out another way: by hand, by simulation, by the environment of training."""

import math
from collections import defaultdict

import equinox as eqx
import jax
import numpy as np
import pytest

from mccpo.env import make
from mccpo.serve.monitor import Monitor, equity
from mccpo.serve.monitor.estimates import Estimate, RatioSums
from mccpo.serve.monitor.learner_table import GAINS, MOST_LABELS
from mccpo.serve.monitor.lesson_costs import Lesson
from mccpo.serve.monitor.rates import RECENT
from mccpo.serve.monitor.unlocking import UnlockSums
from mccpo.serve.policy import learner_state, load_release

ENV = make("tutor-15", concepts=6, horizon=20)


@pytest.fixture(scope="module")
def release(run_of):
    return load_release(run_of(ENV))


@pytest.fixture
def monitor(release):
    return Monitor(release)


def answered(release, state, action, correct):
    """The state after an action and its answer."""
    concept, activity = release.actions[action]
    after = learner_state.after_decision(release, state, action)
    return learner_state.after_outcome(release, after, concept, correct, activity)


def first_lesson(release):
    return Lesson("s", release, learner_state.initial_state(release), 0)


def teach(monitor, learner, actions, *, session=None, correct=lambda _: True, by="policy"):
    """Lets a learner come and do actions, each with its answer."""
    monitor.add_learner(learner)
    release, now = monitor.release, learner_state.initial_state(monitor.release)
    for step, action in enumerate(actions):
        monitor.record_decision(learner, Lesson(session or f"ses of {learner}", release, now, action), by)
        concept, _ = release.actions[action]
        after = answered(release, now, action, correct(step))
        before, later = (float(one.K[release.concepts.index(concept)]) for one in (now, after))
        monitor.record_outcome(learner, correct=correct(step), before=before, after=later)
        now = after
    return now


def test_rates_count_what_they_say(monitor):
    teach(monitor, "a", [0, 1, 2], by="policy")
    teach(monitor, "b", [0], by="fallback")
    teach(monitor, "c", [1], by="teacher")
    report = monitor.report()
    assert report["learners"] == 3
    assert report["decisions"] == {"total": 5, "fallback": 1, "policy": 3, "teacher": 1}
    assert report["fallback"]["rate"] == 1 / 4  # a teacher's choice is none of the policy's
    assert report["override"]["rate"] == 1 / 5


def test_deferrals_and_failures_are_counted_separately(monitor):
    lesson = first_lesson(monitor.release)
    for by, reason in (("policy", None), ("deferred", "below the bound"), ("deferred", "unready"), ("teacher", None)):
        monitor.record_decision("a", lesson, by, reason=reason)
    monitor.record_decision("a", lesson, "probe", reason="too slow")
    report = monitor.report()
    assert (report["deferral"]["count"], report["deferral"]["of"]) == (3, 4)
    assert (report["fallback"]["count"], report["fallback"]["of"]) == (2, 4)
    curves = monitor.curves("hour", now=1)
    assert (curves["deferral"], curves["fallback"], curves["override"]) == ([3 / 4], [2 / 4], [1 / 5])


def test_decoupled_are_right_answers_without_a_gain(monitor):
    for correct, before, after in [(True, 0.5, 0.5), (True, 0.5, 0.504), (True, 0.5, 0.6), (False, 0.5, 0.4)]:
        monitor.record_outcome("a", correct=correct, before=before, after=after)
    assert monitor.report()["decoupling"] == {"threshold": 0.005, "count": 2, "of": 4, "rate": 0.5, "recent": 0.5}


def test_a_recent_rate_forgets(monitor):
    for happened in [True] * 10 + [False] * RECENT:
        monitor.record_outcome("a", correct=happened, before=0.5, after=0.5)
    found = monitor.report()["decoupling"]
    assert (found["count"], found["of"], found["recent"]) == (10, RECENT + 10, 0.0)


def test_costs_match_the_environment(monitor):
    """One whole episode of the environment that the policy was trained in, step by step beside the monitor."""
    env = ENV
    state, _ = env.reset(jax.random.key(0))
    release, spent = monitor.release, np.zeros(3)
    now = learner_state.initial_state(release)
    for step in range(env.horizon):
        action = int(np.flatnonzero(env.observe(state).action_mask)[step % int(env.observe(state).action_mask.sum())])
        timestep = env.step(jax.random.key(step), state, np.int32(action))
        monitor.record_decision("a", Lesson("s", release, now._replace(K=np.asarray(state.K, float)), action), "policy")
        now = learner_state.after_decision(release, now, action)
        spent += env.gamma**step * np.asarray(timestep.costs, float)
        state = timestep.state
    monitor.end_session("s")
    costs = monitor.costs()
    for name, expected in zip(env.cost_names, spent, strict=True):
        assert costs[name]["session"] == pytest.approx(expected, rel=1e-5)
        assert costs[name]["full"] == pytest.approx(expected, rel=1e-5)  # a whole session is its own full one
        assert costs[name]["budget"] == release.budgets[name]
        assert costs[name]["within"] == (expected <= release.budgets[name])


def test_realised_costs_match_the_environment_and_stand_beside_their_budgets(run_of):
    """Priced by what each answer brought, as in training; a lesson without an answer weighs nothing."""
    env = make("tutor-15-bkt", concepts=6, horizon=20, costs_on="realised")
    release = load_release(run_of(env))
    monitor, now, spent = Monitor(release), learner_state.initial_state(release), np.zeros(3)
    state, _ = env.reset(jax.random.key(0))
    step = eqx.filter_jit(env.step)
    for t in range(env.horizon):
        ready = np.flatnonzero(np.repeat(release.curriculum.ready(now.K, release.theta), len(release.activities)))
        action = int(ready[t % len(ready)])
        timestep = step(jax.random.key(t), state, np.int32(action))
        monitor.record_decision("a", Lesson("s", release, now, action), "policy", at=t, decision=f"d{t}")
        concept, _ = release.actions[action]
        correct, at = bool(timestep.state.correct), release.concepts.index(concept)
        after = answered(release, now, action, correct)
        change = {"before": float(now.K[at]), "after": float(after.K[at])}
        monitor.record_outcome("a", correct=correct, at=t, decision=f"d{t}", **change)
        spent += env.gamma**t * np.asarray(timestep.costs, float)
        state, now = timestep.state, after
    costs = monitor.costs()
    assert [costs[name]["session"] for name in ("c2", "c3", "c4")] == pytest.approx(spent.tolist(), abs=1e-4)
    assert [costs[name]["full"] for name in ("c2", "c3", "c4")] == pytest.approx(spent.tolist(), abs=1e-4)
    assert {name: cost["budget"] for name, cost in costs.items()} == pytest.approx(dict(release.budgets))
    assert all(cost["within"] is (cost["full"] <= cost["budget"]) for cost in costs.values())
    curves = monitor.curves("hour", 1000)
    assert [curves[name][-1] for name in ("c2", "c3", "c4")] == pytest.approx(spent.tolist(), abs=1e-4)
    assert monitor.report()["costs_on"] == "realised"

    monitor.record_decision("a", Lesson("s", release, now, action), "policy", decision="left")
    assert monitor.costs() == costs
    monitor.end_session("s")
    monitor.record_outcome("a", correct=True, before=0.2, after=0.3, decision="left")  # of a session that is over
    assert monitor.costs() == costs


def test_short_sessions_are_compared_by_their_pace(monitor):
    """c3 of a concept is the same in each step, so that every session, however short, says what a full one costs."""
    for number, length in enumerate([1, 5, 20, 33]):
        teach(monitor, f"l{number}", [0] * length)
        if number % 2:
            monitor.end_session(f"ses of l{number}")
    each = monitor.release.prices.c3_demand - monitor.release.curriculum.demand[0]
    whole = sum(0.99**step for step in range(20))
    found = monitor.costs()["c3"]
    assert found["full"] == pytest.approx(each * whole)
    assert found["interval"] == pytest.approx([each * whole] * 2)
    assert found["session"] == pytest.approx(np.mean([sum(0.99**s for s in range(n)) for n in (1, 5, 20, 33)]) * each)


def test_an_empty_record_reports_nothing(monitor):
    report = monitor.report()
    assert report["decisions"] == {"total": 0}
    assert report["decoupling"]["rate"] is None
    assert report["costs"]["c2"] == {"session": None, "full": None, "interval": None, "budget": 0.09, "within": None}
    assert report["equity"] == {}


def ratio(parts, wholes):
    return RatioSums.of(parts, wholes).estimate()


def time_to_unlock(decisions, unlocked, horizon):
    sums = UnlockSums(horizon)
    sums.add(decisions, unlocked)
    return sums.estimate()


def test_a_ratio_has_the_error_of_a_bootstrap_over_learners():
    random = np.random.default_rng(1)
    wholes = random.integers(1, 40, 300).astype(float)
    parts = wholes * random.uniform(0, 1, 300)
    found = ratio(parts, wholes)
    draws = random.integers(0, 300, (4000, 300))
    resampled = parts[draws].sum(axis=1) / wholes[draws].sum(axis=1)
    assert found.mean == pytest.approx(parts.sum() / wholes.sum())
    assert found.error == pytest.approx(resampled.std(), rel=0.06)


def plain_time_to_unlock(decisions, unlocked, horizon):
    """The same mean, step by step: of what is still locked and watched in a step, how much opens."""
    still, area = 1.0, 0.0
    for step in range(horizon):
        at_risk = opens = 0
        for count, row in zip(decisions, unlocked, strict=True):
            for at in row:
                watched = count > step and (at < 0 or at >= step)
                at_risk += watched
                opens += watched and at == step
        if at_risk:
            still *= 1 - opens / at_risk
        area += still
    return area


def simulated(random, learners, concepts, hazard, longest=30):
    """Learners who stop at different times, and what opened to them until then."""
    when = random.geometric(hazard, (learners, concepts)) - 1
    decisions = random.integers(1, longest, learners)
    return decisions, np.where(when < decisions[:, None], when, -1).astype(np.int32)


def test_time_to_unlock_is_the_area_under_the_curve():
    decisions, unlocked = simulated(np.random.default_rng(2), 40, 5, 0.1)
    found = time_to_unlock(decisions, unlocked, 20)
    assert found.mean == pytest.approx(plain_time_to_unlock(decisions, unlocked, 20))


def test_time_to_unlock_is_the_plain_mean_without_censoring():
    unlocked = np.array([[0, 3, -1], [0, 7, 12]], np.int32)
    expected = np.mean([[0, 3, 15], [0, 7, 12]])
    assert time_to_unlock(np.array([15, 40]), unlocked, 15).mean == pytest.approx(expected)


def test_learners_who_stop_early_do_not_bend_time_to_unlock():
    """The truth is known: unlocking has a constant chance in each step. A mean of what has opened is far off."""
    random, hazard, horizon = np.random.default_rng(3), 0.08, 20
    truth = sum((1 - hazard) ** (step + 1) for step in range(horizon))
    within = 0
    for _ in range(200):
        decisions, unlocked = simulated(random, 150, 4, hazard)
        low, high = time_to_unlock(decisions, unlocked, horizon).interval()
        within += low <= truth <= high
        naive = unlocked[unlocked >= 0].mean()
        assert abs(naive - truth) > 2
    assert 180 <= within <= 199  # an interval of 95 %


def test_the_error_of_time_to_unlock_takes_a_learner_as_one():
    """Concepts of a learner that all open together say no more than one of them."""
    decisions, unlocked = simulated(np.random.default_rng(4), 100, 1, 0.1)
    one, many = (time_to_unlock(decisions, np.repeat(unlocked, times, axis=1), 20) for times in (1, 9))
    assert many.mean == pytest.approx(one.mean)
    assert many.error == pytest.approx(one.error)


def groups(gap, learners=200, seed=5):
    random = np.random.default_rng(seed)

    def group(rate):
        decisions = random.integers(5, 30, learners)
        withheld = decisions * np.clip(random.normal(rate, 0.05, learners), 0, 1)
        unlock = time_to_unlock(decisions, np.zeros((learners, 3), np.int32), 20)
        rates = {"restriction_rate": ratio(withheld, decisions), "mastery_gain": ratio(decisions * 0.02, decisions)}
        return rates | {"time_to_unlock": unlock}

    measured = {"one": group(0.5), "two": group(0.5 + gap), "three": group(0.5)}
    return measured, dict.fromkeys(measured, learners)


@pytest.mark.parametrize(
    ("gap", "learners", "verdict"),
    [(0.0, 200, "within"), (0.08, 200, "within"), (0.2, 200, "alarm"), (0.112, 5, "watch"), (0.2, 20, "alarm")],
)
def test_an_alarm_goes_off_beyond_the_bound_and_not_before(gap, learners, verdict):
    found = equity.compare_groups(*groups(gap, learners), {"restriction_rate": 0.1, "mastery_gain": 0.01})["gaps"]
    assert found["restriction_rate"]["verdict"] == verdict
    assert found["mastery_gain"]["verdict"] == "within"
    if gap > 0.1:
        assert found["restriction_rate"]["most"] == "two"


def test_false_alarms_at_the_bound_are_rare():
    """Two groups exactly as far apart as they may be: an alarm is a mistake, of one in forty at most."""
    alarms = 0
    for seed in range(300):
        found = equity.compare_groups(*groups(0.1, 60, seed), {"restriction_rate": 0.1})["gaps"]["restriction_rate"]
        alarms += found["verdict"] == "alarm"
    assert alarms <= 300 * 0.05


def test_learners_are_compared_by_their_labels(monitor):
    """Slow learners answer wrongly: they gain less, and nothing opens to them."""
    for number in range(24):
        slow = number % 2 == 0
        monitor.set_labels(f"l{number}", {"pace": "slow" if slow else "quick", "shoe": str(number)})
        teach(monitor, f"l{number}", [0, 1, 2] * 6, correct=lambda _, slow=slow: not slow)
    found = monitor.equity()
    assert found["shoe"]["groups"] == found["shoe"]["gaps"] == {}  # groups of one are persons
    assert found["shoe"]["left_out"] == {"too_small": 24, "too_many": 0}
    pace = found["pace"]
    assert pace["groups"]["quick"]["learners"] == pace["groups"]["slow"]["learners"] == 12
    assert pace["gaps"]["mastery_gain"] | {"bound": 0, "difference": 0, "interval": 0} == {
        "least": "slow", "most": "quick", "difference": 0, "interval": 0, "bound": 0, "verdict": "alarm",
    }  # fmt: skip
    assert {alarm["measure"] for alarm in monitor.alarms()} >= {"mastery_gain", "restriction_rate"}
    assert pace["groups"]["slow"]["time_to_unlock"]["mean"] > pace["groups"]["quick"]["time_to_unlock"]["mean"]


def test_erased_learners_are_in_no_group(monitor):
    for number in range(10):
        monitor.set_labels(f"l{number}", {"pace": "any"})
        teach(monitor, f"l{number}", [0])
    for number in range(4):
        monitor.erase_learner(f"l{number}")
    assert monitor.equity()["pace"]["groups"]["any"]["learners"] == 6
    assert monitor.report()["decisions"]["total"] == 10
    assert monitor.report()["learners"] == 6


def test_labels_that_nobody_bounded_do_not_cost_the_service_its_time(monitor):
    for number in range(1000):
        monitor.set_labels(f"l{number}", {f"label {number}": "x", "pace": "any"})
        monitor.record_decision(f"l{number}", first_lesson(monitor.release), "policy")
    found = monitor.equity()
    assert len(found) == MOST_LABELS
    assert monitor.report()["labels_left_out"] == 1001 - MOST_LABELS
    assert found["pace"]["groups"]["any"]["learners"] == 1000


def test_groups_that_are_too_many_to_be_compared_are_counted(monitor):
    for number in range(5 * (equity.MOST_GROUPS + 3)):
        monitor.set_labels(f"l{number}", {"class": str(number // 5)})
        monitor.record_decision(f"l{number}", first_lesson(monitor.release), "policy")
    found = monitor.equity()["class"]
    assert len(found["groups"]) == equity.MOST_GROUPS
    assert found["left_out"] == {"too_small": 0, "too_many": 3}


def test_an_estimate_has_its_interval():
    low, high = Estimate(2.0, 0.5).interval()
    assert (low, high) == pytest.approx((2 - 1.959964 * 0.5, 2 + 1.959964 * 0.5), abs=1e-6)
    assert ratio(np.ones(1), np.ones(1)) is None
    assert ratio(np.zeros(3), np.zeros(3)) is None
    assert time_to_unlock(np.zeros(2, int), np.full((2, 3), -1), 10) is None
    assert not math.isnan(time_to_unlock(np.ones(2, int), np.zeros((2, 3), int), 10).error)


def test_sums_are_kept_per_learner_however_many_come(monitor):
    totals = defaultdict(float)
    for number in range(300):
        after = teach(monitor, f"l{number}", [0] * (1 + number % 3))
        totals["gained"] += float((after.K - monitor.release.learner.prior).sum())
        totals["answers"] += 1 + number % 3
    rows = monitor.learners.rows
    assert rows.answers.sum() == rows.decisions.sum() == totals["answers"]
    assert rows.gained.sum() / GAINS == pytest.approx(totals["gained"])


def test_every_floor_stands_beside_what_sessions_reach(run_of):
    floors = {"learning": 0.5, "engagement": 8.0, "learning-total": 0.6, "mastered": 2.0}
    release = load_release(run_of(ENV, budgets={}, floors=floors))
    monitor, lessons, ended = Monitor(release), {"a": [0] * 20, "b": [0, 1] * 3}, {}
    gains, mastered = {}, {}
    for learner, actions in lessons.items():
        state, gains[learner] = learner_state.initial_state(release), []
        for action in actions:
            concept = action  # one activity each
            rate = float(release.learner.learn[concept])
            ready = release.ready(state.K)[concept]
            gains[learner].append((rate if ready else rate * release.tutor.unready_gain) * (1 - state.K[concept]))
            mastered[learner] = int((release.theta <= state.K).sum())
            state = answered(release, state, action, True)
        ended[learner] = teach(monitor, learner, actions)
    report = monitor.report()["floors"]
    assert report.keys() == floors.keys()
    everything = [gain for found in gains.values() for gain in found]
    total = report["learning-total"]
    assert total["session"] == pytest.approx(sum(everything) / 2)
    assert total["full"] == pytest.approx(release.horizon * sum(everything) / len(everything))
    assert total["within"] is (total["full"] >= 0.6)
    discounted = sum(release.tutor.gamma**t * gain for found in gains.values() for t, gain in enumerate(found))
    assert report["learning"]["session"] == pytest.approx(discounted / 2)
    assert report["mastered"]["session"] == sum(mastered.values()) / 2
    assert report["mastered"]["full"] == mastered["a"]  # b came for six lessons of twenty
    assert report["mastered"]["within"] is (mastered["a"] >= 2)
    for learner in lessons:
        monitor.end_session(f"ses of {learner}")
    assert monitor.report()["floors"] == report
