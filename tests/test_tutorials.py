"""Tutorials and how-to pages: their code can be read, their links lead somewhere, and the notebooks run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.documented import DOCS, cells_of, page_name, programs
from tests.notebooks import execute
from tests.test_docs import imported, missing

TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
HOW_TOS = sorted((DOCS / "how-to").glob("*.md"))
# Enough to run every line; what is learnt in so few steps is no result.
SMALL = {
    "STEPS": 4_000, "EPISODES": 400, "CERTIFIED": 200, "SEEDS": 1, "LEARNERS": 2, "LESSONS": 4,
}  # fmt: skip

LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
SET = re.compile(r"^([A-Z]+) = ", re.MULTILINE)


def parameters(page: Path) -> set[str]:
    """The names that a notebook's cell of parameters sets."""
    return {name for cell in cells_of(page) if "parameters" in cell.tags for name in SET.findall(cell.code)}


def test_five_tutorials() -> None:
    assert [page.name[0] for page in TUTORIALS] == list("12345")


@pytest.mark.parametrize("page", TUTORIALS, ids=page_name)
def test_cells_are_python_and_import_what_exists(page: Path) -> None:
    read = [ast.unparse(ast.parse(program)) for program in programs(page)]
    assert len(read) > 5
    assert missing({name for program in read for name in imported(program)}) == []


@pytest.mark.parametrize("page", TUTORIALS, ids=page_name)
def test_notebooks_are_stored_without_outputs_and_have_pictures(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.startswith("---\nfile_format: mystnb\nkernelspec:\n")
    assert text.count("```{code-cell} ipython3\n") == len(cells_of(page))
    assert "plt.show()" in text
    assert "image/png" not in text


@pytest.mark.parametrize("page", [*TUTORIALS, *HOW_TOS], ids=page_name)
def test_links_lead_to_files(page: Path) -> None:
    links = LINK.findall(page.read_text("utf-8"))
    assert links
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", TUTORIALS, ids=page_name)
def test_notebooks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    small = {name: number for name, number in SMALL.items() if name in parameters(page)}
    assert set(small) == parameters(page)
    done = execute(page, small)
    pictures = [out for cell in done.cells for out in cell.outputs if "image/png" in out.get("data", {})]
    assert pictures
