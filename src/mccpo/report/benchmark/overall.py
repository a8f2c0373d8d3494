"""The tables of a benchmark's report that look over environments: MC-CPO on each, and every method on all of them.

Methods are ranked beside each other only where they have a result on the same environments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mccpo.report import numbers
from mccpo.report.benchmark import cells as entry
from mccpo.report.benchmark.ranking import Comparison, compare_ours, not_told_apart, not_told_apart_count
from mccpo.report.benchmark.views import TIED, CellView, EnvironmentView, Pair
from mccpo.report.benchmark.whole_view import BenchmarkView, of_measure
from mccpo.report.benchmark.words import count, duration, listed
from mccpo.report.figures.drawing import INK, STROKES
from mccpo.report.markup import Html, el
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

_MINUS = "−"
_CLASSES = {"ahead": "agrees", "behind": "differs"}
_MET = entry.Head(f"Met, {entry.unbroken('τ = 0')}", entry.unbroken("seeds at all κ"))
_SPENT = entry.Head("A run on each", entry.unbroken("and the search"), ascending=True)


def by_environment(view: BenchmarkView, slug: Callable[[str], str]) -> Html:
    """A row for each environment: who is best, who is best of those that always meet the budgets, and MC-CPO's rank.

    `slug` names the section of an environment.
    """
    ours = method_label(OUR_METHOD)
    heads = [
        entry.Head("Environment", ascending=True),
        entry.Head("Best", "largest hypervolume"),
        entry.Head("Best that always meets", "all budgets in all seeds"),
    ]
    if OUR_METHOD in view.methods:
        heads += [
            entry.Head(ours, "hypervolume, place"),
            _MET,
            entry.Head("Best other", "hypervolume"),
            entry.Head(f"{ours} is", f"difference, {_interval(view)}"),
        ]
    rows = []
    for environment in view.run:
        cells = [
            el(
                "th",
                el("a", environment.name, href=f"#{slug(environment.name)}"),
                scope="row",
                data_sort=environment.name,
            ),
            _holders(environment.largest, not_told_apart_count(environment.ranked)),
            _holders(environment.reachable, not_told_apart_count(environment.keeping), _but(environment)),
        ]
        cells += _ours(compare_ours(environment)) if OUR_METHOD in view.methods else []
        rows.append(el("tr", *cells))
    return entry.table(heads, rows, "standings")


def _interval(view: BenchmarkView) -> str:
    """What an interval is, and how many seeds it rests on."""
    return f"95 % interval, {count(view.protocol.seeds, 'seed')}"


def ranked(view: BenchmarkView) -> Html | None:
    """The methods with a result on every environment, the largest interquartile mean first."""
    if not view.complete:
        return None
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("IQM of hypervolume", _interval(view), sorted=True),
        entry.Head("IQM of kept", _interval(view)),
        entry.Head("MC-CPO better", _interval(view), ascending=True),
        entry.Head("Best on", "of so many environments"),
        _MET,
        entry.Head("Unready lessons", "mean share, by the gate", ascending=True),
        _SPENT,
    ]
    top = _top(view, view.complete)
    rows = []
    for method in view.complete:
        cells = [
            entry.method_head(method, view.methods[method].kind),
            entry.estimate(view.over(method, "hypervolume"), _colour(method), top=top),
            entry.stated(view.over(method, "kept")),
            _better(view, method),
            _best_on(view, method),
            entry.met(_cells(view, method)),
            _unready(view, method),
            _spent(view, method),
        ]
        rows.append(entry.row(method, cells))
    return entry.table(heads, rows, "overall")


def unranked(view: BenchmarkView) -> Html | None:
    """The other methods, each beside MC-CPO on the environments that it has a result on."""
    if not view.partial:
        return None
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("Environments", "that it has a result on"),
        entry.Head("IQM of hypervolume", "on these"),
        entry.Head(f"That of {method_label(OUR_METHOD)}", "on the same"),
        entry.Head("IQM of kept", "on these"),
        entry.Head(f"That of {method_label(OUR_METHOD)}", "on the same"),
        entry.Head("MC-CPO better", _interval(view), ascending=True),
        _MET,
        _SPENT,
    ]
    top = _top(view, view.partial)
    rows = []
    for method in view.partial:
        aggregate = view.aggregate.get(method)
        where = aggregate.environments if aggregate else ()
        scores = (aggregate.scores, aggregate.ours) if aggregate else (None, None)
        cells = [
            entry.method_head(method, view.methods[method].kind),
            el("td", str(len(where)), el("small", ", ".join(where)), data_sort=entry.key(len(where))),
            *(
                entry.estimate(of_measure(overall, "hypervolume"), _colour(whose), top=top)
                for overall, whose in zip(scores, (method, OUR_METHOD), strict=True)
            ),
            *(entry.stated(of_measure(overall, "kept")) for overall in scores),
            _better(view, method),
            entry.met(_cells(view, method)),
            _spent(view, method),
        ]
        rows.append(entry.row(method, cells))
    return entry.table(heads, rows, "unranked")


def _applies(view: BenchmarkView, method: str) -> list[tuple[EnvironmentView, Pair]]:
    return [(environment, pair) for environment in view.run if (pair := environment.pair(method)) and pair.applies]


def _cells(view: BenchmarkView, method: str) -> list[CellView]:
    return [cell for _, pair in _applies(view, method) for cell in pair.cells]


def _better(view: BenchmarkView, method: str) -> Html:
    if method == OUR_METHOD:
        return el("td", el("small", "itself"), data_sort="")
    return entry.estimate(view.improvement.get(method), _colour(method), middle=0.5)


def _best_on(view: BenchmarkView, method: str) -> Html:
    applies = _applies(view, method)
    best = [environment for environment, pair in applies if pair in environment.best]
    names = ", ".join(
        f"{environment.name}{' (not alone)' if not_told_apart(environment.keeping) else ''}" for environment in best
    )
    return el("td", f"{len(best)}/{len(applies)}", el("small", names), data_sort=entry.key(len(best)))


def _unready(view: BenchmarkView, method: str) -> Html:
    rates = [cell.metrics["prerequisite_violation_rate"].mean for cell in _cells(view, method) if cell.seeds_done]
    return entry.number(sum(rates) / len(rates) if rates else None, numbers.share)


def _spent(view: BenchmarkView, method: str) -> Html:
    """How long one run takes on every environment together, and the search."""
    spent = view.methods[method].seconds.values()
    run, search = _sum(seconds.run for seconds in spent), _sum(seconds.search for seconds in spent)
    below = None if search is None else el("small", f"search {duration(search)}")
    return el("td", entry.NONE if run is None else duration(run), below, data_sort=entry.key(run))


def _ours(comparison: Comparison | None) -> list[Html]:
    """MC-CPO on one environment, beside the best other method there."""
    if comparison is None:
        return [entry.missing()] * 4
    own = [
        el(
            "td",
            entry.link(comparison.ours.first, f"{comparison.ours.volume:.3f}"),
            el("small", comparison.position),
            data_sort=entry.key(comparison.ours.volume),
        ),
        entry.met(comparison.ours.cells, comparison.ours.first),
    ]
    if comparison.other is None:
        return [*own, *[entry.missing()] * 2]
    difference, *ends = signed(comparison.difference, *(comparison.interval or ()))
    word = el("b", comparison.word, class_=_CLASSES.get(comparison.word))
    apart = el("small", " to ".join(ends)) if ends else None
    return [
        *own,
        _holders([comparison.other]),
        el("td", word, f" {difference}", apart, data_sort=entry.key(comparison.difference)),
    ]


def _holders(pairs: Sequence[Pair], *notes: str) -> Html:
    """Who has a hypervolume, and how large it is."""
    noted = [el("small", note) for note in notes if note]
    if not pairs:
        return el("td", "nobody", *noted, data_sort="")
    given = "given the model" if all(pair.kind == "solver" for pair in pairs) else ""
    volume = ", ".join(part for part in (f"{pairs[0].volume:.3f}", given) if part)
    return el(
        "td",
        listed(method_label(pair.method) for pair in pairs),
        el("small", volume),
        *noted,
        data_sort=entry.key(pairs[0].volume),
    )


def _but(environment: EnvironmentView) -> str:
    if not environment.unmet:
        return ""
    return f"nobody met κ = {', '.join(f'{kappa:g}' for kappa in environment.unmet)}"


def signed(*values: float) -> list[str]:
    """Numbers with their sign, to the same digit: to as many that none which is not 0 looks as if it were."""
    for decimals in (3, 4, 5):
        texts = [f"{value:+.{decimals}f}" for value in values]
        if all(abs(value) <= TIED or float(text) for value, text in zip(values, texts, strict=True)):
            break
    return [text.replace("-", _MINUS) if float(text) else text[1:] for text in texts]


def _top(view: BenchmarkView, methods: Sequence[str]) -> float:
    """Where the axis of the intervals of a table ends."""
    aggregates = [view.aggregate[method] for method in methods if method in view.aggregate]
    scored = [scores.hypervolume for one in aggregates for scores in (one.scores, one.ours) if scores]
    ends = [score.ci[1] if score.ci else score.iqm for score in scored]
    return max(ends, default=1.0) or 1.0


def _colour(method: str) -> str:
    return STROKES[OUR_METHOD].colour if method == OUR_METHOD else INK


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
