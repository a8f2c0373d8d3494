"""The gate that calibrates itself: it keeps its δ, is told no error, and meets learners that judge nobody."""

import dataclasses

import jax
import numpy as np
import pytest

from mccpo.env import Constraints, Estimated, Tutor, TutorBKT
from mccpo.errors import InputError
from mccpo.evaluation import upper_bound
from mccpo.experiments import calibration
from mccpo.experiments.calibration import (
    Calibration,
    GateSettings,
    Trial,
    calibrate,
    calibration_seed,
    grid,
    unready_bounds,
)
from mccpo.methods import METHODS, RulePolicies
from mccpo.methods.episodes import Policy
from mccpo.methods.gradient.training import evaluation_keys

SHORT = Tutor(horizon=12, K0=0.5, eta=0.2)  # gated concepts come soon, and some of them too soon
EPISODES = 1000
ERRORS = {"sigma": {"sigma": 0.2}, "bias": {"bias": 0.1}, "delay": {"delay": 10}}
RANDOM = RulePolicies(METHODS.get("random-ready").build(), 1)


@pytest.fixture(autouse=True)
def few_settings(monkeypatch):
    monkeypatch.setattr(calibration, "SHARES", (0.0, 1 / 3, 0.95))
    monkeypatch.setattr(calibration, "MEMORIES", (0.0, 0.9))


def calibrated(env, policies=RANDOM, budgets=None, seed=0):
    return calibrate(policies, env, Constraints(budgets or {}), seed=seed, episodes=EPISODES)


@pytest.mark.parametrize("learners", [SHORT, TutorBKT(horizon=12, K0=0.5, eta=0.2)], ids=["tutor", "bkt"])
@pytest.mark.parametrize("error", ERRORS)
def test_at_most_delta_of_fresh_lessons_are_unready_under_each_error(learners, error):
    env = Estimated(learners, **ERRORS[error])
    found = calibrated(env)
    for delta in (0.05, 0.01):
        chosen = found.choose(delta)
        fresh = RANDOM.play(chosen.settings.of(env), episodes=EPISODES, seed=0)
        unready, _ = unready_bounds(fresh, 0.05)
        assert chosen.unready <= chosen.bound <= delta
        assert unready.max() <= delta
    if error != "delay":  # late news is safe news, as long as most learners get better
        assert found.trials[0].unready > 0.01


def test_the_choice_depends_on_the_error_that_it_is_not_told():
    chosen = {name: calibrated(Estimated(SHORT, **error)).choose(0.01).settings for name, error in ERRORS.items()}
    assert chosen["sigma"] != chosen["delay"]
    assert {one.name for one in dataclasses.fields(Trial)}.isdisjoint({"sigma", "bias", "delay"})
    assert grid(Estimated(SHORT, sigma=0.2, caution=0.1)) == grid(Estimated(SHORT, bias=0.1, delay=10))


def keys_of(root):
    keys = [evaluation_keys(root, 10, block) for block in range(3)]
    return {tuple(data) for data in np.asarray(jax.random.key_data(jax.numpy.concatenate(keys)))}


def test_held_out_learners_do_not_judge():
    for seed in (0, 1, 7):
        held_out, judging = keys_of(calibration_seed(seed)), keys_of(seed)
        assert len(held_out) == len(judging) == 30
        assert not held_out & judging
    assert len({calibration_seed(seed) for seed in range(1000)} - set(range(1000))) == 1000


def test_a_shut_gate_teaches_only_what_has_no_prerequisites_and_is_always_an_answer():
    hopeless = Estimated(SHORT, bias=1.0)  # everything looks mastered
    found = calibrated(hopeless)
    chosen = found.choose(0.01)
    assert all(trial.unready > 0.05 for trial in found.trials[:-1])
    assert chosen.settings.shut
    assert chosen == found.choose(0.0)
    assert (chosen.unready, chosen.bound) == (0.0, 0.0)


def test_the_best_of_what_passes_is_chosen():
    def trial(caution, bound, returned, excess):
        return Trial(GateSettings(caution, 0.0), bound / 2, bound, returned, excess)

    shut = trial(1.0, 0.0, 8.0, 0.0)
    trials = (trial(0.0, 0.2, 9.0, 0.0), trial(0.1, 0.04, 5.0, 0.0), trial(0.2, 0.03, 6.0, 0.0), shut)
    assert Calibration(trials, 10).choose(0.05) == trials[2]  # the highest return, not that of the shut gate
    assert Calibration(trials, 10).choose(0.01) == shut
    missing = (trial(0.0, 0.01, 9.0, 0.3), trial(0.1, 0.01, 5.0, 0.2), shut)
    assert Calibration(missing, 10).choose(0.05) == missing[1]  # all miss the budgets, and this one misses them least
    with pytest.raises(InputError, match=r"delta is 1\.5"):
        Calibration((shut,), 10).choose(1.5)


def test_budgets_weigh_more_than_the_return():
    env = Estimated(SHORT, sigma=0.2)
    free = calibrated(env)
    held = calibrated(env, budgets={"c3": 0.0})
    assert all(trial.excess == 0 for trial in free.trials)
    assert all(trial.excess > 0 for trial in held.trials)
    assert held.choose(1.0).excess == min(trial.excess for trial in held.trials[:-1])
    assert free.choose(1.0).returned == max(trial.returned for trial in free.trials[:-1])


def test_bounds_are_corrected_for_settings_and_policies():
    env = Estimated(SHORT)  # nothing is unready, so the bound says how much it was corrected
    settings = len(grid(env)) - 1
    for copies in (1, 2):
        first = calibrated(env, dataclasses.replace(RANDOM, copies=copies)).trials[0]
        assert first.bound == pytest.approx(upper_bound(np.zeros(EPISODES), 1.0, 0.05 / (copies * settings)))


class Last(Policy):
    """Teaches the last concept, whatever the gate says."""

    def probabilities(self, env, memory, obs):
        chances = jax.numpy.zeros((env.num_actions + 1, obs.features.shape[-1]))
        return chances.at[env.num_actions - 1].set(1.0)


def test_policies_that_no_gate_confines_cannot_be_calibrated():
    with pytest.raises(InputError, match="unready even behind a gate that is shut"):
        calibrated(Estimated(SHORT), RulePolicies(Last(), 1))
