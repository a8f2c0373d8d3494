"""Verdicts on single cells, and the paper's numbers that they are about."""

import pytest

from mccpo.evaluation import summarise
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.paper.verdicts import verdict_on
from mccpo.runs.results import Reported


def test_within_the_noise_of_both_agrees() -> None:
    verdict = verdict_on(summarise([0.99, 1.0, 1.01]), Reported(1.02, 0.05, 0.01), 1.0, 10)
    assert verdict.kind == "agrees"


def test_nearer_to_the_exact_value_is_better_on_either_side() -> None:
    assert verdict_on(summarise([1.01, 1.011]), Reported(1.5, 0.01, 0.1), 1.0, 10).kind == "better"
    assert verdict_on(summarise([0.99, 0.991]), Reported(0.5, 0.01, 0.1), 1.0, 10).kind == "better"


def test_farther_from_the_exact_value_differs_and_says_so() -> None:
    verdict = verdict_on(summarise([2.0, 2.01]), Reported(1.0, 0.01, 0.1), 1.0, 10)
    assert verdict.kind == "differs"
    assert "farther" in verdict.reason


def test_without_an_exact_value_nothing_is_better() -> None:
    assert verdict_on(summarise([2.0, 2.01]), Reported(1.0, 0.01, 0.1), None, 10).kind == "differs"


def test_rounding_of_the_printed_digits_is_no_difference() -> None:
    assert verdict_on(summarise([0.6004] * 3), Reported(0.600, 0.0, 0.001), 0.6, 10).kind == "agrees"
    assert verdict_on(summarise([0.6104] * 3), Reported(0.600, 0.0, 0.001), 0.6, 10).kind == "differs"


def test_one_seed_of_ours_still_gets_a_verdict() -> None:
    assert verdict_on(summarise([3.0]), Reported(1.0, 0.1, 0.1), 3.0, 10).kind == "better"


def test_the_paper_keeps_its_digits_and_our_names() -> None:
    gate = paper.rows("gate")
    assert gate["mc-cpo"]["return"] == Reported(0.600, 0.001, pytest.approx(0.001))
    assert "pi_hack_trained" in gate["post-hoc"]
    assert "pi_hack" not in gate["post-hoc"]
    assert "rhsi_ratio_discounted" in paper.rows("chain")["mc-cpo"]
