"""The table of the tutors in `docs/results.md`, written by hand: its numbers are those of the published run."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
METHODS = {
    "unconstrained": "unconstrained",
    "reward-shaped": "reward-shaped",
    "post-hoc": "post-hoc",
    "MC-CPO": "mc-cpo",
}


def expected(row) -> list[str]:
    """The cells of a row, from the results."""
    mean = {metric: cell["mean"] for metric, cell in row.items()}
    unready = mean.get("true_violation_rate", mean["prerequisite_violation_rate"])
    met = row["satisfaction_strict"]["per_seed"]
    return [
        f"{mean['return']:.2f} ± {row['return']['std']:.2f}",
        f"{mean['rhsi_ratio']:.1f}",
        f"{mean['dK']:.2f}",
        f"{mean['mastered']:.2f}",
        f"{mean['J_c2']:.3f}, {mean['J_c3']:.2f}, {mean['J_c4']:.2f}",
        f"{100 * unready:.2f} %",
        f"{sum(met):g}/{len(met)}",
    ]


def test_the_tutors_have_the_numbers_of_the_published_run() -> None:
    raw = json.loads((DOCS / "results" / "tutor-15.json").read_text(encoding="utf-8"))
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    assert f"## The tutor: `{raw['command']}`" in text
    assert f"{raw['protocol']['steps']:,} steps" in text
    found = re.findall(r"^\| `(tutor-15|tutor-15-bkt)` \| ([\w-]+) \| (.*) \|$", text, re.MULTILINE)
    assert len(found) == 2 * len(METHODS)
    for environment, method, cells in found:
        row = raw["settings"][f"{environment} κ=0.9"]["rows"][METHODS[method]]
        assert cells.split(" | ") == expected(row), (environment, method)
