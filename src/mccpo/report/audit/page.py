"""The page of an audit: what was found, by which definition, and how it differs between concepts, groups and times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import count

from mccpo.logs import GROUP
from mccpo.logs.audit import NOT_KNOWN, Audit, Breakdown, Level
from mccpo.report.audit import sentences
from mccpo.report.audit.figures import by_definition, over_levels, whisker
from mccpo.report.audit.sentences import AuditSubject, interval, percent, points
from mccpo.report.markup import Html, el, join
from mccpo.report.page.html import figures, page

FEWEST_EVENTS, FEWEST_LEARNERS = 100, 20
"""Below these, a concept is not ranked, and a group is marked."""
_MOST_CONCEPTS = 12  # of the highest, and of the lowest rates
_MOST_GROUPS = 30
_ALIKE = (
    "Events of one learner are alike, so that many of them say less than as many of different learners. All intervals "
    "here are at 95 % and clustered by learner: the variance is that of a ratio of sums over learners, linearised, and "
    "the interval is Wilson's at the number of independent events that would have this variance."
)


def render_audit(audit: Audit, subject: AuditSubject) -> str:
    """The text of the page: one file, which needs no network and no script, the same to the byte for the same audit."""
    names = (f"a{number}" for number in count(1))
    title = f"Right answers that bring no mastery: {subject.name}"
    parts = [
        el("h1", title),
        el("p", sentences.headline(audit), class_="finding"),
        _opening(audit, subject, names),
        _facts(audit),
        _definitions(audit),
        *(el("p", text) for text in sentences.left_out(audit)),
        *_moved(audit, subject),
        _figures(audit, subject, names),
        _groups(audit),
        *_concepts(audit),
        _answers(audit),
        _notes(audit, subject),
    ]
    return page(title, el("main", el("section", join(*parts, between="\n")), class_="audit"))


def _facts(audit: Audit) -> Html:
    entries = {
        "interactions": f"{audit.interactions:,}",
        "learners": f"{audit.learners:,}",
        "right answers": percent(audit.correct),
    }
    if audit.retained is not None:
        interactions, learners = audit.retained
        entries["retained episodes"] = (
            f"{learners:,}, {interactions:,} interactions, mean length {interactions / learners:.1f}"
        )
    pairs = [el("div", el("dt", key), el("dd", value)) for key, value in entries.items()]
    return el("dl", *pairs, class_="protocol")


def _definitions(audit: Audit) -> Html:
    ordered = sorted(audit.measures, key=lambda measure: measure.name != audit.main)
    share = "The rate is the share of such events among all interactions, right or wrong, that the measure judges."
    first = el("p", el("b", "What is counted. "), ordered[0].words, " ", share, " ", el("code", ordered[0].formula))
    others = [
        el("p", el("b", f"Beside it, by {measure.named}. "), measure.words, " ", el("code", measure.formula))
        for measure in ordered[1:]
    ]
    return el("div", first, *others, class_="definition")


def _opening(audit: Audit, subject: AuditSubject, names: Iterator[str]) -> Html | None:
    """How the rate moves with the definition, as a picture: before any table, as no rate means much without it."""
    drawn = by_definition(audit, subject.paper, names)
    return None if drawn is None else figures(drawn)


def _moved(audit: Audit, subject: AuditSubject) -> list[Html | None]:
    paper = sentences.against_paper(audit, subject)
    return [
        el("h2", "How the rate moves with the definition"),
        el("p", sentences.moved(audit)),
        el("p", paper) if paper else None,
        _prevalence(audit, subject),
    ]


def _prevalence(audit: Audit, subject: AuditSubject) -> Html:
    populations = [name for name in sentences.POPULATIONS if any(row.population == name for row in audit.prevalence)]
    head = [
        el("th", "A gain is told by"),
        *(el("th", text, scope="col") for text in sentences.SHARES.values()),
        el("th", "Right answers without gain"),
    ]
    rows = []
    for population in populations:
        name = sentences.POPULATIONS[population].capitalize()
        about = f" ({subject.episodes})" if population == "episodes" else ""
        rows.append(el("tr", el("th", el("b", name), about, colspan=str(len(head)), scope="rowgroup")))
        for measure in audit.measures:
            cells = []
            for of in sentences.SHARES:
                rate = audit.rate(measure.name, population, of)
                cells.append(el("td", percent(rate.rate), _below(interval(rate))))
            events = f"{audit.rate(measure.name, population).events:,}"
            rows.append(el("tr", el("th", measure.title, scope="row"), *cells, el("td", events)))
    return _table(head, rows, "rates")


def _answers(audit: Audit) -> Html:
    kinds = ("gained", "none", "lost", "not_judged")
    head = [el("th", "Answers"), *(el("th", text) for text in ("mastery gained", "no gain", "lost", "not judged"))]
    rows = []
    for answers in audit.answers:
        counts = [getattr(answers, kind) for kind in kinds]
        total = sum(counts)
        cells = [el("td", f"{n:,}", _below(percent(n / total if total else None))) for n in counts]
        name = f"{'right' if answers.correct else 'wrong'}, by {audit.measure(answers.measure).title}"
        rows.append(el("tr", el("th", name, scope="row"), *cells))
    text = (
        "An event is a right answer with no gain; a loss with a right answer counts as one, too. For a model, no gain "
        "is a change of at most the threshold, up or down."
    )
    return join(
        el("h2", "What comes of right and of wrong answers"), el("p", text, class_="note"), _table(head, rows, "rates")
    )


def _concepts(audit: Audit) -> list[Html | None]:
    concepts = audit.breakdown("concept")
    if concepts is None:
        return []
    ranked = [
        level
        for level in concepts.levels
        if level.rates[audit.main].analysed >= FEWEST_EVENTS
        and level.rates[audit.main].learners >= FEWEST_LEARNERS
        and level.label != NOT_KNOWN
    ]
    ranked.sort(key=lambda level: (-(level.rates[audit.main].rate or 0.0), level.label))
    text = (
        f"{len(ranked):,} of {len(concepts.levels):,} concepts have at least {FEWEST_EVENTS} interactions of at least "
        f"{FEWEST_LEARNERS} learners. An interaction of several concepts counts for each of them."
    )
    heading, note = el("h2", "Concepts"), el("p", text, class_="note")
    if len(ranked) <= 2 * _MOST_CONCEPTS:
        return [heading, note, _levels(audit, "Concept", ranked)] if ranked else [heading, note]
    ends = ((ranked[:_MOST_CONCEPTS], "The highest rates"), (ranked[-_MOST_CONCEPTS:], "The lowest rates"))
    top = _top(audit, [*ends[0][0], *ends[1][0]])
    tables = [part for levels, title in ends for part in (el("h3", title), _levels(audit, "Concept", levels, top))]
    return [heading, note, *tables]


def _groups(audit: Audit) -> Html | None:
    groups = [group for group in audit.breakdowns if group.name.startswith(GROUP)]
    if not groups:
        return None
    text = (
        "Each group is compared with the one of most learners. Differences are in points of per cent, one by one at "
        "95 %: of many, some will seem to differ by chance."
    )
    shown = {group.name: _largest(group) for group in groups}
    if any(level.learners < FEWEST_LEARNERS for levels in shown.values() for level in levels):
        text += f" Groups of fewer than {FEWEST_LEARNERS} learners are in grey."
    if any(len(shown[group.name]) < len(group.levels) for group in groups):
        text += f" Of many groups, the {_MOST_GROUPS} with most learners are shown; audit.json has all."
    tables = [
        part
        for group in groups
        for part in (el("h3", group.title), _levels(audit, group.title, shown[group.name], compared=group))
    ]
    return join(el("h2", "Groups of learners"), el("p", text, class_="note"), *tables, between="\n")


def _largest(groups: Breakdown) -> list[Level]:
    """The groups with most learners: those named by numbers in the order of these, what is not known last."""
    largest = sorted(groups.levels, key=lambda level: (-level.learners, level.label))[:_MOST_GROUPS]
    return sorted(
        largest,
        key=lambda level: (level.label == NOT_KNOWN, int(level.label) if level.label.isdecimal() else -1, level.label),
    )


def _levels(
    audit: Audit, title: str, levels: Sequence[Level], top: float | None = None, compared: Breakdown | None = None
) -> Html:
    """A row for each level: its rate with the interval, in numbers and drawn."""
    scale = top if top is not None else _top(audit, levels)
    head = [el("th", title), *(el("th", text) for text in ("interactions", "learners", "right", "rate", "interval"))]
    head.append(el("th", f"0 to {100 * scale:.0f} %; line: overall", class_="plot"))
    if compared is not None and compared.reference is not None:
        head.append(el("th", f"against {compared.reference}"))
    rows = []
    for level in levels:
        rate, few = level.rates[audit.main], level.learners < FEWEST_LEARNERS
        cells = [f"{level.interactions:,}", f"{level.learners:,}", percent(level.correct), percent(rate.rate)]
        row = [el("td", text) for text in (*cells, interval(rate))]
        row.append(el("td", whisker(rate, audit.rate().rate, scale, few=few), class_="plot"))
        if compared is not None and compared.reference is not None:
            row.append(el("td", _difference(audit, level, compared)))
        rows.append(el("tr", el("th", level.label, scope="row"), *row, class_="few" if few else None))
    return _table(head, rows, "levels")


def _difference(audit: Audit, level: Level, groups: Breakdown) -> str:
    if level.label == groups.reference:
        return "reference"
    difference = level.against.get(audit.main)
    return (
        "–"
        if difference is None
        else f"{points(difference.difference)} ({points(difference.low)} to {points(difference.high)})"
    )


def _top(audit: Audit, levels: Sequence[Level]) -> float:
    """The end of the scale: the next tenth, or hundredth where all is small, above the intervals of many learners."""
    many = [level for level in levels if level.learners >= FEWEST_LEARNERS]
    rates = [audit.rate(), *(level.rates[audit.main] for level in many or levels)]
    top = max((rate.high or rate.rate or 0.0) for rate in rates)
    step = 0.1 if top > 0.1 else 0.01
    return min(1.0, step * max(1, math.ceil(round(top / step, 6))))


def _figures(audit: Audit, subject: AuditSubject, names: Iterator[str]) -> Html | None:
    drawn = over_levels(audit, names)
    if drawn is None:
        return None
    zone = f"UTC{subject.hours_ahead:+g}" if subject.hours_ahead else "UTC"
    has_hours = audit.breakdown("hour") is not None
    note = el("p", f"Months and hours are in {zone}.", class_="note") if has_hours else None
    return join(el("h2", "Over time, and between learners"), figures(drawn), note)


def _notes(audit: Audit, subject: AuditSubject) -> Html:
    models = [el("div", el("dt", audit.measure(name).title), el("dd", text)) for name, text in subject.models.items()]
    episodes = el("div", el("dt", "retained episodes"), el("dd", f"all interactions of {subject.episodes}"))
    alike = el("div", el("dt", "intervals"), el("dd", _ALIKE))
    return el(
        "details", el("summary", "How this was worked out"), el("dl", *models, episodes, alike, class_="glossary")
    )


def _below(text: str) -> Html:
    """A second line in a cell."""
    return el("span", text, class_="below")


def _table(head: Sequence[Html], rows: Sequence[Html], kind: str) -> Html:
    table = el("table", el("thead", el("tr", *head)), el("tbody", *rows), class_=kind)
    return el("div", table, class_="scroll", tabindex="0")
