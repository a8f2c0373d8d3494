"""The HTML report: well formed, self-contained, the same to the byte, and safe with hostile names."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

from mccpo.errors import InputError
from mccpo.evaluation import Curves
from mccpo.report.page.html import render, write_report
from mccpo.runs.results import Results

VOID = {"meta"}
Example = tuple[dict[str, Any], Curves | dict[str, Curves] | None]


class Outline(HTMLParser):
    """Checks that tags are balanced, and collects ids, links and text on the way."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.targets: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids[value or ""] += 1
            self.targets.update(re.findall(r"^#([^\s]+)$|url\(#([^)]+)\)", value or "")[0] if _points(value) else ())

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _points(value: str | None) -> bool:
    colour = re.fullmatch(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", value or "")
    return bool(value) and not colour and bool(re.search(r"^#\S+$|url\(#", value or ""))


@pytest.fixture(scope="module")
def page(example: Example) -> str:
    """The report on each of the examples."""
    return render([Results.parse(example[0])], [example[1]], manifest={"version": "1", "packages": {"numpy": "2"}})


def test_every_shape_is_well_formed_and_its_links_have_ends(page: str) -> None:
    outline = Outline(page)
    assert max(outline.ids.values()) == 1
    assert {target for target in outline.targets if target} <= set(outline.ids)
    assert outline.tags["h1"] == 1
    assert outline.tags["svg"] > 0


def test_nothing_is_fetched_and_nothing_runs(page: str) -> None:
    outline = Outline(page)
    assert "http:" not in page
    assert "https:" not in page
    assert "@import" not in page
    assert not {"src", "srcset", "onload", "onclick"} & outline.attributes
    assert not {"script", "link", "img", "iframe", "object"} & set(outline.tags)


@pytest.mark.slow
def test_several_sections_have_a_table_of_contents_and_no_id_twice(examples: list[Example]) -> None:
    outline = Outline(
        render([Results.parse(raw) for raw, _ in examples], [curves for _, curves in examples], manifest=None)
    )
    assert outline.tags["nav"] == 1
    assert outline.tags["section"] == len(examples)
    assert max(outline.ids.values()) == 1
    assert {target for target in outline.targets if target} <= set(outline.ids)


def test_the_same_data_give_the_same_bytes(tmp_path: Path, example: Example, page: str) -> None:
    raw, curves = example
    manifest = {"version": "1", "packages": {"numpy": "2"}}
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False, "svg.hashsalt": "another"}):
        write_report(tmp_path / "again.html", [Results.parse(json.loads(json.dumps(raw)))], [curves], manifest=manifest)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_names_and_notes_from_outside_are_text(beside_paper: dict[str, Any]) -> None:
    hostile = "<script>alert('$x^')</script>\"&{}"
    raw = beside_paper
    raw |= {"title": hostile, "table": hostile, "environment": hostile, "notes": [hostile], "budgets": {hostile: 1.0}}
    raw["rows"] = {hostile: {hostile: {"mean": 1.0, "std": 0.1, "per_seed": [0.9, 1.1]}, **raw["rows"]["mc-cpo"]}}
    raw["protocol"] = {hostile: hostile}
    raw["tests"] = {hostile: {"t": 1.0, "p": 0.5, "cohens_d": 0.1}}
    raw["verdicts"] = {hostile: {"return": {"verdict": "differs", "reason": hostile}}}
    values = np.ones((2, 3))
    curves = Curves(np.arange(3), {hostile: {hostile: values, "return": values}})
    page = render([Results.parse(raw)], [curves], manifest={hostile: [hostile]})
    outline = Outline(page)
    assert "script" not in outline.tags
    assert hostile in outline.text


@pytest.mark.usefixtures("undrawn")
def test_a_cell_shows_ours_the_papers_and_the_verdict_with_its_reason(beside_paper: dict[str, Any]) -> None:
    text = Outline(render([Results.parse(beside_paper)], [None], manifest=None)).text
    assert "paper 3.538 ± 0.553" in text
    assert "▲ better" in text
    assert "✗ differs — the budget is another" in text
    assert "budget 2.4505" in text
    assert "undefined: no spread" in text


@pytest.mark.usefixtures("undrawn")
def test_the_optimum_is_the_first_column(beside_paper: dict[str, Any]) -> None:
    page = render([Results.parse(beside_paper)], [None], manifest=None)
    columns = re.findall(r"<th[^>]*>([^<]*)</th>", page.partition('class="main"')[2].partition("</thead>")[0])
    assert columns[:3] == ["", "Exact optimum", "Unconstrained"]
    row = page.partition('scope="row">Engagement<small>Return</small></th>')[2]
    assert re.match(r'<td class="optimum">3\.6758</td>', row.strip())
    beside_paper["optimum"]["satisfaction_strict"] = 1.0
    assert '<td class="optimum">yes</td>' in render([Results.parse(beside_paper)], [None], manifest=None)


