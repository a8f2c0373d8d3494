"""`mccpo solve`: the exact optimum of a finite environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mccpo.cli import flags
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, number, parse_pairs
from mccpo.errors import GateFailed, InputError

if TYPE_CHECKING:
    from mccpo.experiments import solve as experiment

_SHOWN = 12
"""How many states the text lists; the JSON has all that the optimum visits."""


def solve(
    environment: str,
    /,
    *,
    budget: flags.BudgetFlag = None,
    kappa: Annotated[float | None, Parameter(help="Budgets as a share of the unconstrained costs.")] = None,
    floor: flags.FloorFlag = None,
    objective: flags.ObjectiveFlag = "engagement",
    front: Annotated[str | None, Parameter(help="Also trace the front over the budget of this cost.")] = None,
    points: Annotated[WholeNumber, Parameter(help="Points of the front.")] = 21,
    set: flags.SetFlag = None,
    curriculum: flags.CurriculumFlag = None,
    json: JsonFlag = False,
) -> None:
    """Find the exact optimum of a finite environment under budgets and floors: its value, multipliers and policy.

    Without --budget, --kappa or --floor the optimum is unconstrained. Where no policy meets them it exits 3. It names
    the smallest conflicting set, what each of them can reach by itself, and what would do.

    Parameters
    ----------
    environment
        gate, chain or random-finite.
    """
    from mccpo.env import FiniteEnvironment, make
    from mccpo.experiments import parse_floor
    from mccpo.experiments import solve as experiment

    env = make(environment, **flags.environment_parameters(set, curriculum))
    if not isinstance(env, FiniteEnvironment):
        raise InputError(f"{environment} is not finite", fix="choose a finite environment")
    if points < 2:
        raise InputError(f"--points is {points}", fix="give at least 2")
    budgets = parse_pairs(budget or [], "--budget", number)
    if kappa is not None and not 0 < kappa < float("inf"):
        raise InputError(f"--kappa is {kappa}", fix="give a share of the unconstrained cost, such as 0.5")
    if front is not None and (floor or objective != "engagement"):
        raise InputError("--front goes with budgets alone", fix="leave --floor and --objective out")
    solved = experiment.solution(
        env,
        name=environment,
        budgets=budgets,
        kappa=kappa,
        floors=[parse_floor(text) for text in floor or ()],
        objective=objective,
        cost=front,
        points=points,
    )
    emit(solved.as_json(), as_json=json, text=lambda: _text(solved, front))
    if solved.optimum is None:
        raise GateFailed("the budgets and floors cannot be met" if solved.floors else "the budgets cannot be met")


def _text(solved: experiment.Solution, front: str | None) -> str:
    if solved.conflict is not None:
        return f"{solved.conflict.what(solved.budgets, solved.floors)}; {solved.conflict.fix()}"
    assert solved.optimum is not None  # where there is no conflict
    asked = ", ".join(f"{name} ≤ {limit:g}" for name, limit in solved.budgets.items()) or "none"
    least = ", ".join(f"{name} ≥ {floor:g}" for name, floor in solved.floors.items())
    held = f"budgets: {asked}" + (f", floors: {least}" if least else "")
    lines = [f"{solved.environment}: {solved.states} states, {held}"]
    lines += [f"  {name:<15} {value:.6g}" for name, value in solved.optimum.metrics.items()]
    lines += [f"  {'lambda_' + name:<15} {value:.6g}" for name, value in solved.optimum.multipliers.items()]
    lines.append("optimal policy, where it goes most:")
    for visited in solved.policy[:_SHOWN]:
        chances = ", ".join(f"{name} {chance:.4f}" for name, chance in visited.probabilities.items())
        lines.append(f"  {visited.state:<28} visits {visited.visits:.4f}   {chances}")
    hidden = len(solved.policy) - _SHOWN
    lines += [f"  and {hidden} more states (--json lists all)"] if hidden > 0 else []
    if front is not None:
        lines.append(f"front over {front}:       budget       return       lambda")
        lines += [
            f"  {'':<20}{point.budget:>12.5f} {point.metrics['return']:>12.5f} {point.multipliers[front]:>12.5f}"
            for point in solved.front or ()
        ]
    return "\n".join(lines)
