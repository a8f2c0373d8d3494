"""Deferring: what only just passes the gate is not served, what is served instead can be told and derived again."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from mccpo.curriculum import Curriculum
from mccpo.env import make
from mccpo.errors import InputError
from mccpo.serve.policy import Deferral, load_release
from mccpo.serve.policy.decision import Refusal, decide, override, propensities, recheck
from mccpo.serve.policy.deferral import information, read_deferral
from mccpo.serve.policy.gate import Opening
from mccpo.serve.policy.learner_state import (
    LearnerState,
    after_decision,
    after_outcome,
    initial_state,
    learning_rate,
)
from mccpo.serve.policy.release import build_release

from .deciding import DIAMOND, Saying, draws, logits, methods, spoils, standings, through_json

METHODS = ("mc-cpo", "unconstrained", "post-hoc-block")
PARENTS = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
BOUND = 0.95
SURE = np.array([0.99, 0.98, 0.96, 0.1])  # d: 0.98·0.96 = 0.9408, which the gate opens and the bound does not


@pytest.fixture(scope="module")
def folder(run_of):
    return run_of(make("tutor-15", curriculum=DIAMOND, activities=("hint", "practice")), *METHODS, "post-hoc")


@pytest.fixture(scope="module")
def releases(folder):
    """Every way to execute a policy, behind a gate by θ and one by a confidence, deferring to each."""
    keys = itertools.product((*METHODS, "post-hoc"), (None, 0.8), ("teacher", "probe"))
    return {
        (method, ready, to): load_release(folder, method=method, ready=ready, deferral=Deferral(to, BOUND))
        for method, ready, to in keys
    }


def saying(release, says):
    return replace(release, network=Saying(says))


def wanting(release, action):
    """The release of a policy that always wants one action."""
    return saying(release, [50.0 * (at == action) for at in range(8)])


def learner(K):
    return LearnerState(np.array(K, float), np.zeros(4, int))


def chance(K, concept):
    """The chance that all prerequisites are mastered, by hand."""
    return np.prod([K["abcd".index(name)] for name in PARENTS[concept]])


# What an answer tells.

shares = st.floats(0, 1) | st.sampled_from([0.0, 0.1, 0.5, 1.0])


@given(shares, shares, shares)
def test_information_is_what_mastery_and_the_answer_share(known, guess, slip):
    """Against entropies of the joint distribution: H(answer) + H(mastery) - H(both)."""
    joint = np.array([[known * (1 - slip), known * slip], [(1 - known) * guess, (1 - known) * (1 - guess)]])
    apart = entropy(joint.sum(axis=0), base=2) + entropy(joint.sum(axis=1), base=2)
    assert information(known, guess, slip) == pytest.approx(apart - entropy(joint.ravel(), base=2), abs=1e-12)


def test_information_is_how_much_less_uncertain_mastery_is_after_an_answer():
    """Against simulation: draw learners and answers, and compare the entropy of mastery before and after."""
    rng, size = np.random.default_rng(0), 400_000
    mastered = rng.random(size) < 0.7
    right = rng.random(size) < np.where(mastered, 0.9, 0.2)
    after = [entropy([mastered[right == seen].mean(), 1 - mastered[right == seen].mean()], base=2) for seen in (0, 1)]
    left = np.mean(~right) * after[0] + np.mean(right) * after[1]
    assert entropy([0.7, 0.3], base=2) - left == pytest.approx(information(0.7, 0.2, 0.1), abs=3e-3)


# What is served.

near_sure = st.lists(st.sampled_from([0.0, 0.3, 0.97, 1.0]) | st.floats(0.9, 1.0), min_size=4, max_size=4)
learners = standings | near_sure.map(learner)
kinds = st.tuples(methods, st.sampled_from([None, 0.8]), st.sampled_from(["teacher", "probe"]))


@settings(max_examples=60)
@given(kinds, logits, learners, draws)
def test_every_served_lesson_passes_the_bound(releases, kind, says, standing, uniform):
    release = saying(releases[kind], says)
    found = decide(release, standing, uniform)
    assert chance(standing.K, found.concept) >= BOUND - 1e-12
    assert found.by in ("policy", "deferred" if kind[2] == "teacher" else "probe")
    assert recheck(release, standing, found.concept, found.activity, through_json(found.certificate)) is None
    chances = propensities(release, standing)
    assert chances.sum() == pytest.approx(1, abs=1e-5)
    assert found.propensity == pytest.approx(chances[found.action])
    assert found.certificate["bound"] == BOUND
    assert found.certificate["chance"] == pytest.approx(chance(standing.K, found.concept))
    plain = decide(replace(release, deferral=None), standing, uniform)  # what the same draw is without deferring
    if plain.by == "policy" and chance(standing.K, plain.concept) >= BOUND + 1e-12:
        assert (found.action, found.by, found.reason) == (plain.action, "policy", None)
        assert found.certificate["wanted"] is None
    elif plain.by == "policy" and chance(standing.K, plain.concept) < BOUND - 1e-12:
        wanted = found.certificate["wanted"]
        assert found.reason == "below the bound"
        assert (wanted["concept"], wanted["activity"]) == (plain.concept, plain.activity)
        assert wanted["chance"] == pytest.approx(chance(standing.K, plain.concept))
    elif plain.by == "fallback":
        assert (found.by == "policy", found.reason) == (False, plain.reason)


@pytest.mark.parametrize("to", ["teacher", "probe"])
@pytest.mark.parametrize("method", METHODS)
def test_propensities_are_how_often_each_action_is_served(releases, method, to):
    says = [0.3, -1.0, 0.2, 0.9, 1.0, -0.5, 0.1, 0.4]
    for K in (SURE, [0.97, 0.94, 0.9, 0.1], [0.9, 0.9, 0.9, 0.9]):
        release, standing = saying(releases[method, None, to], says), learner(K)
        served = np.zeros(8)
        for uniform in (np.arange(1000) + 0.5) / 1000:
            served[decide(release, standing, uniform).action] += 1 / 1000
        np.testing.assert_allclose(served, propensities(release, standing), atol=2e-3)


def test_a_borderline_choice_goes_to_a_teacher_and_a_safe_one_is_served(releases):
    release = wanting(releases["mc-cpo", 0.8, "teacher"], 7)
    found = decide(release, learner(SURE), 0.5)
    assert (found.concept, found.activity) == ("c", "hint")  # of a, b and c, the least mastered
    assert (found.by, found.reason) == ("deferred", "below the bound")
    assert found.propensity == pytest.approx(1)
    assert found.certificate["wanted"] == {"concept": "d", "activity": "practice", "chance": 0.98 * 0.96}
    assert (found.certificate["bound"], found.certificate["confidence"]) == (BOUND, 0.8)
    assert decide(wanting(release, 5), learner(SURE), 0.5).by == "policy"


def test_a_teacher_may_go_below_the_bound_but_not_through_a_shut_gate(releases):
    release = releases["mc-cpo", 0.8, "teacher"]
    found = override(release, learner(SURE), "d", "practice")
    assert (found.by, found.certificate["wanted"]) == ("teacher", None)
    assert recheck(release, learner(SURE), "d", "practice", through_json(found.certificate)) is None
    with pytest.raises(Refusal, match="not ready for 'd'"):
        override(release, learner([0.99, 0.7, 0.7, 0.1]), "d")


def test_a_policy_that_gives_no_choice_is_deferred_without_one(releases):
    for to, says, concept in (("teacher", np.nan, "c"), ("probe", np.nan, "c")):
        found = decide(saying(releases["mc-cpo", None, to], [says] * 8), learner([0.98, 0.97, 0.9, 0.1]), 0.5)
        assert (found.reason, found.certificate["wanted"], found.propensity) == ("not finite", None, 1.0)
        assert found.concept == concept
    blocked = saying(releases["post-hoc-block", None, "teacher"], [0.0] * 6 + [50.0] * 2)
    found = decide(blocked, learner([0.98, 0.2, 0.9, 0.1]), 0.5)  # the no-op, which is no lesson
    assert (found.by, found.reason, found.certificate["wanted"]) == ("deferred", "unready", None)


def simulated(release, learners=40, steps=30):
    """How often lessons that need something before them were ready in truth, among learners of the model's own kind."""
    rng, model = np.random.default_rng(3), release.learner
    ready = []
    for _ in range(learners):
        standing, mastered = initial_state(release), rng.random(4) < model.prior
        for _ in range(steps):
            found = decide(release, standing, rng.random())
            at = "abcd".index(found.concept)
            if PARENTS[found.concept]:
                ready.append(all(mastered["abcd".index(name)] for name in PARENTS[found.concept]))
            right = bool(rng.random() < (1 - model.slip[at] if mastered[at] else model.guess[at]))
            rate = learning_rate(release, standing, found.concept, found.activity)
            standing = after_decision(release, standing, found.action)
            standing = after_outcome(release, standing, found.concept, right, found.activity)
            mastered[at] |= rng.random() < rate
    return np.mean(ready), len(ready)


