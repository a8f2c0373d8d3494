"""`mccpo reproduce`: the paper's tables, ours beside the paper's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mccpo.cli.commands.experiment import perform
from mccpo.cli.flags import Training, TrainingFlags
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.experiments import Options, Produced, Session


def reproduce(
    table: str,
    /,
    *,
    data: Path | None = None,
    flags: TrainingFlags = Training(),  # noqa: B008 - nothing in it can change
) -> None:
    """Run the paper's protocol and set our numbers beside the paper's and the exact optimum, with a verdict on each.

    Parameters
    ----------
    table
        gate, reward-gap, chain, tutor-15, tutor-25, shaping, noise, random-finite (ours: twenty random environments),
        or all, where --episodes and --steps go to the tables whose length is counted in them; or a table from logs:
        junyi, xes3g5m, assistments-2009, junyi-2015.
    data
        The folder of the data set that a table from logs is made of, or one that has a folder for each.
    """
    from mccpo.experiments import FROM_LOGS, TABLES

    if table not in (*TABLES, *FROM_LOGS, "all"):
        raise InputError(f"there is no table '{table}'", fix=f"choose from {', '.join((*TABLES, *FROM_LOGS))}, all")
    options = flags.options()
    if table in FROM_LOGS:
        if data is None:
            raise InputError(f"{table} is made from logs", fix="name their folder with --data DIR")
        from mccpo.experiments.paper import from_logs

        produced = {table: partial(from_logs.produce, table, data)}
        perform(f"reproduce-{table}", produced, options, flags, checks=[partial(from_logs.check, table)])
        return
    if table == "all" and (options.budgets or options.parameters or options.kappa):
        raise InputError("--kappa, --budget and --set belong to one table", fix="name the table instead of all")
    if table != "all":
        perform(f"reproduce-{table}", {table: TABLES[table]}, options, flags)
        return
    tables = {name: partial(_produce, name) for name in TABLES.registered}  # those of other packages are named
    perform("reproduce-all", tables, options, flags, checks=[partial(_check, name) for name in tables])


def suited(table: str, options: Options) -> Options:
    """The options as one table of all takes them: the length of training that is not counted its way is left out."""
    from mccpo.experiments import TABLES

    return replace(options, episodes=None) if TABLES[table].finite is None else replace(options, steps=None)


def _produce(table: str, options: Options, session: Session) -> Produced:
    from mccpo.experiments import TABLES

    return TABLES[table](suited(table, options), session)


def _check(table: str, options: Options) -> None:
    """Refuses a length of training that a table would refuse, before another one is trained."""
    from mccpo.experiments import TABLES

    own, finite = suited(table, options), TABLES[table].finite
    if finite is not None:
        own.plan(finite())
    else:
        own.neural_plan(table)
