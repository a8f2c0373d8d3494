"""`mccpo solve`: the exact optimum of a finite environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mccpo.cli import flags
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, number, parse_pairs
from mccpo.errors import GateFailed, InputError

if TYPE_CHECKING:
    from mccpo.env import FiniteEnvironment
    from mccpo.exact import FiniteModel, Optimum

_SHOWN = 12
"""How many states the text lists; the JSON has all that the optimum visits."""


def solve(
    environment: str,
    /,
    *,
    budget: flags.BudgetFlag = None,
    kappa: Annotated[float | None, Parameter(help="Budgets as a share of the unconstrained costs.")] = None,
    front: Annotated[str | None, Parameter(help="Also trace the front over the budget of this cost.")] = None,
    points: Annotated[WholeNumber, Parameter(help="Points of the front.")] = 21,
    set: flags.SetFlag = None,
    curriculum: flags.CurriculumFlag = None,
    json: JsonFlag = False,
) -> None:
    """Find the exact optimum of a finite environment under budgets: its value, multipliers, policy and front.

    Without --budget or --kappa the optimum is unconstrained. Budgets that no policy meets exit 3, with the smallest
    conflicting set, the least that each cost can reach and the scaling that would do.

    Parameters
    ----------
    environment
        gate, chain or random-finite.
    """
    from mccpo import exact
    from mccpo.env import FiniteEnvironment, make

    env = make(environment, **flags.environment_parameters(set, curriculum))
    if not isinstance(env, FiniteEnvironment):
        raise InputError(f"{environment} is not finite", fix="choose a finite environment")
    if points < 2:
        raise InputError(f"--points is {points}", fix="give at least 2")
    model = exact.enumerate_model(env)
    budgets = _budgets(model, kappa, parse_pairs(budget or [], "--budget", number))
    result: dict[str, Any] = {"environment": environment, "states": model.num_states, "budgets": budgets}
    found = exact.solve(model, budgets)
    if isinstance(found, exact.Infeasible):
        result |= {"feasible": False, "conflict": found.conflict, "least": found.least, "scaling": found.scaling}
        emit(result, as_json=json, text=f"{found.what(budgets)}; {found.fix()}")
        raise GateFailed("the budgets cannot be met")
    result |= {"feasible": True, **_values(found), "policy": _policy(env, model, found)}
    if front is not None:
        traced = exact.front(model, front, budgets=budgets, points=points)
        result["front"] = [{"budget": level, **_values(one)} for level, one in traced]
    emit(result, as_json=json, text=lambda: _text(result, front))


def _budgets(model: FiniteModel, kappa: float | None, given: dict[str, float]) -> dict[str, float]:
    from mccpo.exact import Optimum, solve

    if kappa is None:
        return given
    if not 0 < kappa < float("inf"):
        raise InputError(f"--kappa is {kappa}", fix="give a share of the unconstrained cost, such as 0.5")
    free = solve(model)
    assert isinstance(free, Optimum)  # without budgets there is always one
    return {name: kappa * free.values.costs[name] for name in model.constrained} | given


def _values(found: Optimum) -> dict[str, Any]:
    values = found.values
    return {
        "return": values.ret,
        **{f"J_{name}": cost for name, cost in values.costs.items()},
        "dK": values.gain,
        "pi_hack": values.pi_hack,
        "violation_rate": values.violation_rate,
        "multipliers": found.multipliers,
    }


def _policy(env: FiniteEnvironment[Any], model: FiniteModel, found: Optimum) -> list[dict[str, Any]]:
    """The optimum's choices in every state that it visits, the most visited first."""
    import numpy as np

    from mccpo.exact import occupancy

    visits = occupancy(model, np.pad(found.policy, ((0, 0), (0, 1))), model.gamma).sum(axis=1)
    order = [state for state in np.argsort(-visits, kind="stable") if visits[state] > 1e-9]
    return [
        {
            "state": env.describe(env.state(model.index[state])),
            "visits": float(visits[state]),
            "probabilities": {
                name: float(chance)
                for name, chance in zip(model.action_names, found.policy[state], strict=True)
                if chance > 1e-9
            },
        }
        for state in order
    ]


def _text(result: dict[str, Any], front: str | None) -> str:
    asked = ", ".join(f"{name} ≤ {limit:g}" for name, limit in result["budgets"].items()) or "none"
    lines = [f"{result['environment']}: {result['states']} states, budgets: {asked}"]
    lines += [f"  {name:<15} {value:.6g}" for name, value in result.items() if name[:2] == "J_" or name in _LINES]
    lines += [f"  {'lambda_' + name:<15} {value:.6g}" for name, value in result["multipliers"].items()]
    lines.append("optimal policy, where it goes most:")
    for entry in result["policy"][:_SHOWN]:
        chances = ", ".join(f"{name} {chance:.4f}" for name, chance in entry["probabilities"].items())
        lines.append(f"  {entry['state']:<28} visits {entry['visits']:.4f}   {chances}")
    hidden = len(result["policy"]) - _SHOWN
    lines += [f"  and {hidden} more states (--json lists all)"] if hidden > 0 else []
    if front is not None:
        lines.append(f"front over {front}:       budget       return       lambda")
        lines += [
            f"  {'':<20}{one['budget']:>12.5f} {one['return']:>12.5f} {one['multipliers'][front]:>12.5f}"
            for one in result["front"]
        ]
    return "\n".join(lines)


_LINES = ("return", "dK", "pi_hack", "violation_rate")
