"""Sentences and tables that are written by hand and cite published results: their numbers are those of the results."""

import re
from pathlib import Path

import numpy as np
import pytest

from mccpo.report import numbers
from mccpo.report.docs.published import read_published

ROOT = Path(__file__).parents[2]
PUBLISHED = read_published(ROOT / "docs")
SPREAD = re.compile(r"\s*±\s*")


def row(table, method, setting=""):
    return PUBLISHED[table].settings[setting].rows[method]


def shown(table, method, metric="return"):
    cell = row(table, method)[metric]
    return numbers.with_spread(cell.mean, cell.std)


def frontier_share():
    """What the frontier adds on the other tutors, in per cent of the unconstrained return: the mean, its error."""
    ours, without = (row("parameterisations", name)["return_share"] for name in ("mc-cpo", "mc-cpo-no-frontier"))
    added = 100 * (np.array(ours.per_seed) - np.array(without.per_seed))
    return f"{added.mean():.1f} ± {added.std(ddof=1) / np.sqrt(len(added)):.1f} %"


def tutors():
    """On how many other tutors all budgets are met in every seed, of how many there are."""
    kept = row("parameterisations", "mc-cpo")["kept"].per_seed
    assert all(kept)
    assert PUBLISHED["parameterisations"].protocol["seeds"] == 2
    return str(len(kept))


def frontier(method):
    return f"{row('compare-tutor-15', method)['return'].mean:.2f}"


CITED = [
    (
        "README.md",
        "On {} other tutors that fit the row equally well, MC-CPO met all budgets of κ = 0.9 in both seeds",
        tutors,
    ),
    ("docs/appendix.md", "six validation seeds of 10⁶ steps | {} |", lambda: frontier("mc-cpo")),
    ("docs/appendix.md", "of 10⁶ steps | 33.60 | {} |", lambda: frontier("mc-cpo-no-frontier")),
    ("docs/appendix.md", "the frontier adds {} (standard error, paired)", frontier_share),
    ("docs/statistics.md", "paper's 3.538 ± 0.553 beside our {} cannot tell", lambda: shown("chain", "mc-cpo")),
    ("docs/results.md", "MC-CPO returns {}, 99.8 % of the exact optimum", lambda: shown("chain", "mc-cpo")),
]


@pytest.mark.parametrize(("page", "sentence", "value"), CITED)
def test_a_sentence_has_the_number_of_the_results(page, sentence, value):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert sentence.format(value()) in text


@pytest.mark.parametrize("table", ["gate", "chain"])
def test_the_finite_tables_have_the_numbers_of_the_published_runs(table):
    """Each method's return and each cost under its method, as far as a line of the block holds the whole cell."""
    text = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    block = text.partition(f"`mccpo reproduce {table}`\n\n```text\n")[2].partition("```")[0]
    cells = SPREAD.sub("±", block)
    for method in ("reward-shaped", "post-hoc", "mc-cpo", "mc-cpo-no-frontier"):
        for metric in ("return", "dK", "J_c" if table == "gate" else "J_c4"):
            expected = SPREAD.sub("±", shown(table, method, metric))
            assert len(re.findall(rf"(?<![\d.]){re.escape(expected)}(?!\d)", cells)) >= 1, (method, metric, expected)
