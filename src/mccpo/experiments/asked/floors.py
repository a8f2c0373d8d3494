"""Floors as they are asked for: a share of what can be reached, or an amount.

`learning=0.8` is 80 % of what the policy that teaches most reaches; `mastered=6` is six concepts. A number up to 1 is a
share, a larger one an amount; `learning=abs:0.9` is an amount of 0.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from mccpo.env import FLOORS, Environment, check_floors
from mccpo.errors import InputError

_AMOUNT = "abs:"


@dataclass(frozen=True)
class Floor:
    """What must be reached at least: `number` of the whole that can be reached if `relative`, else that amount.

    >>> parse_floor("learning=0.8").relative
    True
    """

    name: str
    number: float
    relative: bool = True

    def __post_init__(self) -> None:
        if self.name not in FLOORS:
            raise InputError(f"unknown floor '{self.name}'", fix=f"choose from {', '.join(FLOORS)}")
        if not (isfinite(self.number) and self.number > 0):
            raise InputError(f"the floor of {self.name} is {self.number}", fix="give a number above 0")
        if self.relative and self.number > 1:
            raise InputError(
                f"the floor of {self.name} is {self.number:g} of what can be reached", fix="ask for at most all of it"
            )

    def amount(self, reach: Mapping[str, float]) -> float:
        """The floor as an amount, where so much can be reached."""
        return self.number * reach[self.name] if self.relative else self.number

    @property
    def exact(self) -> str:
        """The floor as it can be asked for again, to the last digit."""
        mark = "" if self.relative or self.number > 1 else _AMOUNT
        return f"{self.name}={mark}{self.number!r}"

    def __str__(self) -> str:
        mark = "" if self.relative or self.number > 1 else _AMOUNT
        return f"{self.name}={mark}{self.number:g}"


def parse_floor(text: str) -> Floor:
    """The floor that a text such as `learning=0.8` asks for.

    >>> parse_floor("mastered=6")
    Floor(name='mastered', number=6.0, relative=False)
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    amount = value.removeprefix(_AMOUNT)
    percent = amount.endswith("%") and amount == value
    try:
        number = float(amount.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        number = float("nan")
    if not sign or number != number:
        raise InputError(f"the floor '{text}' is not understood", fix="say NAME=SHARE, such as learning=0.8")
    return Floor(name, number, relative=percent or (number <= 1 and amount == value))


def parse_levels(text: str) -> tuple[Floor, ...]:
    """The floors of a text that may name several levels, such as `learning=0.4,0.6,0.8`.

    >>> parse_levels("learning=0.4,0.8") == (parse_floor("learning=0.4"), parse_floor("learning=0.8"))
    True
    """
    name, sign, values = text.partition("=")
    return tuple(parse_floor(f"{name}{sign}{value}") for value in values.split(","))


def floor_range(env: Environment[Any], name: str) -> tuple[float, float]:
    """The least and the most that any episode can have of what a floor is about, as its steps add up."""
    if name == "mastered":
        if (graph := env.concept_graph) is None:
            raise InputError(f"{env.name} does not say how many concepts it has", fix="give it a `concept_graph`")
        return 0.0, float(len(graph.demand))
    if name == "engagement":
        return 0.0, env.reward_bound * env.discounted_horizon
    length = env.discounted_horizon if name == "learning" else float(env.horizon)
    return -env.loss_bound * length, env.gain_bound * length


def most_of_floor(env: Environment[Any], name: str) -> float:
    """The most that any episode can have of what a floor is about."""
    return floor_range(env, name)[1]


def check_asked(floors: Iterable[Floor], env: Environment[Any]) -> None:
    """Refuses floors that an environment cannot be held to, and two of one name."""
    names = [floor.name for floor in floors]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the floor of {name} is given twice", fix="give it once")
    check_floors(env, dict.fromkeys(names, 1.0))
