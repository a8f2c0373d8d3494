"""Text notebooks of the documentation: their cells, and their execution."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbclient import NotebookClient

_CELL = re.compile(r"^```\{code-cell\} ipython3\n((?::[a-z-]+:[^\n]*\n)*)\n?(.*?)^```", re.MULTILINE | re.DOTALL)
SECONDS = 3600  # for one cell, on a machine that may be busy


class Cell(NamedTuple):
    """A code cell: the tags it bears, and its code."""

    tags: frozenset[str]
    code: str


def code_cells(text: str) -> list[Cell]:
    """The code cells of a text notebook, in their order."""
    return [
        Cell(frozenset(re.findall(r"[\w-]+", options.partition("[")[2])), code) for options, code in _CELL.findall(text)
    ]


def execute(page: Path, parameters: Mapping[str, int]) -> nbformat.NotebookNode:
    """Runs a text notebook in its own folder, with other values for what its cell of parameters sets."""
    cells = []
    for cell in code_cells(page.read_text("utf-8")):
        cells.append(nbformat.v4.new_code_cell(cell.code))
        if "parameters" in cell.tags and parameters:
            given = (f"{name} = {value}" for name, value in parameters.items())
            cells.append(nbformat.v4.new_code_cell("\n".join(given)))
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(page.parent)}})
    return client.execute()
