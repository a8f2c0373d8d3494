"""Budgets and floors with other learners: the same shares as in training, and what the worst member makes of them."""

from dataclasses import replace

import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import Constraints, PreparedEnsemble, PreparedTutor, make
from mccpo.experiments.asked import elsewhere
from mccpo.experiments.asked.elsewhere import floors_elsewhere
from mccpo.experiments.certification.certify import Terms, certify
from mccpo.experiments.evaluate import moved
from mccpo.experiments.worth import summarised
from mccpo.methods import Episodes

from .test_certify import ANCHOR, ENV, always

FASTER = make("tutor-15", horizon=5, eta=0.16)


@pytest.fixture(autouse=True)
def one_rule(monkeypatch):
    monkeypatch.setattr(elsewhere, "RULES", ("greedy-gain",))
    monkeypatch.setattr(elsewhere, "EVALUATION_EPISODES", 200)


def test_floors_move_with_what_the_best_rule_teaches():
    policies = always(0, floors={"learning": 0.1, "engagement": 1.0})
    found = floors_elsewhere(policies, FASTER, replace(ANCHOR, ret=2 * ANCHOR.ret), 20, 0)
    assert found["engagement"] == pytest.approx(2.0)
    assert found["learning"] == pytest.approx(0.1 * 2, rel=0.1)  # twice the rate, in five lessons
    assert floors_elsewhere(policies, ENV, ANCHOR, 20, 0) == pytest.approx(dict(policies.floors))
    assert floors_elsewhere(always(0), FASTER, ANCHOR, 20, 0) == {}
    nobody = make("tutor-15", horizon=5, eta=0.0)
    assert set(floors_elsewhere(policies, nobody, ANCHOR, 20, 0)) == {"engagement"}


def test_a_certificate_with_other_learners_has_floors_too():
    free, policies = always(0, method="unconstrained"), always(0, budgets={}, floors={"learning": 9.0})
    there = moved(policies, FASTER, [free, policies], 20, 0)
    assert there.floors["learning"] > 9.0
    found = certify(there, Terms(episodes=20))
    assert found.floors["learning"].passed is False
    assert not found.passed


def test_kinds_of_learners_are_brought_to_one_unit():
    """c4 is 2 with the first kind and 6 with the second, whose share is a quarter: 3 on average."""
    graph = Curriculum.from_edges([("a", "b")])
    slow, fast = (PreparedTutor(curriculum=graph, population=[[[0.1, 0.1]], [[eta, eta]], [[0.1, 0.1]], [[0.1, 0.1]]])
                  for eta in (0.1, 0.3))  # fmt: skip
    env = PreparedEnsemble(curriculum=graph, horizon=5, kinds=(slow, fast), shares=(0.75, 0.25))
    member = np.array([[[0, 0, 0, 1]]])
    one = np.ones((1, 1, 4))
    costs = np.stack([0 * one, one, np.where(member, 6.0, 2.0)], axis=2)
    seen = Episodes(one, costs, one, one, one > 0, one, one, one, one, one, member)
    found = np.asarray(elsewhere.in_one_unit(env, seen, teaches=False, seed=0).relative)
    np.testing.assert_allclose(found, [[1, 1, 2 / 3, 1], [1, 1, 2, 1]], rtol=1e-6)
    taught = np.asarray(elsewhere.in_one_unit(env, seen, teaches=True, seed=0).relative)[:, 3]
    assert taught[0] < 1 < taught[1]
    assert float(taught @ np.array(env.shares)) == pytest.approx(1.0, abs=1e-5)


def test_a_table_tells_the_worst_member():
    """c4 is at 0.8 of its budget with one member and at 1.3 with the other; learning of 0.5 and 0.25, of 0.4."""
    member = np.array([[0, 0, 1, 1]])
    one = np.ones((1, 4))
    costs = np.stack([0 * one, 0 * one, np.where(member, 2.6, 1.6)], axis=1)
    learning = np.where(member, 0.25, 0.5)
    seen = Episodes(one, costs, one, one, one > 0, 0 * one, 0 * one, one, learning, one, member)
    cells = summarised(seen, ENV, ANCHOR, Constraints(budgets={"c4": 2.0}))
    assert cells["worst_member"].mean == pytest.approx(0.3)
    floored = summarised(seen, ENV, ANCHOR, Constraints(floors={"learning": 0.4}, reach={"learning": 1.0}))
    assert floored["worst_member"].mean == pytest.approx(0.375)
    kept = summarised(seen, ENV, ANCHOR, Constraints(budgets={"c4": 4.0}))
    assert kept["worst_member"].mean == pytest.approx(-0.35)
    assert "worst_member" not in summarised(seen._replace(member=None), ENV, ANCHOR, Constraints(budgets={"c4": 2.0}))
