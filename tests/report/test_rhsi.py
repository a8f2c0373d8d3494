"""RHSI never stands alone: what it hides is shown beside it, and said where it is defined."""

import json
import re
from pathlib import Path

import pytest

from mccpo.evaluation import summarise
from mccpo.report.benchmark.page import render as render_benchmark
from mccpo.report.benchmark.words import GLOSSARY
from mccpo.report.page.html import render
from mccpo.report.tables.metrics import executed_metrics, variant_metrics
from mccpo.report.vocabulary import meanings
from mccpo.runs.results import Reported, Results, Setting

from .benchmark_folder import made_up, view_from
from .benchmark_page import Tables

CELL = summarise([1.0, 2.0])
PAPERS = ("| where | what it says", "| figure of the unconstrained row | paper |", "| symbol | definition |")
ROOT = Path(__file__).parents[2]
TABLE = re.compile(r"^(\|.*\|)\n\|[ :|-]+\|\n((?:\|.*\|\n)+)", re.MULTILINE)


@pytest.mark.parametrize("metric", ["rhsi", "rhsi_ratio", "rhsi_ratio_discounted"])
def test_every_table_that_shows_it_shows_what_was_learnt(metric):
    alone = Setting("", {}, {"mc-cpo": {"return": CELL, metric: CELL}})  # as of an earlier version
    assert {"dK", "mastered"} <= set(executed_metrics(alone))
    paper = Setting("", {}, {"mc-cpo": {"return": CELL}}, paper={"mc-cpo": {metric: Reported(1.0, None)}})
    assert {"dK", "mastered"} <= set(executed_metrics(paper))
    before = Setting("", {}, {"post-hoc": {"return": CELL, f"{metric}_trained": CELL}})
    assert {"dK_trained", "mastered_trained"} <= set(variant_metrics(before))
    without = Setting("", {}, {"mc-cpo": {"return": CELL}})
    assert executed_metrics(without) == ["return"]


def test_the_page_has_the_rows():
    setting = Setting("", {}, {"mc-cpo": {"return": CELL, "rhsi": CELL}})
    page = render([Results("t", "T", (setting,))], [None], manifest=None)
    labels = dict(re.findall(r'<th scope="row">([^<]+)<small>([^<]+)</small></th>', page))
    assert labels["Severity of reward hacking"] == "RHSI"
    assert labels["Mastery gained"] == "ΔK"
    assert labels["Concepts mastered"] == "Mastered"


def test_the_glossary_says_what_it_hides():
    (_, meaning), (_, ratio) = meanings(["rhsi", "rhsi_ratio"])
    for word in ("ΔK", "mastered", "engagement falls", "relative to"):
        assert word in meaning
        assert word in GLOSSARY["Reward hacking"]
    assert "ΔK goes to 0" in ratio


def test_every_table_of_the_docs_that_shows_it_shows_what_was_learnt():
    """As a column, or as a row where metrics are rows; claims, facts and definitions aside, which measure nothing."""
    showing = 0
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for head, body in TABLE.findall(path.read_text(encoding="utf-8")):
            text = head if re.search("rhsi", head, re.IGNORECASE) else body
            if re.search(r"\| (RHSI|`rhsi)[^|.]{,30} \|", text) and not head.startswith(PAPERS):
                showing += 1
                assert "ΔK" in text, (path, head)
                assert re.search("mastered", text, re.IGNORECASE), (path, head)
    assert showing


@pytest.mark.usefixtures("undrawn")
def test_every_table_of_a_benchmark_that_shows_it_shows_what_was_learnt(tmp_path):
    view = view_from(json.loads((made_up(tmp_path) / "results.json").read_text()))
    heads = [[cell["text"] for cell in head] for head, *_ in Tables(render_benchmark(view)).tables.values()]
    showing = [columns for columns in heads if any(column.startswith("Reward hacking") for column in columns)]
    assert showing
    for columns in showing:
        assert any(column.startswith("Mastery gained") for column in columns)
        assert any(column.startswith("Mastered") for column in columns)
