"""Gates that calibrated themselves: what each chose, kept and cost, in the page and in the terminal alike."""

from __future__ import annotations

from collections.abc import Sequence

from mccpo.report import numbers
from mccpo.report.markup import Html, el
from mccpo.report.vocabulary import method_label
from mccpo.runs.results import CalibratedGate

HEADING = "Gates that calibrated themselves"
COLUMNS = (
    "Error",
    "δ",
    "Caution, memory",
    "Unready",
    "Bound",
    "Return",
    "Lost by gate",
    "Lost in all",
    "ΔK",
    "Budgets met",
)
NOTE = (
    "Shares are in per cent; what follows a stroke is behind the gate that was not calibrated. Unready: the lessons "
    "that fresh learners were not ready for in truth; ✓ where the bound, the upper end of a 95 % interval for every "
    "policy, is at most δ. Lost: of the return, against that gate and against the same without error; below 0 it has "
    "risen. ΔK: the mastery gained in truth. Budgets met: by so many seeds (τ = 0)."
)


def cells(gate: CalibratedGate) -> list[str]:
    """One gate by column."""
    return [
        f"{gate.error} {numbers.short(gate.level)}",
        numbers.short(gate.delta),
        "shut" if gate.shut else f"{numbers.short(gate.caution)}, {numbers.short(gate.memory)}",
        f"{'✓' if gate.kept else '✗'} {_percent(gate.true_violation_rate)}/{_percent(gate.uncalibrated_rate)}",
        _percent(gate.upper),
        numbers.number(gate.mean_return),
        numbers.share(gate.lost).removesuffix(" %"),
        numbers.share(gate.lost_in_all).removesuffix(" %"),
        f"{gate.mean_gain:.2f}/{gate.uncalibrated_gain:.2f}",
        f"{_percent(gate.satisfaction_strict)}/{_percent(gate.uncalibrated_satisfaction)}",
    ]


def heading(gate: CalibratedGate) -> str:
    """What the gates of one part and method go by."""
    return f"{gate.part}, {method_label(gate.method)}" if gate.part else method_label(gate.method)


def by_part(gates: Sequence[CalibratedGate]) -> dict[str, list[CalibratedGate]]:
    """The gates of each part and method together, in the order in which they come."""
    parts: dict[str, list[CalibratedGate]] = {}
    for gate in gates:
        parts.setdefault(heading(gate), []).append(gate)
    return parts


def section(gates: Sequence[CalibratedGate] | None) -> Html | None:
    """The gates of a table, for its page."""
    if not gates:
        return None
    head = el("tr", *(el("th", name, scope="col") for name in COLUMNS))
    rows = []
    for part, ours in by_part(gates).items():
        rows.append(el("tr", el("th", part, scope="rowgroup", colspan=str(len(COLUMNS)))))
        for gate in ours:
            first, *rest = cells(gate)
            rows.append(el("tr", el("th", first, scope="row"), *(el("td", text) for text in rest)))
    table = el("div", el("table", el("thead", head), el("tbody", *rows)), class_="scroll", tabindex="0")
    return el("div", el("h3", HEADING), el("p", NOTE, class_="note"), table)


def _percent(share: float) -> str:
    """A share in per cent, to two decimals and without the sign."""
    return f"{round(100 * share, 2):g}"
