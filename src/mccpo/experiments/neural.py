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
from jaxtyping import Float, Int

from mccpo.env import Environment, check_budgets
from mccpo.env.tutor import Tutoring
from mccpo.evaluation import Curves, Summary, summarise
from mccpo.evaluation.policy import LEAST_GAIN, by_group, metrics_of, observe
from mccpo.exact import Values
from mccpo.experiments.finite import Outcome
from mccpo.experiments.options import Options, Session, Stage
from mccpo.experiments.saved_policies import Policies
from mccpo.methods import MethodSpec, NeuralPlan, NeuralRuns, Snapshot, evaluate_neural, method_spec, train_neural
from mccpo.methods.engine import gather
from mccpo.methods.episodes import EVALUATION_EPISODES, Episodes
from mccpo.methods.gradient.ppo import Progress
from mccpo.methods.gradient.training import ITERATIONS
from mccpo.runs.cache import anchor_key, pack, unpack
from mccpo.runs.policies import Policies
from mccpo.runs.results import Behaviour, Groups, Supplement

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
    return anchored_by(env, plan, session)


def anchored_by(env: Environment[Any], plan: NeuralPlan, session: Session) -> Anchored:
    """Trains the unconstrained policies by a plan, or recalls those that an earlier run trained by it."""
    free, label, key = method_spec(ANCHOR), f"{env.name} {ANCHOR}", anchor_key(env, plan)
    kept = session.recall(key) if session.recall is not None and key is not None else None
    if kept is None:
        runs = _train(env, [free], {}, plan, label, session)
        seen = evaluate_neural(env, [free], runs.selected, episodes=EVALUATION_EPISODES, seed=plan.seed)
        if session.remember is not None and key is not None:
            session.remember(key, pack(runs, seen))
    else:
        runs, seen = unpack(kept)
        session.end(label, _so_far(env, [free], runs.curves, runs.steps))
    return Anchored(env, plan, runs, _mean([values_of(env, seen, 0, seed) for seed in range(plan.seeds)]))


@dataclass(frozen=True, eq=False)
class Watched(Outcome):
    """What training gave and, besides the rows, what each tutor does and how each group of learners fared."""

    behaviour: dict[str, Behaviour]
    groups: dict[str, Groups]

    def supplement(self) -> Supplement:
        """What the results tell besides rows and curves."""
        return Supplement(behaviour=self.behaviour, groups=self.groups)


class Trained(NamedTuple):
    """One method's runs, seed by seed: its place among those that were trained together."""

    spec: MethodSpec
    runs: NeuralRuns
    place: int


def run(
    anchored: Anchored, methods: Sequence[str | MethodSpec], budgets: dict[str, float], label: str, session: Session
) -> Watched:
    """Trains the methods under the budgets, judges what validation selected, and watches what it does."""
    trained = train(anchored, methods, budgets, label, session)
    keep(anchored, trained, budgets, label, session)
    return watched(anchored, trained, budgets)


def watched(anchored: Anchored, trained: Mapping[str, Trained], budgets: dict[str, float]) -> Watched:
    """What trained methods are worth on fresh episodes, and what they do."""
    rows = {name: row(anchored, one, budgets) for name, one in trained.items()}
    seen = {name: watch(anchored, one) for name, one in trained.items() if isinstance(anchored.env, Tutoring)}
    return Watched(
        rows,
        curves(anchored, trained),
        behaviour={name: what for name, (what, _) in seen.items()},
        groups={name: whom for name, (_, whom) in seen.items()},
    )


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


def keep(
    anchored: Anchored, trained: Mapping[str, Trained], budgets: Mapping[str, float], part: str, session: Session
) -> None:
    """Hands over what every method learnt, to be kept with the run."""
    if session.keep is not None:
        for one in trained.values():
            session.keep(saved(anchored, one, budgets, part))


def saved(anchored: Anchored, one: Trained, budgets: Mapping[str, float], part: str) -> Policies:
    """A method's policies as a run folder keeps them."""
    return Policies(
        part=part,
        env=anchored.env,
        method=one.spec,
        budgets=dict(budgets),
        anchor=anchored.anchor,
        parameters=one.runs.selected[one.place],
        seed=anchored.plan.seed,
    )


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
    policies = saved(anchored, one, budgets, "")
    return judged(policies, env or anchored.env, episodes=EVALUATION_EPISODES, seed=anchored.plan.seed)


