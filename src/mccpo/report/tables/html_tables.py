"""The tables of the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mccpo.evaluation import Summary
from mccpo.report import numbers
from mccpo.report.markup import Html, el, join
from mccpo.report.tables.cells import certificate_text, measured_text, optimum_text, reported_text
from mccpo.report.tables.metrics import executed_metrics, variant_metrics
from mccpo.report.vocabulary import HIGHER_IS_BETTER, VERDICTS, in_order, method_label, metric_label, metric_words
from mccpo.runs.results import Certificate, Groups, Results, Setting, Verdict

_OF_THE_GATE = ("time_to_unlock", "restriction_rate")
"""What only the episodes tell in which a policy is watched."""
_UNREADY = "true_violation_rate"
"""What a certificate counts: lessons that were unready in truth, whatever the gate goes by."""
_FEWER = (
    "These numbers are from fewer episodes than the table above, drawn apart from those: so they differ a little from "
    "it where both have a metric."
)
_KINDS = {"paired": "paired t", "welch": "Welch's t"}


class Footnotes:
    """Reasons numbered in the order in which the table first gives them; the same reason has one number."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers: dict[Verdict, int] = {}

    def mark(self, verdict: Verdict) -> Html | None:
        """The number of the verdict's reason, as a link to it; nothing when it gives none."""
        if not verdict.reason:
            return None
        number = self._numbers.setdefault(verdict, len(self._numbers) + 1)
        return el("sup", el("a", str(number), href=f"#{self._id(number)}"))

    def listing(self) -> Html | None:
        """All reasons, in order."""
        if not self._numbers:
            return None
        items = [
            el("li", verdict_mark(verdict), f" — {verdict.reason}", id=self._id(number))
            for verdict, number in self._numbers.items()
        ]
        return el("ol", *items, class_="reasons")

    def _id(self, number: int) -> str:
        return f"{self._name}n{number}"


def main_table(
    setting: Setting, footnotes: Footnotes, metrics: Sequence[str], costs: Mapping[str, str] | None = None
) -> Html:
    """Metrics against methods: ours, under it the paper's and the verdict, after the exact optimum.

    `costs` are the environment's words for its costs.
    """
    methods = [method for method in setting.methods if _has_any(setting, method, metrics)]
    optimum = any(metric in setting.optimum for metric in metrics)
    # The optimum is what all else is measured by: it stands where no width of the window cuts it off.
    head = [el("th", "", scope="col"), *([el("th", "Exact optimum", scope="col", class_="optimum")] if optimum else [])]
    head += [el("th", method_label(method), scope="col") for method in methods]
    rows = []
    for metric in metrics:
        cells = [_cell(setting, method, metric, footnotes) for method in methods]
        if optimum:
            value = setting.optimum.get(metric)
            cells.insert(0, el("td", "" if value is None else optimum_text(metric, value), class_="optimum"))
        rows.append(el("tr", el("th", *_row_label(setting, metric, costs), scope="row"), *cells))
    return _scrolling(el("table", el("thead", el("tr", *head)), el("tbody", *rows), class_="main"))


def seeds_table(setting: Setting) -> Html:
    """Every value of every seed, with the interval of the mean and the interquartile mean."""
    entries = [
        (metric, method, setting.rows[method][metric])
        for metric in [*executed_metrics(setting), *variant_metrics(setting)]
        for method in setting.rows
        if metric in setting.rows[method]
    ]
    seeds = max(len(summary.per_seed) for _, _, summary in entries)
    names = ["Metric", "Method", "Mean", "Std", "95 % interval", "n", "IQM", *(f"Seed {seed}" for seed in range(seeds))]
    body, previous = [], None
    for metric, method, summary in entries:
        first = metric_label(metric) if metric != previous else ""
        shown = [method_label(method), *_statistics(summary), *(numbers.exact(value) for value in summary.per_seed)]
        body.append(el("tr", el("th", first, scope="row"), *(el("td", text) for text in shown)))
        previous = metric
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in names)))
    return _scrolling(el("table", head, el("tbody", *body), class_="seeds"))


