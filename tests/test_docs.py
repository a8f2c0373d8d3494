"""What the README and the docs name exists: modules, classes, functions, tests, and what their examples import."""

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts]
MODULES = sorted((ROOT / "src" / "mccpo").rglob("*.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GROUPS = {"mccpo.environments", "mccpo.methods", "mccpo.log_sources", "mccpo.tables", "mccpo.curriculum_formats"}
FILES = {"mccpo.toml"}  # the settings of a project, not a module

CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BACKTICKED = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"(?<![\w./-])mccpo(?:\.[A-Za-z_]\w*)+")
SOURCE = re.compile(r"`((?:src/mccpo|tests|examples)/[\w./-]+)`")
CHANGELOG_NEW = re.compile(r"^\|[^|]*\|([^|]*)\|$", re.MULTILINE)


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None  # which imports its package, and not the module itself
    except ModuleNotFoundError:  # what should be its package is none
        return False


def exists(dotted: str) -> bool:
    """Whether a dotted name stands for a module, or for an attribute of one."""
    parts = dotted.split(".")
    depth = 1
    while depth < len(parts) and is_module(".".join(parts[: depth + 1])):
        depth += 1
    value: Any = import_module(".".join(parts[:depth])) if depth < len(parts) else None
    for name in parts[depth:]:
        if not hasattr(value, name):
            return False
        value = getattr(value, name)
    return True


def missing(names: set[str]) -> list[str]:
    """The names among these that stand for nothing."""
    return [name for name in sorted(names - GROUPS - FILES) if not exists(name)]


def names_in(text: str) -> set[str]:
    """The dotted names of mccpo that stand in backticks."""
    return {name for code in BACKTICKED.findall(text) for name in DOTTED.findall(code)}


def docstrings_of(code: str) -> list[str]:
    """The docstrings of a module, its classes and its functions."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(code)) if isinstance(node, kinds)]


def imported(code: str) -> set[str]:
    """The names of mccpo that a piece of Python imports."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "mccpo"}


def as_source(block: str) -> str:
    """A code block as a program: of a session at the prompt, what was typed."""
    if ">>>" not in block:
        return block
    return "\n".join(line[4:] for line in block.splitlines() if line.startswith((">>> ", "... ")))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_names_in_backticks_exist(page: Path) -> None:
    assert missing(names_in(page.read_text("utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_code_blocks_import_what_exists(page: Path) -> None:
    blocks = [as_source(block) for block in CODE.findall(page.read_text("utf-8"))]
    assert missing({name for block in blocks for name in imported(block)}) == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_named_exist(page: Path) -> None:
    assert [name for name in SOURCE.findall(page.read_text("utf-8")) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=page_name)
def test_examples_import_what_exists(example: Path) -> None:
    assert missing(imported(example.read_text("utf-8"))) == []


def test_names_in_docstrings_exist() -> None:
    docstrings = "\n".join(doc for module in MODULES for doc in docstrings_of(module.read_text("utf-8")))
    assert missing(names_in(docstrings)) == []


def test_new_names_of_the_changelog_exist() -> None:
    """The second column of the table of renames."""
    cells = CHANGELOG_NEW.findall((ROOT / "CHANGELOG.md").read_text("utf-8"))
    names = {name for cell in cells for name in names_in(cell)}
    assert len(names) > 50
    assert missing(names) == []


def test_a_missing_name_is_found() -> None:
    assert missing({"mccpo.make", "mccpo.methods.nothing", "mccpo.nowhere.at_all"}) == [
        "mccpo.methods.nothing",
        "mccpo.nowhere.at_all",
    ]
