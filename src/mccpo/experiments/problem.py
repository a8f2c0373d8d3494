"""The problem that an environment poses: its anchors, the budgets and floors, and the optimum where it is finite.

Budgets are shares κ of what the unconstrained policies cost, floors are shares of what the policy that teaches most
reaches. So these two anchors come first: exactly on a finite environment, else by training, or as an earlier run left
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from mccpo.env import Constraints, Environment, FiniteEnvironment, Objective, PreparedEnsemble, check_budgets
from mccpo.errors import InputError
from mccpo.evaluation.policy import metrics_of
from mccpo.exact import FiniteModel, Infeasible, Optimum, Values, enumerate_model, most, solve
from mccpo.experiments.anchors import pretrained_anchors, reach_of, train_anchor
from mccpo.experiments.asked.elsewhere import in_one_unit
from mccpo.experiments.asked.floors import Floor, check_asked
from mccpo.experiments.options import Anchors, Options, Session
from mccpo.experiments.training import Trained
from mccpo.experiments.worth import mean_worth, values_of
from mccpo.methods import EVALUATION_EPISODES, MethodSpec, NeuralPlan, NeuralRuns, evaluate_neural, method_spec

ANCHOR = "unconstrained"
"""The method that budgets refer to."""
FREE = "pretrained-engagement"
"""The same where nothing is trained for it."""
DEFAULT_KAPPA = 0.9
FINITE_KAPPA = 0.5
"""The share of the unconstrained costs where nobody names one; the paper's finite tables have a smaller one."""


@dataclass(frozen=True, eq=False)
class Problem:
    """An environment, what the unconstrained policies are worth on it, and the budgets at every κ.

    **Fields:**

    - `env`: where policies are trained; `test`: where they are evaluated, most often the same.
    - `anchor`: what the unconstrained policies are worth in `env`; `reference`: the same policies in `test`, to which
      everything that a table says is relative.
    - `model`: the arrays of a finite environment, by which policies are evaluated exactly.
    - `plan`, `runs`: how the unconstrained policies were trained, and what came of it, where they were.
    - `free`: the pretrained policies in their place, where nothing is trained for an anchor.
    - `kappa`, `given`: the budgets asked for: the share of the unconstrained costs, and numbers of one's own.
    - `floors`, `objective`: the floors asked for, and what is made as large as they and the budgets allow.
    - `reach`: by the name of a floor, the most that is known to be reached; of learning, by the policy that teaches
      most. It is known where floors are asked for.
    """

    name: str
    env: Environment[Any]
    test: Environment[Any]
    anchor: Values
    reference: Values
    model: FiniteModel | None = None
    plan: NeuralPlan | None = None
    runs: NeuralRuns | None = None
    kappa: float | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    floors: tuple[Floor, ...] = ()
    objective: Objective = "engagement"
    reach: Mapping[str, float] = field(default_factory=dict)
    free: Trained | None = None
    _optima: dict[float, Optimum | Infeasible] = field(default_factory=dict, init=False)

    @property
    def default_kappa(self) -> float:
        return DEFAULT_KAPPA if self.model is None else FINITE_KAPPA

    @property
    def training(self) -> NeuralPlan:
        """How policies are trained here; only where a network learns."""
        assert self.plan is not None
        return self.plan

    def budgets(self, kappa: float | None = None, given: Mapping[str, float] | None = None) -> dict[str, float]:
        """What may be spent in training: as given, else κ times the unconstrained costs; by default as asked for.

        Without a κ, the budgets of a finite environment's own definition come first.
        """
        kappa = self.kappa if kappa is None else kappa
        own = self.env.fixed_budgets if kappa is None and self.model is not None else {}
        share = self.default_kappa if kappa is None else kappa
        shares = {name: own.get(name, share * self.anchor.costs[name]) for name in self.env.constrained}
        return shares | dict(self.given if given is None else given)

    def constraints(self, kappa: float | None = None, given: Mapping[str, float] | None = None) -> Constraints:
        """What policies are held to in training; floors take the place of budgets that nobody asked for."""
        asked = kappa if kappa is not None else self.kappa
        stated = dict(self.given if given is None else given)
        unasked = (self.floors or self.objective == "learning") and asked is None
        return Constraints(
            budgets=stated if unasked else self.budgets(kappa, given),
            floors={floor.name: floor.amount(self.reach) for floor in self.floors},
            reach=self.reach,
            objective=self.objective,
        )

    def limits(self, kappa: float) -> dict[str, float]:
        """What may be spent where policies are evaluated."""
        return {name: kappa * self.reference.costs[name] for name in self.test.constrained}

    def constraints_at(self, kappa: float) -> Constraints:
        """What policies are held to where they are evaluated: the limits of a κ, and the floors asked for."""
        return replace(self.constraints(kappa), budgets=self.limits(kappa))

    def optimum(self, kappa: float) -> Optimum | Infeasible | None:
        """The best policy under the budgets of a κ; None where nobody knows it."""
        if self.model is None:
            return None
        if kappa not in self._optima:
            self._optima[kappa] = solve(self.model, self.limits(kappa), floors=self.constraints_at(kappa).floors)
        return self._optima[kappa]

    def best_return(self, kappa: float) -> float | None:
        """The return of the optimum, where there is one."""
        optimum = self.optimum(kappa)
        return optimum.values.ret if isinstance(optimum, Optimum) else None

    def elsewhere(self, env: Environment[Any]) -> Problem:
        """The same policies in another environment: everything is relative to what the unconstrained reach there."""
        assert self.runs is not None
        there = worth(env, self.runs.selected[0], episodes=EVALUATION_EPISODES, seed=self.training.seed)
        return replace(self, env=env, test=env, anchor=there, reference=there, floors=(), reach={})


