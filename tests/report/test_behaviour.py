"""The map of what a policy does: read back from its markup, it is the data."""

from __future__ import annotations

import re
from itertools import count
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from mccpo.report.figures.behaviour import behaviour
from mccpo.report.figures.panels import Group
from mccpo.report.page.html import render
from mccpo.runs.results import Results, Supplement

CONCEPTS, STEPS = 5, 12
_RECTANGLE = re.compile(r"M(\S+) (\S+?)h(\S+?)v(\S+?)h-(\S+?)z")


def made_up(seed: int = 0, concepts: int = CONCEPTS, steps: int = STEPS) -> dict[str, Any]:
    """A behaviour without any rhyme or reason: nothing in it can come out right by accident."""
    rng = np.random.default_rng(seed)
    return {
        "concepts": [f"v{concept}" for concept in range(concepts)],
        "mastery": rng.uniform(0.0, 1.0, (steps + 1, concepts)).tolist(),
        "ready": rng.integers(0, 2, (steps, concepts)).astype(float).tolist(),
        "chosen": (rng.integers(0, 9, (steps, concepts)) / 8).tolist(),
    }


def drawn(**methods: dict[str, Any]) -> Group:
    by_method = Supplement.parse({"conduct": methods}, "t").behaviour
    group = behaviour(by_method, (f"f{number}" for number in count()))
    assert group is not None
    return group


def rectangles(path: ElementTree.Element) -> list[tuple[float, ...]]:
    return [tuple(float(number) for number in match) for match in _RECTANGLE.findall(path.get("d", ""))]


def lightness(colour: str) -> float:
    """The lightness of a colour in OKLab, by the formulas for the way there: the drawing has those for the way back."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    long = np.cbrt(np.dot([0.4122214708, 0.5363325363, 0.0514459929], linear))
    medium = np.cbrt(np.dot([0.2119034982, 0.6806995451, 0.1073969566], linear))
    short = np.cbrt(np.dot([0.0883024619, 0.2817188376, 0.6299787005], linear))
    return float(0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short)


def test_cells_are_shaded_by_mastery_with_the_first_concept_at_the_bottom() -> None:
    raw = made_up()
    svg = ElementTree.fromstring(drawn(mine=raw).panels[0].svg)
    shades = np.full((CONCEPTS, STEPS), np.nan)
    for path in svg.findall("g")[0]:
        for x, y, wide, high, _ in rectangles(path):
            assert high == 1
            assert np.isnan(shades[int(y), int(x) : int(x + wide)]).all(), "two rectangles overlap"
            shades[int(y), int(x) : int(x + wide)] = lightness(path.get("fill", ""))
    mastery = np.array(raw["mastery"])[1:].T[::-1]
    assert not np.isnan(shades).any()
    # Lightness falls in equal steps as mastery grows; half a step is what the rounding to 32 shades may cost.
    slope, offset = np.polyfit(mastery.ravel(), shades.ravel(), 1)
    assert slope < -0.5
    assert np.abs(slope * mastery + offset - shades).max() < 0.6 * abs(slope) / 32 + 0.004


def test_the_veil_covers_what_is_not_ready_and_nothing_else() -> None:
    raw = made_up(1)
    svg = ElementTree.fromstring(drawn(mine=raw).panels[0].svg)
    veil = next(path for path in svg.findall("path") if path.get("fill", "").startswith("url(#"))
    left, top, across, down = (float(part) for part in re.findall(r"[\d.]+", svg.findall("g")[0].get("transform", "")))
    covered = np.zeros((CONCEPTS, STEPS))
    for x, y, wide, high, _ in rectangles(veil):
        assert high == pytest.approx(down, abs=0.01)
        start, length = round((x - left) / across), round(wide / across)
        covered[round((y - top) / down), start : start + length] += 1
    np.testing.assert_array_equal(covered, 1.0 - np.array(raw["ready"]).T[::-1])


def test_bars_are_as_thick_as_the_share_of_episodes_that_teach_the_concept() -> None:
    raw = made_up(2)
    svg = ElementTree.fromstring(drawn(mine=raw).panels[0].svg)
    bars = next(path for path in svg.findall("path") if path.get("transform"))
    thick = np.zeros((CONCEPTS, STEPS))
    for x, y, wide, high, _ in rectangles(bars):
        thick[int(y), int(x) : int(x + wide)] = high
        assert y % 1 + high / 2 == pytest.approx(0.5, abs=0.01), "a bar stands in the middle of its row"
    shares = np.array(raw["chosen"]).T[::-1]
    np.testing.assert_allclose(thick, shares * thick.max(), atol=0.011)
    assert shares.max() == 1.0


def test_all_panels_have_the_same_scales() -> None:
    short = {**made_up(4), **{name: made_up(4)[name][:6] for name in ("ready", "chosen")}}
    short["mastery"] = short["mastery"][:7]
    boxes, transforms = set(), set()
    for panel in drawn(long=made_up(3), short=short).panels:
        svg = ElementTree.fromstring(panel.svg)
        boxes.add(svg.get("viewBox"))
        transforms.add(svg.findall("g")[0].get("transform"))
    assert len(boxes) == len(transforms) == 1


def test_a_caption_says_what_is_taught_most_and_how_much_becomes_ready(tutor: dict[str, Any]) -> None:
    captions = [panel.caption for panel in drawn(**tutor["conduct"]).panels]
    assert captions[0] == "most taught: v0, 100 % of the steps; ready at the end: 2 of 6"
    assert captions[1].startswith("most taught: v0, 50 % of the steps; ready at the end: 3 of 6")


def test_a_hundred_concepts_stay_small_and_those_without_a_part_are_left_out() -> None:
    concepts, steps = 100, 100
    climbing = np.minimum(np.arange(steps) // 2, concepts - 1)
    mastery = np.full((steps + 1, concepts), 0.2)
    for step, concept in enumerate(climbing):
        mastery[step + 1 :, concept] += 0.3
    chosen = (climbing[:, None] == np.arange(concepts)).astype(float)
    names = [f"A concept with a rather long name, {concept}" for concept in range(concepts)]
    raw = {"concepts": names, "mastery": mastery.tolist(), "ready": chosen.tolist(), "chosen": chosen.tolist()}
    group = drawn(mine=raw)
    assert "50 of 100 concepts, hardly ever ready or taught, are left out." in group.note
    assert len(group.panels[0].svg) < 20_000
    assert "<title>A concept with a rather long name, 0</title>" in group.panels[0].svg
    assert ">A concept …<" in group.panels[0].svg


def test_concepts_are_text_wherever_they_come_from(tutor: dict[str, Any]) -> None:
    hostile = "<script>alert(1)</script>"
    for one in tutor["conduct"].values():
        one["concepts"][0] = hostile
    page = render([Results.parse(tutor)], [None], manifest=None)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_without_behaviour_there_is_no_figure() -> None:
    assert behaviour({}, iter(())) is None
    assert behaviour(None, iter(())) is None
