"""The diagram of the rooms, drawn from the imports that the code has."""

from __future__ import annotations

import ast
from collections import Counter
from html import escape
from pathlib import Path

from docs.generate.rooms import SOURCE, rooms

_SAYS = {
    "curriculum": "prerequisite graphs, the gate",
    "logs": "what learners did",
    "mastery": "what a learner knows",
    "policy": "what chooses the next activity",
    "env": "environments",
    "exact": "finite ones solved",
    "methods": "how policies come about",
    "evaluation": "metrics, statistics, bounds",
    "runs": "the run folder",
    "experiments": "comparisons, tables, certificates",
    "report": "one HTML file",
    "serve": "the decision service",
    "bench": "speed",
    "cli": "the commands",
    "client": "the service, from Python",
    "datasets": "where public data comes from",
    "work": "tasks on several machines",
}
"""What a room has, where a few words say it."""
_WIDTH, _ROW, _BOX, _LEFT = 760, 46, 350, 205


def imports(source: Path = SOURCE) -> Counter[tuple[str, str]]:
    """How many modules of one room import from another: (importing, imported)."""
    known = rooms()
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted(source.rglob("*.py")):
        room = path.relative_to(source).parts[0]
        if room not in known:
            continue
        needed = {name.split(".")[1] for name in _imported(path) if name.startswith("mccpo.")}
        found.update((room, other) for other in needed if other in known and other != room)
    return found


def _imported(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return names


def diagram() -> str:
    """Rooms from top to bottom, as data flows; a line leads from a room to one that imports it."""
    found = imports()
    order = rooms()
    top = {room: 10 + _ROW * at for at, room in enumerate(order)}
    height = 10 + _ROW * len(order)
    lines = []
    for (importing, imported), modules in sorted(found.items()):
        first, last = top[imported] + 15, top[importing] + 15
        right = order.index(importing) % 2 == 0
        reach = 14 + 9 * abs(order.index(importing) - order.index(imported))
        x = _LEFT + _BOX if right else _LEFT
        bend = x + reach if right else x - reach
        title = f"{importing} imports {imported} in {modules} modules"
        lines.append(
            f'<path d="M{x},{first} C{bend},{first} {bend},{last} {x},{last}" '
            f'stroke-width="{min(0.6 + modules / 12, 3.5):.1f}"><title>{escape(title)}</title></path>'
        )
    boxes = [
        f'<g><rect x="{_LEFT}" y="{top[room]}" width="{_BOX}" height="30" rx="5"/>'
        f'<text x="{_LEFT + 12}" y="{top[room] + 20}"><tspan font-weight="700">{room}</tspan>'
        f'<tspan dx="8" fill="#475569">{escape(_SAYS.get(room, ""))}</tspan></text></g>'
        for room in order
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="The rooms of mccpo and which imports which" font-family="system-ui, sans-serif" font-size="13">'
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
        f'<g fill="none" stroke="#0f766e" stroke-opacity="0.45">{"".join(lines)}</g>'
        f'<g fill="#f1f5f9" stroke="#94a3b8">{"".join(boxes)}</g></svg>\n'
    ).replace("<text ", '<text fill="#0f172a" stroke="none" ')
