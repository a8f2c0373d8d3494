"""Methods trained under budgets, whatever they are: all of a family at once, others one by one, rules not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from mccpo.env import Constraints, Environment
from mccpo.errors import DoesNotApply
from mccpo.evaluation import Curves
from mccpo.evaluation.policy import LEAST_GAIN
from mccpo.experiments.options import Session, Stage
from mccpo.methods import (
    ITERATIONS,
    METHODS,
    GradientEntry,
    MethodSpec,
    NetworkPolicies,
    NeuralPlan,
    NeuralProgress,
    NeuralRuns,
    PolicySet,
    PrimalDual,
    RuleEntry,
    RulePolicies,
    Snapshot,
    Variant,
    choice_steps,
    gather,
    method_arrays,
    method_entry,
    method_spec,
    train_variants,
)

ANCHOR = "unconstrained"


@dataclass(frozen=True, eq=False)
class Trained:
    """One method's policies, one a seed, and what their training was like; a rule has had none.

    **Fields:**

    - `spec`: how the policies act, as data: their mask and filter.
    - `progress`: the training curves, leading axes seeds and points; `multipliers`: where those of each seed ended.
    """

    name: str
    spec: MethodSpec
    policies: PolicySet
    progress: NeuralProgress | None = None
    multipliers: Float[np.ndarray, "seeds costs"] | None = None


@dataclass(frozen=True, eq=False)
class Lot:
    """Variants of methods with networks of one kind, by their names, that one stage of a session trains by a plan."""

    env: Environment[Any]
    variants: Sequence[Variant]
    names: Sequence[str]
    plan: NeuralPlan
    label: str


def train(
    env: Environment[Any],
    methods: Sequence[str | MethodSpec],
    constraints: Constraints,
    plan: NeuralPlan,
    label: str,
    session: Session,
    *,
    unconstrained: NeuralRuns | None = None,
    kappa: float | None = None,
) -> dict[str, Trained]:
    """Trains methods under budgets and floors; gives them by name, in the order in which they were named.

    A method is named, or given as data of the primal–dual family. `unconstrained` are runs of the plan that need not be
    trained again; `kappa` is what a conditioned policy is told.
    """
    if session.ahead is not None:
        held = (env, methods, constraints, plan, label)
        session.ahead(lots(*held, unconstrained=unconstrained, kappa=kappa))
    family = {spec.name: spec for spec in map(_family, methods) if spec is not None}
    trained = _train_family(env, list(family.values()), constraints, plan, label, session, unconstrained)
    for method in methods:
        if isinstance(method, str) and method not in family:
            trained[method] = _train_alone(env, method, constraints, plan, label, session, kappa)
    return {name: trained[name] for name in (m if isinstance(m, str) else m.name for m in methods)}


def lots(
    env: Environment[Any],
    methods: Sequence[str | MethodSpec],
    constraints: Constraints,
    plan: NeuralPlan,
    label: str,
    *,
    unconstrained: NeuralRuns | None = None,
    kappa: float | None = None,
) -> list[Lot]:
    """What `train` trains, one lot for each of its stages; they do not depend on one another."""
    family = {spec.name: spec for spec in map(_family, methods) if spec is not None}
    rest = [spec for spec in family.values() if not _is_known(spec, constraints, unconstrained)]
    alone = [method_entry(name) for name in methods if isinstance(name, str) and name not in family]
    return [
        *(_lot_of(env, alike, constraints, plan, part) for part, alike in _kinds(rest, label).items()),
        *(
            _lot_alone(env, entry, constraints, plan, label, _told(entry, kappa, constraints))
            for entry in alone
            if isinstance(entry, GradientEntry)
        ),
    ]


def train_specs(
    env: Environment[Any],
    specs: Sequence[MethodSpec],
    constraints: Constraints,
    plan: NeuralPlan,
    label: str,
    session: Session,
) -> NeuralRuns:
    """Trains methods of the primal–dual family with networks of one kind, all at once, as one stage of a session."""
    return train_stage(_lot_of(env, specs, constraints, plan, label), session)


def curves(steps: Int[np.ndarray, " points"], env: Environment[Any], trained: Mapping[str, Trained]) -> Curves:
    """The training curves of every method that was trained by the common plan."""
    values = {
        name: _curves(env, one.progress)
        for name, one in trained.items()
        if one.progress is not None and np.shape(one.progress.ret)[-1] == len(steps)
    }
    return Curves(steps, values, unit="steps")


def curves_of(
    env: Environment[Any], methods: Sequence[str], progress: NeuralProgress, steps: Int[np.ndarray, " points"]
) -> Curves:
    """The curves of methods that were trained together; leading axes are methods and seeds."""
    by_method = {name: _curves(env, _pick(progress, at)) for at, name in enumerate(methods)}
    return Curves(steps, by_method, unit="steps")


def steps_of(plan: NeuralPlan) -> Int[np.ndarray, " points"]:
    """The steps at which curves have their points."""
    return np.arange(1, plan.points + 1) * ITERATIONS * plan.sizes.steps


def _family(method: str | MethodSpec) -> MethodSpec | None:
    """The data of a method of the primal–dual family; None for another."""
    if isinstance(method, MethodSpec):
        return method
    entry = method_entry(method)
    return entry.spec if isinstance(entry, GradientEntry) else None


def _train_family(
    env: Environment[Any],
    specs: Sequence[MethodSpec],
    constraints: Constraints,
    plan: NeuralPlan,
    label: str,
    session: Session,
    unconstrained: NeuralRuns | None,
) -> dict[str, Trained]:
    # A filter acts at execution only: a post-hoc policy is trained as the unconstrained one is, seed by seed.
    free = [spec for spec in specs if _is_known(spec, constraints, unconstrained)]
    kinds = _kinds([spec for spec in specs if spec not in free], label)
    # Those with a network of each kind together: one program has one network.
    stages = {
        alike[0].shared: (alike, train_specs(env, alike, constraints, plan, part, session))
        for part, alike in kinds.items()
    }
    trained = {}
    for spec in specs:
        source = unconstrained if spec in free else stages[spec.shared][1]
        assert source is not None
        at = 0 if spec in free else stages[spec.shared][0].index(spec)
        method = _primal_dual(env, spec, plan)
        policies = NetworkPolicies(method, source.selected[at])
        trained[spec.name] = Trained(spec.name, spec, policies, _pick(source.curves, at), source.multipliers[at])
    return trained


def _kinds(specs: Sequence[MethodSpec], label: str) -> dict[str, list[MethodSpec]]:
    """Methods by the kind of their network, under the label of the stage that trains those of the kind."""
    kinds: dict[bool, list[MethodSpec]] = {}
    for spec in specs:
        kinds.setdefault(spec.shared, []).append(spec)
    return {f"{label} shared" if shared and len(kinds) > 1 else label: alike for shared, alike in kinds.items()}


def _lot_of(
    env: Environment[Any], specs: Sequence[MethodSpec], constraints: Constraints, plan: NeuralPlan, label: str
) -> Lot:
    """Methods of the primal–dual family with networks of one kind."""
    env = constraints.environment(env)
    variants = [Variant(_primal_dual(env, spec, plan), constraints.amounts) for spec in specs]
    return Lot(env, variants, [spec.name for spec in specs], plan, label)


def _lot_alone(
    env: Environment[Any],
    entry: GradientEntry,
    constraints: Constraints,
    plan: NeuralPlan,
    label: str,
    told: float | None,
) -> Lot:
    """A method with a mechanism of its own; `told` is the κ that a conditioned one is told."""
    method = entry.build(env, {})
    if told is not None:
        method.environment_at(env, told)  # refuses a κ that it was not made for, before anything is trained
    there = method.training_environment(constraints.environment(env))
    variants = [Variant(method, _training_amounts(entry, constraints, told))]
    return Lot(there, variants, [entry.name], method.plan(plan), f"{label} {entry.name}")


def _train_alone(
    env: Environment[Any],
    name: str,
    constraints: Constraints,
    plan: NeuralPlan,
    label: str,
    session: Session,
    kappa: float | None,
) -> Trained:
    """Trains a method with a mechanism of its own; a rule has nothing to learn."""
    entry = method_entry(name)
    if isinstance(entry, RuleEntry):
        return Trained(name, MethodSpec(name, masked=True), RulePolicies(entry.build(), plan.seeds))
    if not isinstance(entry, GradientEntry):
        raise DoesNotApply(f"{name} needs a finite environment, which {env.name} is not", fix="leave it out here")
    told = _told(entry, kappa, constraints)
    lot = _lot_alone(env, entry, constraints, plan, label, told)
    runs, method = train_stage(lot, session), lot.variants[0].learner
    policies = NetworkPolicies(method, runs.selected[0], told)
    spec = MethodSpec(name, masked=True, shared=method.shared, constrained=entry.sees_budgets)
    return Trained(name, spec, policies, _pick(runs.curves, 0), runs.multipliers[0])


def _told(entry: GradientEntry, kappa: float | None, constraints: Constraints) -> float | None:
    """The κ that a conditioned policy is told; None where it is not conditioned."""
    if not entry.conditioned:
        return None
    if constraints.floors:
        raise DoesNotApply(f"{entry.name} goes by budgets, and knows no floors", fix="leave it out here")
    if kappa is None:
        raise DoesNotApply(f"{entry.name} goes by a share κ of the budgets", fix="give --kappa, or leave it out")
    return kappa


def _training_amounts(entry: GradientEntry, constraints: Constraints, told: float | None) -> dict[str, float]:
    """What a method is trained under: the budgets of κ = 1 where it is told the κ, nothing where it sees none."""
    if told is not None:
        return {name: budget / told for name, budget in constraints.budgets.items()}
    return constraints.amounts if entry.sees_budgets else {}


def train_stage(lot: Lot, session: Session) -> NeuralRuns:
    """Trains a lot, as one stage of a session."""
    if session.ahead is not None:
        session.ahead([lot])
    env, variants, names, plan = lot.env, lot.variants, lot.names, lot.plan
    stage = Stage(lot.label, plan.points, len(variants) * plan.seeds * ITERATIONS * plan.sizes.steps)

    def so_far(snapshot: Snapshot[Any, Any]) -> Curves:
        progress = gather(snapshot, (len(variants), plan.seeds))
        return curves_of(env, names, progress, steps_of(plan)[: snapshot.point])

    with session.resuming(stage) as resume:
        after_point = session.after_point(stage, so_far)
        chosen = Stage(f"{lot.label}, choosing", len(variants), plan.seeds * choice_steps(env, plan))
        told = session.telling(chosen)
        runs = train_variants(env, variants, plan, resume=resume, after_point=after_point, after_choice=told)
    session.end(lot.label, curves_of(env, names, runs.curves, runs.steps))
    return runs


def _primal_dual(env: Environment[Any], spec: MethodSpec, plan: NeuralPlan) -> PrimalDual:
    """A method of the family in its own settings, or in those of the plan where it has none."""
    entry = METHODS.get(spec.name)
    own = entry.settings if isinstance(entry, GradientEntry) else None
    return PrimalDual(method_arrays(spec, env), settings=own or plan.settings, shared=spec.shared)


def _is_known(spec: MethodSpec, constraints: Constraints, unconstrained: NeuralRuns | None) -> bool:
    """Whether a method is trained as the unconstrained one is, whose runs are there."""
    if unconstrained is None or constraints.objective != "engagement":
        return False
    return replace(spec, name=ANCHOR, filter="none") == method_spec(ANCHOR)


def _pick(progress: NeuralProgress, at: int) -> NeuralProgress:
    return NeuralProgress(*(np.asarray(values)[at] for values in progress))


def _curves(env: Environment[Any], progress: NeuralProgress) -> dict[str, np.ndarray]:
    values = {
        "return": progress.ret,
        "rhsi_ratio_discounted": progress.ret / (progress.gain + LEAST_GAIN),
        "dK": progress.gain,
        "prerequisite_violation_rate": progress.prerequisite_violation_rate,
        "frontier_events": progress.frontier_events,
    }
    for at, name in enumerate(env.cost_names):
        values[f"J_{name}"] = progress.costs[..., at]
        if name in env.constrained:
            values[f"lambda_{name}"] = progress.multipliers[..., at]
    return {metric: np.asarray(value) for metric, value in values.items()}
