"""Pages of the docs that are made from the code, so that they cannot drift: one for each method and environment.

`make docs` writes them; a test says that what is there is what the code makes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from mccpo import files
from mccpo.errors import InputError
from mccpo.experiments.benchmark import FULL, SUITES
from mccpo.methods import METHODS, GradientEntry, Setting
from mccpo.report import numbers
from mccpo.report.benchmark import words
from mccpo.report.benchmark.finding import verdict
from mccpo.report.benchmark.reading import view_of
from mccpo.report.benchmark.views import CellView, EnvironmentView, Pair
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.report.docs.ablation_page import ablation_page, ablations_of
from mccpo.report.docs.docstrings import Docstring, parse_docstring, table, wrapped
from mccpo.report.docs.environment_pages import environment_page
from mccpo.report.docs.method_words import default_numbers, method_about, method_names
from mccpo.report.docs.paper_page import Tables, paper_page
from mccpo.report.docs.published import read_published
from mccpo.report.vocabulary import method_label
from mccpo.runs.benchmark import RESULTS, read_results

MADE = "<!-- Made from the code by `make docs`: change it there. -->"
PUBLISHED = "benchmark"  # the folder of docs with a folder for each benchmark that is published
_CONTENTS = """```{toctree}
:hidden:
:glob:

*
```"""
_NONE = "–"
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


Published: TypeAlias = Mapping[str, BenchmarkView]
"""Published benchmarks, by the name of their folder."""


def write_pages(docs: str | Path) -> list[Path]:
    """Writes every page below `docs`, with what is published there, and removes those that no code makes any more.

    Gives their paths.
    """
    made = {Path(docs) / name: text for name, text in pages(published(docs), read_published(docs)).items()}
    for path, text in made.items():
        files.write_text(path, text)
    for folder in {path.parent for path in made}:  # that of the docs themselves, too: pages written by hand stay
        for path in sorted(folder.glob("*.md")):
            if path not in made and path.read_text(encoding="utf-8").startswith(MADE):
                path.unlink()
    return list(made)


def published(docs: str | Path) -> Published:
    """The benchmarks that are published below the docs, in the order of their names."""
    paths = sorted((Path(docs) / PUBLISHED).glob(f"*/{RESULTS}"))
    return {path.parent.name: view_of(read_results(path.parent)) for path in paths}


def pages(benchmarks: Published, tables: Tables) -> dict[str, str]:
    """The text of every page by its path below the docs. Only what is our own has one: not what other packages add.

    `tables` are the published results of the paper's tables.
    """
    texts = {f"methods/{name}.md": method_page(name, benchmarks) for name in method_names()}
    for name in FULL:
        verdicts = [
            f"[{folder}]({report_of(folder)}): {verdict(environment, view)}"
            for folder, view in benchmarks.items()
            for environment in view.run
            if environment.name == name
        ]
        texts[f"environments/{name}.md"] = environment_page(name, verdicts)
    texts["paper.md"] = paper_page(tables)
    if ablations_of(tables):
        texts["ablation.md"] = ablation_page(tables)
    texts["methods/index.md"] = _method_index()
    texts["environments/index.md"] = _environment_index(texts)
    return {path: f"{MADE}\n\n{wrapped(text)}" for path, text in sorted(texts.items())}


def report_of(folder: str) -> str:
    """Where the report of a published benchmark is, from a page of a method or an environment."""
    return f"../{PUBLISHED}/{folder}/report.html"


def method_page(name: str, benchmarks: Published) -> str:
    """What a method is, its update, where ours departs, when to use it, its numbers, and its published results."""
    about, entry = _about(name), METHODS[name]
    parts = [f"# {method_label(name)}", f"`{name}`: {about.first}"]
    parts += [f"## {heading}\n\n{about.parts[part]}" for part, heading in _HEADINGS.items()]
    if isinstance(entry, GradientEntry):
        parts.append(_settings(name, entry.search))
    if results := _published(name, benchmarks):
        parts.append(results)
    parts.append(f"## Source\n\n{about.parts['Source']}")
    return "\n\n".join(parts) + "\n"


def _about(name: str) -> Docstring:
    """What a method is, which must have every part."""
    about = parse_docstring(method_about(name))
    absent = [part for part in (*_HEADINGS, "Source") if part not in about.parts]
    if absent:
        raise InputError(f"the docstring of {name} has no part '{absent[0]}'", fix=f"add **{absent[0]}:** to it")
    return about


def _settings(name: str, search: Sequence[Setting]) -> str:
    """A method's own numbers, and what the benchmark tries for it."""
    own = [f"`{number}` {default:g}" for number, default in default_numbers(name).items()]
    lines = ["## Its numbers"]
    if own:
        lines.append(f"By default: {', '.join(own)}.")
    if len(search) == 1:
        lines.append("The benchmark runs it in one setting: there is nothing to search.")
        return "\n\n".join(lines)
    lines.append(f"The benchmark tries {len(search)} settings and keeps the best on validation seeds:")
    tried = [", ".join(f"`{key}` {value:g}" for key, value in setting.items()) or "the defaults" for setting in search]
    return "\n\n".join([*lines, "\n".join(f"- {setting}" for setting in tried)])


