"""What trained policies are worth on fresh episodes, what their training was like, and what they do.

The policies that a table compares are selected by validation episodes during training; the episodes here are drawn from
keys of their own afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mccpo.env import Constraints, Environment
from mccpo.env.tutor import Tutoring
from mccpo.evaluation import Curves, Summary, summarise
from mccpo.evaluation.policy import by_group, observe
from mccpo.experiments import training
from mccpo.experiments.finite import Outcome
from mccpo.experiments.options import Session, Stage
from mccpo.experiments.problem import Problem
from mccpo.experiments.saved_policies import Policies
from mccpo.experiments.training import Trained
from mccpo.experiments.worth import evaluated
from mccpo.methods import EVALUATION_EPISODES, MethodSpec, NetworkPolicies, RulePolicies, side_by_side
from mccpo.runs.results import Behaviour, Groups, Supplement

WATCHED = 200
"""Episodes by which a policy is watched: a picture needs fewer than a number."""

Kappa: TypeAlias = float | None


@dataclass(frozen=True, eq=False)
class Watched(Outcome):
    """What training gave and, besides the rows, what each policy does and how each group of learners fared."""

    behaviour: dict[str, Behaviour]
    groups: dict[str, Groups]

    def supplement(self) -> Supplement:
        """What the results tell besides rows and curves."""
        return Supplement(behaviour=self.behaviour, groups=self.groups)


def run(
    problem: Problem,
    methods: Sequence[str],
    constraints: Constraints,
    label: str,
    session: Session,
    kappa: Kappa = None,
) -> Watched:
    """Trains methods under constraints, keeps their policies, evaluates them, and watches what they do."""
    trained = train(problem, methods, constraints, label, session, kappa)
    keep(problem, trained, constraints, label, session)
    return watched(problem, trained, constraints, label, session)


def train(
    problem: Problem,
    methods: Sequence[str | MethodSpec],
    constraints: Constraints,
    label: str,
    session: Session,
    kappa: Kappa = None,
) -> dict[str, Trained]:
    """Trains methods on a problem by its plan; the unconstrained policies are not trained again."""
    known = {} if problem.free is None else {problem.free.name: problem.free}
    names = [method if isinstance(method, str) else method.name for method in methods]
    rest = [method for method, name in zip(methods, names, strict=True) if name not in known]
    trained = training.train(
        problem.env, rest, constraints, problem.training, label, session, unconstrained=problem.runs, kappa=kappa
    )
    return {name: known[name] if name in known else trained[name] for name in names}


def keep(
    problem: Problem, trained: Mapping[str, Trained], constraints: Constraints, part: str, session: Session
) -> None:
    """Hands over the policies of every method, to be kept with the run."""
    if session.keep is not None:
        for method in trained.values():
            session.keep(saved(problem, method, constraints, part))


def saved(problem: Problem, method: Trained, constraints: Constraints, part: str) -> Policies:
    """A method's policies as a run folder keeps them; those of a rule have no numbers."""
    parameters, kappa = np.zeros((method.policies.seeds, 0), np.float32), None
    if isinstance(method.policies, NetworkPolicies):
        parameters, kappa = method.policies.parameters, method.policies.kappa
    return Policies(
        part=part,
        env=problem.env,
        method=method.spec,
        budgets=dict(constraints.budgets),
        floors=dict(constraints.floors),
        objective=constraints.objective,
        anchor=problem.anchor,
        parameters=parameters,
        seed=problem.training.seed,
        kappa=kappa,
        unconstrained=None if problem.runs is None else np.asarray(problem.runs.selected)[0],
    )


