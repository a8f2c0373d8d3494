"""Parameters of tutors: what cannot be meant is refused in one line that names it and says what to give."""

import subprocess
import sys

import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.errors import InputError
from mccpo.policy import Activity, Prices, TutorParameters, chosen_activities, for_each_concept, per_concept

GOOD = {
    "curriculum": Curriculum.from_edges([("a", "b")]),
    "activities": (),
    "K0": 0.2,
    "eta": 0.08,
    "guess": 0.2,
    "slip": 0.1,
    "theta": 0.7,
    "unready_gain": 0.1,
    "novelty_span": 5.0,
    "prices": Prices(0.581, 1.23, 0.03, 0.022, 0.5, 10.5),
    "horizon": 100,
    "gamma": 0.99,
}
WRONG = {
    "theta is 1.0": {"theta": 1.0},
    "theta is 0.7": {"theta": "0.7"},
    "gamma is 0": {"gamma": 0},
    "gamma is True": {"gamma": True},
    "horizon is 1.5": {"horizon": 1.5},
    "unready_gain is nan": {"unready_gain": np.nan},
    "novelty_span is inf": {"novelty_span": np.inf},
    "K0 of 'b' is 1.5": {"K0": np.array([0.5, 1.5])},
    "K0 has 3 numbers": {"K0": np.array([0.1, 0.2, 0.3])},
    "guess is 0.5 and slip is 0.5": {"guess": 0.5, "slip": 0.5},
    "c3_demand is 2": {"prices": Prices(0.581, 1.23, 0.03, 0.022, 2, 10.5)},
    "c4_rate is -1": {"prices": Prices(0.581, 1.23, 0.03, 0.022, 0.5, -1)},
    "r_base is inf": {"prices": Prices(np.inf, 1.23, 0.03, 0.022, 0.5, 10.5)},
    "eta times the gain of quiz is 1.6": {"activities": (Activity("quiz", gain=20.0),)},
}


def test_sound_parameters_are_taken():
    TutorParameters(**GOOD)
    TutorParameters(**GOOD | {"K0": np.array([0.1, 0.2]), "eta": np.float32(0.1), "gamma": 1})


@pytest.mark.parametrize("line", WRONG)
def test_wrong_parameters_are_refused_in_one_line(line):
    with pytest.raises(InputError) as caught:
        TutorParameters(**GOOD | WRONG[line])
    assert caught.value.what == line
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("values", [[0.1, "0.2"], [0.1, True], [0.1, [0.2]], [None, 0.1]])
def test_lists_of_other_things_than_numbers_are_refused(values):
    for read in (per_concept, lambda given: for_each_concept(given, 2)):
        with pytest.raises(InputError, match="no list of numbers"):
            read(values)


@pytest.mark.parametrize(
    "entry",
    [
        Activity(""),
        Activity("a/b"),
        Activity(3),
        Activity("quiz", demand=-1.0),
        Activity("quiz", gain="1"),
        Activity("quiz", engagement=2.0),
        Activity("quiz", engagement=True),
    ],
)
def test_activities_that_cannot_be_are_refused(entry):
    with pytest.raises(InputError):
        chosen_activities([entry])


def test_room_imports_no_jax():
    check = "import mccpo.policy, mccpo.runs, sys; sys.exit('jax' in sys.modules or 'equinox' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], timeout=60).returncode == 0
