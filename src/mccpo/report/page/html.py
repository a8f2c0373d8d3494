"""One HTML file with everything a reader needs, which opens offline and is the same to the byte for the same data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from mccpo import files
from mccpo.errors import InputError
from mccpo.evaluation import Curves
from mccpo.report import numbers
from mccpo.report.figures.of_table import Gallery, galleries, opening
from mccpo.report.figures.panels import Group
from mccpo.report.markup import Html, el, join
from mccpo.report.page import judged
from mccpo.report.tables import calibrated, from_logs
from mccpo.report.tables import html_tables as tables
from mccpo.report.tables.cells import unmet_details
from mccpo.report.tables.finding import finding, tally
from mccpo.report.tables.metrics import executed_metrics, variant_metrics
from mccpo.report.vocabulary import cost_words, meanings
from mccpo.runs.results import Evaluation, Facts, Results, Setting, Supplement, UnmetBudgets

_MOST_OPEN = 4  # settings, beyond which the tables of all but the first are folded away
_VERDICTS = {
    "not met": "could be met, but were not.",
    "not found": "are met by no policy that was found, which does not prove that there is none.",
    "infeasible": "cannot be met.",
}
TrainingCurves: TypeAlias = Curves | Mapping[str, Curves] | None

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def write_report(
    path: str | Path,
    results: Sequence[Results],
    curves: Sequence[TrainingCurves],
    *,
    manifest: Facts | None,
    evaluations: Mapping[int, Sequence[Evaluation]] | None = None,
) -> None:
    """Writes the report on `results` to one self-contained HTML file.

    Each of `results` becomes a section, with the training curves at the same place in `curves`: those of the table, or
    those of its settings by name (parts that are no setting are not drawn), or `None`. `evaluations` are what policies
    were worth when they were judged again, by the place of the table that they belong to. `manifest` tells how the
    results were made, and is shown at the end. The file needs no network and no script.
    """
    files.write_text(path, render(results, curves, manifest=manifest, evaluations=evaluations))


def render(
    results: Sequence[Results],
    curves: Sequence[TrainingCurves],
    *,
    manifest: Facts | None,
    evaluations: Mapping[int, Sequence[Evaluation]] | None = None,
) -> str:
    """The text of the report; `write_report` puts it in a file."""
    if not results or len(results) != len(curves):
        raise InputError(
            f"{len(results)} results with {len(curves)} curves",
            fix="give at least one result, and curves or None for each",
        )
    names = [f"s{number}-{_slug(table.table)}" for number, table in enumerate(results, start=1)]
    heading = "h1" if len(results) == 1 else "h2"
    again = [(evaluations or {}).get(place, ()) for place in range(len(results))]
    sections = [
        _section(table, curve, name, heading, judged_again)
        for table, curve, name, judged_again in zip(results, curves, names, again, strict=True)
    ]
    title = results[0].title if len(results) == 1 else "Constrained tutoring policies: results"
    header = None if len(results) == 1 else el("header", el("h1", title), _contents(results, names))
    return page(title, join(header, el("main", *sections), _footer(manifest), between="\n"))


def page(title: str, body: Html) -> str:
    """A whole page: the one style of all reports is in it, and nothing has to be fetched."""
    style = resources.files("mccpo.report").joinpath("style.css").read_text(encoding="utf-8")
    return _PAGE.format(title=join(title), style=style, body=body)


def _section(
    results: Results, curves: TrainingCurves, name: str, heading: str, evaluations: Sequence[Evaluation]
) -> Html:
    parts: list[Html | None] = [
        el(heading, results.title),
        *(_unmet(_what_was_asked(results), where, unmet) for where, unmet in results.unmet),
        el("p", finding(results), class_="finding"),
        _paragraph(tally(results.settings), "tally"),
        _opening(results, name),
        judged.summary(results, evaluations),
        _paragraph(results.environment, "environment"),
        _protocol(results),
        _requirements(results),
    ]
    many = len(results.settings) > _MOST_OPEN
    costs = cost_words(results.environment)
    for number, setting in enumerate(results.settings, start=1):
        shown = _setting(setting, f"{name}t{number}", costs)
        parts += [el("details", el("summary", setting.name), *shown)] if many and number > 1 else shown
    parts += judged.details(evaluations, name)
    parts += [*_supplement(results.supplement, ""), from_logs.section(results.data), tables.tests_table(results)]
    parts.append(calibrated.section(results.calibrated))
    if results.notes:
        parts.append(el("ul", *(el("li", note) for note in results.notes), class_="notes"))
    parts += [_gallery(gallery) for gallery in galleries(results, _by_setting(results, curves), name)]
    parts += [_seeds(setting) for setting in results.settings if setting.rows]
    parts.append(_glossary(results))
    return el("section", join(*parts, between="\n"), id=name)


def _by_setting(results: Results, curves: TrainingCurves) -> dict[str, Curves]:
    """The curves by the name of their setting.

    Those of a table's only setting may go by the table's name, or by any. A part that several settings share, as
    `tutor-15` is that of `tutor-15 σ=0.1`, goes to the first of them.
    """
    if curves is None or isinstance(curves, Curves):
        return {} if curves is None else {results.settings[0].name: curves}
    if len(results.settings) == 1:
        alone = next(iter(curves.values())) if len(curves) == 1 else curves.get(results.table)
        return {} if alone is None else {results.settings[0].name: alone}
    names = [setting.name for setting in results.settings]
    sharing = {part: [name for name in names if f"{name} ".startswith(f"{part} ")] for part in curves}
    return {settings[0]: curves[part] for part, settings in sharing.items() if settings}


def _setting(setting: Setting, name: str, costs: Mapping[str, str]) -> list[Html | None]:
    footnotes = tables.Footnotes(name)
    executed, variants = executed_metrics(setting), variant_metrics(setting)
    table = tables.main_table(setting, footnotes, executed, costs) if executed else None
    folded = None
    if variants:
        folded = el(
            "details",
            el("summary", "Before the filter, and of the last iterate"),
            tables.main_table(setting, footnotes, variants, costs),
        )
    heading = el("h3", setting.name) if setting.name else None
    return [heading, table, footnotes.listing(), folded, *_supplement(setting.supplement, setting.name)]


def _supplement(supplement: Supplement, setting: str) -> list[Html | None]:
    groups = supplement.groups or {}
    several = any(len(rows) > 1 for rows in groups.values())
    parts = {
        "Release certificate": tables.certificate_tables(supplement.certificates),
        "By group of learners" if several else "What the gate opens": tables.groups_table(groups),
    }
    at = f" at {setting}" if setting else ""
    return [join(el("h3", heading + at), part) for heading, part in parts.items() if part is not None]


def _what_was_asked(results: Results) -> str:
    """Budgets, or floors where nothing else was asked for."""
    floors_alone = any(setting.floors for setting in results.settings) and not any(
        setting.budgets for setting in results.settings
    )
    return "floors" if floors_alone else "budgets"


def _unmet(asked: str, where: str, unmet: UnmetBudgets) -> Html:
    """Budgets that were not met, before anything else: no number below it means what it seems to."""
    heading = el("b", f"The {asked}{f' at {where}' if where else ''} {_VERDICTS[unmet.verdict]} ")
    details = unmet_details(unmet)
    return el(
        "div",
        el("p", heading, _sentence(unmet.what)),
        el("p", el("b", "What would help: "), _sentence(unmet.fix)) if unmet.fix else None,
        el("p", details, class_="note") if details else None,
        class_="infeasible",
        role="note",
    )


def _requirements(results: Results) -> Html | None:
    if not results.requirements:
        return None
    items = [el("li", requirement) for requirement in results.requirements]
    return el("div", el("p", "What was required, and how it was understood:"), el("ul", *items), class_="requirements")


def _protocol(results: Results) -> Html:
    entries = [(key, _plain(value)) for key, value in results.protocol.items()]
    if results.kappa is not None:
        entries.append(("κ", _plain(results.kappa)))
    budgets = {tuple(setting.budgets.items()) for setting in results.settings}
    if len(budgets) == 1:  # budgets that differ from setting to setting stand in the tables
        entries += [(f"budget on {cost}", numbers.short(value)) for cost, value in budgets.pop()]
    floors = {tuple(setting.floors.items()) for setting in results.settings}
    if len(floors) == 1:
        entries += [(f"floor on {name}", numbers.short(value)) for name, value in floors.pop()]
    pairs = [el("div", el("dt", key.replace("_", " ")), el("dd", value)) for key, value in entries]
    return el("dl", *pairs, class_="protocol")


def _opening(results: Results, name: str) -> Html | None:
    """The figures that come before any table."""
    group = opening(results, name)
    return None if group is None else el("div", figures(group), class_="opening")


def _gallery(gallery: Gallery) -> Html:
    drawn = el("div", *(figures(group) for group in gallery.groups), class_="gallery")
    if not gallery.setting:
        return drawn
    return el("details", el("summary", f"Figures at {gallery.setting}"), drawn)


def figures(group: Group) -> Html:
    """Figures with their legend, side by side where there is room."""
    legend = el("ul", *(el("li", mark, " ", text) for mark, text in group.legend), class_="legend")
    panels = [
        el("figure", el("figcaption", el("b", panel.title), " ", el("span", panel.caption)), panel.svg)
        for panel in group.panels
    ]
    kind = "figures" if len(panels) > 1 else "figures single"
    note = _paragraph(group.note, "note")
    heading = el("h3", group.heading) if group.heading else None
    drawn = el("div", *panels, class_="panels")
    # What opens a page needs no heading, and explains itself below: the pictures come first.
    parts = [heading, note, legend, drawn] if group.heading else [drawn, legend, note]
    return el("div", *parts, class_=kind)


def _seeds(setting: Setting) -> Html:
    where = f" at {setting.name}" if setting.name else ""
    return el("details", el("summary", f"Values of every seed{where}"), tables.seeds_table(setting))


def _glossary(results: Results) -> Html:
    settings = results.settings
    metrics = [name for setting in settings for name in [*executed_metrics(setting), *variant_metrics(setting)]]
    supplements = [results.supplement, *(setting.supplement for setting in settings)]
    by_group = [groups for supplement in supplements for groups in (supplement.groups or {}).values()]
    metrics += [metric for groups in by_group for cells in groups.values() for metric in cells]
    pairs = [el("div", el("dt", label), el("dd", meaning)) for label, meaning in meanings(metrics)]
    return el("details", el("summary", "What the metrics mean"), el("dl", *pairs, class_="glossary"))


def _contents(results: Sequence[Results], names: Sequence[str]) -> Html:
    items = [
        el("li", el("a", table.title, href=f"#{name}"), el("span", finding(table)))
        for table, name in zip(results, names, strict=True)
    ]
    return el("nav", el("ol", *items), aria_label="Contents")


def _footer(manifest: Facts | None) -> Html | None:
    if not manifest:
        return None
    pairs = [el("div", el("dt", key.replace("_", " ")), el("dd", _plain(value))) for key, value in manifest.items()]
    return el("footer", el("details", el("summary", "How this was made"), el("dl", *pairs, class_="glossary")))


def _sentence(text: str) -> str:
    """A clause as a sentence of its own; a cost that begins it keeps its name."""
    text = text[:1].upper() + text[1:] if text.split(" ")[0].isalpha() else text
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _paragraph(text: str, kind: str) -> Html | None:
    return el("p", text, class_=kind) if text else None


def _plain(value: object) -> str:
    """A setting as a reader would write it: `200,000`, `64, 64`, `c2 0.5, c4 1`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_plain(part) for part in value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "table"
