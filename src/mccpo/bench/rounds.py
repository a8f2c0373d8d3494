"""Speeds measured side by side: in every round each contender has the whole machine once.

What else the machine does then falls on all of them alike; the median over the rounds is what counts.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Protocol, TypeVar

from mccpo.env import Environment
from mccpo.experiments import Session, Stage
from mccpo.methods import ITERATIONS, NeuralPlan, Sizes, method_spec, train_neural, workers

METHOD = "mc-cpo"
Name = TypeVar("Name", bound=Hashable)


class Contender(Protocol):
    """An implementation whose speed is measured, ready to run at full speed at once."""

    def round(self) -> float:
        """Works for a few seconds on all cores; gives what it got done in a second."""


@dataclass(frozen=True)
class Speed:
    """What a contender got done in a second on all cores: the median, and what every round gave."""

    per_second: float
    rounds: tuple[float, ...]
    cores: int

    @property
    def per_core(self) -> float:
        return self.per_second / self.cores

    def as_json(self) -> dict[str, object]:
        return {
            "steps_per_second": self.per_second,
            "steps_per_second_per_core": self.per_core,
            "rounds": list(self.rounds),
        }


def side_by_side(contenders: Mapping[Name, Contender], turns: int, label: str, session: Session) -> dict[Name, Speed]:
    """The speeds of all contenders, in rounds in which each has its turn."""
    stage = Stage(label, turns * len(contenders), steps_per_point=0)
    session.begin(stage)
    speeds: dict[Name, list[float]] = {name: [] for name in contenders}
    for turn in range(turns):
        for number, (name, contender) in enumerate(contenders.items(), start=1):
            speeds[name].append(contender.round())
            if session.progress is not None:
                session.progress(stage, turn * len(contenders) + number)
    return {name: Speed(median(rounds), tuple(rounds), workers()) for name, rounds in speeds.items()}


class OurLearner:
    """Our learner on an environment: steps per second of training, with its validation, without compilation.

    The choice of the final policy, once a run, is not counted. The network is the one that peers have, or, if it is
    `shared`, the one whose weights concepts share.
    """

    def __init__(self, env: Environment[Any], sizes: Sizes, seeds: int, points: int, *, shared: bool = False) -> None:
        self._env = env
        self._method = replace(method_spec(METHOD), shared=shared)
        self._plan = NeuralPlan(points * ITERATIONS * sizes.steps, seeds, sizes=sizes)
        self._budgets = {
            name: 0.5 * float(bound) * env.discounted_horizon
            for name, bound in zip(env.cost_names, env.cost_bounds, strict=True)
            if name in env.constrained
        }
        self._train(NeuralPlan(2 * ITERATIONS * sizes.steps, seeds, sizes=sizes))  # compiles

    def round(self) -> float:
        """Steps of all seeds per second, from the end of the first point, before which some may compile or wait."""
        marks = self._train(self._plan)
        steps = (len(marks) - 1) * self._plan.seeds * ITERATIONS * self._plan.sizes.steps
        return steps / (marks[-1] - marks[0])

    def _train(self, plan: NeuralPlan) -> list[float]:
        marks: list[float] = []
        train_neural(
            self._env,
            [self._method],
            self._budgets,
            plan,
            after_point=lambda _: marks.append(time.perf_counter()),
        )
        return marks
