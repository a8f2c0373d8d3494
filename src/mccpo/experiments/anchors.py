"""What a problem's shares refer to: policies trained for engagement alone and for learning alone, and rules that teach.

Budgets are shares of what the unconstrained policies cost. Floors are shares of what can be reached: of learning, by
the best of a policy that is trained for nothing else and of the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mccpo.env import Constraints, Environment
from mccpo.errors import DoesNotApply
from mccpo.exact import Values
from mccpo.experiments.anchor_cache import anchor_key, pack, unpack
from mccpo.experiments.asked.floors import Floor
from mccpo.experiments.options import Session, Stage
from mccpo.experiments.training import curves_of, train_specs
from mccpo.experiments.worth import mean_worth, values_of
from mccpo.methods import (
    EVALUATION_EPISODES,
    METHODS,
    Episodes,
    MethodSpec,
    NeuralPlan,
    NeuralRuns,
    PolicySet,
    RuleEntry,
    RulePolicies,
    evaluate_neural,
    one_ahead,
    policies_alone,
    prepare_alone,
)

MOST_TEACHING = MethodSpec("most-teaching", masked=True, shared=True)
"""The method of the second anchor: the mask, the shared network, and learning as the reward."""
TEACHING_RULES = ("greedy-gain", "mastery-learning", "zpdes", "planning")
"""The rules that may teach more than what was trained."""
QUICK_RULES = TEACHING_RULES[:-1]
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

    For engagement, that is the unconstrained policies' return. For all else, it is the best of those that teach.
    """
    if all(floor.name == "engagement" for floor in floors):
        return {floor.name: unconstrained.ret for floor in floors}
    _, played = train_anchor(env, MOST_TEACHING, Constraints(objective="learning"), plan, session)
    return _most(floors, unconstrained, [mean_worth(env, played), *_rules(env, TEACHING_RULES, plan.seed)])


def pretrained_anchors(
    env: Environment[Any], floors: tuple[Floor, ...], seed: int, session: Session
) -> tuple[PolicySet, Episodes, dict[str, float]]:
    """The anchors without training: the pretrained policy that is told that one thing alone counts.

    They are the policies for engagement, their episodes (leading axis seeds), and what is known to be reached of what
    each floor is about: the most of the policy that is told to teach and of the rules, but for the one that plans.
    """
    told = session.telling(Stage(f"{env.name} anchors", 1, 4 * EVALUATION_EPISODES * env.horizon))
    told(0)
    names = QUICK_RULES if any(floor.name != "engagement" for floor in floors) else ()
    with ThreadPoolExecutor(2) as beside:  # rules are played, and what plays is compiled, while policies are found
        rules = beside.submit(_rules, env, names, seed)
        ready = beside.submit(prepare_alone, env, EVALUATION_EPISODES)
        engaging, teaching = policies_alone(env, seed)
        ready.result()
        played = engaging.play(env, episodes=EVALUATION_EPISODES, seed=seed)
        taught = [values_of(env, teaching.play(env, episodes=EVALUATION_EPISODES, seed=seed), 0)] if names else []
        taught += rules.result()
    told(1)
    return engaging, played, _most(floors, values_of(env, played, 0), taught)


def _most(floors: tuple[Floor, ...], unconstrained: Values, teaching: Sequence[Values]) -> dict[str, float]:
    """The most that is known to be reached of what each floor is about."""
    return {
        floor.name: unconstrained.ret
        if floor.name == "engagement"
        else max(values.reached(floor.name) for values in teaching)
        for floor in floors
    }


def _rules(env: Environment[Any], names: Sequence[str], seed: int) -> list[Values]:
    """What rules that apply are worth."""

    def play(name: str) -> Values | None:
        entry = METHODS[name]
        assert isinstance(entry, RuleEntry)
        episodes = PLANNED_EPISODES if name == "planning" else EVALUATION_EPISODES
        try:
            return values_of(env, RulePolicies(entry.build(), 1).play(env, episodes=episodes, seed=seed), 0)
        except DoesNotApply:
            return None

    return [values for values in one_ahead(play, names) if values is not None]
