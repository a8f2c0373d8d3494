"""`mccpo reproduce`: the paper's tables, ours beside the paper's."""

from __future__ import annotations

from mccpo.cli import experiment as flags
from mccpo.cli.output import JsonFlag
from mccpo.errors import InputError


def reproduce(
    table: str,
    /,
    *,
    methods: flags.MethodsFlag = None,
    seeds: flags.SeedsFlag = 10,
    episodes: flags.EpisodesFlag = None,
    steps: flags.StepsFlag = None,
    kappa: flags.KappaFlag = None,
    budget: flags.BudgetFlag = None,
    set: flags.SetFlag = None,
    seed: flags.SeedFlag = 0,
    out: flags.OutFlag = None,
    resume: flags.ResumeFlag = False,
    require_satisfied: flags.RequireFlag = False,
    json: JsonFlag = False,
) -> None:
    """Run the paper's protocol and set our numbers beside the paper's and the exact optimum, with a verdict on each.

    Parameters
    ----------
    table
        gate, reward-gap, chain, tutor-15, tutor-25, random-finite (ours: twenty random environments), or all.
    """
    from mccpo.experiments import TABLES

    if table != "all" and table not in TABLES:
        raise InputError(f"there is no table '{table}'", fix=f"choose from {', '.join(TABLES)}, all")
    parameters = flags.environment_parameters(set, None)
    options = flags.read_options(methods, seeds, episodes, steps, seed, kappa, budget, parameters)
    if table == "all" and (options.budgets or options.parameters or options.kappa):
        raise InputError("--kappa, --budget and --set belong to one table", fix="name the table instead of all")
    chosen = TABLES if table == "all" else {table: TABLES[table]}
    flags.perform(
        f"reproduce-{table}", chosen, options,
        out=out, resume=resume, as_json=json, require_satisfied=require_satisfied,
    )  # fmt: skip