def watched(
    problem: Problem, trained: Mapping[str, Trained], constraints: Constraints, label: str, session: Session
) -> Watched:
    """What trained methods are worth on fresh episodes, and what they do."""
    seeds = max(method.policies.seeds for method in trained.values())
    steps = seeds * problem.env.horizon
    rows, behaviours, groups = {}, {}, {}
    if problem.free is not None:  # a graph was brought, and somebody waits: rules are played beside one another
        side_by_side(lambda method: measured(problem, method, constraints), [*trained.values()])
    told = session.telling(Stage(f"{label}, evaluating", len(trained), steps * EVALUATION_EPISODES))
    told(0)
    for done, (name, method) in enumerate(trained.items(), start=1):
        rows[name] = row(problem, method, constraints)
        told(done)
    watched_by = _worth_watching(problem, trained)
    told = session.telling(Stage(f"{label}, watching", len(watched_by), steps * WATCHED))
    if watched_by:
        told(0)
    for done, (name, method) in enumerate(watched_by.items(), start=1):
        behaviours[name], groups[name] = watch(problem, method)
        told(done)
    return Watched(rows, curves(problem, trained), behaviour=behaviours, groups=groups)


def _worth_watching(problem: Problem, trained: Mapping[str, Trained]) -> Mapping[str, Trained]:
    """Whose policies are watched: those of all methods, or where somebody waits of those alone that are no rules."""
    if not isinstance(problem.env, Tutoring):
        return {}
    if problem.free is None:
        return trained
    return {name: method for name, method in trained.items() if not isinstance(method.policies, RulePolicies)}


def curves(problem: Problem, trained: Mapping[str, Trained]) -> Curves:
    """The training curves of every method."""
    return training.curves(training.steps_of(problem.training), problem.env, trained)


def row(problem: Problem, method: Trained, constraints: Constraints) -> dict[str, Summary]:
    """What a method's policies are worth, and what their training was like."""
    cells = measured(problem, method, constraints)
    if method.progress is None or method.multipliers is None:
        return cells
    unready = np.asarray(method.progress.violation_steps).sum(axis=1)
    cells["prerequisite_violations_training"] = summarise(unready.astype(float))
    if method.spec.constrained:
        priced = (*problem.env.cost_names, *constraints.floors)
        for name in constraints.amounts:
            cells[f"lambda_{name}"] = summarise(method.multipliers[:, priced.index(name)])
    if method.spec.masked:
        cells["frontier_events"] = summarise(np.asarray(method.progress.frontier_events).mean(axis=1))
    return cells


def measured(
    problem: Problem, method: Trained, constraints: Constraints, env: Environment[Any] | None = None
) -> dict[str, Summary]:
    """What a method's policies are worth on fresh episodes, of another environment if one is given."""
    seed = problem.training.seed
    return evaluated(
        method.policies, env or problem.env, problem.anchor, constraints, episodes=EVALUATION_EPISODES, seed=seed
    )


def measured_elsewhere(
    problem: Problem, trained: Mapping[str, Trained], env: Environment[Any], kappa: float
) -> tuple[dict[str, dict[str, Summary]], dict[str, float]]:
    """What trained methods are worth in an environment that they were not trained in, and its budgets."""
    there = problem.elsewhere(env)
    held = there.constraints(kappa)
    return {name: measured(there, method, held) for name, method in trained.items()}, dict(held.budgets)


def watch(problem: Problem, method: Trained) -> tuple[Behaviour, Groups]:
    """What a method's policy of the first seed does, and how each group of learners fared, meant over seeds."""
    env, seed = problem.env, problem.training.seed
    assert isinstance(env, Tutoring)  # only tutors have concepts to watch
    seen = [
        observe(env, method.policies, policy, episodes=WATCHED, seed=seed) for policy in range(method.policies.seeds)
    ]
    fared = [by_group(env, observed) for observed in seen]
    groups = {
        group: {
            metric: float(np.mean([groups[group][metric] for groups in fared if group in groups])) for metric in metrics
        }
        for group, metrics in fared[0].items()
    }
    shares = (np.asarray(values) for values in (seen[0].mastery, seen[0].ready, seen[0].chosen))
    return Behaviour.rounded(env.curriculum.concepts, *shares), groups