def test_learners_whom_the_model_knows_are_ready_as_often_as_the_bound_says(run_of):
    """Mastery is then the chance of being mastered; so the share of lessons that are ready is at least the bound."""
    env = make("tutor-15-bkt", curriculum=DIAMOND, eta=0.3)
    folder = run_of(env, "mc-cpo")
    plain, _ = simulated(load_release(folder))
    assert plain < 0.97
    bound = 0.99
    for to in ("teacher", "probe"):
        share, lessons = simulated(load_release(folder, deferral=Deferral(to, bound)))
        assert lessons > 150
        assert share > bound - 2 * (bound * (1 - bound) / lessons) ** 0.5


# What a probe asks.

MODEL = {"guess": [0.3, 0.2, 0.1, 0.25], "slip": [0.05, 0.3, 0.1, 0.1]}


@pytest.fixture(scope="module")
def probing(run_of):
    """A release that probes, whose concepts differ in guess and slip."""
    env = make("tutor-15-bkt", curriculum=DIAMOND, activities=("hint", "practice"), **MODEL)
    return load_release(run_of(env, "unconstrained"), deferral=Deferral("probe", BOUND))


@settings(max_examples=60)
@given(st.lists(st.floats(0.3, 1), min_size=4, max_size=4), st.integers(0, 7))
def test_a_probe_asks_about_the_prerequisites_that_hold_the_choice_back(probing, K, action):
    found = decide(wanting(probing, action), learner(K), 0.5)
    wanted = probing.actions[action][0]
    sure = {name: chance(K, name) >= BOUND for name in PARENTS}
    if sure[wanted]:
        assert found.by == "policy"
        return
    # The fewest of the prerequisites, the least mastered, that have to be certain; those below those not served.
    asked, about = [wanted], set()
    while asked:
        needed = sorted(PARENTS[asked.pop()], key=lambda name: K["abcd".index(name)])
        fewest = next(n for n in range(3) if np.prod([K["abcd".index(name)] for name in needed[n:]]) >= BOUND)
        asked += [name for name in needed[:fewest] if not sure[name]]
        about |= {name for name in needed[:fewest] if sure[name]}
    guess, slip = ([float(of[at]) for at in range(4)] for of in (probing.learner.guess, probing.learner.slip))
    told = {name: information(K[at], guess[at], slip[at]) for at, name in enumerate("abcd") if name in about}
    assert (found.by, found.activity) == ("probe", "hint")
    assert told[found.concept] >= max(told.values()) * (1 - 1e-8)


