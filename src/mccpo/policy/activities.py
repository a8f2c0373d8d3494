"""What a tutor can do with a concept: five activities that trade demand and gain against engagement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mccpo.errors import InputError
from mccpo.policy.checks import is_number


class Activity(NamedTuple):
    """How an activity differs from plain practice of the same concept.

    **Fields:**

    - `name`: the part of the action's name after the slash.
    - `demand`: multiplies the concept's demand; the product is held to at most 1.
    - `gain`: multiplies the learning rate η.
    - `engagement`: is added to r_E before it is held to [0, 1].
    """

    name: str
    demand: float = 1.0
    gain: float = 1.0
    engagement: float = 0.0


ACTIVITIES: dict[str, Activity] = {
    activity.name: activity
    for activity in (
        Activity("encouragement", demand=0.2, gain=0.1, engagement=0.10),
        Activity("hint", demand=0.6, gain=0.6, engagement=0.04),
        Activity("worked-example", demand=0.8, gain=0.8, engagement=0.02),
        Activity("practice", demand=1.0, gain=1.0, engagement=0.0),
        Activity("challenge", demand=1.3, gain=1.25, engagement=-0.04),
    )
}
"""The activities by name. The numbers are chosen, not measured; what matters is their order.

| activity         | demand × | gain × | engagement + | why                                                            |
|------------------|----------|--------|--------------|----------------------------------------------------------------|
| `encouragement`  | 0.2      | 0.1    | +0.10        | pleases most and teaches next to nothing: all costs oppose it  |
| `hint`           | 0.6      | 0.6    | +0.04        | takes over part of the work, and of what is learnt from it     |
| `worked-example` | 0.8      | 0.8    | +0.02        | shows the whole way; following is easier than finding          |
| `practice`       | 1        | 1      | 0            | the concept itself, as it is where no activities are given     |
| `challenge`      | 1.3      | 1.25   | −0.04        | asks more than the concept and teaches most, at the least fun  |
"""

PRACTICE = ACTIVITIES["practice"]


def chosen_activities(given: Iterable[str | Activity]) -> tuple[Activity, ...]:
    """The activities that a user names or defines, in that order.

    >>> [activity.gain for activity in chosen_activities(["hint", Activity("quiz", gain=0.5)])]
    [0.6, 0.5]
    """
    if isinstance(given, str):
        raise InputError(f"activities is {given!r}", fix=f'give a list of names, such as ["{given}"]')
    chosen = [_activity(entry) for entry in (given.values() if isinstance(given, Mapping) else given)]
    names = [activity.name for activity in chosen]
    if len(set(names)) < len(names):
        raise InputError(f"activities is {names}", fix="give each once")
    return tuple(chosen)


def offered(activities: tuple[Activity, ...]) -> tuple[Activity, ...]:
    """What can be done with each concept: the activities, or plain practice where there are none.

    >>> [activity.name for activity in offered(())]
    ['practice']
    """
    return activities or (PRACTICE,)


def action_names(concepts: Sequence[str], activities: Sequence[Activity]) -> tuple[str, ...]:
    """The actions by name: `concept/activity`, concept after concept, or the concepts where there are no activities.

    >>> action_names(["counting", "adding"], chosen_activities(["hint", "practice"]))
    ('counting/hint', 'counting/practice', 'adding/hint', 'adding/practice')
    """
    suffixes = [f"/{activity.name}" for activity in activities] or [""]
    return tuple(concept + suffix for concept in concepts for suffix in suffixes)


def _activity(entry: str | Activity) -> Activity:
    if not isinstance(entry, Activity):
        if entry not in ACTIVITIES:
            raise InputError(
                f"unknown activity {entry!r}", fix=f"choose from {', '.join(ACTIVITIES)}, or define an Activity"
            )
        return ACTIVITIES[entry]
    if not isinstance(entry.name, str) or not entry.name or "/" in entry.name:
        raise InputError(f"an activity is called {entry.name!r}", fix="give it a name without a slash")
    for field in ("demand", "gain"):
        if not is_number(getattr(entry, field)) or not 0 <= getattr(entry, field) < math.inf:
            raise InputError(f"{entry.name}: {field} is {getattr(entry, field)}", fix="give a factor of at least 0")
    if not is_number(entry.engagement) or not -1 <= entry.engagement <= 1:
        raise InputError(f"{entry.name}: engagement is {entry.engagement}", fix="give a number from -1 to 1")
    return entry
