"""What learning from answers is worth: a platform is drawn from the prior, taught, learnt from, and taught again.

A tutor is made of the curriculum of tutor-15 without logs, as `mccpo tutor` makes it. Its policy teaches so many
learners of a drawn platform. From their answers the tutor is made again, as `mccpo recalibrate` makes it. Both then
meet fresh learners of that platform. What they are worth there is told by the truth: by what learners have mastered,
not by what either tutor believes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from mccpo.curriculum import Curriculum
from mccpo.env import Constraints, Population, PriorTutor, Tutoring, make
from mccpo.errors import InputError
from mccpo.evaluation import Summary, summarise
from mccpo.experiments import measuring
from mccpo.experiments.options import Options, Session
from mccpo.experiments.problem import Problem
from mccpo.experiments.table import Produced, neural_protocol
from mccpo.experiments.tables import register_table
from mccpo.experiments.worth import values_of
from mccpo.mastery import Responses
from mccpo.methods import (
    EVALUATION_EPISODES,
    METHODS,
    Moment,
    NeuralPlan,
    Policy,
    RuleEntry,
    RulePolicies,
    account,
    perform,
    summed,
)
from mccpo.policy import engagement_of
from mccpo.runs.results import Results, Rows, Setting

if TYPE_CHECKING:
    from mccpo.experiments.from_graph import LearnersOfPrior

FROM_ANSWERS = "from-answers"
LEARNERS = (20, 100, 500)
"""How many learners answer before the tutor is made again."""
COMPARED = ("pretrained", "random-ready")
"""The first of them teaches the learners who are learnt from."""
TEACHES = "mastery-learning"
"""The rule whose learning, with the learners of a tutor, the floor is a share of."""
FLOOR, READY = 0.8, 0.95
SEEDS_A_PLATFORM, STEPS = 2, 100_000
_PLATFORM, _TEACHING, _TRUTH = 101, 102, 103  # set apart what is drawn for each

ENVIRONMENT = (
    "The curriculum is that of tutor-15, made into a tutor as `mccpo tutor` does without logs. The gate asks for a "
    "chance of 0.95, and learning must reach 80 % of what mastery-learning reaches with the learners of the tutor. A "
    "platform has one set of chances for every concept, drawn from the prior."
)
NOTE_TRUTH = (
    "Every row is measured with fresh learners of the platform. Return goes by what they have mastered in truth, since "
    "tutors who believe different things would count it differently. 'coverage' is the share of the platform's 60 "
    "chances (four for each concept) that lie within their 90 % intervals."
)
NOTE_PLATFORMS = "There is a platform for every two seeds asked for: 5 by default."


@register_table(FROM_ANSWERS)
def produce(options: Options, session: Session) -> Produced:
    """Makes a tutor, teaches drawn platforms with it, and makes it again from their answers."""
    if options.budgets or options.parameters or options.kappa:
        raise InputError("from-answers has an environment and a floor of its own", fix="leave --kappa, --budget, --set")
    methods, platforms = options.methods_or(COMPARED), max(1, options.seeds // SEEDS_A_PLATFORM)
    steps = STEPS if options.steps is None else options.steps
    plan = replace(options, steps=steps, seeds=1).neural_plan(FROM_ANSWERS)
    settings = tuple(_settings(methods, plan, platforms, session))
    results = Results(
        table=FROM_ANSWERS,
        title="What learning from answers is worth",
        settings=settings,
        protocol=neural_protocol(plan, platforms=platforms, ready=READY, floor=FLOOR, learners=list(LEARNERS)),
        environment=ENVIRONMENT,
        notes=(NOTE_TRUTH, NOTE_PLATFORMS),
        finding=finding(settings, methods[0]),
    )
    return Produced(results, {})


def _settings(methods: Sequence[str], plan: NeuralPlan, platforms: int, session: Session) -> Iterator[Setting]:
    """The rows before any answer, and after those of so many learners; one number a platform."""
    from mccpo.experiments.from_graph import STATED, learn_platform, learners_of_prior  # noqa: PLC0415 - polars

    curriculum = _curriculum()
    graph, first = curriculum.to_raw(), learners_of_prior(curriculum.to_raw(), confidence=READY, seed=plan.seed)
    taught = _policies("before", first, methods, plan, session)
    told: dict[int, list[dict[str, dict[str, float]]]] = {number: [] for number in (0, *LEARNERS)}
    for at in range(platforms):
        platform = STATED.draw(1, len(curriculum), 1000 * plan.seed + 10 * at + _PLATFORM)
        told[0].append({name: _in_truth(_with(first, platform), one, plan, at) for name, one in taught.items()})
        answers = _answers(_with(first, platform), taught[methods[0]], plan, at)
        for number in LEARNERS:
            learnt = learn_platform(answers.where(answers.learner < number), seed=plan.seed)
            made = learners_of_prior(graph, confidence=READY, seed=plan.seed, prior=learnt)
            again = _policies(f"platform {at} after {number}", made, methods, plan, session)
            rows = {name: _in_truth(_with(made, platform), one, plan, at) for name, one in again.items()}
            low, high = np.quantile(learnt.chances, [0.05, 0.95], axis=0)
            true = np.stack([values[0] for values in platform], axis=-1)
            rows[methods[0]]["coverage"] = float(((true >= low - 1e-6) & (true <= high + 1e-6)).mean())
            told[number].append(rows)
    for number, drawn in told.items():
        label = f"after {number} learners" if number else "before any answer"
        yield Setting(label, {}, {name: _summaries([rows[name] for rows in drawn]) for name in methods})


def _curriculum() -> Curriculum:
    env = make("tutor-15")
    assert isinstance(env, Tutoring)
    return env.curriculum


def _summaries(rows: list[dict[str, float]]) -> dict[str, Summary]:
    return {metric: summarise(np.array([row[metric] for row in rows])) for metric in rows[0]}


def _policies(
    label: str, made: LearnersOfPrior, methods: Sequence[str], plan: NeuralPlan, session: Session
) -> dict[str, Policy]:
    """The policies of methods, for the learners that a tutor is made for."""
    env, entry = made.tutor, METHODS[TEACHES]
    assert isinstance(entry, RuleEntry)
    worth = values_of(env, RulePolicies(entry.build(), 1).play(env, episodes=EVALUATION_EPISODES, seed=plan.seed), 0)
    asked = Constraints({}, floors={"learning": FLOOR * worth.learning}, reach={"learning": worth.learning})
    problem = Problem(label, env, env, worth, worth, plan=plan)
    trained = measuring.train(problem, methods, asked, f"{FROM_ANSWERS} {label}", session)
    return {name: one.policies.policy(env, 0) for name, one in trained.items()}


def _with(made: LearnersOfPrior, platform: Population) -> PriorTutor:
    """The tutor as it is, with the learners of a platform."""
    return PriorTutor(**made.tutor.parameters | {"curriculum_seed": None, "population": platform})


def _answers(env: PriorTutor, policy: Policy, plan: NeuralPlan, platform: int) -> Responses:
    """What the learners of a platform answer while a policy teaches them."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(plan.seed), _TEACHING), platform)
    action, correct = (np.asarray(seen).T for seen in _taught(env, policy, key))
    learner, time = np.nonzero(action < env.num_actions)
    names = tuple(map(str, range(len(action))))
    return Responses(
        learner=learner,
        concept=action[learner, time],
        correct=correct[learner, time],
        event=np.arange(len(learner)),
        time=np.full(len(learner), np.nan),
        learners=names,
        concepts=env.curriculum.concepts,
    )


