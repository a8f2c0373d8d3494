"""The tables of a benchmark's report that look over environments: MC-CPO on each, and everyone on all of them.

Methods are ranked beside each other only where they have a result on the same environments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mccpo.report import numbers
from mccpo.report.benchmark import cells as entry
from mccpo.report.benchmark.data import TIED, Board, Cell, Pair, Place, of_measure
from mccpo.report.benchmark.ranking import Standing, level_count, level_with, standing
from mccpo.report.benchmark.words import duration, listed
from mccpo.report.figures.drawing import INK, STROKES
from mccpo.report.markup import Html, el
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

_MINUS = "−"
_CLASSES = {"ahead": "agrees", "behind": "differs"}
_BETTER = entry.Head("MC-CPO better", "95 % interval", ascending=True)
_MET = entry.Head(f"Met, {entry.unbroken('τ = 0')}", entry.unbroken("seeds at all κ"))
_SPENT = entry.Head("A run on each", entry.unbroken("and the search"), ascending=True)


def standings(board: Board, slug: Callable[[str], str]) -> Html:
    """A row for each environment: who is best, who is best of those that always meet the budgets, and MC-CPO's place.

    `slug` names the section of an environment.
    """
    ours = method_label(OUR_METHOD)
    heads = [
        entry.Head("Environment", ascending=True),
        entry.Head("Best", "largest hypervolume"),
        entry.Head("Best that always meets", "all budgets in all seeds"),
    ]
    if OUR_METHOD in board.methods:
        heads += [
            entry.Head(ours, "hypervolume, place"),
            _MET,
            entry.Head("Best other", "hypervolume"),
            entry.Head(f"{ours} is", "difference, 95 % interval"),
        ]
    rows = []
    for place in board.run:
        cells = [
            el("th", el("a", place.name, href=f"#{slug(place.name)}"), scope="row", data_sort=place.name),
            _holders(place.largest, level_count(place.ranked)),
            _holders(place.reachable, level_count(place.keeping), _but(place)),
        ]
        cells += _ours(standing(place)) if OUR_METHOD in board.methods else []
        rows.append(el("tr", *cells))
    return entry.table(heads, rows, "standings")


def ranked(board: Board) -> Html | None:
    """The methods with a result on every environment, the largest interquartile mean first."""
    if not board.complete:
        return None
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("IQM of hypervolume", "95 % interval", sorted=True),
        entry.Head("IQM of kept", "95 % interval"),
        _BETTER,
        entry.Head("Best on", "of so many environments"),
        _MET,
        entry.Head("Unready steps", "mean", ascending=True),
        _SPENT,
    ]
    top = _top(board, board.complete)
    rows = []
    for method in board.complete:
        cells = [
            entry.method_head(method, board.methods[method]["kind"]),
            entry.estimate(board.aggregate[method], "iqm", _colour(method), top=top),
            entry.stated(board.over(method, "kept")),
            _better(board, method),
            _best_on(board, method),
            entry.met(_cells(board, method)),
            _unready(board, method),
            _spent(board, method),
        ]
        rows.append(entry.row(method, cells))
    return entry.table(heads, rows, "overall")


def unranked(board: Board) -> Html | None:
    """The other methods, each beside MC-CPO on the environments that it has a result on."""
    if not board.partial:
        return None
    heads = [
        entry.Head("Method", ascending=True),
        entry.Head("Environments", "that it has a result on"),
        entry.Head("IQM of hypervolume", "on these"),
        entry.Head(f"That of {method_label(OUR_METHOD)}", "on the same"),
        entry.Head("IQM of kept", "on these"),
        entry.Head(f"That of {method_label(OUR_METHOD)}", "on the same"),
        _BETTER,
        _MET,
        _SPENT,
    ]
    top = _top(board, board.partial)
    rows = []
    for method in board.partial:
        found = board.aggregate.get(method, {})
        where = found.get("environments", [])
        cells = [
            entry.method_head(method, board.methods[method]["kind"]),
            el("td", str(len(where)), el("small", ", ".join(where)), data_sort=entry.key(len(where))),
            entry.estimate(found, "iqm", _colour(method), top=top),
            entry.estimate(found.get("ours"), "iqm", _colour(OUR_METHOD), top=top),
            *(entry.stated(of_measure(one, "kept")) for one in (found, found.get("ours"))),
            _better(board, method),
            entry.met(_cells(board, method)),
            _spent(board, method),
        ]
        rows.append(entry.row(method, cells))
    return entry.table(heads, rows, "unranked")


def _applies(board: Board, method: str) -> list[tuple[Place, Pair]]:
    return [(place, pair) for place in board.run if (pair := place.pair(method)) and pair.applies]


def _cells(board: Board, method: str) -> list[Cell]:
    return [cell for _, pair in _applies(board, method) for cell in pair.cells]


def _better(board: Board, method: str) -> Html:
    if method == OUR_METHOD:
        return el("td", el("small", "itself"), data_sort="")
    return entry.estimate(board.improvement.get(method), "p", _colour(method), middle=0.5)


def _best_on(board: Board, method: str) -> Html:
    applies = _applies(board, method)
    best = [place for place, pair in applies if pair in place.best]
    told = ", ".join(f"{place.name}{' (level)' if level_with(place.keeping) else ''}" for place in best)
    return el("td", f"{len(best)}/{len(applies)}", el("small", told), data_sort=entry.key(len(best)))


def _unready(board: Board, method: str) -> Html:
    found = [cell.values["prerequisite_violation_rate"].mean for cell in _cells(board, method) if cell.done]
    return entry.number(sum(found) / len(found) if found else None, numbers.share)


def _spent(board: Board, method: str) -> Html:
    """How long one run takes on every environment together, and the search."""
    spent = board.methods[method].get("seconds", {}).values()
    run, search = (_sum(one.get(kind) for one in spent) for kind in ("run", "search"))
    below = None if search is None else el("small", f"search {duration(search)}")
    return el("td", entry.NONE if run is None else duration(run), below, data_sort=entry.key(run))


def _ours(found: Standing | None) -> list[Html]:
    """MC-CPO on one environment, beside the best other method there."""
    if found is None:
        return [entry.missing()] * 4
    place = el("small", found.place)
    own = [
        el(
            "td",
            entry.link(found.ours.first, f"{found.ours.volume:.3f}"),
            place,
            data_sort=entry.key(found.ours.volume),
        ),
        entry.met(found.ours.cells, found.ours.first),
    ]
    if found.other is None:
        return [*own, *[entry.missing()] * 2]
    difference, *ends = signed(found.difference, *(found.interval or ()))
    word = el("b", found.word, class_=_CLASSES.get(found.word))
    apart = el("small", " to ".join(ends)) if ends else None
    return [
        *own,
        _holders([found.other]),
        el("td", word, f" {difference}", apart, data_sort=entry.key(found.difference)),
    ]


def _holders(pairs: Sequence[Pair], *notes: str) -> Html:
    """Who has a hypervolume, and how large it is."""
    noted = [el("small", note) for note in notes if note]
    if not pairs:
        return el("td", "nobody", *noted, data_sort="")
    given = "given the model" if all(pair.kind == "solver" for pair in pairs) else ""
    told = ", ".join(part for part in (f"{pairs[0].volume:.3f}", given) if part)
    return el(
        "td",
        listed(method_label(pair.method) for pair in pairs),
        el("small", told),
        *noted,
        data_sort=entry.key(pairs[0].volume),
    )


def _but(place: Place) -> str:
    if not place.unmet:
        return ""
    return f"nobody met κ = {', '.join(f'{kappa:g}' for kappa in place.unmet)}"


def signed(*values: float) -> list[str]:
    """Numbers with their sign, to the same digit: to as many that none which is not 0 looks as if it were."""
    for decimals in (3, 4, 5):
        told = [f"{value:+.{decimals}f}" for value in values]
        if all(abs(value) <= TIED or float(text) for value, text in zip(values, told, strict=True)):
            break
    return [text.replace("-", _MINUS) if float(text) else text[1:] for text in told]


def _top(board: Board, methods: Sequence[str]) -> float:
    """Where the axis of the intervals of a table ends."""
    found = [board.aggregate[method] for method in methods if method in board.aggregate]
    ends = [one["ci"][1] for told in found for one in (told, told.get("ours")) if one]
    return max(ends, default=1.0) or 1.0


def _colour(method: str) -> str:
    return STROKES[OUR_METHOD].colour if method == OUR_METHOD else INK


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
