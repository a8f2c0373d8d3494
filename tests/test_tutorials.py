"""Tutorials and how-to pages: their code can be read, their commands exist, and the notebooks run."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from tests.notebooks import Cell, code_cells, execute
from tests.test_docs import imported, missing

from mccpo.cli import main

DOCS = Path(__file__).parents[1] / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
HOW_TOS = sorted((DOCS / "how-to").glob("*.md"))
WITH_COMMANDS = [
    page
    for page in [*DOCS.parent.glob("*.md"), *sorted(DOCS.rglob("*.md"))]
    if "_build" not in page.parts and re.search(r"^(\$|!)\s?mccpo ", page.read_text("utf-8"), re.MULTILINE)
]

# Enough to run every line; what is learnt in so few steps is no result.
SMALL = {
    "STEPS": 4_000, "EPISODES": 400, "CERTIFIED": 200, "SEEDS": 1, "LEARNERS": 2, "LESSONS": 4,
}  # fmt: skip

CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
SET = re.compile(r"^([A-Z]+) = ", re.MULTILINE)
WRITTEN = "%%writefile "


def page_name(page: Path) -> str:
    return str(page.relative_to(DOCS.parent)).removeprefix("docs/")


def cells_of(page: Path) -> list[Cell]:
    return code_cells(page.read_text("utf-8"))


def programs(page: Path) -> Iterator[str]:
    """The cells of a notebook as Python; of a cell that writes a file, the file."""
    for cell in cells_of(page):
        if cell.code.startswith(WRITTEN):
            yield cell.code.partition("\n")[2]
        else:
            yield TransformerManager().transform_cell(cell.code)


def parameters(page: Path) -> set[str]:
    """The names that a notebook's cell of parameters sets."""
    return {name for cell in cells_of(page) if "parameters" in cell.tags for name in SET.findall(cell.code)}


def typed_in_cells(page: Path) -> Iterator[list[str]]:
    """The calls of `mccpo` in a notebook: lines for the shell, and lists for a process."""
    for cell in cells_of(page):
        for line in cell.code.replace("\\\n", " ").splitlines():
            if line.startswith("!mccpo "):
                yield shlex.split(re.sub(r"\{[A-Z]+\}", "1", line))[1:]
    for program in programs(page):
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) == "'mccpo'":
                words = [item.value if isinstance(item, ast.Constant) else "client" for item in node.elts]
                yield [str(word) for word in words[1:]]


def typed_in_consoles(page: Path) -> Iterator[list[str]]:
    """The calls of `mccpo` in the consoles of a page."""
    for console in CONSOLE.findall(page.read_text("utf-8")):
        for line in console.replace("\\\n", " ").splitlines():
            if line.startswith("$ mccpo "):
                yield shlex.split(line, comments=True)[2:]


def before_shell(words: list[str]) -> list[str]:
    """A call without what the shell takes: redirections, and further commands."""
    ends = [at for at, word in enumerate(words) if word.startswith((">", "2>", "|", "&")) or word.endswith(";")]
    at = ends[0] if ends else len(words)
    return words[:at] + ([words[at].removesuffix(";")] if ends and words[at].endswith(";") else [])


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


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=page_name)
def test_commands_exist_with_their_options(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They are only asked what they would do, so that a wrong name, option or value is refused."""
    monkeypatch.chdir(tmp_path)
    for call in (*typed_in_cells(page), *typed_in_consoles(page)):
        words = [word for word in before_shell(call) if word != "--print-config"]
        assert main([*words, "--print-config"]) == 0, f"{call}: {capsys.readouterr().err}"


def test_a_wrong_command_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "runs/mine", "--nowhere", "--print-config"]) == 2
    assert main(["certifie", "--print-config"]) == 2


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
