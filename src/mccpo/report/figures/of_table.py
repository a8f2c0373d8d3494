"""The figures of one table: what its data hold is drawn, what they do not hold is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from mccpo.evaluation import Curves
from mccpo.report.figures import outcomes, plane, robustness, tradeoff, training
from mccpo.report.figures.behaviour import behaviour
from mccpo.report.figures.panels import Group
from mccpo.runs.results import Results, Setting


@dataclass(frozen=True)
class Gallery:
    """Figures that are shown together; those of a setting beyond the first are folded away under its name."""

    setting: str
    groups: list[Group]


def galleries(results: Results, curves: Mapping[str, Curves], name: str) -> list[Gallery]:
    """All figures of one table; `name` begins the ids in them, and must be the table's own.

    `curves` are those of the settings by name. The first gallery holds what concerns the table as a whole, too.
    """
    names = (f"{name}f{number}" for number in count(1))
    first, *rest = results.settings
    reached, does, trained = _of_setting(first, curves.get(first.name), names)
    learnt, *whole = [
        plane.plane(results, names),
        tradeoff.front(results, names),
        behaviour(results.supplement.behaviour, names),
    ]
    noise = robustness.noise(results.noise or {}, names)
    shown = [Gallery("", _drawn([learnt, outcomes.sweep(results, names), reached, *whole, does, *noise, *trained]))]
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
