"""Decisions: always ready, always certified; and a certificate in which nothing can be changed unseen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.serve.policy import decision as deciding
from mccpo.serve.policy import gate, load_release
from mccpo.serve.policy.decision import Refusal, decide, override, propensities, recheck
from mccpo.serve.policy.learner_state import (
    after_decision,
    after_outcome,
    initial_state,
    mastery,
    observe,
)

from .deciding import DIAMOND, Saying, draws, logits, methods, spoils, standings, through_json


@pytest.fixture(scope="module")
def diamonds(run_of):
    """Releases of all four ways to execute a policy, on four concepts with two activities each."""
    env = make("tutor-15", curriculum=DIAMOND, activities=("hint", "practice"))
    methods = ("mc-cpo", "unconstrained", "post-hoc", "post-hoc-block")
    folder = run_of(env, *methods)
    return {name: load_release(folder, method=name) for name in methods}


def holds(release, standing, concept):
    return gate.holds(release.prerequisites, release.opening, mastery(release, standing), concept)


def check(release, standing, decision):
    return recheck(release, standing, decision.concept, decision.activity, through_json(decision.certificate))


@settings(max_examples=300)
@given(methods, logits, standings, draws)
def test_a_ready_concept_is_served_for_any_policy_output(diamonds, method, says, standing, uniform):
    release = replace(diamonds[method], network=Saying(says))
    decision = decide(release, standing, uniform)
    assert holds(release, standing, decision.concept)
    assert observe(release, standing)[1][decision.action]
    assert release.actions[decision.action] == (decision.concept, decision.activity)
    assert 0 < decision.propensity <= 1
    assert decision.propensity == pytest.approx(propensities(release, standing)[decision.action])
    assert (decision.reason is None) == (decision.by == "policy")
    assert check(release, standing, decision) is None


@settings(max_examples=60)
@given(methods, st.none() | logits, standings, draws)
def test_no_entry_of_a_certificate_can_be_changed_unseen(diamonds, method, says, standing, uniform):
    release = diamonds[method] if says is None else replace(diamonds[method], network=Saying(says))
    decision = decide(release, standing, uniform)
    kept = through_json(decision.certificate)
    assert recheck(release, standing, decision.concept, decision.activity, kept) is None
    for changed in spoils(kept):
        if changed.get("draw") not in (None, kept["draw"]) and _draws_the_same(release, standing, decision, changed):
            continue  # another draw to the same effect; that it is not this one, only the chain of the record knows
        found = recheck(release, standing, decision.concept, decision.activity, changed)
        assert found is not None, changed
        assert "\n" not in found


def _draws_the_same(release, standing, decision, changed):
    if not isinstance(changed["draw"], float) or not 0 <= changed["draw"] < 1:
        return False
    other = decide(release, standing, changed["draw"])
    return (other.action, other.by) == (decision.action, decision.by)


@settings(max_examples=60)
@given(methods, standings, draws, st.integers(0, 3))
def test_a_certificate_holds_for_no_other_learner_release_or_choice(diamonds, method, standing, uniform, at):
    release = diamonds[method]
    decision = decide(release, standing, uniform)
    K = standing.K.copy()
    K[at] = np.nextafter(K[at], 2.0 if K[at] < 1 else 0.0)
    practised = standing.practised.copy()
    practised[at] += 1
    previous = np.zeros(8, bool) if standing.previous is None else ~standing.previous
    for other in (
        standing._replace(K=K),
        standing._replace(practised=practised),
        standing._replace(t=standing.t + 1),
        standing._replace(last=0 if standing.last is None else None),
        standing._replace(previous=previous),
    ):
        assert check(release, other, decision) is not None
    for concept, activity in release.actions:
        if (concept, activity) != (decision.concept, decision.activity):
            assert recheck(release, standing, concept, activity, decision.certificate) is not None
    theta = replace(release, tutor=replace(release.tutor, theta=np.nextafter(release.theta, 1).item()))
    assert check(theta, standing, decision) is not None
    for name in release.sha256._fields:
        renamed = replace(release, sha256=release.sha256._replace(**{name: "0" * 64}))
        assert check(renamed, standing, decision) is not None
    other = next(each for name, each in diamonds.items() if name != method)
    assert check(other, standing, decision) is not None


def test_a_certificate_says_what_the_choice_rests_on(diamonds):
    release = diamonds["mc-cpo"]
    standing = initial_state(release)._replace(
        K=np.array([0.9, 0.8, 0.7, 0.1]), previous=np.array([1, 1, 1, 1, 0, 0, 0, 0], bool)
    )
    release = replace(release, network=Saying([0.0] * 7 + [50.0]))
    found = decide(release, standing, 0.5)
    assert (found.concept, found.activity, found.by) == ("d", "practice", "policy")
    assert found.certificate["prerequisites"] == {"b": 0.8, "c": 0.7}
    assert found.certificate["ready"]["size"] == 4
    assert found.certificate["frontier"] == ["c", "d"]
    assert found.certificate["theta"] == 0.7
    assert (found.certificate["t"], found.certificate["horizon"]) == (0, 100)
    assert found.certificate["propensity"] == pytest.approx(1.0)


def test_the_frontier_is_what_a_lesson_has_opened(diamonds):
    release = diamonds["mc-cpo"]
    standing = initial_state(release)._replace(K=np.array([0.69, 0.1, 0.1, 0.1]))
    assert decide(release, standing, 0.5).certificate["frontier"] == []
    standing = after_outcome(release, after_decision(release, standing, 0), "a", True)
    assert decide(release, standing, 0.5).certificate["frontier"] == ["b", "c"]
    assert decide(release, after_decision(release, standing, 0), 0.5).certificate["frontier"] == []


@pytest.mark.parametrize("method", ["mc-cpo", "unconstrained", "post-hoc-block"])
def test_propensities_are_how_often_each_action_is_served(diamonds, method):
    release = replace(diamonds[method], network=Saying([0.3, -1.0, 0.2, 0.9, 1.0, -0.5, 0.1, 0.0]))
    standing = initial_state(release)._replace(K=np.array([0.8, 0.75, 0.2, 0.1]))
    served = np.zeros(8)
    for uniform in (np.arange(4000) + 0.5) / 4000:
        served[decide(release, standing, uniform, timeout=60).action] += 1 / 4000
    chances = propensities(release, standing)
    np.testing.assert_allclose(served, chances, atol=1e-3)
    assert chances.sum() == pytest.approx(1)
    assert not chances[6:].any()


# Where the policy fails.

K = np.array([0.9, 0.8, 0.1, 0.3])
FAILURES = {
    "not finite": [np.nan] * 8,
    "failed": RuntimeError("no weights"),
}


@pytest.mark.parametrize("reason", FAILURES)
def test_a_policy_that_fails_is_replaced_by_the_least_mastered_ready_concept(diamonds, reason):
    release = replace(diamonds["mc-cpo"], network=Saying(FAILURES[reason]))
    found = decide(release, initial_state(release)._replace(K=K), 0.5)
    assert (found.concept, found.activity) == ("c", "hint")  # d is not ready
    assert (found.by, found.reason, found.propensity) == ("fallback", reason, 1.0)
    assert found.certificate["probabilities"] is None


def test_a_policy_of_another_size_fails(diamonds):
    release = replace(diamonds["mc-cpo"], network=Saying([0.0] * 7))
    assert decide(release, initial_state(release), 0.5).reason == "failed"


def test_a_policy_that_is_too_slow_is_not_waited_for_twice(diamonds):
    release = diamonds["mc-cpo"]
    ticks = iter([10.0, 10.3])
    found = decide(release, initial_state(release)._replace(K=K), 0.5, timeout=0.2, clock=lambda: next(ticks))
    assert (found.concept, found.by, found.reason) == ("c", "fallback", "too slow")
    assert check(release, initial_state(release)._replace(K=K), found) is None


def test_an_unready_choice_is_replaced_and_its_chance_counts_for_what_is_served(diamonds):
    release = replace(diamonds["unconstrained"], network=Saying([0.0] * 8))
    standing = initial_state(release)._replace(K=np.array([0.2, 0.1, 0.1, 0.1]))
    found = decide(release, standing, 0.99)
    assert (found.concept, found.activity, found.by, found.reason) == ("a", "hint", "fallback", "unready")
    assert found.propensity == pytest.approx(7 / 8)
    own = decide(release, standing, 0.0)  # the policy's own choice of the same action
    assert (own.action, own.by) == (found.action, "policy")
    assert own.propensity == pytest.approx(7 / 8)


def test_ties_go_to_the_first(diamonds):
    release = replace(diamonds["mc-cpo"], network=Saying([np.nan] * 8))
    assert decide(release, initial_state(release)._replace(K=np.array([0.7, 0.7, 0.7, 0.7])), 0.5).concept == "a"


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1, 1.1])
def test_invalid_mastery_is_refused(diamonds, value):
    standing = initial_state(diamonds["mc-cpo"])._replace(K=np.array([0.2, value, 0.2, 0.2]))
    with pytest.raises(Refusal, match="mastery of 'b'"):
        decide(diamonds["mc-cpo"], standing, 0.5)


@pytest.mark.parametrize(
    "change",
    [{"K": np.zeros(3)}, {"practised": np.zeros(5, int)}, {"last": 8}, {"t": -1}, {"previous": np.ones(4, bool)}],
)
def test_a_standing_of_another_curriculum_is_refused(diamonds, change):
    with pytest.raises(Refusal, match="does not fit"):
        decide(diamonds["mc-cpo"], initial_state(diamonds["mc-cpo"])._replace(**change), 0.5)


def test_where_nothing_is_ready_nothing_is_served(diamonds, monkeypatch):
    monkeypatch.setattr(gate, "holds", lambda *_: False)
    with pytest.raises(Refusal):
        decide(diamonds["mc-cpo"], initial_state(diamonds["mc-cpo"]), 0.5)


def test_arrays_that_say_ready_where_the_gate_does_not_open_nothing(diamonds, monkeypatch):
    """The two gates are apart: a fault in the one that the policy sees is stopped by the other."""
    release = replace(diamonds["mc-cpo"], network=Saying([0.0] * 6 + [50.0] * 2))
    standing = initial_state(release)
    seen = observe(release, standing)[0]
    monkeypatch.setattr(deciding, "observe", lambda *_: (seen, np.ones(8, bool)))
    found = decide(release, standing, 0.5)
    assert (found.concept, found.by, found.reason) == ("a", "fallback", "unready")
    monkeypatch.undo()
    assert "probabilities" in check(release, standing, found)


@pytest.mark.parametrize("uniform", [-0.1, 1.0, float("nan")])
def test_invalid_draw_is_refused(release, uniform):
    with pytest.raises(InputError, match="draw by"):
        decide(release, initial_state(release), uniform)


# Teachers.


def test_a_teacher_goes_through_the_same_gate(diamonds):
    release = diamonds["mc-cpo"]
    standing = initial_state(release)._replace(K=K)
    found = override(release, standing, "b", "practice")
    assert (found.by, found.propensity, found.activity) == ("teacher", None, "practice")
    assert check(release, standing, found) is None
    with pytest.raises(Refusal, match="not ready for 'd': c not mastered"):
        override(release, standing, "d")
    with pytest.raises(InputError, match="no concept 'z'"):
        override(release, standing, "z")
    for changed in spoils(through_json(found.certificate)):
        assert recheck(release, standing, "b", "practice", changed) is not None


# Machines differ in the last digits.


def test_a_chance_on_the_edge_may_have_been_told_either_way(diamonds):
    edge = (np.float64(np.float32(0.25)) + np.float64(np.nextafter(np.float32(0.25), np.float32(1)))) / 2
    exact = np.array([edge * (1 + 1e-15), 0.5, 0.25 - 1e-9, 0.0])
    elsewhere = np.array([edge * (1 - 1e-15), 0.5, 0.25 - 1e-9, 0.0]).astype(np.float32)
    told = [each.tolist() for each in deciding._tellings(exact)]
    assert told[0] == exact.astype(np.float32).tolist() != elsewhere.tolist()
    assert elsewhere.tolist() in told
    assert len(told) == 3
