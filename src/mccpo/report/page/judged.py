"""What policies were worth when they were judged again, and what was certified: in short, and as tables."""

from __future__ import annotations

from collections.abc import Sequence

from mccpo.report.markup import Html, el, join
from mccpo.report.tables import html_tables as tables
from mccpo.report.tables.cells import certificate_text
from mccpo.report.tables.finding import finding
from mccpo.report.tables.metrics import executed_metrics
from mccpo.report.vocabulary import cost_words
from mccpo.runs.results import Evaluation, Results


def summary(results: Results, evaluations: Sequence[Evaluation]) -> Html | None:
    """One line for each certificate and each evaluation, for the top of a page; None where there are none."""
    supplements = [results.supplement, *(setting.supplement for setting in results.settings)]
    certificates = [certificate for supplement in supplements for certificate in supplement.certificates]
    lines = [
        el(
            "li",
            el("b", f"Certificate {'passed' if certificate.passed else 'not passed'}: "),
            certificate_text(certificate, brief=True),
        )
        for certificate in certificates
    ]
    lines += [
        el("li", el("b", f"Judged again {_where(evaluation)}: "), _first_sentence(finding(table)))
        for evaluation in evaluations
        for table in evaluation.tables
    ]
    return el("ul", *lines, class_="judged") if lines else None


def details(evaluations: Sequence[Evaluation], name: str) -> list[Html]:
    """The tables of every evaluation, folded away."""
    shown = []
    for number, evaluation in enumerate(evaluations, start=1):
        parts = [part for table in evaluation.tables for part in _tables(table, f"{name}e{number}")]
        shown.append(el("details", el("summary", f"Judged again {_where(evaluation)}"), *parts))
    return [join(el("h3", "The policies judged again"), *shown)] if shown else []


def _tables(results: Results, name: str) -> list[Html]:
    parts = []
    for number, setting in enumerate(results.settings, start=1):
        if setting.name:
            parts.append(el("h4", setting.name))
        footnotes = tables.Footnotes(f"{name}t{number}")
        parts.append(tables.main_table(setting, footnotes, executed_metrics(setting), cost_words(results.environment)))
    return [*parts, *(el("p", note, class_="note") for note in results.notes)]


def _first_sentence(text: str) -> str:
    """The first sentence of a finding; numbers have no space after their point."""
    first, stop, _ = text.partition(". ")
    return f"{first}." if stop else text


def _where(evaluation: Evaluation) -> str:
    """On which environment, and by which seed."""
    protocol = evaluation.tables[0].protocol
    place = f"on {evaluation.on}" if evaluation.on else "on fresh episodes"
    return f"{place} (seed {protocol.get('seed')}, {protocol.get('evaluation episodes', 0):,} episodes of each policy)"
