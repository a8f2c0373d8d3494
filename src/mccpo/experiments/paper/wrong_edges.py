"""What wrong edges of the graph do: policies and gate go by a graph that is wrong, learners by the true one.

For every share of edges that are missing, extra or reversed, a tutor is made of the wrong graph as `mccpo tutor` makes
it without logs, and MC-CPO is trained in what that tutor believes. Then it and the rules meet learners who need what
the true graph says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mccpo.curriculum import MISTAKES, Curriculum, Mistake, misstate, wrong_edges
from mccpo.env import Constraints, MisstatedTutor, Population, PriorTutor, Tutoring, make
from mccpo.errors import InputError
from mccpo.evaluation import Summary, summarise
from mccpo.exact import Values
from mccpo.experiments import measuring
from mccpo.experiments.options import Options, Session
from mccpo.experiments.problem import Problem
from mccpo.experiments.table import NOTE_EVALUATED, Produced, neural_protocol
from mccpo.experiments.tables import register_table
from mccpo.experiments.worth import values_of
from mccpo.methods import EVALUATION_EPISODES, METHODS, NeuralPlan, RuleEntry, RulePolicies
from mccpo.runs.results import Results, Row, Rows, Setting

if TYPE_CHECKING:
    from mccpo.experiments.from_graph import LearnersOfPrior

SHARES = (0.05, 0.1, 0.2)
COMPARED = ("mc-cpo", "random-ready", "mastery-learning")
TEACHES = "mastery-learning"
"""The rule whose learning on the true graph the floor is a share of."""
FLOOR, READY = 0.8, 0.95
CURRICULA: dict[str, dict[str, int]] = {"tutor-15": {}, "random-40": {"curriculum_seed": 1, "concepts": 40}}
"""The true graphs: that of tutor-15, and a random one of 40 concepts."""
SEEDS_A_DRAW, STEPS = 5, 100_000
TOLD = ("return", "learning", "dK", "mastered", "true_violation_rate", "prerequisite_violation_rate")

ENVIRONMENT = (
    "The curriculum is that of tutor-15, or a random one of 40 concepts, made into a tutor as `mccpo tutor` does "
    "without logs. The gate asks for a chance of 0.95, and learning must reach 80 % of what mastery-learning reaches "
    "with the true graph. A lesson on a concept whose true prerequisites are not all mastered brings a tenth."
)
NOTE_TRUTH = (
    "Every row is measured with learners who need what the true graph says; 'true_violation_rate' is the share of "
    "lessons that they were not ready for. Gate, policy and rules see the wrong graph alone, and MC-CPO is trained "
    "with learners as that graph has them."
)
NOTE_DRAWS = (
    "Which edges are wrong is drawn anew for each draw; a draw has one policy. There is a draw for every five seeds "
    "asked for: 2 by default."
)


@dataclass(frozen=True, eq=False)
class _Case:
    """A graph as a tutor has it: what the tutor believes, what is true, and how many edges are wrong."""

    name: str
    believed: PriorTutor
    true: MisstatedTutor
    wrong: int


@register_table("wrong-edges")
def produce(options: Options, session: Session) -> Produced:
    """Trains and evaluates the methods on the curriculum of tutor-15 with every share of wrong edges of every kind."""
    return _produce("wrong-edges", "tutor-15", options, session)


@register_table("wrong-edges-40")
def produce_40(options: Options, session: Session) -> Produced:
    """The same on a random curriculum of 40 concepts."""
    return _produce("wrong-edges-40", "random-40", options, session)


def _produce(table: str, name: str, options: Options, session: Session) -> Produced:
    if options.budgets or options.parameters or options.kappa:
        raise InputError(f"{table} has environments and floors of its own", fix="leave --kappa, --budget, --set out")
    methods, plan, draws = options.methods_or(COMPARED), _plan(options), max(1, options.seeds // SEEDS_A_DRAW)
    settings = tuple(_settings(name, _truth(name), methods, plan, draws, session))
    results = Results(
        table=table,
        title=f"What wrong edges of the graph do on {name}",
        settings=settings,
        protocol=neural_protocol(plan, draws=draws, ready=READY, floor=FLOOR, shares=list(SHARES)),
        environment=ENVIRONMENT,
        notes=(NOTE_EVALUATED, NOTE_TRUTH, NOTE_DRAWS),
        finding=finding(name, {setting.name: setting.rows for setting in settings}),
    )
    return Produced(results, {})


def _truth(name: str) -> Curriculum:
    env = make("tutor-15", **CURRICULA[name])
    assert isinstance(env, Tutoring)
    return env.curriculum


def _plan(options: Options) -> NeuralPlan:
    """How a draw is trained: one seed, and fewer steps than the paper's where nobody asks for others."""
    steps = STEPS if options.steps is None else options.steps
    return replace(options, steps=steps, seeds=1).neural_plan("wrong-edges")


