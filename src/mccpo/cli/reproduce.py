"""`mccpo reproduce`: the paper's tables, ours beside the paper's."""

from __future__ import annotations

from mccpo.cli.experiment import perform
from mccpo.cli.flags import Training, TrainingFlags
from mccpo.errors import InputError


def reproduce(
    table: str,
    /,
    *,
    flags: TrainingFlags = Training(),  # noqa: B008 - nothing in it can change
) -> None:
    """Run the paper's protocol and set our numbers beside the paper's and the exact optimum, with a verdict on each.

    Parameters
    ----------
    table
        gate, reward-gap, chain, tutor-15, tutor-25, shaping, noise, random-finite (ours: twenty random environments),
        or all.
    """
    from mccpo.experiments import TABLES

    if table != "all" and table not in TABLES:
        raise InputError(f"there is no table '{table}'", fix=f"choose from {', '.join(TABLES)}, all")
    options = flags.options()
    if table == "all" and (options.budgets or options.parameters or options.kappa):
        raise InputError("--kappa, --budget and --set belong to one table", fix="name the table instead of all")
    chosen = TABLES if table == "all" else {table: TABLES[table]}
    perform(f"reproduce-{table}", chosen, options, flags)
