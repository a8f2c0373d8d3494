"""`mccpo reproduce`: the paper's tables, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mccpo.cli.commands.experiment import perform
from mccpo.cli.console.output import note
from mccpo.cli.flags import OnRay, RayFlags, Training, TrainingFlags
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.experiments import Options, Produced, Session


def reproduce(
    table: str,
    /,
    *,
    data: Path | None = None,
    flags: TrainingFlags = Training(),  # noqa: B008 - nothing in it can change
    on_ray: RayFlags = OnRay(),  # noqa: B008
) -> None:
    """Run the paper's protocol and set our numbers beside the paper's and the exact optimum, with a verdict on each.

    Parameters
    ----------
    table
        gate, reward-gap, chain, tutor-15, tutor-25, shaping, shaping-25, noise, parameterisations (tutors that fit the
        paper's facts as well as tutor-15), ablation (ours: what each part of MC-CPO brings), random-finite (ours:
        twenty random environments), coverage (ours: how often intervals and verdicts are right), wrong-edges and
        wrong-edges-40 (ours: what missing, extra and reversed edges of the graph do), held-out (ours: the pretrained
        policy on curricula that it was not trained on), from-answers (ours: what learning from answers is worth), or
        all, which is every table but the last two. --episodes and --steps go to the tables whose length is counted in
        them. Tables from logs are junyi, xes3g5m, assistments-2009 and junyi-2015.
    data
        The folder of the data set that a table from logs is made of, or one that has a folder for each.
    """
    from mccpo.experiments import FROM_LOGS, GROUPS, LONG, TABLES, lacks_data

    known = (*TABLES, *FROM_LOGS, *GROUPS, "all")
    if table not in known:
        raise InputError(f"there is no table '{table}'", fix=f"choose from {', '.join(known)}")
    options = flags.options()
    if table in FROM_LOGS:
        if data is None:
            raise InputError(f"{table} is made from logs", fix="name their folder with --data DIR")
        from mccpo.experiments.paper import from_logs

        produced = {table: partial(from_logs.produce, table, data)}
        perform(f"reproduce-{table}", produced, options, flags, checks=[partial(from_logs.check, table)], on_ray=on_ray)
        return
    if table == "all" and (options.budgets or options.parameters or options.kappa):
        raise InputError("--kappa, --budget and --set belong to one table", fix="name the table instead of all")
    if table in TABLES:
        perform(f"reproduce-{table}", {table: TABLES[table]}, options, flags, on_ray=on_ray)
        return
    # Tables of other packages are named, and so are those that take hours.
    names = GROUPS.get(table, tuple(name for name in TABLES.registered if name not in LONG))
    absent = [name for name in names if lacks_data(name)]
    tables = {name: partial(_produce, name) for name in names if name not in absent}
    checks = [*(partial(_check, name) for name in tables), partial(_note_absent, absent)]
    perform(f"reproduce-{table}", tables, options, flags, checks=checks, on_ray=on_ray)


def suited(table: str, options: Options) -> Options:
    """The options as one table of all takes them: the length of training that is not counted its way is left out."""
    from mccpo.experiments import TABLES

    return replace(options, episodes=None) if TABLES[table].finite is None else replace(options, steps=None)


def _note_absent(tables: Sequence[str], _: Options) -> None:
    """Says which tables of several are left out, once nothing else is wrong with the call."""
    for table in tables:
        note(f"{table} is left out: it is made of data that are not here; MCCPO_DATA names their folder")


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
