"""What the rivals share: they train, stay finite, keep to the mask, repeat and resume; settings and documentation."""

import inspect
import re
from dataclasses import fields

import jax
import numpy as np
import pytest

from mccpo.env import make
from mccpo.methods import NeuralPlan, constrained
from mccpo.methods.constrained import (
    CPO,
    CRPO,
    FOCOPS,
    FPI,
    KGA2C,
    P3O,
    RCPO,
    Lyapunov,
    PIDLagrangian,
    PPOLagrangian,
)
from mccpo.methods.engine import to_arrays
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.gradient.training import Variant, train_variants

ENV = make("chain")
PLAN = NeuralPlan(steps=700, seeds=1, sizes=Sizes(environments=8, rollout=16, minibatch=64, epochs=2), validation=8)
# Of the others, which have networks or learners' states of their own, it is tested beside their mechanisms.
PLAIN = [PPOLagrangian, RCPO, PIDLagrangian, FOCOPS, CRPO, P3O, KGA2C, CPO, FPI, Lyapunov]
RIVALS = {
    kind.name: kind for kind in vars(constrained).values() if isinstance(kind, type) and getattr(kind, "name", "")
}
every_rival = pytest.mark.parametrize("rival", RIVALS.values(), ids=RIVALS)


def leaves(runs):
    return jax.tree.leaves(tuple(getattr(runs, field.name) for field in fields(runs)))


def same_bits(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(leaves(one), leaves(other), strict=True))


# Their mechanisms have tests of their own, and they share the rest with the others.
AS_OTHERS = (PPOLagrangian, RCPO, PIDLagrangian, FOCOPS, CRPO, P3O, KGA2C, FPI, Lyapunov)


@pytest.mark.parametrize(
    "rival",
    [pytest.param(rival, marks=pytest.mark.slow if rival in AS_OTHERS else ()) for rival in PLAIN],
    ids=lambda rival: rival.name,
)
def test_a_rival_trains_within_the_mask_repeats_and_resumes(rival):
    """With three budgets, one and none, which are numbers of one program."""
    variants = [Variant(rival(), budgets) for budgets in ({"c2": 0.1, "c3": 0.2, "c4": 0.3}, {"c4": 0.3}, {})]
    saved = []
    runs = train_variants(ENV, variants, PLAN, after_point=lambda snapshot: saved.append(to_arrays(snapshot)))
    assert len(saved) == PLAN.points == 2
    assert all(np.isfinite(leaf).all() for leaf in leaves(runs))
    assert not runs.curves.violation_steps.any()
    assert not runs.multipliers[2].any()
    assert not runs.multipliers[1, :, :2].any()  # c2 and c3 carry no budget there
    assert same_bits(train_variants(ENV, variants, PLAN), runs)
    assert same_bits(train_variants(ENV, variants, PLAN, resume=saved[0]), runs)
    # Budgets of 0.1 and less are missed from the first: whoever knows of them learns otherwise.
    assert rival.constrained != np.array_equal(runs.last[0], runs.last[2])


@every_rival
def test_the_settings_that_are_searched_are_six_and_of_the_rivals_own_numbers(rival):
    first, *others = rival.search
    assert not first
    assert len(others) == 5
    assert len({tuple(sorted(setting.items())) for setting in rival.search}) == 6
    own = {field.name for field in fields(rival)} - {"settings"}
    known = own | {f"settings.{name}" for name in PPOSettings._fields}
    default = rival()
    for setting in others:
        assert setting
        assert setting.keys() <= known
        for name, value in setting.items():
            place = default.settings if name.startswith("settings.") else default
            assert getattr(place, name.removeprefix("settings.")) != value


@every_rival
def test_a_rivals_docstring_is_its_page(rival):
    parts = re.findall(r"^\*\*(.+?):\*\*", inspect.getdoc(rival), re.M)
    assert parts == ["Problem", "Source", "Departures", "When to use it"]
