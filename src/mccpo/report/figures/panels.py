"""Panels of figures, grouped under one legend that stands beside them and hides no data."""

from __future__ import annotations

from dataclasses import dataclass

from mccpo.report.figures.drawing import Stroke, stroke, swatch
from mccpo.report.markup import Html
from mccpo.report.vocabulary import method_label

Legend = tuple[tuple[Html, str], ...]


@dataclass(frozen=True)
class Panel:
    """One figure with its title and what the reader should know about it."""

    title: str
    caption: str
    svg: Html


@dataclass(frozen=True)
class Group:
    """Figures that belong together and share one legend."""

    heading: str
    note: str
    panels: tuple[Panel, ...]
    legend: Legend


def legend_of(methods: list[str], references: list[tuple[Stroke, str]], *, marker: bool = False) -> Legend:
    """One entry per method, then one per reference line."""
    lines = [(swatch(stroke(method, methods), marker=marker), method_label(method)) for method in methods]
    return (*lines, *((swatch(style), text) for style, text in references))
