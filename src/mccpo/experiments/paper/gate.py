"""The paper's first table: one decision, and the safety gap between filtering afterwards and learning within bounds."""

from __future__ import annotations

from mccpo.env import Gate, make
from mccpo.experiments.finite import Outcome, aims, run, tests
from mccpo.experiments.options import Options, Session
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.problem import BudgetedProblem, pose_finite
from mccpo.experiments.table import NOTE_AVERAGED, Produced, protocol, solved_setting
from mccpo.experiments.tables import register_table
from mccpo.runs.results import Results

ENVIRONMENT = (
    "One decision between hack, which pays 1 at cost 1, and prog, which pays R and teaches. The budget is 0, so the "
    "best safe return is R. An unmasked policy can also choose the concept that is not ready, which pays nothing."
)
NOTE_POST_HOC = (
    "Post-hoc: return, cost and violation rate are those of the executed policy, in which a filtered action becomes a "
    "no-op that pays nothing. The paper's row has these beside π(hack) and RHSI of the policy before the filter, which "
    "stand here under 'before the filter'."
)
NOTE_MULTIPLIER = (
    "With a budget of 0 every multiplier of at least 1 - R is optimal. The learnt one grows for as long as hack has "
    "any probability, up to its cap."
)


@register_table("gate", finite=Gate)
def produce(options: Options, session: Session) -> Produced:
    """Runs the table at one R."""
    env = make("gate", **options.parameters)
    assert isinstance(env, Gate)
    task, outcome = solve_at(env, options, session, "gate")
    stated = paper.rows("gate") if is_the_papers(env, task) else {}
    results = Results(
        table="gate",
        title="Gate: one decision",
        settings=(solved_setting("", task, outcome, stated, aims(task)),),
        protocol=protocol(options.plan(env), gamma=env.gamma, theta=env.theta, R=env.R),
        environment=ENVIRONMENT,
        tests=tests(outcome.rows),
        notes=(NOTE_AVERAGED, NOTE_POST_HOC, NOTE_MULTIPLIER),
    )
    return Produced(results, {"gate": outcome.curves})


def is_the_papers(env: Gate, task: BudgetedProblem) -> bool:
    """Whether this is the gate that the paper reports, so that its numbers can be set beside ours."""
    return (env.R, env.gamma, task.budgets) == (0.6, 0.99, {"c": 0.0})


def solve_at(env: Gate, options: Options, session: Session, label: str) -> tuple[BudgetedProblem, Outcome]:
    """Poses and trains one gate."""
    task = pose_finite(env, kappa=options.only_kappa("gate"), budgets=options.budgets)
    return task, run(task, options.methods, options.plan(env), label, session)