def _published(name: str, benchmarks: Published) -> str:
    """What published benchmarks say of a method: a table for each that it is in, and where the whole report is."""
    parts = []
    for folder, view in benchmarks.items():
        pairs = [(environment, pair) for environment in view.run if (pair := environment.pair(name))]
        if pairs:
            parts += [f"From [{folder}]({report_of(folder)}):", _rows(pairs)]
    return "\n\n".join(["## In published benchmarks", *parts]) if parts else ""


def _rows(pairs: Sequence[tuple[EnvironmentView, Pair]]) -> str:
    """A row for each environment and κ; the column of optima only where there is one."""
    known = any(environment.finite for environment, _ in pairs)
    head = ["environment", "κ", "return", *(["share of optimum"] if known else []), "met, τ = 0"]
    head += ["ΔK", "mastered", "hypervolume, all κ", "kept, all κ"]
    return table(head, [_cell(environment, pair, cell, known) for environment, pair in pairs for cell in pair.cells])


def _cell(environment: EnvironmentView, pair: Pair, cell: CellView, known: bool) -> list[str]:
    name = environment.name
    ret, share = cell.metrics.get("return"), cell.metrics.get("optimum_share")
    # Beyond the budgets there is more to be had than the optimum within them.
    optimum = [numbers.share(share.mean) if share is not None and cell.met else _NONE] if known else []
    return [
        f"[{name}](../environments/{name}.md)" if name in FULL else name,
        f"{cell.kappa:g}",
        words.STATUS.get(cell.status, cell.status) if ret is None else numbers.number(ret.mean),
        *optimum,
        f"{cell.seeds_met}/{cell.seeds}" if cell.status != "does not apply" else _NONE,
        *(_NONE if learnt is None else f"{learnt.mean:.2f}" for learnt in map(cell.metrics.get, ("dK", "mastered"))),
        *(_NONE if score is None else f"{score.mean:.3f}" for score in (pair.hypervolume, pair.kept)),
    ]


def _method_index() -> str:
    parts = ["# Methods", "Everyone who takes part in `mccpo benchmark`."]
    by_kind: dict[str, list[str]] = {}
    for name in method_names():
        by_kind.setdefault(METHODS[name].kind, []).append(name)
    for kind, names in by_kind.items():
        listed = [f"- [{method_label(name)}]({name}.md), `{name}`: {_about(name).first}" for name in names]
        parts.append("\n".join([f"## {_KINDS[kind]}\n", *listed]))
    return "\n\n".join([*parts, _CONTENTS]) + "\n"


def _environment_index(texts: Mapping[str, str]) -> str:
    """Each environment with the first paragraph of its page."""
    listed = []
    for name in FULL:
        first = texts[f"environments/{name}.md"].split("\n\n")[1]
        listed.append(f"- [{name}]({name}.md): {first}".replace("\n", " "))
    suites = [
        f"- `--suite {name}`: {', '.join(suite.environments)}; {suite.seeds} seeds of {suite.steps:,} steps"
        for name, suite in SUITES.items()
    ]
    intro = "Where `mccpo benchmark` compares methods."
    parts = ["# Environments", intro, "\n".join(listed), "## The suites", "\n".join(suites), _CONTENTS]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Writes the pages below the folder that is named, with the results that are published in it."""
    (docs,) = arguments
    sys.stdout.write(f"{len(write_pages(docs))} pages below {docs}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
