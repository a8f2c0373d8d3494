"""An environment with what its budgets refer to, the budgets at each κ, and the optimum under them if it is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mccpo.env import Environment, FiniteEnvironment
from mccpo.exact import FiniteModel, Infeasible, Optimum, Values, enumerate_model, solve
from mccpo.experiments import neural
from mccpo.experiments.benchmark.environments import World
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.options import Session
from mccpo.methods.episodes import EVALUATION_EPISODES


@dataclass(frozen=True, eq=False)
class Posed:
    """The problem that an environment poses at every κ.

    **Fields:**

    - `anchor`: what is to be had without budgets in the world trained in; `reference`: the same policies in the world
      judged in, to which everything that a table says is relative.
    - `model`: the arrays of a finite environment, by which policies are judged exactly.
    """

    name: str
    world: World
    anchor: Values
    reference: Values
    model: FiniteModel | None = None
    _optima: dict[float, Optimum | Infeasible] = field(default_factory=dict, init=False)

    @property
    def env(self) -> Environment[Any]:
        """The environment that is judged in."""
        return self.world.test

    def budgets(self, kappa: float) -> dict[str, float]:
        """What may be spent in training."""
        return _shares(self.world.train, self.anchor, kappa)

    def limits(self, kappa: float) -> dict[str, float]:
        """What may be spent when it is judged."""
        return _shares(self.env, self.reference, kappa)

    def optimum(self, kappa: float) -> Optimum | Infeasible | None:
        """The best policy under the budgets; None where nobody knows it."""
        if self.model is None:
            return None
        if kappa not in self._optima:
            self._optima[kappa] = solve(self.model, self.limits(kappa))
        return self._optima[kappa]

    def best_return(self, kappa: float) -> float | None:
        """The return of the optimum, where there is one."""
        found = self.optimum(kappa)
        return found.values.ret if isinstance(found, Optimum) else None


def pose(name: str, world: World, protocol: Protocol, session: Session, kept: Mapping[str, Any] | None = None) -> Posed:
    """Poses the problem: what is to be had without budgets is exact on a finite environment, else trained for.

    `kept` is what an earlier call left of the anchors (`anchors_json`), so that they need not be trained again.
    """
    if isinstance(world.test, FiniteEnvironment):
        model = enumerate_model(world.test)
        free = solve(model)
        assert isinstance(free, Optimum)  # without budgets every environment has an optimum
        return Posed(name, world, free.values, free.values, model)
    if kept is not None:
        return Posed(name, world, Values(**kept["anchor"]), Values(**kept["reference"]))
    found = neural.anchored_by(world.train, protocol.plan, session)
    if world.test is world.train:
        return Posed(name, world, found.anchor, found.anchor)
    there = neural.worth(world.test, found.runs.selected[0], episodes=EVALUATION_EPISODES, seed=protocol.seed)
    return Posed(name, world, found.anchor, there)


def anchors_json(posed: Posed) -> dict[str, Any]:
    """The anchors, to be kept for a later call."""
    return {"anchor": asdict(posed.anchor), "reference": asdict(posed.reference)}


def _shares(env: Environment[Any], anchor: Values, kappa: float) -> dict[str, float]:
    return {name: kappa * anchor.costs[name] for name in env.constrained}
