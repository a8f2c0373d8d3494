"""Pages made from the code: what they hold, and that those in docs are what the code makes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mccpo.errors import InputError
from mccpo.experiments.benchmark import environments, methods
from mccpo.report import benchmark_docs
from mccpo.report.benchmark_docs import MADE, RESULTS, main, method_page, pages, write_pages
from mccpo.report.benchmark_reading import board_of
from mccpo.report.docstrings import table, told_in
from mccpo.report.environment_pages import environment_page
from mccpo.strict_json import read_json

from .benchmark_folder import made_up

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    published = DOCS / RESULTS
    return pages(read_json(published, fix="publish one") if published.exists() else None)


def test_the_pages_in_docs_are_those_that_the_code_makes(made):
    kept = {
        f"{folder}/{path.name}": path.read_text(encoding="utf-8")
        for folder in ("methods", "environments")
        for path in (DOCS / folder).glob("*.md")
    }
    assert sorted(kept) == sorted(made), "run `make docs`"
    for name, text in made.items():
        assert kept[name] == text, f"docs/{name} differs from the code: run `make docs`"


def test_every_method_and_environment_has_a_page(made):
    assert {f"methods/{name}.md" for name in methods.names()} <= made.keys()
    assert {f"environments/{name}.md" for name in environments.OURS} <= made.keys()


def test_every_link_leads_to_a_page(made):
    for name, text in made.items():
        for target in re.findall(r"\]\(([^)#]+\.md)\)", text):
            folder = name.split("/")[0]
            assert (target.removeprefix("../") if target.startswith("../") else f"{folder}/{target}") in made


def test_a_method_page_has_every_part(made):
    text = made["methods/ppo-lagrangian.md"]
    for heading in ("The problem and the update", "Where ours departs from its source", "When to use it", "Source"):
        assert f"\n## {heading}\n" in text
    assert "λ_i ← max(0, λ_i + β·(J_ci - d_i)/d_i)" in text
    assert "`dual_rate` 0.1" in text


def test_figures_are_computed(made):
    chain = made["environments/chain.md"]
    for row in ("| concepts | 5 |", "| edges | 4 |", "| actions | 6 |", "| states | 160 |", "| c4 | yes | 1 |"):
        assert row in chain


@pytest.mark.parametrize("kappa", [0.5, 0.7, 0.9])
def test_the_optimum_of_the_gate_is_that_worked_out_by_hand(made, kappa):
    # hack pays 1 and may be chosen with chance κ, prog pays 0.6; another unit of budget is worth the difference.
    row = f"| κ = {kappa:g} | {kappa + 0.6 * (1 - kappa):.4f} | {kappa:.4f}, 0.4000 |"
    assert row in made["environments/gate.md"]


def test_what_is_published_is_in_the_pages(tmp_path):
    results = json.loads((made_up(tmp_path) / "results.json").read_text())
    board = board_of(results)
    cell = next(one for one in results["cells"] if (one["environment"], one["method"]) == ("chain", "cpo"))
    (row,) = re.findall(r"^\| \[chain\].*$", method_page("cpo", board), re.MULTILINE)
    assert f"{results['hypervolume']['chain']['cpo']['mean']:.3f}" in row
    assert f"{100 * cell['optimum_share']['mean']:.1f} % of optimum" in row
    assert "✗ crashed" in method_page("focops", board)
    assert "In the published benchmark" not in method_page("cpo", None)
    place = next(place for place in board.places if place.name == "tutor-15")
    assert "the largest hypervolume is that of PID-Lagrangian" in environment_page("tutor-15", place)


def test_pages_that_no_code_stands_for_go_and_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark_docs, "pages", lambda _: {"methods/cpo.md": f"{MADE}\n\n# CPO\n"})
    (tmp_path / "methods").mkdir()
    gone, kept = tmp_path / "methods" / "old.md", tmp_path / "methods" / "notes.md"
    gone.write_text(f"{MADE}\n\n# Old\n")
    kept.write_text("# Notes\n")
    assert main([str(tmp_path)]) == 0
    assert sorted(path.name for path in (tmp_path / "methods").iterdir()) == ["cpo.md", "notes.md"]
    assert write_pages(tmp_path) == [tmp_path / "methods" / "cpo.md"]


def test_a_docstring_without_a_part_is_refused(monkeypatch):
    monkeypatch.setitem(benchmark_docs.WORDS, "mc-cpo", "A method.\n\n**Problem:** none.\n")
    with pytest.raises(InputError, match="mc-cpo has no part 'Departures'"):
        method_page("mc-cpo", None)


def test_parts_of_a_docstring():
    told = told_in("""First
    line.

    More of it.

    **Problem:** max_π J(π):

        a = b

    **Source:** somebody,
    somewhere.
    """)
    assert told.first == "First line."
    assert told.rest == "More of it."
    assert told.parts == {"Problem": "max_π J(π):\n\n    a = b", "Source": "Somebody,\nsomewhere."}


def test_a_docstring_without_parts_is_all_text():
    assert told_in(None).first == ""
    assert told_in("One.\n\nTwo.").parts == {}


def test_a_bar_in_a_table_does_not_end_its_cell():
    assert table(["a"], [["π(a|s)"]]) == "| a |\n| --- |\n| π(a\\|s) |"
