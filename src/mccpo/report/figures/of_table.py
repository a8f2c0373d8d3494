"""The figures of one table: what its data hold is drawn, what they do not hold is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from mccpo.evaluation import Curves
from mccpo.report.figures import outcomes, plane, robustness, tradeoff, training
from mccpo.report.figures.behaviour import behaviour
from mccpo.report.figures.panels import Group
from mccpo.report.tables.finding import ANCHOR, OUR_METHOD
from mccpo.runs.results import Behaviour, Results, Setting


@dataclass(frozen=True)
class Gallery:
    """Figures that are shown together; those of a setting beyond the first are folded away under its name."""

    setting: str
    groups: list[Group]


def opening(results: Results, name: str) -> Group | None:
    """What a reader should see first: engagement against learning, and what two of the tutors do.

    Where nothing was learnt, the trade-off that the budgets are about stands in the first place.
    """
    names = (f"{name}o{number}" for number in count(1))
    reached = (plane.plane if plane.has_plane(results) else tradeoff.front)(results, names)
    does = behaviour(_behaviours(results), names, only=_first_watched(results))
    drawn = _drawn([reached, does])
    if not drawn:
        return None
    panels = tuple(panel for group in drawn for panel in group.panels)
    legend = tuple(entry for group in drawn for entry in group.legend)
    return Group("", " ".join(group.note for group in drawn if group.note), panels, legend)


def _behaviours(results: Results) -> Mapping[str, Behaviour]:
    """What was watched: of the whole table, or of its first setting."""
    return results.supplement.behaviour or results.settings[0].supplement.behaviour or {}


def _first_watched(results: Results) -> list[str]:
    """The two tutors to look at first: the one that only pleases and ours, or else the first two."""
    watched = list(_behaviours(results))
    telling = [method for method in (ANCHOR, OUR_METHOD) if method in watched]
    return telling if len(telling) == 2 else watched[:2]


def galleries(results: Results, curves: Mapping[str, Curves], name: str) -> list[Gallery]:
    """The figures of one table beside those of `opening`; `name` begins the ids in them, and must be the table's own.

    `curves` are those of the settings by name. The first gallery holds what concerns the table as a whole, too.
    """
    names = (f"{name}f{number}" for number in count(1))
    first, *rest = results.settings
    reached, _, trained = _of_setting(first, curves.get(first.name), names)
    seen = _first_watched(results)
    others = [method for method in _behaviours(results) if method not in seen]
    does = behaviour(_behaviours(results), names, "What the other tutors do", only=others)
    # The plane of engagement and learning opens the page, or else the front does.
    front = tradeoff.front(results, names) if plane.has_plane(results) else None
    noise = robustness.noise(results.noise or {}, names)
    shown = [Gallery("", _drawn([outcomes.sweep(results, names), reached, front, does, *noise, *trained]))]
    for setting in rest:
        if setting.name in curves or setting.supplement.behaviour:  # of the others, the tables say all there is
            reached, does, trained = _of_setting(setting, curves.get(setting.name), names)
            shown.append(Gallery(setting.name, _drawn([reached, does, *trained])))
    return [gallery for gallery in shown if gallery.groups]


def _of_setting(
    setting: Setting, curves: Curves | None, names: Iterator[str]
) -> tuple[Group | None, Group | None, list[Group | None]]:
    """What the policies of one setting reach, what they do, and how their training went."""
    reached = _at(setting, outcomes.final(setting, names))
    does = _at(setting, behaviour(setting.supplement.behaviour, names))
    trained = [] if curves is None else training.figures(setting, curves, names)
    return reached, does, [_at(setting, group) for group in trained]


def _at(setting: Setting, group: Group | None) -> Group | None:
    if group is None or not setting.name:
        return group
    return replace(group, heading=f"{group.heading} at {setting.name}")


def _drawn(groups: list[Group | None]) -> list[Group]:
    return [group for group in groups if group is not None and group.panels]
