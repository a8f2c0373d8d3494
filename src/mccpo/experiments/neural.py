"""One environment too large to solve exactly: trained by the neural learner, judged on fresh episodes.

Budgets are κ times the unconstrained policies' mean costs, so these are trained first. The policies that a table
compares are selected by validation episodes during training; the episodes that judge them are drawn from keys of their
own afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mccpo.algo import MethodSpec, NeuralPlan, NeuralRuns, Snapshot, evaluate_neural, method_spec, train_neural
from mccpo.algo.engine import gather
from mccpo.algo.judging import Episodes
from mccpo.algo.neural import EVALUATION_EPISODES
from mccpo.algo.ppo import Progress
from mccpo.env import Environment, check_budgets
from mccpo.evaluation import Curves, Summary, metrics_of, summarise
from mccpo.evaluation.metrics import LEAST_GAIN
from mccpo.exact import Values
from mccpo.experiments.cache import anchor_key
from mccpo.experiments.finite import Outcome
from mccpo.experiments.options import Options, Session, Stage

DEFAULT_KAPPA = 0.9
ANCHOR = "unconstrained"


@dataclass(frozen=True, eq=False)
class Anchored:
    """An environment, its unconstrained runs, and what those are worth on average: what budgets and RHSI refer to."""

    env: Environment[Any]
    plan: NeuralPlan
    runs: NeuralRuns
    anchor: Values

    def budgets(self, kappa: float | None, given: Mapping[str, float]) -> dict[str, float]:
        """Budgets as given, else κ times the unconstrained costs."""
        share = DEFAULT_KAPPA if kappa is None else kappa
        return {name: share * self.anchor.costs[name] for name in self.env.constrained} | dict(given)


def anchor(env: Environment[Any], options: Options, session: Session) -> Anchored:
    """Trains the unconstrained policies that everything else is relative to."""
    plan = options.neural_plan(env.name)
    check_budgets(env.cost_names, options.budgets)  # before the training that takes its time, not after it
    runs = _train(env, (ANCHOR,), {}, plan, f"{env.name} {ANCHOR}", session, key=anchor_key(env, plan))
    seen = _judge(env, (ANCHOR,), runs, plan)
    return Anchored(env, plan, runs, _mean([_values(env, seen, 0, seed) for seed in range(plan.seeds)]))


class Trained(NamedTuple):
    """One method's runs, seed by seed: its place among those that were trained together."""

    spec: MethodSpec
    runs: NeuralRuns
    place: int


def run(
    anchored: Anchored, methods: Sequence[str | MethodSpec], budgets: dict[str, float], label: str, session: Session
) -> Outcome:
    """Trains the methods under the budgets and judges what validation selected."""
    trained = train(anchored, methods, budgets, label, session)
    rows = {name: _row(anchored, one, budgets) for name, one in trained.items()}
    return Outcome(rows, curves(anchored, trained))


def train(
    anchored: Anchored, methods: Sequence[str | MethodSpec], budgets: dict[str, float], label: str, session: Session
) -> dict[str, Trained]:
    """Trains the methods under the budgets, all at once; gives them by name, in the order in which they were named."""
    specs = [method_spec(method) if isinstance(method, str) else method for method in methods]
    # A filter acts at execution only: a post-hoc policy is trained as the unconstrained one is, seed by seed.
    learners = [spec for spec in specs if not _as_unconstrained(spec)]
    runs = _train(anchored.env, learners, budgets, anchored.plan, label, session) if learners else anchored.runs
    places = {spec.name: place for place, spec in enumerate(learners)}
    return {
        spec.name: Trained(spec, runs, places[spec.name]) if spec.name in places else Trained(spec, anchored.runs, 0)
        for spec in specs
    }


def curves(anchored: Anchored, trained: Mapping[str, Trained]) -> Curves:
    """The training curves of every method."""
    values = {name: _curves(anchored.env, one.runs.curves, one.place) for name, one in trained.items()}
    return Curves(anchored.runs.steps, values, unit="steps")


