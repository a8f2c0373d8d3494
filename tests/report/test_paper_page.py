"""The page of the paper's claims: every number of the paper has one, and every number on it is that of its results."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from mccpo.errors import InputError
from mccpo.experiments import FROM_LOGS, TABLES
from mccpo.experiments.paper import reported
from mccpo.experiments.paper.claims import Claim, Comparison, claims
from mccpo.files import dump_json
from mccpo.report.docs import paper_page as page
from mccpo.report.docs.docstrings import wrapped
from mccpo.report.docs.published import Measured, Published, PublishedSetting, main, publish, read_published

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
# Of definitions (κ, D(T), λ = 5, a share), our update's length, η(1 − K₀), and two numbers that the paper prints.
CONSTANTS = {"0", "1", "2", "5", "100", "0.9", "0.25", "0.3", "68", "4,096", "0.064", "0.30", "0.0004"}


@pytest.fixture(scope="module")
def published():
    return read_published(DOCS)


def test_the_page_has_the_numbers_of_the_published_results(published):
    text = (DOCS / "paper.md").read_text(encoding="utf-8")
    assert text.endswith(wrapped(page.paper_page(published))), "run `make docs`"


def test_another_result_is_another_page(published, tmp_path):
    """The check above can fail: a number that changes in the results changes the page."""
    folder = tmp_path / "results"
    folder.mkdir()
    raw = json.loads((DOCS / "results" / "gate.json").read_text(encoding="utf-8"))
    raw["rows"]["mc-cpo"]["return"]["mean"] = 0.5512
    (folder / "gate.json").write_text(dump_json(raw), encoding="utf-8")
    assert "0.551" in page.paper_page(published | read_published(tmp_path))
    assert "0.551" not in page.paper_page(published)


def test_verdicts_are_by_today_s_rule_whenever_a_table_was_made(tmp_path):
    """Lack of evidence was agreement once; a file of that time is judged anew."""
    folder = tmp_path / "results"
    folder.mkdir()
    cell = {"mean": 2.0, "std": 1.4, "per_seed": [1.0, 3.0]}
    raw = {"rows": {"mc-cpo": {"return": cell}}, "paper": {"mc-cpo": {"return": [2.01, 0.9]}}}
    raw["verdicts"] = {"mc-cpo": {"return": {"verdict": "agrees", "reason": "the means are 0.01 apart, within 2"}}}
    (folder / "old.json").write_text(dump_json(raw), encoding="utf-8")
    assert read_published(tmp_path)["old"].settings[""].verdicts == {"mc-cpo": {"return": "cannot tell"}}


def test_every_cell_of_the_paper_s_tables_has_a_claim():
    claimed = {
        (cells.table, method, metric)
        for claim in claims()
        for cells in claim.cells
        for method in cells.methods
        for metric in cells.metrics
    }
    for table, content in reported.tables().items():
        if isinstance(content, dict) and "rows" in content:
            for method, row in reported.rows(table).items():
                for metric in row:
                    assert (table, method, metric) in claimed, f"no claim has {method} {metric} of {table}"


def test_every_theorem_and_table_has_a_claim():
    where = " ".join(claim.where for claim in claims())
    named = ["Proposition 1", "Lemma 1", *(f"Theorem {at}" for at in (1, 2, 3)), *(f"Table {at}" for at in range(1, 9))]
    for name in named:
        assert re.search(rf"{name}(?!\d)", where), f"no claim has {name}"


def test_every_number_beside_the_tables_has_a_claim():
    said = " ".join(claim.says for claim in claims()).replace(",", "")
    tables = reported.tables()
    loose = [tables["gate"]["welch_t_mc_cpo_vs_post_hoc"], tables["gate"]["cohens_d"]]
    loose += [tables["tutor-15"]["frontier_events_per_update"], *tables["gate"]["reward_gap"]["R"]]
    loose += tables["tutor-25"]["protocol"]["shaping_sweep"]
    for data in ("junyi", "xes3g5m"):
        loose += [tables[data]["prevalence"][name] for name in ("events", "analysed")]
        loose += [tables[data]["protocol"][name] for name in ("interactions", "students", "mean_length")]
    where = " ".join(claim.where for claim in claims())
    for number in loose:
        assert f"{number}" in said or f"{number}" in where, f"no claim says {number}"


def test_a_number_in_the_evidence_is_cited(published):
    """It is a value of the results, or stands in what the paper says, or in a test or page that is named."""
    for claim in claims():
        files = [ROOT / name for name in re.findall(r"tests/[\w/]+\.py", claim.command)]
        files += [DOCS / name for name in re.findall(r"\((\w+\.md)\)", claim.evidence)]
        known = claim.says + claim.where + " ".join(path.read_text(encoding="utf-8") for path in files)
        known += " ".join(f"{side:g}" for comparison in claim.holds for side in comparison if isinstance(side, float))
        plain = re.sub(r"\{\w+\}|`[^`]*`|Table \d", "", claim.evidence)
        for number in NUMBER.findall(plain):
            assert number in CONSTANTS or number in known, f"{claim.where}: where does {number} come from?"
        for path in files:
            assert path.exists(), path


def test_values_are_in_the_published_results(published):
    cited = [path for claim in claims() for path in (*claim.values.values(), *claim.instead.values())]
    paths = [path for path in cited if path[0] in published]
    assert {"gate", "chain", "reward-gap", "compare-tutor-15"} <= {path[0] for path in paths}
    for path in paths:
        assert isinstance(published[path[0]].value(path[1:]), float)


def test_what_was_not_run_is_open_and_says_so(published):
    for claim in claims():
        if not claim.instead and any(path[0] not in published for path in claim.values.values()):
            assert page.verdict_on(claim, published) == "open"
            assert page.evidence_of(claim, published) == "Not run."


def test_what_must_hold_decides_the_verdict(published):
    claim = next(claim for claim in claims() if claim.holds and claim.where.startswith("Gate"))
    path = next(iter(claim.values.values()))
    one = replace(claim, values={"x": path}, instead={}, verdict="", otherwise="refuted")
    assert page.verdict_on(replace(one, holds=(Comparison("x", "<", 1e9),)), published) == "reproduced"
    assert page.verdict_on(replace(one, holds=(Comparison("x", ">", 1e9),)), published) == "refuted"
    assert page.verdict_on(one, {}) == "open"
    assert Comparison("x", "≈", 2.0, 0.1).holds({"x": 2.19})
    assert not Comparison("x", "≈", 2.0, 0.1).holds({"x": 2.21})


def test_reproduce_all_fills_the_page():
    """Every number that a claim cites is of a table that `mccpo reproduce` runs, or of a run that its command names."""
    cited = {path[0] for claim in claims() for path in claim.values.values()}
    cited |= {cells.table for claim in claims() for cells in claim.cells}
    compared = {path[0] for claim in claims() if "mccpo compare" in claim.command for path in claim.values.values()}
    assert cited - compared <= {*TABLES, *FROM_LOGS}
    assert {cells.table for claim in claims() for cells in claim.cells if not claim.verdict} <= set(TABLES)


def test_a_table_is_as_good_as_its_worst_cell(published):
    tables = [claim for claim in claims() if claim.cells and not claim.verdict]
    assert {page.verdict_on(claim, published) for claim in tables} <= {"reproduced", "differs", "open"}
    for claim in tables:
        kinds = {kind for cells in claim.cells for kind in page._kinds(cells, published)}
        assert ("differs" in kinds) == (page.verdict_on(claim, published) == "differs")
        assert page.verdict_on(claim, {}) == "open"


def test_fitted_cells_are_marked_as_such():
    cell = Measured(1.0, 0.0, (1.0,))
    setting = PublishedSetting(
        rows={"unconstrained": {"J_c3": cell}, "mc-cpo": {"J_c3": cell}},
        paper={"unconstrained": {"J_c3": [19.02, None]}, "mc-cpo": {"J_c3": [9.69, None]}},
        verdicts={"unconstrained": {"J_c3": "agrees"}, "mc-cpo": {"J_c3": "differs"}},
        fitted=reported.fitted("tutor-15"),
    )
    text = page.paper_page({"tutor-15": Published({"tutor-15 κ=1.02": setting}, {}, {"seeds": 1, "steps": 1}, "", "")})
    assert re.search(r"^\| Unconstrained \| J\(c3\) .* \| fitted \|$", text, re.MULTILINE)
    assert re.search(r"^\| MC-CPO \| J\(c3\) .* \| prediction \|$", text, re.MULTILINE)


def test_runs_are_published_small(tmp_path, capsys):
    cell = {"mean": 1.23456789, "std": 0.0, "per_seed": [1.23456789], "ci": [1.0, 2.0], "iqm": 1.0}
    table = {"table": "gate", "rows": {"mc-cpo": {"return": cell}}, "conduct": {"mc-cpo": [1, 2]}, "tests": {}}
    run = tmp_path / "run"
    run.mkdir()
    (run / "results.json").write_text(dump_json({"tables": {"gate": table}}), encoding="utf-8")
    made = {"configuration": {"run": "reproduce-all", "seeds": 2, "steps": 500, "kappa": [0.9], "seed": 0}}
    (run / "manifest.json").write_text(dump_json(made), encoding="utf-8")
    assert main([str(tmp_path), str(run)]) == 0
    assert "gate.json" in capsys.readouterr().out
    kept = json.loads((tmp_path / "results" / "gate.json").read_text(encoding="utf-8"))
    assert "conduct" not in kept
    assert kept["command"] == "mccpo reproduce gate --kappa 0.9 --seeds 2 --steps 500"
    assert read_published(tmp_path)["gate"].value(["", "mc-cpo", "return", "mean"]) == 1.23457
    with pytest.raises(InputError, match="no run is named"):
        publish(tmp_path, [])


def test_a_claim_has_one_verdict():
    with pytest.raises(InputError, match="no verdict, or two"):
        Claim("Theorem 9", "All is well.", "theorem", "none")
    with pytest.raises(InputError, match="use one of"):
        Claim("Theorem 9", "All is well.", "theorem", "none", verdict="perhaps")