def tests_table(results: Results) -> Html | None:
    """The tests between methods, and how p reads once all of them count."""
    if not results.tests:
        return None
    names = ("Test", "Kind", "n", "Means", "95 % interval of the difference", "t", "p", "p, Holm", "Cohen's d")
    head = el("tr", *(el("th", name, scope="col") for name in names))
    rows, p_holm = [], results.p_holm
    for name, test in results.tests.items():
        shown = [
            _KINDS[test.kind],
            " and ".join(str(size) for size in dict.fromkeys(test.n)) or "–",
            " and ".join(numbers.number(mean) for mean in test.means) or "–",
            "–" if test.ci is None else " to ".join(numbers.exact(end) for end in test.ci),
            "undefined: no spread" if test.t is None else numbers.number(test.t),
            "–" if test.p is None else numbers.p_value(test.p),
            numbers.p_value(p_holm[name]) if name in p_holm else "–",
            "–" if test.cohens_d is None else numbers.number(test.cohens_d),
        ]
        rows.append(el("tr", el("th", name, scope="row"), *(el("td", text) for text in shown)))
    note = (
        f"Means of {len(rows)} pairs are compared. Holm's p counts that: those at most 0.05 are significant, with a "
        "chance of at most 5 % that any of them is so by luck. Paired tests go seed by seed."
    )
    return join(_scrolling(el("table", el("thead", head), el("tbody", *rows))), el("p", note, class_="note"))


def groups_table(groups: Mapping[str, Groups]) -> Html | None:
    """How each method serves each group of learners, the group it serves worst marked metric by metric."""
    metrics = in_order(metric for rows in groups.values() for cells in rows.values() for metric in cells)
    several = any(len(rows) > 1 for rows in groups.values())
    if not several:  # the table above has the rest, from more episodes
        metrics = [metric for metric in metrics if metric in _OF_THE_GATE]
    if not metrics:
        return None
    named = [_column_label(metric) for metric in metrics]
    head = [el("th", "Method", scope="col"), *([el("th", "Group", scope="col")] if several else []), *named]
    body = []
    for method, rows in groups.items():
        worst = {metric: _worst(rows, metric) for metric in metrics}
        for row, (group, cells) in enumerate(rows.items()):
            shown = [_group_cell(cells.get(metric), worst=group in worst[metric]) for metric in metrics]
            name = el("th", method_label(method) if row == 0 else "", scope="row")
            whose = [el("td", group)] if several else []
            body.append(el("tr", name, *whose, *shown, class_="first" if row == 0 else None))
    table = el("table", el("thead", el("tr", *head)), el("tbody", *body), class_="groups" if several else None)
    legend = el("p", el("b", "▾"), " marks the group that a method serves worst. ", _FEWER, class_="note")
    return join(legend if several else None, _scrolling(table))


def _column_label(metric: str) -> Html:
    words, symbol = metric_words(metric)
    return el("th", words, el("small", symbol) if symbol else None, scope="col")


def certificate_tables(certificates: Sequence[Certificate]) -> Html | None:
    """Every certificate of a part, in the order in which they were made."""
    return join(*(certificate_table(certificate) for certificate in certificates)) if certificates else None


