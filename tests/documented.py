"""What the pages of the documentation have a reader type: cells of notebooks, and calls of `mccpo`."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from string import Template

from IPython.core.inputtransformer2 import TransformerManager
from tests.notebooks import Cell, code_cells

DOCS = Path(__file__).parents[1] / "docs"
WITH_COMMANDS = [
    page
    for page in [*DOCS.parent.glob("*.md"), *sorted(DOCS.rglob("*.md"))]
    if "_build" not in page.parts and re.search(r"^((\$|!)\s?)?mccpo [a-z]", page.read_text("utf-8"), re.MULTILINE)
]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
LISTED = re.compile(r"^```text\n((?:mccpo [a-z].*\n)+)```", re.MULTILINE)
VARIABLE = re.compile(r"^\$ ([A-Z]+)=(\S+)$", re.MULTILINE)
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
        variables = dict(VARIABLE.findall(console))
        for line in console.replace("\\\n", " ").splitlines():
            if not line.startswith("$ "):
                continue
            for command in re.split(r"; (?=mccpo )", line[2:]):
                if command.startswith("mccpo "):
                    yield shlex.split(Template(command).safe_substitute(variables), comments=True)[1:]


def listed(page: Path) -> Iterator[list[str]]:
    """The calls of `mccpo` in lists of commands, each with a remark."""
    for commands in LISTED.findall(page.read_text("utf-8")):
        for line in commands.splitlines():
            yield shlex.split(line, comments=True)[1:]


def before_shell(words: list[str]) -> list[str]:
    """A call without what the shell takes: redirections, and further commands."""
    ends = [at for at, word in enumerate(words) if word.startswith((">", "2>", "|", "&")) or word.endswith(";")]
    at = ends[0] if ends else len(words)
    return words[:at] + ([words[at].removesuffix(";")] if ends and words[at].endswith(";") else [])


def calls(page: Path) -> list[list[str]]:
    """Every call of `mccpo` on a page, as the words after it."""
    return [before_shell(call) for call in (*typed_in_cells(page), *typed_in_consoles(page), *listed(page))]
