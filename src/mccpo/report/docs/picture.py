"""The picture of the README: what two tutors do, and where every tutor stands between engagement and learning.

`python -m mccpo.report.docs.picture RUN FILE.svg` draws it from the results of a run.
"""

from __future__ import annotations

import re
import sys
from itertools import accumulate, count, pairwise
from pathlib import Path

from mccpo import files
from mccpo.errors import InputError
from mccpo.report.figures.behaviour import behaviour
from mccpo.report.figures.drawing import INK
from mccpo.report.figures.panels import Legend, Panel
from mccpo.report.figures.plane import plane
from mccpo.report.markup import Html, el, join
from mccpo.report.vocabulary import method_label
from mccpo.runs import read_run
from mccpo.runs.results import Results

SHOWN = ("unconstrained", "mc-cpo")
"""The methods whose lessons are drawn: the tutor that only pleases, and the one that is held to learning."""
_GAP, _TITLE, _HEIGHT, _LINE = 16.0, 24.0, 230.0, 17.0
_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def picture(results: Results) -> Html:
    """One SVG: the lessons of the tutors in `SHOWN` side by side, then the plane of engagement and learning."""
    names = (f"p{number}" for number in count())
    seen = results.settings[0].supplement.behaviour or {}
    lessons = behaviour({method: seen[method] for method in SHOWN if method in seen}, names)
    standing = plane(results, names)
    if lessons is None or standing is None:
        raise InputError("the run has no lessons to draw", fix=f"compare {' and '.join(SHOWN)} on a tutor")
    panels = (*lessons.panels, *standing.panels)
    widths = [_HEIGHT * width / height for width, height in (_size(panel.svg) for panel in panels)]
    *lefts, end = accumulate(widths, lambda left, width: left + width + _GAP, initial=_GAP)
    right = end + _GAP  # room for the words of the last legend
    drawn = [_placed(*at) for at in zip(panels, lefts, widths, strict=True)]
    under = _TITLE + _HEIGHT + _GAP
    legends = [_legend(lessons.legend, _GAP, under), _legend(standing.legend, lefts[-1] - _GAP, under)]
    bottom = under + _LINE * max(len(lessons.legend), len(standing.legend))
    edges = [*(left - _GAP for left in lefts), right]
    views = [_view(number, *between, bottom) for number, between in enumerate(pairwise(edges), start=1)]
    said = f"The lessons of {' and '.join(map(method_label, SHOWN))}, and engagement against learning of every tutor"
    paper = el("rect", width="100%", height="100%", fill="#ffffff")
    look = {"font_family": "system-ui, sans-serif", "font_size": "11", "fill": INK}
    size = {"viewBox": f"0 0 {right:.0f} {bottom:.0f}", "width": f"{right:.0f}", "height": f"{bottom:.0f}"}
    parts = join(*views, paper, *drawn, *legends)
    return el("svg", parts, xmlns="http://www.w3.org/2000/svg", role="img", aria_label=said, **look, **size)


def _size(svg: Html) -> tuple[float, float]:
    found = _SIZE.search(svg)
    assert found is not None
    return float(found[1]), float(found[2])


def _view(number: int, left: float, right: float, bottom: float) -> Html:
    """What `FILE.svg#part-1` shows: one panel with the legend under it, for narrow screens."""
    return el("view", id=f"part-{number}", viewBox=f"{left:.0f} 0 {right - left:.0f} {bottom:.0f}")


def _placed(panel: Panel, left: float, width: float) -> Html:
    title = el("text", panel.title, x=f"{left:.0f}", y=f"{_TITLE - 8:.0f}", font_size="14", font_weight="600")
    at = f'<svg x="{left:.1f}" y="{_TITLE:.1f}" width="{width:.1f}" height="{_HEIGHT:.1f}" overflow="visible" '
    return join(title, Html(panel.svg.replace("<svg ", at, 1)))


def _legend(legend: Legend, left: float, top: float) -> Html:
    entries = []
    words = left + max((_size(mark)[0] for mark, _ in legend), default=0.0) + 6.0
    for row, (mark, text) in enumerate(legend):
        at = f'<svg x="{left:.1f}" y="{top + row * _LINE:.1f}" '
        entries += [Html(mark.replace("<svg ", at, 1))]
        entries += [el("text", text, x=f"{words:.1f}", y=f"{top + row * _LINE + 9:.1f}")]
    return join(*entries)


if __name__ == "__main__":
    run, file = map(Path, sys.argv[1:])
    files.write_text(file, picture(Results.parse(read_run(run)[1])) + "\n")