def test_a_prerequisite_that_cannot_be_served_is_probed_by_its_own(probing):
    found = decide(wanting(probing, 6), learner([0.8, 0.5, 0.99, 0.1]), 0.5)  # d needs b, and b needs a
    assert (found.by, found.concept, found.certificate["wanted"]["concept"]) == ("probe", "a", "d")


def test_lessons_that_tell_equally_much_go_to_the_first(run_of):
    """Where guess and slip are one, a mastery tells as much as its opposite, but for the last digits."""
    forks = Curriculum.from_edges([("a", "c"), ("b", "c")])
    env = make("tutor-15", curriculum=forks, guess=0.2, slip=0.2)
    release = load_release(run_of(env, "unconstrained"), deferral=Deferral("probe"))
    for K in ([0.3, 0.7, 0.0], [0.7, 0.3, 0.0], [0.1, 0.9, 0.0], [0.9, 0.1, 0.0]):
        standing = initial_state(release)._replace(K=np.array(K))
        assert decide(saying(release, [0.0, 0.0, 50.0]), standing, 0.5).concept == "a"


# What cannot be changed unseen, and what stays as it was.


@settings(max_examples=40)
@given(kinds, logits, learners, draws)
def test_no_entry_of_a_certificate_can_be_changed_unseen(releases, kind, says, standing, uniform):
    release = saying(releases[kind], says)
    found = decide(release, standing, uniform)
    kept = through_json(found.certificate)
    for changed in spoils(kept):
        if changed.get("draw") != kept["draw"]:
            continue  # another draw may come to the same
        assert recheck(release, standing, found.concept, found.activity, changed) is not None, changed
    for by, reason in itertools.product(("policy", "fallback", "deferred", "probe"), (None, "unready", "failed")):
        if (by, reason) != (found.by, found.reason) and {found.reason, reason} != {"failed", "not finite"}:
            changed = {**kept, "by": by, "reason": reason}
            assert recheck(release, standing, found.concept, found.activity, changed) is not None, changed