def judged(policies: Policies, env: Environment[Any], *, episodes: int, seed: int) -> dict[str, Summary]:
    """What policies are worth on fresh episodes of an environment, over seeds."""
    seen = evaluate_neural(env, [policies.method], policies.parameters[None], episodes=episodes, seed=seed)
    seeds = [
        metrics_of(values_of(env, seen, 0, place), policies.anchor, env, policies.budgets)
        for place in range(len(policies.parameters))
    ]
    row = {metric: summarise([one[metric] for one in seeds]) for metric in seeds[0] if metric != "pi_hack"}
    if type(env).truly_ready is not Environment.truly_ready:
        untrue, steps = (np.asarray(counts[0], float).sum(axis=-1) for counts in (seen.untrue, seen.length))
        row["true_violation_rate"] = summarise(untrue / steps)
    return row


def judged_elsewhere(
    anchored: Anchored, trained: Mapping[str, Trained], env: Environment[Any], kappa: float
) -> tuple[dict[str, dict[str, Summary]], dict[str, float]]:
    """What trained methods are worth in an environment that they were not trained in, and its budgets.

    Everything is relative to what the unconstrained policies cost and return there.
    """
    free = worth(env, anchored.runs.selected[0], episodes=EVALUATION_EPISODES, seed=anchored.plan.seed)
    there = replace(anchored, env=env, anchor=free)
    budgets = there.budgets(kappa, {})
    return {name: measured(there, one, budgets) for name, one in trained.items()}, budgets


def worth(
    env: Environment[Any], policies: Float[np.ndarray, "seeds parameters"], *, episodes: int, seed: int
) -> Values:
    """What unconstrained policies cost and return on fresh episodes of an environment, on average over seeds."""
    seen = evaluate_neural(env, [method_spec(ANCHOR)], policies[None], episodes=episodes, seed=seed)
    return _mean([values_of(env, seen, 0, place) for place in range(len(policies))])


def row(anchored: Anchored, one: Trained, budgets: dict[str, float]) -> dict[str, Summary]:
    """What a method's policies are worth, and what their training was like."""
    spec, runs, place = one
    found = measured(anchored, one, budgets)
    found["prerequisite_violations_training"] = summarise(
        np.asarray(runs.curves.violation_steps)[place].sum(axis=1).astype(float)
    )
    if spec.constrained:
        for name in budgets:
            found[f"lambda_{name}"] = summarise(runs.multipliers[place, :, anchored.env.cost_names.index(name)])
    if spec.masked:
        found["frontier_events"] = summarise(np.asarray(runs.curves.frontier_events)[place].mean(axis=1))
    return found


def watch(anchored: Anchored, one: Trained) -> tuple[Behaviour, Groups]:
    """What a method's tutor of the first seed does, and how each group of learners fared, meant over seeds."""
    env, seed = anchored.env, anchored.plan.seed
    assert isinstance(env, Tutoring)  # only tutors have concepts to watch
    policies = one.runs.selected[one.place]
    observed = [observe(env, one.spec, policy, episodes=EVALUATION_EPISODES, seed=seed) for policy in policies]
    fared = [by_group(env, each) for each in observed]
    groups = {
        group: {metric: float(np.mean([each[group][metric] for each in fared if group in each])) for metric in metrics}
        for group, metrics in fared[0].items()
    }
    first = observed[0]
    shares = (np.asarray(values) for values in (first.mastery, first.ready, first.chosen))
    return Behaviour.rounded(env.curriculum.concepts, *shares), groups


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
    """Trains methods as one stage of a session."""
    stage = Stage(label, plan.points, len(methods) * plan.seeds * ITERATIONS * plan.sizes.steps)

    def at(snapshot: Snapshot[Any, Any]) -> Curves:
        steps = np.arange(1, snapshot.point + 1) * ITERATIONS * plan.sizes.steps
        return _so_far(env, methods, gather(snapshot, (len(methods), plan.seeds)), steps)

    with session.resuming(stage) as resume:
        runs = train_neural(env, methods, budgets, plan, resume=resume, after_point=session.after_point(stage, at))
    session.end(label, _so_far(env, methods, runs.curves, runs.steps))
    return runs


def values_of(env: Environment[Any], seen: Episodes, place: int, seed: int) -> Values:
    """What the episodes of one policy say it is worth."""
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


def _so_far(
    env: Environment[Any], methods: Sequence[MethodSpec], progress: Progress, steps: Int[np.ndarray, " points"]
) -> Curves:
    """The curves of methods that were trained together."""
    return Curves(steps, {spec.name: _curves(env, progress, at) for at, spec in enumerate(methods)}, unit="steps")


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
