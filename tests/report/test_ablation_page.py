"""The page of the ablation: every number on it is that of the published results."""

import json
from pathlib import Path

import pytest

from mccpo.evaluation import holm
from mccpo.files import dump_json
from mccpo.report import numbers
from mccpo.report.docs import ablation_page as page
from mccpo.report.docs.ablation_remarks import remarks
from mccpo.report.docs.docstrings import wrapped
from mccpo.report.docs.published import Published, read_published

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def published():
    return read_published(DOCS)


def test_the_page_has_the_numbers_of_the_published_results(published):
    text = (DOCS / "ablation.md").read_text(encoding="utf-8")
    assert text.endswith(wrapped(page.ablation_page(published))), "run `make docs`"


def test_another_result_is_another_page(published, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    name = "ablation-tutor-15"
    raw = json.loads((DOCS / "results" / f"{name}.json").read_text(encoding="utf-8"))
    raw["settings"]["tutor-15"]["rows"]["mc-cpo"]["return"]["mean"] = 12.3456
    (folder / f"{name}.json").write_text(dump_json(raw), encoding="utf-8")
    assert "12.35" in page.ablation_page(published | read_published(tmp_path))
    assert "12.35" not in page.ablation_page(published)


def test_what_was_not_run_is_said(published):
    name = "ablation-tutor-15"
    few = published[name]._replace(protocol={**published[name].protocol, "seeds": 3})
    text = page.ablation_page({name: few})
    assert "Not run yet: random-curricula, assistments-2009." in text
    assert "Fewer than 20 seeds were run on tutor-15." in text


def test_holm_goes_over_the_tests_of_all_environments():
    one = Published({}, {"a": {"p": 0.01}, "b": {"p": None}}, {}, "", "")
    other = Published({}, {"a": {"p": 0.04}}, {}, "", "")
    adjusted = page.adjusted_p({"x": one, "y": other})
    assert list(adjusted.values()) == holm([0.01, 0.04])
    assert set(adjusted) == {("x", "a"), ("y", "a")}


def test_a_remark_stands_only_while_it_holds(published):
    tables = page.ablations_of(published)
    mask = next(remark for remark in remarks(tables) if remark.startswith("Without the mask"))
    share = tables["tutor-15"].settings["tutor-15"].rows["mc-cpo-no-mask"]["prerequisite_violation_rate"].mean
    assert numbers.share(share) in mask
    rows = dict(tables["tutor-15"].settings["tutor-15"].rows)
    rows["mc-cpo-no-mask"] = rows["mc-cpo"]
    masked = tables["tutor-15"].settings["tutor-15"]._replace(rows=rows)
    changed = {**tables, "tutor-15": tables["tutor-15"]._replace(settings={"tutor-15": masked})}
    assert not any(remark.startswith("Without the mask") for remark in remarks(changed))