def certificate_table(certificate: Certificate) -> Html:
    """Whether the policy may be released, and the bound that says so for each budget."""
    sure = numbers.share(certificate.confidence)
    entries = [(f"J({cost})", bound) for cost, bound in certificate.budgets.items()]
    entries += [(f"{metric_label(name)}, at least", bound) for name, bound in certificate.floors.items()]
    if certificate.prerequisite is not None:
        entries.append((metric_label(_UNREADY), certificate.prerequisite))
    head = [el("th", name, scope="col") for name in ("", "Verdict", "Mean", f"Bound at {sure}", "Budget or floor")]
    rows = []
    for label, bound in entries:
        values = (bound.mean, bound.bound, bound.budget)
        cells = [el("td", "–" if value is None else numbers.number(value)) for value in values]
        rows.append(el("tr", el("th", label, scope="row"), el("td", _passes(bound.passed)), *cells))
    verdict = el("p", _passes(certificate.passed), f": {certificate_text(certificate)}")
    table = el("table", el("thead", el("tr", *head)), el("tbody", *rows), class_="certificate")
    reason = "" if certificate.prerequisite is None else certificate.prerequisite.reason
    why = f"{metric_label(_UNREADY)}: {reason}."
    return join(verdict, _scrolling(table), el("p", why, class_="note") if reason else None)


def verdict_mark(verdict: Verdict) -> Html:
    """The verdict as a sign and a word, coloured as well."""
    return el("span", f"{VERDICTS[verdict.kind]} {verdict.kind}", class_=f"verdict {verdict.kind.replace(' ', '-')}")


def _cell(setting: Setting, method: str, metric: str, footnotes: Footnotes) -> Html:
    summary = setting.rows.get(method, {}).get(metric)
    paper = setting.paper.get(method, {}).get(metric)
    verdict = setting.verdicts.get(method, {}).get(metric)
    lines = [el("span", "–" if summary is None else measured_text(metric, summary), class_="ours")]
    if paper is not None:
        lines.append(el("span", f"paper {reported_text(metric, paper)}", class_="paper"))
    if verdict is not None:
        fitted = ", fitted" if metric in setting.fitted.get(method, ()) else None
        lines.append(el("span", verdict_mark(verdict), fitted, footnotes.mark(verdict)))
    return el("td", *lines)


def _worst(rows: Groups, metric: str) -> set[str]:
    """The groups with the worst value of a metric; none where all are served alike."""
    values = {group: cells[metric] for group, cells in rows.items() if metric in cells}
    if len(set(values.values())) < 2:
        return set()
    worst = (min if metric in HIGHER_IS_BETTER else max)(values.values())
    return {group for group, value in values.items() if value == worst}


def _group_cell(value: float | None, *, worst: bool) -> Html:
    if value is None:
        return el("td", "–")
    return el("td", f"▾ {numbers.number(value)}" if worst else numbers.number(value), class_="worst" if worst else None)


def _passes(passed: bool | None) -> Html:
    if passed is None:
        return el("span", "–")
    return el("span", "✓ passed" if passed else "✗ failed", class_=f"verdict {'agrees' if passed else 'differs'}")


def _row_label(setting: Setting, metric: str, costs: Mapping[str, str] | None) -> list[str]:
    """A metric in words, below it its symbol and its budget."""
    words, symbol = metric_words(metric, costs)
    budget = setting.budget(metric)
    small = ", ".join([*([symbol] if symbol else []), *([] if budget is None else [f"budget {numbers.short(budget)}"])])
    return [words, *([el("small", small)] if small else [])]


def _has_any(setting: Setting, method: str, metrics: Sequence[str]) -> bool:
    return any(metric in table.get(method, {}) for table in (setting.rows, setting.paper) for metric in metrics)


def _statistics(summary: Summary) -> list[str]:
    interval = "–"
    if summary.ci is not None and summary.ci[0] < summary.ci[1]:
        interval = " to ".join(numbers.exact(bound) for bound in summary.ci)
    std = "–" if summary.shown_std is None else numbers.exact(summary.shown_std)
    iqm = "–" if summary.iqm is None else numbers.exact(summary.iqm)
    return [numbers.exact(summary.mean), std, interval, str(summary.n), iqm]


def _scrolling(table: Html) -> Html:
    # A wide table scrolls in a box of its own, so that a phone does not scroll the whole page sideways.
    return el("div", join(table), class_="scroll", tabindex="0")
