"""What the report makes of a table's numbers, and its words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mccpo.report import vocabulary
from mccpo.report.tables.cells import certificate_text
from mccpo.report.tables.finding import finding, tally
from mccpo.report.tables.metrics import executed_metrics, variant_metrics
from mccpo.runs.results import Certificate, Results


def cell(*values: float) -> dict[str, Any]:
    return {"mean": float(np.mean(values)), "std": float(np.std(values)), "per_seed": list(values)}


def test_the_finding_names_the_share_of_the_optimum_and_the_budgets_met(beside_paper: dict[str, Any]) -> None:
    beside_paper["rows"]["mc-cpo"] = {"return": cell(3.67, 3.67), "satisfaction_strict": cell(1.0, 0.0)}
    beside_paper["rows"]["post-hoc"] = {"return": cell(2.941, 2.941)}
    assert finding(Results.parse(beside_paper)) == (
        "MC-CPO returns 3.670 ± 0, 99.8 % of the exact optimum 3.6758, and meets its budget in 1 of 2 seeds; "
        "filtering the unconstrained policy afterwards returns 2.941."
    )


def test_the_finding_without_optimum_or_our_method() -> None:
    raw = {"table": "t", "rows": {"mine": {"return": cell(2.0), "satisfaction": cell(1.0)}}}
    assert finding(Results.parse(raw)) == "mine returns 2.000 and meets its budget in 1 of 1 seeds (within 10 %)."
    assert "1 metrics" in finding(Results.parse({"table": "t", "rows": {"mine": {"dK": cell(1.0)}}}))
    zero = {**raw, "optimum": {"return": 0.0}}
    assert "where the exact optimum is 0" in finding(Results.parse(zero))


def test_the_finding_is_about_trained_methods_and_not_about_rules() -> None:
    rows = {"unconstrained": {"return": cell(1.0)}, "pretrained": {"return": cell(2.0)}, "zpdes": {"return": cell(3.0)}}
    assert finding(Results.parse({"table": "t", "rows": rows})).startswith("Pretrained returns 2")
    del rows["pretrained"]
    assert finding(Results.parse({"table": "t", "rows": rows})).startswith("ZPDES returns 3")


def test_the_finding_over_settings_gives_the_worst_share() -> None:
    parts = {
        f"R={best}": {
            "rows": {"mc-cpo": {"return": cell(reached), "satisfaction_strict": cell(1.0, 1.0)}},
            "optimum": {"return": best},
            "budgets": {"c": 0.0},
        }
        for best, reached in ((0.5, 0.5), (0.6, 0.54))
    }
    assert finding(Results.parse({"table": "t", "settings": parts})) == (
        "MC-CPO returns 0.500 at R=0.5, 0.540 at R=0.6, at least 90 % of the exact optimum, "
        "and meets its budget in 4 of 4 runs."
    )


@pytest.mark.parametrize(
    ("reached", "budgets", "said"),
    [
        (0.6, {"c": 0.0}, ", the whole of the exact optimum."),
        (0.601, {"c": 0.0}, ", the whole of the exact optimum (up to 0.2 % more, from exceeding its budget)."),
        (0.601, {"c": 0.0, "d": 1.0}, ", the whole of the exact optimum (up to 0.2 % more, from exceeding a budget)."),
        (0.66, {}, ", the whole of the exact optimum."),
    ],
)
def test_more_than_the_optimum_is_not_a_share_of_it(reached: float, budgets: dict[str, float], said: str) -> None:
    part = {"rows": {"mc-cpo": {"return": cell(reached)}}, "optimum": {"return": 0.6}, "budgets": budgets}
    assert finding(Results.parse({"table": "t", "settings": {"a": part, "b": part}})).endswith(said)
    alone = finding(Results.parse({"table": "t", **part}))
    assert alone.endswith(said.replace("optimum", "optimum 0.6").replace("up to ", ""))


def test_the_tally_counts_verdicts(beside_paper: dict[str, Any]) -> None:
    expected = "Beside the paper's 3 numbers: ✓ agrees 1, ▲ better 1, ✗ differs 1."
    assert tally(Results.parse(beside_paper).settings) == expected
    assert tally(Results.parse({**beside_paper, "verdicts": {}}).settings) == ""


def test_metrics_come_in_the_order_of_the_tables_and_variants_apart() -> None:
    metrics = ["odd", "lambda_c4", "J_c4", "J_c2", "pi_hack_trained", "return_last", "return"]
    assert vocabulary.in_order(metrics)[:3] == ["return_last", "return", "J_c2"]
    setting = Results.parse({"table": "t", "rows": {"m": {metric: cell(1.0) for metric in metrics}}}).settings[0]
    assert executed_metrics(setting) == ["return", "J_c2", "J_c4", "lambda_c4", "odd"]
    assert variant_metrics(setting) == ["return_last", "pi_hack_trained"]


def test_labels() -> None:
    assert vocabulary.metric_label("J_c4") == "J(c4)"
    assert vocabulary.metric_label("lambda_c") == "λ(c)"
    assert vocabulary.metric_label("pi_hack_trained") == "π(hack), before the filter"
    assert vocabulary.metric_label("unheard_of") == "unheard_of"
    assert vocabulary.metric_label("true_violation_rate") == "Unready, in truth"
    assert vocabulary.method_label("mc-cpo") == "MC-CPO"
    assert vocabulary.method_label("reward-shaped-gain") == "Reward-shaped, + λ·ΔK"
    assert vocabulary.method_label("reward-shaped@0.5").replace("\N{NO-BREAK SPACE}", " ") == "Reward-shaped, w = 0.5"
    assert vocabulary.method_label("reward-shaped-gain@2") == "Reward-shaped, + 2·ΔK"
    assert vocabulary.method_label("mine@") == "mine@"
    assert [label for label, _ in vocabulary.meanings(["J_c2", "J_c4", "return", "odd"])] == ["Return", "J"]


def test_a_certificate_names_its_part() -> None:
    raw = {"confidence": 0.95, "passed": True, "method": "mc-cpo", "part": "tutor-15 κ=5.0", "episodes": 2000}
    about = "(MC-CPO of tutor-15 κ=5.0 in 2,000 fresh episodes"
    assert f"{about})." in certificate_text(Certificate.parse(raw, "here"))
    noisy = certificate_text(Certificate.parse({**raw, "estimation_error": 0.1}, "here"))
    assert f"{about} with mastery seen with an error of σ = 0.1)." in noisy


def test_an_anchor_that_others_outdo_is_warned_of() -> None:
    rows = {"unconstrained": {"return": cell(25.5, 25.6)}, "mc-cpo": {"return": cell(31.2, 31.3)}}
    said = finding(Results.parse({"table": "t", "rows": rows}))
    assert "MC-CPO returns more than the unconstrained policy (31.25 against 25.55)" in said
    rows["mc-cpo"]["return"] = cell(25.6, 25.6)
    assert "more than the unconstrained" not in finding(Results.parse({"table": "t", "rows": rows}))
