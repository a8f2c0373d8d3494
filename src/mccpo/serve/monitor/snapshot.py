"""A monitor's state as bytes, so that a restart goes on from there instead of reading the whole record again.

It holds counts and opaque ids. Labels are not in it: they are personal, and are read from where they can be erased.
"""

from __future__ import annotations

import io
import json
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from mccpo.serve.monitor.learner_table import LearnerRows, LearnerTable
from mccpo.serve.monitor.lesson_costs import Lesson
from mccpo.serve.monitor.mastered import Counts
from mccpo.serve.monitor.monitor import Monitor
from mccpo.serve.monitor.rates import RECENT, Rate, ShadowRates
from mccpo.serve.monitor.spending import TRACKED, Ledger, Spending
from mccpo.serve.policy.learner_state import from_json
from mccpo.serve.policy.release import Release

FORMAT = "mccpo-monitor/1"
_RATES = ("fallback", "override", "deferral", "decoupling")
_SUMS = ("x", "w", "xx", "xw", "ww")

State = dict[str, np.ndarray]


def collect(monitor: Monitor) -> State:
    """A copy of all that a monitor knows, which does not change with it."""
    costs, mastered = monitor.costs_of_lessons, monitor.costs_of_lessons.mastered
    counts = {
        "format": FORMAT,
        "chosen_by": dict(monitor.chosen_by),
        "rates": {name: _rate(getattr(monitor, name)) for name in _RATES},
        "shadows": {version: [_rate(one.agrees), _rate(one.failed)] for version, one in monitor.shadows.items()},
        "series": {name: list(buckets) for name, buckets in monitor.series.by_span.items()},
        "learners": list(monitor.learners.indices),
        "mastered": [mastered.all, mastered.whole, list(mastered.open.items())],
        "ledgers": [_ledger(ledger) for ledger in costs.ledgers.values()],
        "unpriced": [
            [decision, lesson.session, lesson.release.version, lesson.state.to_json(), lesson.action]
            for decision, lesson in costs.unpriced.items()
        ],
    }
    filled = len(monitor.learners.indices)
    arrays = {name: part[:filled].copy() for name, part in monitor.learners.rows._asdict().items()}
    spent = {f"open_{at}": _open_sessions(ledger) for at, ledger in enumerate(costs.ledgers.values())}
    return {"counts": np.frombuffer(json.dumps(counts).encode(), np.uint8), **arrays, **spent}


def pack(state: State) -> bytes:
    """A state as bytes; takes a while, and can be done beside other things."""
    content = io.BytesIO()
    np.savez_compressed(content, **state)  # type: ignore[arg-type]
    return content.getvalue()


def unpack(content: bytes, release: Release, bounds: Mapping[str, float], releases: Mapping[str, Release]) -> Monitor:
    """The monitor of a state, without labels; raises whatever is wrong with it."""
    with np.load(io.BytesIO(content), allow_pickle=False) as state:
        counts = json.loads(state["counts"].tobytes())
        rows = LearnerRows(*(state[name] for name in LearnerRows._fields))
        spent = [state[f"open_{at}"] for at in range(2)]
    if counts["format"] != FORMAT or rows.unlocked.shape[1:] != (len(release.concepts),):
        raise ValueError("the state is of another version, or of another curriculum")
    monitor = Monitor(release, bounds)
    monitor.chosen_by = Counter(counts["chosen_by"])
    for name in _RATES:
        setattr(monitor, name, _read_rate(counts["rates"][name]))
    monitor.shadows = {name: ShadowRates(*map(_read_rate, rates)) for name, rates in counts["shadows"].items()}
    for name, buckets in counts["series"].items():
        monitor.series.by_span[name].extend((begins, sums) for begins, sums in buckets)
    monitor.learners = LearnerTable.restored(counts["learners"], rows)
    _read_costs(monitor, counts, spent, releases)
    return monitor


def _read_costs(
    monitor: Monitor, counts: Mapping[str, Any], spent: list[np.ndarray], releases: Mapping[str, Release]
) -> None:
    costs = monitor.costs_of_lessons
    everything, whole, opened = counts["mastered"]
    costs.mastered.all, costs.mastered.whole = Counts(*everything), Counts(*whole)
    costs.mastered.open = {session: (count, last) for session, (count, last) in opened}
    for realised, content, opened_costs in zip((False, True), counts["ledgers"], spent, strict=True):
        costs.ledgers[realised] = _read_ledger(content, opened_costs)
    for decision, session, version, state, action in counts["unpriced"]:
        release = releases[version]
        costs.wait(decision, Lesson(session, release, from_json(release, state), action))


def _rate(rate: Rate) -> list[Any]:
    return [rate.count, rate.of, "".join("1" if happened else "0" for happened in rate.recent)]


def _read_rate(content: list[Any]) -> Rate:
    count, of, recent = content
    return Rate(count, of, deque((happened == "1" for happened in recent), maxlen=RECENT))


def _ledger(ledger: Ledger) -> dict[str, Any]:
    sums = {name: getattr(ledger.total, name).tolist() for name in _SUMS}
    return {"sessions": ledger.total.sessions, **sums, "open": list(ledger.open)}


def _open_sessions(ledger: Ledger) -> np.ndarray:
    """The costs and the weights of open sessions, in their order."""
    flat = [part for spent in ledger.open.values() for part in spent]
    return np.array(flat).reshape(len(ledger.open), 2, len(TRACKED))


def _read_ledger(content: Mapping[str, Any], opened: np.ndarray) -> Ledger:
    ledger = Ledger()
    ledger.total = Spending(content["sessions"], *(np.array(content[name]) for name in _SUMS))
    ledger.open = {session: (costs, weights) for session, (costs, weights) in zip(content["open"], opened, strict=True)}
    return ledger
