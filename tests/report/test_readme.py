"""The README shows what the demo gave: its table is that of the published results, its picture is drawn."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.report.conftest import compared
from tests.report.test_behaviour import made_up

from mccpo.errors import InputError
from mccpo.report.docs.picture import SHOWN, picture
from mccpo.report.docs.published import read_published
from mccpo.runs.results import Results

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"
ROWS = {
    "unconstrained": ("floor", "unconstrained"),
    "**MC-CPO**, floor 0.8": ("floor", "mc-cpo"),
    "MC-CPO, the paper's budgets, κ = 0.9": ("kappa", "mc-cpo"),
    "random choice behind the gate": ("floor", "random-ready"),
    "mastery learning": ("floor", "mastery-learning"),
    "ZPDES": ("floor", "zpdes"),
}


def test_it_fits_on_a_few_screens():
    lines = README.splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(("label", "published"), ROWS.items())
def test_every_number_of_the_table_matches_the_demo(label, published):
    name, method = published
    (setting,) = read_published(ROOT / "docs/demo")[name].settings.values()
    row = setting.rows[method]
    shown = re.search(rf"^\| {re.escape(label)} \| (.+) \|$", README, re.MULTILINE)[1].split(" | ")
    assert shown[:3] == [f"{row['return'].mean:.2f}", f"{row['dK'].mean:.2f}", f"{row['mastered'].mean:.1f}"]
    met = row["satisfaction_strict"].per_seed
    assert shown[3] == ("none asked" if name == "kappa" else f"{sum(met):.0f}/{len(met)}")
    assert row["prerequisite_violation_rate"].mean == 0


def results(**conduct):
    measured = compared()
    for row, gained in zip(measured["rows"].values(), range(len(measured["rows"])), strict=True):
        row["dK"] = {**row["return"], "mean": float(gained)}
    return Results.parse({**measured, "conduct": conduct})


def test_the_picture_has_both_tutors_and_the_plane():
    drawn = picture(results(**{method: made_up() for method in (*SHOWN, "post-hoc")}))
    root = ElementTree.fromstring(drawn)
    described = [svg.get("aria-label") for svg in root.findall(f"{SVG}svg") if svg.get("role") == "img"]
    assert [label.split(";")[0] for label in described] == [
        "What Unconstrained does over 12 steps",
        "What MC-CPO does over 12 steps",
        "Engagement against learning of every method",
    ]
    assert {svg.get("aria-label") for svg in ElementTree.parse(ROOT / "docs/demo/lessons.svg").iter()} >= {described[2]}


def test_a_run_without_lessons_has_no_picture():
    with pytest.raises(InputError, match="no lessons to draw"):
        picture(results())
