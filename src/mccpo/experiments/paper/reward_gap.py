"""The paper's robustness check: the gate at several rewards of the safe action."""

from __future__ import annotations

from mccpo.env import Gate, make
from mccpo.errors import InputError
from mccpo.evaluation import Curves, Difference
from mccpo.experiments.finite import aims, tests
from mccpo.experiments.options import Options, Session
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.paper.gate import ENVIRONMENT, NOTE_MULTIPLIER, NOTE_POST_HOC, is_the_papers, solve_at
from mccpo.experiments.table import NOTE_AVERAGED, Produced, protocol, solved_setting
from mccpo.experiments.tables import register_table
from mccpo.runs.results import Results, Setting

REWARDS = (0.5, 0.6, 0.7)


@register_table("reward-gap", finite=Gate)
def produce(options: Options, session: Session) -> Produced:
    """Runs the gate at R = 0.5, 0.6 and 0.7."""
    if "R" in options.parameters:
        raise InputError("reward-gap sets R itself", fix="run `mccpo reproduce gate --set R=…` for one R")
    settings: list[Setting] = []
    between: dict[str, Difference] = {}
    curves: dict[str, Curves] = {}
    for R in REWARDS:
        name = f"R={R}"
        env = make("gate", R=R, **options.parameters)
        assert isinstance(env, Gate)
        task, outcome = solve_at(env, options, session, f"reward-gap {name}")
        stated = paper.rows("gate") if is_the_papers(env, task) else {}
        settings.append(solved_setting(name, task, outcome, stated, aims(task)))
        between |= {f"{name}: {pair}": test for pair, test in tests(outcome.rows).items()}
        curves[name] = outcome.curves
    results = Results(
        table="reward-gap",
        title="Gate at several rewards of the safe action",
        settings=tuple(settings),
        protocol=protocol(options.plan(Gate()), R=list(REWARDS)),
        environment=ENVIRONMENT,
        tests=between,
        notes=(NOTE_AVERAGED, NOTE_POST_HOC, NOTE_MULTIPLIER, _note_paper()),
    )
    return Produced(results, curves)


def _note_paper() -> str:
    gap = paper.tables()["gate"]["reward_gap"]
    return (
        f"Of this sweep the paper reports only bounds for MC-CPO: π(hack) below {gap['pi_hack_below']}, J_c about "
        f"{gap['J_c_about']}, and a return that grows with R."
    )