FRONT = [{"kappa": kappa, "return": 2.45 + kappa, "J_c4": 4.9 * kappa, "rhsi_ratio": kappa} for kappa in (0.9, 0.7)]


def labels(raw: dict[str, Any]) -> list[tuple[str, str]]:
    """The κ in the front figure, each with its colour."""
    figure = (
        render([Results.parse(raw)], [None], manifest=None)
        .partition("Return against")[2]
        .partition("</svg></figure>")[0]
    )
    found = re.findall(r"<text[^>]*style=\"([^\"]*)\"[^>]*>(0\.[79])</text>", figure)
    return [(text, style.lower()) for style, text in found if "7.5px" in style]


@pytest.mark.parametrize(
    "other", [FRONT[:1], [{**FRONT[0], "kappa": kappa} for kappa in (0.9, 0.7)], FRONT], ids=["one", "same", "as many"]
)
def test_the_labels_stand_on_the_line_that_the_budgets_move(
    beside_paper: dict[str, Any], other: list[dict[str, float]]
) -> None:
    found = labels({**beside_paper, "fronts": {"unconstrained": other, "mc-cpo": FRONT}})
    assert sorted(text for text, _ in found) == ["0.7", "0.9"]
    assert all("#0072b2" in style for _, style in found)


def test_several_budgets_are_drawn_on_a_log_axis_and_claim_no_front(beside_paper: dict[str, Any]) -> None:
    exact = [{"budget": scale, "return": scale, "rhsi_ratio": ratio} for scale, ratio in ((0.5, 2.0), (1.0, 5e6))]
    raw = {**beside_paper, "fronts": {"mc-cpo": FRONT}, "front_optimum": exact}
    single = render([Results.parse(raw)], [None], manifest=None)
    assert "exact front: nothing is possible above it" in single
    assert "log scale" not in single
    several = render([Results.parse({**raw, "budgets": {"c2": 1.0, "c4": 2.0}})], [None], manifest=None)
    assert "Return against RHSI ratio" in several
    assert "exact optimum as all budgets scale" in several
    assert "nothing is possible above it" not in several
    assert "the numbers are κ, log scale" in several
    near = {**raw, "budgets": {"c2": 1.0, "c4": 2.0}, "front_optimum": exact[:1]}
    assert "log scale" not in render([Results.parse(near)], [None], manifest=None)


ONE_SEED = Results.parse({"table": "t", "rows": {"mc-cpo": {"return": {"mean": 2.0, "std": 0.0, "per_seed": [2.0]}}}})


def test_one_seed_claims_no_spread() -> None:
    text = Outline(render([ONE_SEED], [None], manifest=None)).text
    assert "MC-CPO returns 2.000." in text
    assert "±" not in text.partition("</style>")[2]
    assert "mean with 95 % interval" not in text


def test_curves_with_undefined_points_leave_a_gap() -> None:
    values = np.ones((3, 4))
    values[1, 2] = np.nan
    undefined = np.full((3, 4), np.inf)
    curves = Curves(np.arange(4), {"mc-cpo": {"return": values, "rhsi": undefined}})
    raw = {"table": "t", "rows": {"mc-cpo": {"return": {"mean": 1.0, "std": 0.0, "per_seed": [1.0]}}}}
    page = render([Results.parse(raw)], [curves], manifest=None)
    assert "nan" not in page
    assert "RHSI during training" not in page
    assert "Return during training" in page


@pytest.mark.usefixtures("undrawn")
def test_no_results_or_a_missing_curve_is_refused() -> None:
    with pytest.raises(InputError, match="0 results"):
        render([], [], manifest=None)
    with pytest.raises(InputError, match="1 results with 0 curves"):
        render([ONE_SEED], [], manifest=None)


@pytest.mark.usefixtures("undrawn")
def test_what_cannot_be_met_stands_before_the_finding(tutor: dict[str, Any]) -> None:
    page = render([Results.parse(tutor)], [None], manifest=None)
    box, found = page.index('class="infeasible"'), page.index('class="finding"')
    assert box < found
    text = Outline(page).text
    assert "The budgets at κ=0.3 cannot be met. No policy meets c3 ≤ 5.71." in text
    assert "Raise all budgets by a factor of at least 1.26." in text
    assert "In conflict: c3; least that can be reached: c3 7.2; all budgets are reachable at 1.26 times" in text


