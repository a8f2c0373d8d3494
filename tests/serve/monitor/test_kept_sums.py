"""What the monitor sums up as it happens, against the same made from its rows; and the state that it is stored as."""

import numpy as np
import pytest

from mccpo.env import make
from mccpo.serve.monitor import Monitor
from mccpo.serve.monitor.lesson_costs import Lesson
from mccpo.serve.monitor.snapshot import collect, pack, unpack
from mccpo.serve.policy import learner_state, load_release


@pytest.fixture(scope="module")
def release(run_of):
    return load_release(run_of(make("tutor-15", concepts=6, horizon=20)))


def taught_at_random(monitor, seed, asked):
    """Learners who come, are taught, move to another class and are erased; `asked` says when reports are made."""
    draw = np.random.default_rng(seed)
    release = monitor.release
    states = {}
    for turn in range(400):
        learner = f"l{draw.integers(24)}"
        if turn % 50 == 49:
            monitor.set_labels(learner, {"class": str(draw.integers(2)), "pace": "any"})
        elif turn == 222:
            monitor.erase_learner(learner)
        elif learner not in states:
            states[learner] = learner_state.initial_state(release)
            monitor.set_labels(learner, {"class": str(draw.integers(2))})
        else:
            state = states[learner]
            action = int(draw.choice(np.flatnonzero(np.repeat(release.ready(state.K), len(release.activities)))))
            concept, activity = release.actions[action]
            lesson = Lesson(f"ses {learner}", release, state, action)
            monitor.record_decision(learner, lesson, "policy", at=turn * 1000, decision=f"dec {turn}")
            correct = bool(draw.random() < 0.8)
            before = float(state.K[action // len(release.activities)])
            state = learner_state.after_decision(release, state, action)
            state = learner_state.after_outcome(release, state, concept, correct, activity)
            after = float(state.K[action // len(release.activities)])
            monitor.record_outcome(learner, correct=correct, before=before, after=after, decision=f"dec {turn}")
            states[learner] = state
            if draw.random() < 0.05:
                monitor.end_session(f"ses {learner}")
        if asked(turn):
            monitor.report()
    return states


@pytest.mark.parametrize("seed", range(2))
def test_sums_that_are_kept_are_those_made_from_the_rows(release, seed):
    """A report that was asked for all along, and one that is asked for only at the end."""
    kept, made = Monitor(release), Monitor(release)
    taught_at_random(kept, seed, lambda turn: turn % 7 == 0)
    taught_at_random(made, seed, lambda _: False)
    assert kept.equity().keys() == {"class", "pace"}
    ours, theirs = kept.equity()["class"], made.equity()["class"]
    assert ours["gaps"].keys() == theirs["gaps"].keys() == {"restriction_rate", "time_to_unlock", "mastery_gain"}
    for name, group in theirs["groups"].items():
        for measure in ("restriction_rate", "time_to_unlock", "mastery_gain"):
            for entry in ("mean", "interval"):
                assert ours["groups"][name][measure][entry] == pytest.approx(group[measure][entry], abs=1e-9)
    assert {name: value for name, value in kept.report().items() if name != "equity"} == {
        name: value for name, value in made.report().items() if name != "equity"
    }


def test_a_state_that_was_stored_goes_on_as_if_nothing_had_happened(release):
    monitor = Monitor(release)
    taught_at_random(monitor, 1, lambda _: False)
    content = pack(collect(monitor))
    again = unpack(content, release, monitor.bounds, {release.version: release})
    assert "class" not in str(collect(again)["counts"].tobytes())  # labels are not in it
    for learner, labels in monitor.learners.labels.items():
        again.set_labels(learner, labels)
    assert again.report() == monitor.report()
    assert again.curves("hour", 400_000) == monitor.curves("hour", 400_000)
    for one in (monitor, again):
        taught_at_random(one, 2, lambda turn: turn % 11 == 0)
    assert again.report() == monitor.report()


def test_a_state_of_another_curriculum_is_refused(release, run_of):
    other = load_release(run_of(make("tutor-15", concepts=5)))
    with pytest.raises(ValueError, match="another curriculum"):
        unpack(pack(collect(Monitor(release))), other, {}, {})