def measured(
    anchored: Anchored, one: Trained, budgets: dict[str, float], env: Environment[Any] | None = None
) -> dict[str, Summary]:
    """What a method's policies are worth on fresh episodes, of another environment than they were trained on if given.

    Where the policy sees an estimate of mastery, `true_violation_rate` counts what the learner was not ready for.
    """
    env, plan = env or anchored.env, anchored.plan
    policies = one.runs.selected[one.place : one.place + 1]
    seen = evaluate_neural(env, [one.spec], policies, episodes=EVALUATION_EPISODES, seed=plan.seed)
    seeds = [metrics_of(_values(env, seen, 0, seed), anchored.anchor, env, budgets) for seed in range(plan.seeds)]
    row = {metric: summarise([seed[metric] for seed in seeds]) for metric in seeds[0] if metric != "pi_hack"}
    if type(env).truly_ready is not Environment.truly_ready:
        row["true_violation_rate"] = summarise((seen.untrue.sum(axis=-1) / seen.length.sum(axis=-1))[0])
    return row


def _as_unconstrained(spec: MethodSpec) -> bool:
    return replace(spec, name=ANCHOR, filter="none") == method_spec(ANCHOR)


def _train(
    env: Environment[Any],
    methods: Sequence[MethodSpec],
    budgets: dict[str, float],
    plan: NeuralPlan,
    label: str,
    session: Session,
) -> NeuralRuns:
    def after_point(snapshot: Snapshot[Any, Any]) -> None:
        if session.save is not None:
            session.save(label, snapshot)
        if session.progress is not None:
            session.progress(label, snapshot.point, plan.points)

    return train_neural(
        env,
        methods,
        budgets,
        plan,
        resume=session.load(label) if session.load is not None else None,
        after_point=after_point,
    )


def _row(anchored: Anchored, one: Trained, budgets: dict[str, float]) -> dict[str, Summary]:
    spec, runs, place = one
    row = measured(anchored, one, budgets)
    row["prerequisite_violations_training"] = summarise(
        np.asarray(runs.curves.violation_steps)[place].sum(axis=1).astype(float)
    )
    if spec.constrained:
        for name in budgets:
            row[f"lambda_{name}"] = summarise(runs.multipliers[place, :, anchored.env.cost_names.index(name)])
    if spec.masked:
        row["frontier_events"] = summarise(np.asarray(runs.curves.frontier_events)[place].mean(axis=1))
    return row


def _values(env: Environment[Any], seen: Episodes, place: int, seed: int) -> Values:
    costs = np.asarray(seen.costs)[place, seed].mean(axis=-1)
    steps = float(np.asarray(seen.length)[place, seed].sum())
    return Values(
        ret=float(seen.ret[place, seed].mean()),
        costs={name: float(cost) for name, cost in zip(env.cost_names, costs, strict=True)},
        engagement=float(seen.engagement[place, seed].mean()),
        gain=float(seen.gain[place, seed].mean()),
        pi_hack=0.0,
        violation_rate=float(seen.violates[place, seed].mean()),
        prerequisite_violation_rate=float(seen.unready[place, seed].sum()) / steps,
    )


def _mean(values: list[Values]) -> Values:
    def over(pick: Any) -> float:
        return float(np.mean([pick(one) for one in values]))

    return Values(
        ret=over(lambda one: one.ret),
        costs={name: over(lambda one, name=name: one.costs[name]) for name in values[0].costs},
        engagement=over(lambda one: one.engagement),
        gain=over(lambda one: one.gain),
        pi_hack=0.0,
        violation_rate=over(lambda one: one.violation_rate),
        prerequisite_violation_rate=over(lambda one: one.prerequisite_violation_rate),
    )


def _curves(env: Environment[Any], progress: Progress, place: int) -> dict[str, np.ndarray]:
    found = {
        "return": progress.ret,
        "rhsi_ratio_discounted": progress.ret / (progress.gain + LEAST_GAIN),
        "dK": progress.gain,
        "prerequisite_violation_rate": progress.prerequisite_violation_rate,
        "frontier_events": progress.frontier_events,
    }
    for at, name in enumerate(env.cost_names):
        found[f"J_{name}"] = progress.costs[..., at]
        if name in env.constrained:
            found[f"lambda_{name}"] = progress.multipliers[..., at]
    return {metric: np.asarray(values)[place] for metric, values in found.items()}