@pytest.mark.usefixtures("undrawn")
def test_budgets_that_could_be_met_are_not_said_to_be_impossible(tutor: dict[str, Any]) -> None:
    tutor["infeasible"] = {"feasible": True, "what": "c3 ≤ 9 can be met", "scaling": 0.9}
    text = Outline(render([Results.parse(tutor)], [None], manifest=None)).text
    assert "The budgets could be met, but were not. c3 ≤ 9 can be met." in text
    assert "0.9 times their size" not in text
    tutor["infeasible"] |= {"feasible": False, "scaling": 1.3}
    assert "1.3 times their size" in Outline(render([Results.parse(tutor)], [None], manifest=None)).text


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("feasible", [{"feasible": None}, {"feasible": False, "policies": 23}], ids=["now", "earlier"])
def test_what_a_search_did_not_find_is_not_called_impossible(tutor: dict[str, Any], feasible: dict[str, Any]) -> None:
    tutor["infeasible"] = {**feasible, "what": "none of 23 policies that were found meets c3 ≤ 9", "least": {"c3": 9.5}}
    text = Outline(render([Results.parse(tutor)], [None], manifest=None)).text
    assert "The budgets are met by no policy that was found, which does not prove that there is none." in text
    assert "Least that was reached: c3 9.5" in text


@pytest.mark.usefixtures("undrawn")
def test_a_setting_that_cannot_be_met_needs_no_rows(tutor: dict[str, Any]) -> None:
    verdict = {"what": "no policy meets c3 ≤ 5.71"}
    rows = tutor["rows"]
    both = {"table": "t", "settings": {"κ=0.3": {"infeasible": verdict}, "κ=0.9": {"rows": rows}}}
    assert "MC-CPO returns" in Outline(render([Results.parse(both)], [None], manifest=None)).text
    none = {"table": "t", "infeasible": verdict}
    assert (
        "No policy meets these budgets, so none was trained."
        in Outline(render([Results.parse(none)], [None], manifest=None)).text
    )


@pytest.mark.usefixtures("undrawn")
def test_requirements_certificate_and_groups_are_told_in_words(tutor: dict[str, Any]) -> None:
    page = render([Results.parse(tutor)], [None], manifest=None)
    text = Outline(page).text
    assert "progress in 60 % of all windows: c2 ≤ 0.55" in text
    assert "it cannot be said with 95 % confidence that J(c3) is within budget (MC-CPO in 2,000 fresh episodes)" in text
    assert re.search(r"J\(c3\)✗ failed17\.0017\.2017\.10", text)
    assert "Unready, in truth: the mask forbids it." in text
    assert re.search(r"fast2\.000.{0,3}30\.00", text)
    assert re.search(r"slow▾ 1\.000.{0,3}▾ 31\.00", text)
    assert "Time to unlock" in text.partition("What the metrics mean")[2]
    tutor["groups"]["mc-cpo"]["slow"] = tutor["groups"]["mc-cpo"]["fast"]
    alike = Outline(render([Results.parse(tutor)], [None], manifest=None)).text
    assert "slow2.000" in alike


@pytest.mark.usefixtures("undrawn")
def test_a_certificate_that_passes_says_so(tutor: dict[str, Any]) -> None:
    tutor["certificate"] = {"confidence": 0.99, "passed": True, "budgets": {}}
    assert (
        "✓ passed: with 99 % confidence, every cost is within its budget."
        in Outline(render([Results.parse(tutor)], [None], manifest=None)).text
    )


@pytest.mark.usefixtures("undrawn")
def test_many_settings_open_only_the_first(tutor: dict[str, Any]) -> None:
    few = {"table": "t", "settings": {f"σ={level}": {"rows": tutor["rows"]} for level in range(4)}}
    many = {"table": "t", "settings": {f"σ={level}": {"rows": tutor["rows"]} for level in range(6)}}
    folded = "<details><summary>σ=1</summary>"
    assert folded not in render([Results.parse(few)], [None], manifest=None)
    page = render([Results.parse(many)], [None], manifest=None)
    assert folded in page
    assert "<details><summary>σ=0</summary>" not in page


def test_calibrated_gates_have_a_table(tutor: dict[str, Any]) -> None:
    text = render([Results.parse(tutor)], [None], manifest=None)
    assert "Gates that calibrated themselves" in text
    assert "<td>✓ 1/70</td><td>3</td><td>30.00</td><td>−20</td><td>10</td><td>1.25/1.50</td>" in text
    assert "<td>shut</td><td>✗ 0.2/70</td>" in text
    old = {name: entry for name, entry in tutor.items() if name != "calibrated"}
    assert "Gates that calibrated themselves" not in render([Results.parse(old)], [None], manifest=None)