def _settings(
    name: str, truth: Curriculum, methods: tuple[str, ...], plan: NeuralPlan, draws: int, session: Session
) -> Iterator[Setting]:
    """The rows of one curriculum: with the true graph, then with every mistake and share."""
    made = _tutor(truth, plan)
    right = _case("", made.tutor, truth, truth)
    asked = _asked(right.true, plan)
    floors = asked.constraints.floors
    rows = _measured(name, [right], methods, asked, plan, session)
    yield Setting(f"{name}, no wrong edges", {}, rows, floors=floors)
    for mistake in MISTAKES:
        for share in SHARES:
            cases = [_wrong(truth, made.tutor, mistake, share, plan, draw) for draw in range(draws)]
            label = f"{name}, {share:.0%} {mistake}"
            yield Setting(label, {}, _measured(label, cases, methods, asked, plan, session), floors=floors)


def _tutor(curriculum: Curriculum, plan: NeuralPlan) -> LearnersOfPrior:
    from mccpo.experiments.from_graph import learners_of_prior  # noqa: PLC0415 - polars: other tables do without it

    return learners_of_prior(curriculum.to_raw(), confidence=READY, seed=plan.seed)


def _wrong(truth: Curriculum, right: PriorTutor, mistake: Mistake, share: float, plan: NeuralPlan, draw: int) -> _Case:
    """A tutor of a wrong graph, of the learners that the right one has."""
    stated = misstate(truth, mistake, share, seed=1000 * plan.seed + draw)
    assert right.population is not None
    places = [truth.index(concept) for concept in stated.concepts]
    own = _tutor(stated, plan).tutor
    return _case(f"draw {draw}", _with(PriorTutor, own, population=right.population.of_concepts(places)), stated, truth)


def _case(name: str, believed: PriorTutor, stated: Curriculum, truth: Curriculum) -> _Case:
    true = _with(MisstatedTutor, believed, truth=truth)
    assert isinstance(true, MisstatedTutor)
    return _Case(name, believed, true, wrong_edges(stated, truth))


def _with(kind: type[PriorTutor], env: PriorTutor, **other: Population | Curriculum) -> PriorTutor:
    return kind(**env.parameters | {"curriculum_seed": None} | other)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is asked for on a curriculum: a share of what a rule that teaches is worth where its graph is right."""

    worth: Values

    @property
    def constraints(self) -> Constraints:
        reach = self.worth.learning
        return Constraints(budgets={}, floors={"learning": FLOOR * reach}, reach={"learning": reach})


def _asked(true: MisstatedTutor, plan: NeuralPlan) -> _Asked:
    entry = METHODS[TEACHES]
    assert isinstance(entry, RuleEntry)
    played = RulePolicies(entry.build(), 1).play(true, episodes=EVALUATION_EPISODES, seed=plan.seed)
    return _Asked(values_of(true, played, 0))


def _measured(
    label: str, cases: list[_Case], methods: tuple[str, ...], asked: _Asked, plan: NeuralPlan, session: Session
) -> Rows:
    """What the methods are worth in truth, one number a draw."""
    drawn = [_rows(f"wrong-edges {label} {case.name}".strip(), case, methods, asked, plan, session) for case in cases]
    return {method: _over_draws([rows[method] for rows in drawn], [case.wrong for case in cases]) for method in methods}


def _rows(label: str, case: _Case, methods: tuple[str, ...], asked: _Asked, plan: NeuralPlan, session: Session) -> Rows:
    # Nothing here is a share of what an unconstrained policy costs, so the rule's worth takes the place of the anchor.
    problem = Problem(label, case.believed, case.believed, asked.worth, asked.worth, plan=plan)
    trained = measuring.train(problem, methods, asked.constraints, label, session)
    return {name: measuring.measured(problem, method, asked.constraints, case.true) for name, method in trained.items()}


def _over_draws(rows: list[Row], wrong: list[int]) -> dict[str, Summary]:
    told = {
        metric: summarise(np.concatenate([np.asarray(row[metric].per_seed) for row in rows]))
        for metric in TOLD
        if metric in rows[0]
    }
    return told | {"wrong_edges": summarise(np.asarray(wrong, float))}


def finding(name: str, rows: dict[str, Rows]) -> str:
    """What the most wrong edges of each kind leave of learning and readiness, by method."""
    right, words = rows[f"{name}, no wrong edges"], []
    for mistake in MISTAKES:
        wrong = rows[f"{name}, {SHARES[-1]:.0%} {mistake}"]
        told = ", ".join(
            f"{method} {row['learning'].mean / right[method]['learning'].mean:.0%} and "
            f"{row['true_violation_rate'].mean:.1%}"
            for method, row in wrong.items()
        )
        words.append(f"with {SHARES[-1]:.0%} {mistake}: {told}")
    return (
        "Of what is learnt with the true graph, wrong edges leave, with this share of lessons that learners are not "
        f"ready for in truth: {'; '.join(words)}."
    )
