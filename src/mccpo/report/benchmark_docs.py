"""Pages of the docs that are made from the code, so that they cannot drift: one for each method and environment.

`make docs` writes them; a test says that what is there is what the code makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from mccpo import atomic
from mccpo.algo.rivals import RIVALS
from mccpo.algo.tutors import TUTORS
from mccpo.errors import InputError
from mccpo.experiments.benchmark import environments, methods
from mccpo.experiments.benchmark.methods import Learning, Setting
from mccpo.report import benchmark_words as words
from mccpo.report import numbers
from mccpo.report.benchmark_data import Board, Cell, Place
from mccpo.report.benchmark_reading import board_of
from mccpo.report.docstrings import Told, table, told_in
from mccpo.report.environment_pages import environment_page
from mccpo.report.method_words import WORDS
from mccpo.report.vocabulary import method_label
from mccpo.strict_json import read_json

MADE = "<!-- Made from the code by `make docs`: change it there. -->"
RESULTS = Path("benchmark") / "results.json"
_HEADINGS = {
    "Problem": "The problem and the update",
    "Departures": "Where ours departs from its source",
    "When to use it": "When to use it",
}
_KINDS = {
    "learner": "Methods that learn",
    "tutor": "Tutors that follow a rule",
    "solver": "Methods that are given the model",
}


def write_pages(docs: str | Path, results: Mapping[str, Any] | None = None) -> list[Path]:
    """Writes every page below `docs`, and removes those that no code stands for any more; gives their paths.

    `results` are those of a published benchmark, from which every method has its row.
    """
    made = {Path(docs) / name: text for name, text in pages(results).items()}
    for path, text in made.items():
        atomic.write_text(path, text)
    for folder in {path.parent for path in made}:
        for path in sorted(folder.glob("*.md")):
            if path not in made and path.read_text(encoding="utf-8").startswith(MADE):
                path.unlink()
    return list(made)


def pages(results: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The text of every page by its path below the docs. Only what is our own has one: not what other packages add."""
    board = None if results is None else board_of(results)
    places = {place.name: place for place in board.run} if board else {}
    found = {f"methods/{name}.md": method_page(name, board) for name in method_names()}
    found |= {f"environments/{name}.md": environment_page(name, places.get(name)) for name in environments.OURS}
    found["methods/index.md"] = _method_index()
    found["environments/index.md"] = _environment_index(found)
    return {path: f"{MADE}\n\n{text}" for path, text in sorted(found.items())}


def method_names() -> list[str]:
    """Every method of ours that takes part in a benchmark."""
    known = {*WORDS, *RIVALS, *TUTORS}
    return [name for name in methods.names() if name in known]


def method_page(name: str, board: Board | None) -> str:
    """What a method is, its update, where ours departs, when to use it, its numbers, and its row."""
    told, entrant = _told(name), methods.entrant(name)
    parts = [f"# {method_label(name)}", f"`{name}`: {told.first}"]
    parts += [f"## {heading}\n\n{told.parts[part]}" for part, heading in _HEADINGS.items()]
    if isinstance(entrant, Learning):
        parts.append(_settings(name, entrant.search))
    if board is not None and (row := _row(name, board)):
        parts.append(row)
    parts.append(f"## Source\n\n{told.parts['Source']}")
    return "\n\n".join(parts) + "\n"


def _told(name: str) -> Told:
    """What the docstring of a method says, which must have every part."""
    known: dict[str, Any] = {**RIVALS, **TUTORS}
    told = told_in(WORDS[name] if name in WORDS else known[name].__doc__)
    absent = [part for part in (*_HEADINGS, "Source") if part not in told.parts]
    if absent:
        raise InputError(f"the docstring of {name} has no part '{absent[0]}'", fix=f"add **{absent[0]}:** to it")
    return told


def _settings(name: str, search: Sequence[Setting]) -> str:
    """A learner's own numbers, and what the benchmark tries for it."""
    own = [
        f"`{one.name}` {one.default:g}"
        for one in (fields(RIVALS[name]) if name in RIVALS else ())
        if one.default is not MISSING and isinstance(one.default, float)
    ]
    lines = ["## Its numbers"]
    if own:
        lines.append(f"By default: {', '.join(own)}.")
    if len(search) == 1:
        lines.append("The benchmark runs it in one setting: there is nothing to search.")
        return "\n\n".join(lines)
    lines.append(f"The benchmark tries {len(search)} settings and keeps the best on validation seeds:")
    tried = [", ".join(f"`{key}` {value:g}" for key, value in one.items()) or "the defaults" for one in search]
    return "\n\n".join([*lines, "\n".join(f"- {one}" for one in tried)])


def _row(name: str, board: Board) -> str:
    """What the published benchmark says of a method, environment by environment."""
    head = [
        "environment",
        "hypervolume",
        *(f"return, κ = {kappa:g}" for kappa in board.kappas),
        "met, τ = 0",
        "seconds",
    ]
    lines = [_cells(place, name, board.kappas) for place in board.run if place.pair(name)]
    if not lines:
        return ""
    return "## In the published benchmark\n\n" + table(head, lines)


def _cells(place: Place, name: str, kappas: Iterable[float]) -> list[str]:
    pair = place.pair(name)
    assert pair is not None
    where = f"[{place.name}](../environments/{place.name}.md)"
    cells = [cell for cell in pair.cells if cell.done]
    if not cells:
        return [where, words.status(pair), *("" for _ in kappas), "", ""]
    volume = "–" if pair.hypervolume is None else f"{pair.hypervolume.mean:.3f}"
    met = f"{sum(cell.seeds_met for cell in pair.cells)}/{sum(cell.seeds for cell in pair.cells)}"
    seconds = "–" if pair.first.seconds is None else numbers.number(pair.first.seconds)
    return [where, volume, *(_return(pair.at(kappa)) for kappa in kappas), met, seconds]


def _return(cell: Cell | None) -> str:
    if cell is None or not cell.done:
        return "–"
    share = cell.values.get("optimum_share")
    of = "" if share is None else f" ({numbers.share(share.mean)} of optimum)"
    return numbers.number(cell.values["return"].mean) + of


def _method_index() -> str:
    parts = ["# Methods", "Everyone who takes part in `mccpo benchmark`."]
    by_kind: dict[str, list[str]] = {}
    for name in method_names():
        by_kind.setdefault(methods.entrant(name).kind, []).append(name)
    for kind, found in by_kind.items():
        rows = [[f"[{method_label(name)}]({name}.md)", f"`{name}`", _told(name).first] for name in found]
        parts.append(f"## {_KINDS[kind]}\n\n" + table(["method", "name", "what it is"], rows))
    return "\n\n".join(parts) + "\n"


def _environment_index(found: Mapping[str, str]) -> str:
    """Each environment with the first paragraph of its page."""
    rows = []
    for name in environments.OURS:
        first = found[f"environments/{name}.md"].split("\n\n")[1]
        rows.append([f"[{name}]({name}.md)", first.replace("\n", " ")])
    suites = [
        f"- `--suite {name}`: {', '.join(suite.environments)}; {suite.seeds} seeds of {suite.steps:,} steps"
        for name, suite in environments.SUITES.items()
    ]
    told = "Where `mccpo benchmark` compares methods."
    return "\n\n".join(["# Environments", told, table(["environment", "what it is"], rows), "\n".join(suites)]) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Writes the pages below the folder that is named, with the results that are published in it."""
    (docs,) = arguments
    published = Path(docs) / RESULTS
    results = read_json(published, fix="publish one") if published.exists() else None
    sys.stdout.write(f"{len(write_pages(docs, results))} pages below {docs}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