def test_a_certificate_holds_for_no_other_way_to_defer(folder, releases):
    release = wanting(releases["mc-cpo", None, "teacher"], 7)
    found = decide(release, learner(SURE), 0.5)
    for other in (None, Deferral("probe", BOUND), Deferral("teacher", 0.94), Deferral("teacher", 0.9501)):
        changed = replace(release, deferral=other)
        assert recheck(changed, learner(SURE), found.concept, found.activity, found.certificate) is not None
    versions = {load_release(folder, method="mc-cpo").version}
    versions |= {
        load_release(folder, method="mc-cpo", deferral=Deferral(*of)).version for of in (("teacher",), ("probe",))
    }
    versions |= {each.version for (method, _, _), each in releases.items() if method == "mc-cpo"}
    assert len(versions) == 7


def test_without_deferring_releases_and_certificates_are_what_they_were(folder):
    release = load_release(folder, method="mc-cpo", ready=0.8)
    assert "deferral" not in release.description
    found = decide(release, learner(SURE), 0.5)
    before = "release policy curriculum learner concept activity by reason theta prerequisites confidence chance ready"
    assert list(found.certificate) == f"{before} frontier standing probabilities draw propensity t horizon".split()


def test_a_release_that_defers_is_rebuilt_from_what_is_kept_of_it(releases):
    for release in releases.values():
        again = build_release(release.description, release.weights, version=release.version)
        assert again.deferral == release.deferral


@pytest.mark.parametrize("below", [0.7, 0.5, 1.0, 1.1, float("nan"), True])
def test_a_bound_that_never_or_always_defers_is_refused(folder, below):
    with pytest.raises(InputError, match="deferred below"):
        load_release(folder, method="mc-cpo", deferral=Deferral("teacher", below))


def test_what_cannot_be_deferred_to_is_refused():
    with pytest.raises(InputError, match="deferred to 'nobody'"):
        read_deferral({"to": "nobody", "below": 0.9}, Opening(0.7))
    with pytest.raises(InputError, match=r"gate opens at 0\.95"):
        read_deferral({"to": "teacher", "below": 0.95}, Opening(0.7, 0.95))
    assert read_deferral(None, Opening(0.7)) is None
