"""Verdicts on single cells, and the paper's numbers that they are about."""

import numpy as np
import pytest
from scipy import stats

from mccpo.evaluation import summarise, welch
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.paper.verdicts import margin_of, verdict_on, verdicts
from mccpo.runs.results import Reported


def on(values: list[float], paper: Reported, exact: float | None = None, metric: str = "return", family: int = 1):
    return verdict_on(metric, summarise(values), paper, exact, paper_seeds=10, family=family)


def test_a_difference_shown_to_be_within_the_margin_agrees() -> None:
    verdict = on([0.999, 1.0, 1.001], Reported(1.005, 0.002, 0.001))
    assert verdict.kind == "agrees"
    assert "margin of 0.02" in verdict.reason


def test_lack_of_evidence_is_no_agreement() -> None:
    ours = [3.668 + 0.001 * at for at in range(-4, 6)]
    paper = Reported(3.538, 0.553, 0.001)
    assert welch(ours, np.random.default_rng(0).normal(3.538, 0.553, 10)).p > 0.05  # no difference is shown
    assert on(ours, paper, 3.6757).kind == "cannot tell"


def test_the_verdict_matches_two_one_sided_tests() -> None:
    random = np.random.default_rng(2)
    for _ in range(50):
        ours, theirs = random.normal(1.0, 0.03, 8), random.normal(random.uniform(0.95, 1.05), 0.03, 10)
        paper = Reported(float(theirs.mean()), float(theirs.std(ddof=1)), 1e-9)
        margin = margin_of("return", paper)
        below = stats.ttest_ind(ours, theirs - margin, equal_var=False, alternative="greater").pvalue
        above = stats.ttest_ind(ours, theirs + margin, equal_var=False, alternative="less").pvalue
        assert (on(list(ours), paper).kind == "agrees") == (max(below, above) <= 0.05)


def test_nearer_to_the_exact_value_is_better_on_either_side() -> None:
    assert on([1.01, 1.011], Reported(1.5, 0.01, 0.1), 1.0).kind == "better"
    assert on([0.99, 0.991], Reported(0.5, 0.01, 0.1), 1.0).kind == "better"


def test_farther_from_the_exact_value_differs_and_says_so() -> None:
    verdict = on([2.0, 2.01], Reported(1.0, 0.01, 0.1), 1.0)
    assert verdict.kind == "differs"
    assert "farther" in verdict.reason


def test_without_an_exact_value_nothing_is_better() -> None:
    assert on([2.0, 2.01], Reported(1.0, 0.01, 0.1)).kind == "differs"


def test_rounding_of_the_printed_digits_is_no_difference() -> None:
    assert on([0.6004] * 3, Reported(0.600, 0.0, 0.001), 0.6).kind == "agrees"
    assert on([0.6204] * 3, Reported(0.600, 0.0, 0.001), 0.6).kind == "differs"
    assert on([0.0] * 10, Reported(0.0, 0.0, 0.001), metric="J_c").kind == "agrees"


def test_a_rate_has_a_margin_of_its_own_scale() -> None:
    paper = Reported(0.0004, 0.0001, 0.0001)
    assert on([0.0001, 0.0002], paper, metric="pi_hack").kind == "agrees"
    assert on([0.0001, 0.0001], paper, metric="J_c").kind != "agrees"


def test_one_seed_of_ours_cannot_tell() -> None:
    assert on([3.0], Reported(1.0, 0.1, 0.1), 3.0).kind == "cannot tell"


def test_a_few_seeds_that_meet_budgets_tell_little() -> None:
    assert on([1.0] * 10, Reported(0.8, None, 0.1), metric="satisfaction").kind == "cannot tell"
    assert on([1.0] * 10, Reported(0.0, None, 0.1), metric="satisfaction").kind == "differs"
    # All seeds against none differ in a whole table, too: a count has no digits that rounding could hide.
    assert on([1.0] * 10, Reported(0.0, None, 0.1), metric="satisfaction", family=12).kind == "differs"


def test_the_verdicts_of_a_table_share_the_chance_of_error() -> None:
    ours, paper = [1.0, 1.01, 0.99, 1.0], Reported(1.0, 0.02, 0.001)
    alone = on(ours, paper)
    assert alone.kind == "agrees"
    rows = {"mc-cpo": {f"J_{at}": summarise(ours) for at in range(25)}}
    stated = {"mc-cpo": {f"J_{at}": paper for at in range(25)}}
    together = verdicts(rows, stated, {}, paper_seeds=10)["mc-cpo"]
    assert together["J_0"] == on(ours, paper, family=25)
    assert together["J_0"].kind == "cannot tell"


def test_the_paper_keeps_its_digits_and_our_names() -> None:
    gate = paper.rows("gate")
    assert gate["mc-cpo"]["return"] == Reported(0.600, 0.001, pytest.approx(0.001))
    assert "pi_hack_trained" in gate["post-hoc"]
    assert "pi_hack" not in gate["post-hoc"]
    assert "rhsi_ratio_discounted" in paper.rows("chain")["mc-cpo"]