@eqx.filter_jit
def _taught(env: PriorTutor, policy: Policy, key: PRNGKeyArray) -> Any:
    return perform(env, policy, key, max(LEARNERS), lambda moment: (moment.action, moment.step.state.correct))


def _in_truth(env: PriorTutor, policy: Policy, plan: NeuralPlan, platform: int) -> dict[str, float]:
    """What a policy is worth with the learners of a platform, by what they have mastered."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(plan.seed), _TRUTH), platform)
    played = jax.tree.map(lambda leaf: np.asarray(leaf)[None], _played(env, policy, key))
    worth = values_of(env, played, 0)
    return {
        "return": worth.ret,
        "learning": float(worth.learning),
        "dK": worth.gain,
        "mastered": float(worth.mastered),
        "true_violation_rate": float(worth.true_violation_rate or 0.0),
    }


@eqx.filter_jit
def _played(env: PriorTutor, policy: Policy, key: PRNGKeyArray) -> Any:
    def look(moment: Moment) -> Any:
        at, episodes = jnp.minimum(moment.action, env.num_actions - 1), jnp.arange(EVALUATION_EPISODES)
        known = moment.state.latent.mastered[at, episodes].astype(jnp.float32)
        felt = engagement_of(env.prices, jnp.asarray(env.demand)[at], known, moment.state.novelty[at, episodes])
        counts = moment.alive & (moment.action < env.num_actions)
        return account(env, moment)._replace(ret=jnp.where(counts, felt, 0.0))

    return summed(env, perform(env, policy, key, EVALUATION_EPISODES, look))


def finding(settings: Sequence[Setting], method: str) -> str:
    """What a method teaches before and after, and how often learners were unready in truth."""

    def words(rows: Rows) -> str:
        row = rows[method]
        return f"{row['learning'].mean:.2f} and {row['true_violation_rate'].mean:.1%}"

    told = ", ".join(f"{setting.name} {words(setting.rows)}" for setting in settings)
    return f"Of {method}, learning and the share of lessons that learners were unready for in truth: {told}."
