"""What a problem's shares refer to: policies trained for engagement alone and for learning alone, and rules that teach.

Budgets are shares of what the unconstrained policies cost. Floors are shares of what can be reached: of learning, by
the best of a policy that is trained for nothing else and of the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mccpo.env import Constraints, Environment
from mccpo.errors import DoesNotApply
from mccpo.exact import Values
from mccpo.experiments.anchor_cache import anchor_key, pack, unpack
from mccpo.experiments.asked.floors import Floor
from mccpo.experiments.options import Session
from mccpo.experiments.training import curves_of, train_specs
from mccpo.experiments.worth import mean_worth, values_of
from mccpo.methods import (
    EVALUATION_EPISODES,
    METHODS,
    Episodes,
    MethodSpec,
    NeuralPlan,
    NeuralRuns,
    RuleEntry,
    RulePolicies,
    evaluate_neural,
)

MOST_TEACHING = MethodSpec("most-teaching", masked=True, shared=True)
"""The method of the second anchor: the mask, the shared network, and learning as the reward."""
TEACHING_RULES = ("greedy-gain", "mastery-learning", "zpdes", "planning")
"""The rules that may teach more than what was trained."""
PLANNED_EPISODES = 500  # of the rule that thinks for long before it teaches


def train_anchor(
    env: Environment[Any], spec: MethodSpec, constraints: Constraints, plan: NeuralPlan, session: Session
) -> tuple[NeuralRuns, Episodes]:
    """Trains an anchor's policies by a plan and plays them, or recalls those that an earlier run trained by it."""
    label, key = f"{env.name} {spec.name}", anchor_key(constraints.environment(env), spec, plan)
    kept = session.recall(key) if session.recall is not None and key is not None else None
    if kept is None:
        runs = train_specs(env, [spec], constraints, plan, label, session)
        played = evaluate_neural(env, [spec], runs.selected, episodes=EVALUATION_EPISODES, seed=plan.seed)
        if session.remember is not None and key is not None:
            session.remember(key, pack(runs, played))
    else:
        runs, played = unpack(kept)
        session.end(label, curves_of(env, [spec.name], runs.curves, runs.steps))
    return runs, played


def reach_of(
    env: Environment[Any], unconstrained: Values, floors: tuple[Floor, ...], plan: NeuralPlan, session: Session
) -> dict[str, float]:
    """The most that is known to be reached of what each floor is about.

    Of engagement that is the unconstrained policies' return; of all else, the best of those that teach.
    """
    reach = {"engagement": unconstrained.ret}
    if any(floor.name != "engagement" for floor in floors):
        teaching = list(_teaching(env, plan, session))
        reach |= {
            floor.name: max(values.reached(floor.name) for values in teaching)
            for floor in floors
            if floor.name != "engagement"
        }
    return {floor.name: reach[floor.name] for floor in floors}


def _teaching(env: Environment[Any], plan: NeuralPlan, session: Session) -> Iterator[Values]:
    """What policies that are made to teach are worth, each as a mean over seeds."""
    _, played = train_anchor(env, MOST_TEACHING, Constraints(objective="learning"), plan, session)
    yield mean_worth(env, played)
    for name in TEACHING_RULES:
        entry = METHODS[name]
        assert isinstance(entry, RuleEntry)
        try:
            episodes = PLANNED_EPISODES if name == "planning" else EVALUATION_EPISODES
            played = RulePolicies(entry.build(), 1).play(env, episodes=episodes, seed=plan.seed)
        except DoesNotApply:
            continue
        yield values_of(env, played, 0)
