"""Pages made from the code: what they hold, and that those in docs are what the code makes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from mccpo.errors import InputError
from mccpo.experiments.benchmark import FULL
from mccpo.methods import METHODS, method_names, registry
from mccpo.report.docs import pages as benchmark_docs
from mccpo.report.docs.docstrings import parse_docstring, table
from mccpo.report.docs.environment_pages import environment_page
from mccpo.report.docs.method_words import method_names as documented_names
from mccpo.report.docs.pages import MADE, main, method_page, pages, published, write_pages
from mccpo.report.docs.published import read_published

from .benchmark_folder import made_up

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pages(published(DOCS), read_published(DOCS))


def test_pages_in_docs_are_up_to_date(made):
    kept = {
        f"{folder}/{path.name}": path.read_text(encoding="utf-8")
        for folder in ("methods", "environments")
        for path in (DOCS / folder).glob("*.md")
    } | {name: (DOCS / name).read_text(encoding="utf-8") for name in ("ablation.md", "paper.md")}
    assert sorted(kept) == sorted(made), "run `make docs`"
    for name, text in made.items():
        assert kept[name] == text, f"docs/{name} differs from the code: run `make docs`"


def test_every_method_and_environment_has_a_page(made):
    assert {f"methods/{name}.md" for name in method_names(variants=False)} <= made.keys()
    assert {f"environments/{name}.md" for name in FULL} <= made.keys()


def test_methods_of_other_packages_have_no_page(install):
    install("", "[mccpo.methods]\ntheirs = their_package:Theirs\n")
    assert "theirs" in method_names()
    assert "theirs" not in documented_names()


def test_every_link_leads_to_a_page(made):
    for name, text in made.items():
        for target in re.findall(r"\]\(([^)#]+\.md)\)", text):
            page = (DOCS / name).parent / target
            assert page.resolve().relative_to(DOCS).as_posix() in made or page.is_file(), f"{name}: {target}"


def test_every_published_benchmark_has_its_report():
    for name in published(DOCS):
        assert (DOCS / "benchmark" / name / "report.html").is_file()


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
def test_gate_optimum_by_hand(made, kappa):
    # hack pays 1 and may be chosen with chance κ, prog pays 0.6; another unit of budget is worth the difference.
    row = f"| κ = {kappa:g} | {kappa + 0.6 * (1 - kappa):.4f} | {kappa:.4f}, 0.4000 |"
    assert row in made["environments/gate.md"]


def test_published_results_are_in_the_pages(tmp_path):
    results = json.loads((made_up(tmp_path / "benchmark" / "tutors") / "results.json").read_text())
    (tmp_path / "benchmark" / "finite").mkdir()
    few = results | {"cells": [cell for cell in results["cells"] if cell["environment"] == "gate"]}
    (tmp_path / "benchmark" / "finite" / "results.json").write_text(json.dumps(few))
    views = published(tmp_path)
    assert list(views) == ["finite", "tutors"]

    page = method_page("cpo", views)
    links = [page.index(f"From [{name}](../benchmark/{name}/report.html):") for name in views]
    assert links == sorted(links)
    assert "chain" not in page[links[0] : links[1]]
    rows = re.findall(r"^\| \[chain\]\(../environments/chain.md\) \| (.*) \|$", page, re.MULTILINE)
    cells = [one for one in results["cells"] if (one["environment"], one["method"]) == ("chain", "cpo")]
    volume = results["hypervolume"]["chain"]["cpo"]["mean"]
    for row, cell in zip(rows, cells, strict=True):
        kappa, ret, share, met, gain, mastered, found, kept = row.split(" | ")
        assert float(kappa) == cell["kappa"]
        assert float(ret) == pytest.approx(cell["return"]["mean"], abs=6e-4)
        assert share == f"{100 * cell['optimum_share']['mean']:.1f} %"
        assert met == f"{sum(cell['satisfaction_strict']['per_seed']):.0f}/3"
        assert (gain, mastered) == tuple(f"{cell[metric]['mean']:.2f}" for metric in ("dK", "mastered"))
        assert found == f"{volume:.3f}"
        assert kept == f"{results['kept']['chain']['cpo']['mean']:.3f}"


def test_failures_are_in_the_pages(tmp_path):
    made_up(tmp_path / "benchmark" / "all")
    views = published(tmp_path)
    crashed = re.findall(r"^\| \[tutor-15\].*$", method_page("focops", views), re.MULTILINE)
    assert [row.split(" | ")[1:] for row in crashed] == [
        [f"{kappa:g}", "✗ crashed", "–", "0/3", "–", "–", "0.000", "0.000 |"] for kappa in (0.5, 0.7, 0.9)
    ]
    assert "| 0.5 | – does not apply | – | – | – | – |" in method_page("lyapunov-lp", views)
    assert "2/3" in method_page("ccpo", views)  # a seed that diverged has met no budget


def test_environment_page_has_verdicts(tmp_path, monkeypatch):
    made_up(tmp_path / "benchmark" / "all")
    monkeypatch.setattr(benchmark_docs, "environment_page", lambda _, verdicts: "\n\n".join(["#", "-", *verdicts]))
    page = pages(published(tmp_path), {})["environments/tutor-15.md"].replace("\n", " ")
    assert "[all](../benchmark/all/report.html): Of the methods" in page
    assert "the largest hypervolume is that of PID-Lagrangian" in page
    assert "## In published benchmarks\n\nNobody won." in environment_page("tutor-15", ["Nobody won."])


def test_pages_without_published_results(tmp_path):
    assert published(tmp_path) == {}
    assert "published" not in method_page("cpo", {})
    assert "published" not in environment_page("tutor-15", [])


def test_outdated_pages_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark_docs, "pages", lambda *_: {"methods/cpo.md": f"{MADE}\n\n# CPO\n"})
    (tmp_path / "methods").mkdir()
    gone, kept = tmp_path / "methods" / "old.md", tmp_path / "methods" / "notes.md"
    gone.write_text(f"{MADE}\n\n# Old\n")
    kept.write_text("# Notes\n")
    assert main([str(tmp_path)]) == 0
    assert sorted(path.name for path in (tmp_path / "methods").iterdir()) == ["cpo.md", "notes.md"]
    assert write_pages(tmp_path) == [tmp_path / "methods" / "cpo.md"]


def test_a_docstring_without_a_part_is_refused(monkeypatch):
    entry = replace(METHODS["mc-cpo"], about="A method.\n\n**Problem:** none.\n")
    monkeypatch.setitem(registry.METHODS._registered, "mc-cpo", entry)
    with pytest.raises(InputError, match="mc-cpo has no part 'Departures'"):
        method_page("mc-cpo", {})


def test_parts_of_a_docstring():
    told = parse_docstring("""First
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
    assert parse_docstring(None).first == ""
    assert parse_docstring("One.\n\nTwo.").parts == {}


def test_a_bar_in_a_table_does_not_end_its_cell():
    assert table(["a"], [["π(a|s)"]]) == "| a |\n| --- |\n| π(a\\|s) |"
