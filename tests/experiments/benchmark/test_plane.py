"""What mixtures of simple tutors reach, against a linear program, and how far beyond them methods are, by hand."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from mccpo.experiments.benchmark.plane import SimpleTutors, beyond_rules
from mccpo.experiments.benchmark.results import findings_of
from mccpo.runs.benchmark import Anchor, Row
from mccpo.runs.benchmark import Outcome as Worth

NUMBERS = st.integers(-20, 40).map(lambda number: number / 4)
ANCHOR = Anchor(ret=10.0, costs={}, engagement=0.0, gain=0.0, pi_hack=0.0, violation_rate=0.0,
                prerequisite_violation_rate=0.0)  # fmt: skip


def row(method, gain=0.0, ret=0.0, *, kind="learner", environment="here", kappa=0.5, seed=0, failed=False):
    worth = Worth(ret, 1.0, 1.0, 0.0, 0.0, gain, 0.0, 0.0, 0.0, {}, share=ret / 10, optimum_share=None, cost_share=0.5)
    status = "crashed" if failed else "done"
    return Row(environment, method, kind, kappa, seed, status, "", "{}", "", 1.0, {}, None if failed else worth)


def rule(method, gain, ret, **where):
    return row(method, gain, ret, kind="tutor", **where)


# ---- mixtures


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6), st.floats(-6, 10))
def test_the_best_mixture_matches_a_linear_program(tutors, least):
    """The most return of a mixture whose mean ΔK is at least so much."""
    gain, ret = (np.array(axis) for axis in zip(*tutors, strict=True))
    assume(least <= gain.max())
    found = linprog(-ret, A_ub=[-gain], b_ub=[-least], A_eq=[np.ones(len(ret))], b_eq=[1.0], bounds=(0, 1))
    assert found.success
    assert SimpleTutors(gain, ret).best_return(least) == pytest.approx(-found.fun, abs=1e-6)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6))
def test_beyond_what_anybody_teaches_there_is_no_number(tutors):
    gain, ret = zip(*tutors, strict=True)
    assert np.isnan(SimpleTutors(gain, ret).best_return(max(gain) + 1.0))


def test_mixtures_by_hand():
    simple = SimpleTutors([0.0, 1.0, 2.0, 4.0], [10.0, 5.0, 8.0, 2.0])  # who teaches 1 is worse than a mixture: 9
    assert simple.best_return(np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0])).tolist() == [10, 10, 9, 8, 5, 2]
    assert SimpleTutors([0.0, 1.0], [3.0, 5.0]).best_return(0.0) == 5.0  # who teaches more and returns more is better


# ---- how far beyond them


def test_it_is_the_mean_over_kappa_of_the_share_of_the_return():
    """The mixtures lie on the line from (0, 10), the unconstrained tutor, to (4, 2), the rule: at ΔK = 2 it is 6."""
    rows = [
        rule("drill", 4.0, 2.0, kappa=0.5), rule("drill", 4.0, 2.0, kappa=0.9),
        row("good", 2.0, 7.0, kappa=0.5), row("good", 1.0, 8.5, kappa=0.9),  # 1 and 0.5 beyond
        row("good", 2.0, 6.0, kappa=0.5, seed=1), row("good", 1.0, 8.0, kappa=0.9, seed=1),  # on the line
        row("bad", 2.0, 5.0, kappa=0.5), row("bad", 3.0, 1.0, kappa=0.9),  # 1 and 3 short
        row("mixed", 2.0, 7.0, kappa=0.5), row("mixed", 3.0, 1.0, kappa=0.9),  # 1 beyond, 3 short
        row("half", 2.0, 7.0, kappa=0.5), row("half", kappa=0.9, failed=True),
        row("none", kappa=0.5, failed=True), row("none", kappa=0.9, failed=True),
    ]  # fmt: skip
    found = beyond_rules(rows, {"here": ANCHOR})
    assert {method: by_environment["here"] for method, by_environment in found.items()} == {
        "good": pytest.approx({0: 0.075, 1: 0.0}),
        "bad": pytest.approx({0: -0.2}),
        "mixed": pytest.approx({0: -0.1}),
        "half": pytest.approx({0: 0.1}),  # what failed teaches nothing, and counts for nothing
    }
    told = findings_of(rows, {"here": ANCHOR}).beyond_rules["here"]
    assert told["good"].per_seed == pytest.approx((0.075, 0.0))
    assert told["good"].mean == pytest.approx(0.0375)


def test_a_rule_counts_by_its_mean_over_seeds():
    """Its seeds differ by chance alone: nobody could have drawn between them."""
    lucky = [rule("drill", 4.0, 3.0), rule("drill", 4.0, 1.0, seed=1)]
    found = beyond_rules([*lucky, row("good", 2.0, 7.0)], {"here": ANCHOR})
    assert found == {"good": {"here": {0: pytest.approx(0.1)}}}


def test_each_environment_has_its_own_rules():
    rows = [
        rule("drill", 4.0, 2.0), row("good", 2.0, 7.0),
        rule("drill", 4.0, 6.0, environment="there"), row("good", 2.0, 7.0, environment="there"),
        row("good", 2.0, 7.0, environment="nowhere"),  # no rule was run there
        rule("drill", 4.0, 2.0, environment="unknown"), row("good", 2.0, 7.0, environment="unknown"),
        rule("drill", 0.0, 0.0, failed=True, environment="broken"), row("good", 2.0, 7.0, environment="broken"),
    ]  # fmt: skip
    anchors = dict.fromkeys(("here", "there", "nowhere", "broken"), ANCHOR)
    found = beyond_rules(rows, anchors)
    assert found == {"good": {"here": {0: pytest.approx(0.1)}, "there": {0: pytest.approx(-0.1)}}}


def test_without_rules_there_is_none():
    assert beyond_rules([row("good", 2.0, 7.0)], {"here": ANCHOR}) == {}
    assert findings_of([row("good", 2.0, 7.0)], {"here": ANCHOR}).beyond_rules == {}


def test_the_unconstrained_tutor_is_one_that_is_mixed():
    """A rule that teaches little for little is never needed: who returns less than the unconstrained is behind."""
    found = beyond_rules([rule("idle", -1.0, 0.0), row("poor", -0.5, 9.0)], {"here": ANCHOR})
    assert found["poor"]["here"] == pytest.approx({0: -0.1})
