"""The live set: taking over, rolling back, looking on; and what may not join it."""

from dataclasses import replace

import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import make
from mccpo.errors import InputError
from mccpo.serve.policy import load_release
from mccpo.serve.policy.decision import decide, propensities
from mccpo.serve.policy.learner_state import initial_state
from mccpo.serve.policy.releases import Releases, look_on


@pytest.fixture(scope="module")
def pair(run_of):
    folder = run_of(make("tutor-15"), "mc-cpo", "unconstrained")
    return load_release(folder), load_release(folder, seed=1)


def test_a_release_takes_over_and_is_rolled_back(pair):
    one, other = pair
    first = Releases(one)
    second = first.load(other)
    assert (second.current, second.previous) == (other, one)
    assert first.current is one  # whoever holds the old set goes on with it
    back = second.roll_back()
    assert (back.current, back.previous) == (one, other)
    assert back.roll_back().current is other
    assert second.load(other) is second
    with pytest.raises(InputError, match="no release to roll back to"):
        first.roll_back()


def test_a_shadow_that_takes_over_no_longer_looks_on(pair):
    one, other = pair
    live = Releases(one).watch(other, 0.5)
    assert (live.current, live.shadow, live.share) == (one, other, 0.5)
    after = live.load(other)
    assert (after.current, after.previous, after.shadow, after.share) == (other, one, None, 0.0)
    assert live.watch(None).shadow is None
    with pytest.raises(InputError, match="decides already"):
        live.watch(one)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), True])
def test_invalid_share_is_refused(pair, share):
    with pytest.raises(InputError, match="share"):
        Releases(pair[0]).watch(pair[1], share)


def test_a_shadow_is_asked_for_a_share_of_learners_and_always_the_same(pair):
    live = Releases(pair[0]).watch(pair[1], 0.3)
    asked = [live.shadow_for(f"lrn_{at}") for at in range(2000)]
    assert sum(each is pair[1] for each in asked) / 2000 == pytest.approx(0.3, abs=0.04)
    assert asked == [live.shadow_for(f"lrn_{at}") for at in range(2000)]
    assert all(live.watch(pair[1], 1.0).shadow_for(f"lrn_{at}") for at in range(50))
    assert not any(live.watch(pair[1], 0.0).shadow_for(f"lrn_{at}") for at in range(50))
    assert Releases(pair[0]).shadow_for("lrn_1") is None


def test_another_curriculum_or_other_activities_may_not_join(pair, run_of):
    one = pair[0]
    reversed_edges = Curriculum.from_edges(one.curriculum.edges[:-1], one.concepts, one.curriculum.demand)
    for env, words in (
        (make("tutor-15", curriculum=reversed_edges), "another curriculum"),
        (make("tutor-15", activities=("hint", "practice")), "other activities"),
    ):
        other = load_release(run_of(env))
        for join in (Releases(one).load, Releases(one).watch, lambda each: Releases(one, each)):
            with pytest.raises(InputError, match=words) as caught:
                join(other)
            assert "\n" not in str(caught.value)


def test_what_a_shadow_would_have_done_is_told(pair):
    one, other = pair
    standing = initial_state(one)
    served = decide(one, standing, 0.7)
    own = decide(other, standing, 0.7)
    told = look_on(other, standing, 0.7, served, timeout=1.0)
    assert told["release"] == other.version
    assert (told["concept"], told["by"], told["propensity"]) == (own.concept, own.by, own.propensity)
    assert told["agrees"] == (own.action == served.action)
    assert told["chance_of_served"] == pytest.approx(propensities(other, standing)[served.action])
    assert look_on(one, standing, 0.7, served, timeout=1.0)["agrees"] is True


def test_a_shadow_that_fails_says_so_and_does_no_harm(pair):
    one, other = pair
    served = decide(one, initial_state(one), 0.7)
    told = look_on(replace(other, network=None), initial_state(one), 0.7, served, timeout=1.0)
    assert (told["by"], told["reason"]) == ("fallback", "failed")
    broken = look_on(other, initial_state(one)._replace(t=-1), 0.7, served, timeout=1.0)
    assert set(broken) == {"release", "failed"}
    assert set(look_on(replace(other, tutor=None), initial_state(one), 0.7, served, timeout=1.0)) == {
        "release",
        "failed",
    }
