"""The paper's second table: five concepts in a chain, stochastic mastery, one budget on engagement without learning."""

from __future__ import annotations

from mccpo.env import Chain, make
from mccpo.exact import front
from mccpo.experiments.finite import aims, run, tests
from mccpo.experiments.options import Level, Options, Session
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.problem import pose_finite
from mccpo.experiments.table import NOTE_AVERAGED, Produced, description, front_points, fronts, protocol, solved_setting
from mccpo.experiments.tables import register_table
from mccpo.runs.results import Results, TradeOff

NOTE_BUDGET = (
    "The paper does not state its budget. At the cost level that its MC-CPO reached, J_c4 = 2.592, the optimum returns "
    "3.7465; its learner returned 3.538 ± 0.553 there. The default here is κ = 0.5 of the exact unconstrained cost; "
    "--budget c4=2.592 gives the paper's level."
)
NOTE_FACE = (
    "The optimum is a face: every policy that uses only hack and the next concept, at J_c4 = d_4, is optimal. The "
    "table random-finite tests learners on problems whose optimum is a point."
)
NOTE_POST_HOC = (
    "Post-hoc: the filter removes hack and renormalises over the ready concepts. What is left of a policy that all but "
    "never used them is a residue of its training, so J_c2 and ΔK of this row say how a learner started, not what it "
    "learnt; its return is 0.6·D(5) whatever that residue is. For the same reason the unconstrained raw RHSI, a return "
    "over a gain that goes to 0, measures how long one trained."
)


@register_table("chain", finite=Chain)
def produce(options: Options, session: Session) -> Produced:
    """Runs the table at one budget."""
    env = make("chain", **options.parameters)
    assert isinstance(env, Chain)
    kappa = options.only_kappa("chain")
    task = pose_finite(env, kappa=kappa, budgets=options.budgets)
    plan = options.plan(env)
    outcome = run(task, options.methods, plan, "chain", session)
    stated = {} if options.parameters else paper.rows("chain")
    results = Results(
        table="chain",
        title="Chain: five concepts, stochastic mastery",
        settings=(solved_setting("", task, outcome, stated, aims(task)),),
        protocol=protocol(plan, gamma=env.gamma, horizon=env.horizon, theta=env.theta, p_learn=env.p_learn),
        environment=description(env),
        tests=tests(outcome.rows),
        notes=(NOTE_AVERAGED, NOTE_BUDGET, NOTE_FACE, NOTE_POST_HOC),
        tradeoff=TradeOff(
            fronts(options.methods, [Level(kappa)], [outcome]),
            optimum=front_points(task, front(task.model, "c4", budgets=task.budgets)),
        ),
    )
    return Produced(results, {"chain": outcome.curves})
