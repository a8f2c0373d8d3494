"""Somebody names a group so that a spreadsheet runs it, once an export of decisions is opened there."""

import csv
import io

from mccpo.serve.policy import load_release

from ..client import serving  # noqa: TID252 - shared by the folders of these tests

FORMULAS = ['=HYPERLINK("http://evil.example")', "+1+1", "-2+3", "@SUM(A1)"]


def test_no_cell_of_an_export_is_a_formula(run, tmp_path):
    with serving(load_release(run), tmp_path / "record.db") as api:
        for number, formula in enumerate(FORMULAS):
            api.next(api.learner(f"Ana {number}", team=formula))
        exported = list(csv.DictReader(io.StringIO(api.get("/v1/decisions/export?format=csv").text)))
    assert [row["group_team"] for row in exported] == [f"'{formula}" for formula in FORMULAS]
    texts = [cell for row in exported for cell in row.values() if not cell.lstrip("-").isnumeric()]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in texts)
