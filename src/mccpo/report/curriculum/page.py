"""A page on which a graph of thousands of concepts can be read: search, the neighbourhood of a concept, levels folded.

One HTML file, which opens offline. Every concept is listed once, in its level, with links to what it needs and to what
it opens; that works without JavaScript. A script adds the search and a drawing of one concept with its neighbours,
which it reads from the list. The page grows with concepts and edges, and so does the time that it takes to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import numpy as np
from jaxtyping import Float

from mccpo.curriculum import Curriculum, check_theta
from mccpo.report.markup import Html, el, join

OPEN = 30  # concepts of the first level, up to which it is not folded
_WIDE, _HIGH, _LINE = 900, 90, 22  # of the picture of the levels, in its own units

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
<script>
{script}</script>
</body>
</html>
"""


def curriculum_page(
    curriculum: Curriculum, title: str, mastery: Float[np.ndarray, " concepts"] | None = None, theta: float = 0.7
) -> str:
    """The page of a curriculum; with a learner's mastery, it also says what is mastered, ready and locked.

    >>> page = curriculum_page(Curriculum.from_edges([("count", "add")]), "Sums")
    >>> 'href="#c0"' in page, "<script src" in page
    (True, False)
    """
    check_theta(theta)
    opened = _opened(curriculum)
    words = _standing(curriculum, mastery, theta)
    body = join(
        el("h1", title),
        el("p", _facts(curriculum, words), class_="note"),
        _levels_picture(curriculum),
        _search(),
        *_levels(curriculum, opened, words),
    )
    style, script = (resources.files(__package__).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    return _PAGE.format(title=join(title), style=style, body=body, script=script)


def _opened(curriculum: Curriculum) -> list[list[int]]:
    """What needs each concept, by place."""
    opened: list[list[int]] = [[] for _ in curriculum.concepts]
    for before, after in curriculum.prerequisites.edges.tolist():
        opened[before].append(after)
    return opened


def _standing(curriculum: Curriculum, mastery: Float[np.ndarray, " concepts"] | None, theta: float) -> list[str]:
    """Of each concept: mastered, ready or locked; empty where nothing is known of a learner."""
    if mastery is None:
        return [""] * len(curriculum)
    ready = curriculum.ready(mastery, theta)
    return [
        "mastered" if known >= theta else "ready" if open_ else "locked"
        for known, open_ in zip(mastery, ready, strict=True)
    ]


def _facts(curriculum: Curriculum, words: Sequence[str]) -> str:
    facts = f"{len(curriculum):,} concepts, {len(curriculum.edges):,} prerequisites, {curriculum.depth + 1} levels. "
    counts = [f"{words.count(word):,} {word}" for word in ("mastered", "ready", "locked") if word in words]
    return facts + (f"Of this learner: {', '.join(counts)}. " if counts else "")


def _search() -> Html:
    """The search and the place of the drawing: hidden until the script is there to serve them."""
    return el(
        "section",
        el("label", "Find a concept ", Html('<input id="find" type="search" autocomplete="off">')),
        el("span", id="found", class_="note", role="status"),
        el("div", id="near", role="img", aria_label="A concept, what it needs and what it opens"),
        el("p", id="about", class_="note"),
        id="explore",
        hidden="",
    )


def _levels_picture(curriculum: Curriculum) -> Html:
    """How many concepts each level has: bars that lead to the levels."""
    sizes = [len(layer) for layer in curriculum.layers]
    wide, top = _WIDE / len(sizes), max(sizes)
    bars = [
        el(
            "a",
            el("title", f"Level {at + 1}: {size} concepts"),
            _bar(at * wide, wide, max(1.5, _HIGH * size / top)),
            href=f"#level{at + 1}",
        )
        for at, size in enumerate(sizes)
    ]
    notes = el("text", f"level 1 to {len(sizes)}, at most {top} concepts in one", x="0", y=f"{_HIGH + _LINE - 6}")
    return el(
        "svg", *bars, notes, viewBox=f"0 0 {_WIDE} {_HIGH + _LINE}", class_="levels", role="img",
        aria_label="The number of concepts on each level",
    )  # fmt: skip


def _bar(x: float, wide: float, high: float) -> Html:
    gap = min(1.0, wide / 4)
    return el(
        "rect", x=f"{x:.2f}", y=f"{_HIGH - high:.2f}", width=f"{wide - gap:.2f}", height=f"{high:.2f}", rx="1"
    )  # fmt: skip


def _levels(curriculum: Curriculum, opened: list[list[int]], words: Sequence[str]) -> list[Html]:
    """Every level as a list that can be unfolded."""
    place = {name: at for at, name in enumerate(curriculum.concepts)}
    parts = []
    for level, names in enumerate(curriculum.layers, start=1):
        items = [_concept(curriculum, place[name], opened, words[place[name]]) for name in names]
        few = level == 1 and len(names) <= OPEN
        parts.append(
            el(
                "details",
                el("summary", f"Level {level}: {len(names):,} concept{'s' if len(names) > 1 else ''}"),
                el("ul", *items),
                id=f"level{level}",
                open="" if few else None,
            )
        )
    return parts


def _concept(curriculum: Curriculum, at: int, opened: list[list[int]], word: str) -> Html:
    needs = curriculum.prerequisites.lists[at]
    return el(
        "li",
        el("b", curriculum.concepts[at]),
        el("small", f" {word}" if word else None, f" demand {curriculum.demand[at]:g}"),
        _links(" needs ", curriculum, needs, "n"),
        _links(" opens ", curriculum, opened[at], "o"),
        id=f"c{at}",
        class_=word or None,
    )


def _links(word: str, curriculum: Curriculum, places: Sequence[int], kind: str) -> Html | None:
    if not places:
        return None
    links = [el("a", curriculum.concepts[at], href=f"#c{at}") for at in places]
    return el("span", word, join(*links, between=", "), class_=kind)
