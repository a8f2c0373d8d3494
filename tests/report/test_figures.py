"""Figures of fronts, of training over several settings, and of errors in the estimate."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

import numpy as np
import pytest

from mccpo.evaluation import Curves
from mccpo.report.figures import robustness, tradeoff
from mccpo.report.figures.drawing import stroke
from mccpo.report.figures.of_table import galleries
from mccpo.report.figures.panels import Group
from mccpo.report.page.html import render
from mccpo.runs.results import NoiseLevel, Results


def front(raw: dict[str, Any]) -> Group:
    group = tradeoff.front(Results.parse(raw), (f"f{number}" for number in count()))
    assert group is not None
    return group


def legend(group: Group) -> list[str]:
    return [text for _, text in group.legend]


def markers(svg: str) -> list[str]:
    """How the markers of a figure are filled, in the order in which they are drawn."""
    return re.findall(r"<use [^>]*style=\"fill: ([^;\"]+)", svg)


def test_a_point_is_hollow_where_some_seed_misses_a_budget(tutor: dict[str, Any]) -> None:
    group = front(tutor)
    assert "hollow: some seed misses a budget (τ = 0)" in legend(group)
    filled = [fill for fill in markers(group.panels[0].svg) if fill in ("#0072b2", "#d55e00", "#ffffff")]
    # Unconstrained misses; of ours, from left to right, κ = 0.5 misses in one seed and κ = 0.9 meets; two of the paper.
    assert filled == ["#ffffff", "#ffffff", "#0072b2", "#ffffff", "#ffffff"]
    for point in tutor["fronts"]["mc-cpo"]:
        point["satisfaction_strict"] = 1.0
    tutor["fronts"].pop("unconstrained")
    assert "hollow: some seed misses a budget (τ = 0)" not in legend(front(tutor))


def test_the_papers_points_are_named_and_counted_where_ours_are_as_good(tutor: dict[str, Any]) -> None:
    group = front(tutor)
    assert ">theirs<" in group.panels[0].svg
    assert "at least as good in both respects as 1 of the paper's 2 points" in group.note
    tutor["fronts"]["mc-cpo"][0]["satisfaction_strict"] = 0.9
    assert "as none of the paper's 2 points" in front(tutor).note
    tutor["paper_points"] = []
    assert "paper" not in front(tutor).note + "".join(legend(front(tutor)))


def test_a_sweep_over_weights_is_one_line_with_its_numbers(tutor: dict[str, Any]) -> None:
    tutor["fronts"] |= {
        f"reward-shaped@{strength}": [{"return": 34.0 - strength, "rhsi_ratio": 70.0 / (1.0 + strength)}]
        for strength in (0.25, 1.0, 4.0)
    }
    group = front(tutor)
    assert legend(group)[:3] == ["Unconstrained", "MC-CPO", "Reward-shaped, several w"]
    assert group.panels[0].caption == "the numbers are κ and w"
    numbers = re.findall(r"7\.5px[^>]*>([\d.]+)</text>", group.panels[0].svg)
    assert sorted(numbers) == ["0.25", "0.5", "0.9", "1.0", "4.0"]


def test_a_number_that_would_cover_the_one_before_is_left_out(tutor: dict[str, Any]) -> None:
    tutor["fronts"]["mc-cpo"] = [
        {"kappa": kappa, "return": 30.0 + kappa, "rhsi_ratio": 20.0 + kappa} for kappa in (0.1, 0.1001, 0.9)
    ]
    tutor["fronts"].pop("unconstrained")
    assert re.findall(r"7\.5px[^>]*>(0\.[\d]+)</text>", front(tutor).panels[0].svg) == ["0.1", "0.9"]


def test_methods_of_one_sweep_share_a_colour_and_nothing_else() -> None:
    methods = ["mc-cpo", *(f"reward-shaped@{strength}" for strength in (1, 2, 3)), "mine", "reward-shaped"]
    strokes = [stroke(method, methods) for method in methods]
    assert len({one.colour for one in strokes[1:4]} | {strokes[5].colour}) == 1
    assert len({(one.dashes, one.marker) for one in strokes[1:4]}) == 3
    assert len({(one.colour, one.dashes, one.marker) for one in strokes}) == len(methods)


def test_each_setting_has_its_own_figures_and_only_the_first_is_open(
    two_levels: tuple[dict[str, Any], dict[str, Curves]],
) -> None:
    raw, curves = two_levels
    page = render([Results.parse(raw)], [curves], manifest=None)
    first, _, second = page.partition("<summary>Figures at κ=1.02</summary>")
    assert "During training at κ=0.9" in first
    assert "J(c3) during training, mean ± std over 3 seeds; budget 17.1" in first
    assert "budget 19.4" not in first.partition("During training")[2]
    assert "J(c3) during training, mean ± std over 3 seeds; budget 19.4" in second
    assert "Training steps" in page
    assert "Training episodes" not in page
    assert "κ=7" not in page


@pytest.mark.usefixtures("undrawn")
def test_a_part_that_settings_share_goes_to_the_first_of_them(
    two_levels: tuple[dict[str, Any], dict[str, Curves]],
) -> None:
    raw, curves = two_levels
    raw["settings"] = {f"tutor-15 {name}": setting for name, setting in raw["settings"].items()}
    page = render([Results.parse(raw)], [{"tutor-15": curves["κ=0.9"]}], manifest=None)
    assert "During training at tutor-15 κ=0.9" in page
    assert "During training at tutor-15 κ=1.02" not in page


def groups_of(raw: dict[str, Any], curves: Curves) -> dict[str, Group]:
    results = Results.parse(raw)
    shown = galleries(results, {results.settings[0].name: curves}, "t")
    return {group.heading: group for gallery in shown for group in gallery.groups}


@pytest.mark.usefixtures("undrawn")
def test_the_frontier_has_panels_of_its_own_where_it_was_left_out_once(
    tutor: dict[str, Any], two_levels: tuple[dict[str, Any], dict[str, Curves]]
) -> None:
    curves = two_levels[1]["κ=0.9"]
    groups = groups_of(tutor, curves)
    titles = [panel.title for panel in groups["The frontier's part"].panels]
    assert titles == ["Return", "Frontier events", "Return that the frontier adds"]
    assert legend(groups["The frontier's part"]) == ["MC-CPO", "MC-CPO, no frontier"]
    assert "Frontier events" not in [panel.title for panel in groups["During training"].panels]
    alone = {method: values for method, values in curves.values.items() if method != "mc-cpo-no-frontier"}
    without = groups_of(tutor, Curves(curves.trained, alone, unit="steps"))
    assert "The frontier's part" not in without
    assert "Frontier events" in [panel.title for panel in without["During training"].panels]


@pytest.mark.usefixtures("undrawn")
def test_methods_that_trained_alike_are_one_line_and_said_to_be(
    tutor: dict[str, Any], two_levels: tuple[dict[str, Any], dict[str, Curves]]
) -> None:
    group = groups_of(tutor, two_levels[1]["κ=0.9"])["During training"]
    assert "Post-hoc filter trained exactly as Unconstrained did: their lines are one." in group.note
    assert legend(group) == ["Unconstrained", "Reward-shaped", "MC-CPO", "MC-CPO, no frontier"]


@pytest.mark.usefixtures("undrawn")
def test_many_methods_of_a_sweep_are_not_drawn_over_training(
    tutor: dict[str, Any], two_levels: tuple[dict[str, Any], dict[str, Curves]]
) -> None:
    curves = two_levels[1]["κ=0.9"]
    few = {f"reward-shaped@{weight}": curves.values["reward-shaped"] for weight in range(3)}
    many = {f"reward-shaped@{weight}": curves.values["reward-shaped"] for weight in range(9)}
    shown = [
        groups_of(tutor, Curves(curves.trained, {**curves.values, **sweep}))["During training"].note
        for sweep in (few, many)
    ]
    assert "methods of sweeps" not in shown[0]
    assert "The 9 methods of sweeps are left out." in shown[1]


@pytest.mark.usefixtures("undrawn")
def test_a_multiplier_of_zero_is_shown(
    tutor: dict[str, Any], two_levels: tuple[dict[str, Any], dict[str, Curves]]
) -> None:
    tutor["rows"] = {method: {"return": row["return"]} for method, row in tutor["rows"].items()}
    curves = two_levels[1]["κ=0.9"]
    titles = [panel.title for panel in groups_of(tutor, curves)["Multipliers and costs"].panels]
    assert titles == ["λ(c2)", "λ(c3)", "J(c3)"]
    free = Curves(curves.trained, {"unconstrained": curves.values["unconstrained"]}, unit="steps")
    titles = [panel.title for panel in groups_of(tutor, free)["Multipliers and costs"].panels]
    assert titles == ["J(c3)"]


def test_noise_shows_the_change_of_return_and_true_violations() -> None:
    rows = [{"return": 40.0, "true_violation_rate": 0.0, "prerequisite_violation_rate": 0.5}, {"return": 39.0}, {}]
    levels = tuple(NoiseLevel(level, {"mc-cpo": row}) for level, row in zip((0.0, 0.1, 0.2), rows, strict=True))
    change, unsafe, met = robustness._views(levels)
    assert change.lines["mc-cpo"] == [(0.0, 0.0), (0.1, pytest.approx(-2.5))]
    assert unsafe.lines["mc-cpo"] == [(0.0, 0.0)]
    assert unsafe.title == "unready, in truth"
    assert not met.lines
    without = robustness._views(levels[1:])
    assert not any(view.lines for view in without)


@pytest.mark.usefixtures("undrawn")
def test_each_kind_of_error_has_its_panels_and_each_environment_its_group(tutor: dict[str, Any]) -> None:
    names = (f"f{number}" for number in count())
    found = Results.parse(tutor).noise[""]
    one, other = robustness.noise({"": found, "tutor-15-bkt": {"delay": found["delay"]}}, names)
    assert [panel.title for panel in one.panels][:3] == [
        "Noise: return",
        "Noise: unready, in truth",
        "Noise: budgets met (τ = 0)",
    ]
    assert len(one.panels) == 6
    assert other.heading == "When the estimated mastery is wrong: tutor-15-bkt"
    assert robustness.noise({}, names) == []


def test_settings_that_are_not_values_of_one_thing_are_not_joined(
    two_levels: tuple[dict[str, Any], dict[str, Curves]],
) -> None:
    raw, curves = two_levels[0], Curves(np.arange(2), {"mc-cpo": {"return": np.ones((2, 2))}})
    joined = groups_of(raw, curves)["Across settings"].panels[0].svg
    raw["settings"] = dict(zip(("tutor-15 κ=0.9", "tutor-15-bkt κ=0.9"), raw["settings"].values(), strict=True))
    apart = groups_of(raw, curves)["Across settings"].panels[0].svg
    assert ">tutor-15-bkt<" in apart
    assert ">1.02<" in joined
    assert apart.count("stroke-width: 2.2") < joined.count("stroke-width: 2.2")
    raw["settings"] = {f"part {number}": part for number, part in enumerate(4 * list(raw["settings"].values()))}
    assert "Across settings" not in groups_of(raw, curves)


def test_undefined_points_leave_the_frontiers_part_standing(tutor: dict[str, Any]) -> None:
    values = np.ones((2, 4))
    values[0, 1] = np.nan
    curves = Curves(np.arange(4), {"mc-cpo": {"return": values}, "mc-cpo-no-frontier": {"return": np.ones((2, 4))}})
    panels = groups_of(tutor, curves)["The frontier's part"].panels
    assert "nan" not in "".join(panel.svg for panel in panels)
