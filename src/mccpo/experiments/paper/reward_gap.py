"""The paper's robustness check: the gate at several rewards of the safe action."""

from __future__ import annotations

from typing import Any

from mccpo.env import Gate, make
from mccpo.errors import InputError
from mccpo.experiments.finite import aims, tests
from mccpo.experiments.options import Options, Session
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.paper.gate import ENVIRONMENT, NOTE_MULTIPLIER, NOTE_POST_HOC, is_the_papers, solve_at
from mccpo.experiments.table import NOTE_AVERAGED, Produced, protocol, setting

REWARDS = (0.5, 0.6, 0.7)


def produce(options: Options, session: Session) -> Produced:
    """Runs the gate at R = 0.5, 0.6 and 0.7."""
    if "R" in options.parameters:
        raise InputError("reward-gap sets R itself", fix="run `mccpo reproduce gate --set R=…` for one R")
    results: dict[str, Any] = {
        "table": "reward-gap",
        "title": "Gate at several rewards of the safe action",
        "protocol": protocol(options.plan(Gate()), R=list(REWARDS)),
        "environment": ENVIRONMENT,
        "settings": {},
        "tests": {},
        "notes": [NOTE_AVERAGED, NOTE_POST_HOC, NOTE_MULTIPLIER, _note_paper()],
    }
    curves = {}
    for R in REWARDS:
        name = f"R={R}"
        env = make("gate", R=R, **options.parameters)
        assert isinstance(env, Gate)
        task, outcome = solve_at(env, options, session, f"reward-gap {name}")
        rows = paper.rows("gate") if is_the_papers(env, task) else {}
        results["settings"][name] = setting(task, outcome, rows, aims(task))
        results["tests"] |= {f"{name}: {test}": found for test, found in tests(outcome.rows).items()}
        curves[name] = outcome.curves
    return Produced(results, curves)


def _note_paper() -> str:
    gap = paper.tables()["gate"]["reward_gap"]
    return (
        f"Of this sweep the paper reports only bounds for MC-CPO: π(hack) below {gap['pi_hack_below']}, J_c about "
        f"{gap['J_c_about']}, and a return that grows with R."
    )