@dataclass(frozen=True, eq=False)
class BudgetedProblem:
    """A finite problem under one set of budgets and floors, and its optimum under them."""

    problem: Problem
    constraints: Constraints
    optimum: Optimum
    kappa: float | None = None

    @property
    def budgets(self) -> dict[str, float]:
        return dict(self.constraints.budgets)

    @property
    def env(self) -> FiniteEnvironment[Any]:
        assert isinstance(self.problem.env, FiniteEnvironment)
        return self.problem.env

    @property
    def model(self) -> FiniteModel:
        assert self.problem.model is not None
        return self.problem.model

    @property
    def anchor(self) -> Values:
        return self.problem.anchor

    @property
    def optimum_metrics(self) -> dict[str, float]:
        prices = {f"lambda_{name}": value for name, value in self.optimum.multipliers.items()}
        return metrics_of(self.optimum.values, self.anchor, self.env, self.constraints) | prices


def pose(
    env: Environment[Any],
    plan: NeuralPlan | None = None,
    session: Session | None = None,
    *,
    name: str = "",
    test: Environment[Any] | None = None,
    kappa: float | None = None,
    given: Mapping[str, float] | None = None,
    floors: tuple[Floor, ...] = (),
    objective: Objective = "engagement",
    anchors: Anchors = "trained",
) -> Problem:
    """Poses the problem of an environment: exactly where it is finite, else with its anchors, trained by a plan."""
    session, test = session or Session(), env if test is None else test
    name = name or env.name
    check_asked(floors, env)
    if isinstance(test, FiniteEnvironment):
        model = enumerate_model(test)
        free = solve(model)
        assert isinstance(free, Optimum)  # without budgets every environment has an optimum
        reach = {floor.name: most(model, floor.name) for floor in floors}
        return Problem(
            name, env, test, free.values, free.values, model, plan, None, kappa, given or {}, floors, objective, reach
        )
    plan = plan or NeuralPlan()
    if anchors == "pretrained":
        return _with_pretrained_anchors(name, env, plan, session, kappa, given or {}, floors)
    runs, played = train_anchor(env, method_spec(ANCHOR), Constraints(), plan, session)
    reference = anchor = mean_worth(env, played)
    if isinstance(env, PreparedEnsemble):  # what its kinds cost and learn is not yet in one unit
        teaches = bool(floors) or objective == "learning"
        same, env = test is env, in_one_unit(env, played, teaches=teaches, seed=plan.seed)
        test = env if same else test
    if test is not env:
        reference = worth(test, runs.selected[0], episodes=EVALUATION_EPISODES, seed=plan.seed)
    reach = reach_of(env, anchor, floors, plan, session)
    return Problem(name, env, test, anchor, reference, None, plan, runs, kappa, given or {}, floors, objective, reach)


def _with_pretrained_anchors(
    name: str,
    env: Environment[Any],
    plan: NeuralPlan,
    session: Session,
    kappa: float | None,
    given: Mapping[str, float],
    floors: tuple[Floor, ...],
) -> Problem:
    """The problem of a tutor whose anchors are the pretrained policy: nothing is trained for them."""
    policies, played, reach = pretrained_anchors(env, floors, plan.seed, session)
    if isinstance(env, PreparedEnsemble):
        by_method = jax.tree.map(lambda leaf: leaf[None], played)
        env = in_one_unit(env, by_method, teaches=bool(floors), seed=plan.seed)
        policies, played, reach = pretrained_anchors(env, floors, plan.seed, session)
    anchor = values_of(env, played, 0)
    free = Trained(FREE, MethodSpec(FREE, masked=True, shared=True, constrained=False), policies)
    return Problem(name, env, env, anchor, anchor, None, plan, None, kappa, given, floors, reach=reach, free=free)


def pose_finite(
    env: FiniteEnvironment[Any],
    *,
    kappa: float | None = None,
    budgets: Mapping[str, float] | None = None,
    floors: tuple[Floor, ...] = (),
    objective: Objective = "engagement",
) -> BudgetedProblem:
    """Poses a finite problem: budgets are those given, else the environment's own, else κ times the unconstrained."""
    problem = pose(env, floors=floors, objective=objective)
    held = problem.constraints(kappa, budgets)
    held.check(env)
    assert problem.model is not None
    optimum = solve(problem.model, held.budgets, floors=held.floors, objective=held.objective)
    if isinstance(optimum, Infeasible):
        raise InputError(optimum.what(held.budgets, held.floors), fix=optimum.fix())
    return BudgetedProblem(problem, held, optimum, kappa)


def pose_neural(env: Environment[Any], options: Options, session: Session) -> Problem:
    """Poses the problem of an environment that is not finite, as the options say."""
    plan = options.neural_plan(env.name)
    check_budgets(env.cost_names, options.budgets)  # before the training that takes its time, not after it
    level = options.levels[0]
    return pose(env, plan, session, floors=level.floors, objective=options.objective, anchors=options.anchors)


def worth(
    env: Environment[Any], policies: Float[np.ndarray, "seeds parameters"], *, episodes: int, seed: int
) -> Values:
    """What unconstrained policies cost and return on fresh episodes of an environment, on average over seeds."""
    return mean_worth(env, evaluate_neural(env, [method_spec(ANCHOR)], policies[None], episodes=episodes, seed=seed))
