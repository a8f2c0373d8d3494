"""`mccpo train`: one method on one environment."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from cyclopts import Parameter

from mccpo.cli.commands.experiment import perform
from mccpo.cli.flags import CurriculumFlag, FloorFlag, ObjectiveFlag, ReadyFlag, RequireFlag, Training, TrainingFlags
from mccpo.errors import InputError


def train(
    environment: Annotated[
        str,
        Parameter(
            help="One of gate, chain, random-finite, tutor-15, tutor-25, tutor-15-bkt, or a folder that `mccpo "
            "prepare` made."
        ),
    ],
    /,
    *,
    method: Annotated[str, Parameter(help="What is trained.")] = "mc-cpo",
    curriculum: CurriculumFlag = None,
    require: RequireFlag = None,
    floor: FloorFlag = None,
    ready: ReadyFlag = None,
    objective: ObjectiveFlag = "engagement",
    flags: TrainingFlags = Training(),  # noqa: B008 - nothing in it can change
) -> None:
    """Train one method on an environment, and keep its policies to be evaluated, certified and served.

    The unconstrained policies that κ and RHSI refer to are trained first, or taken from the cache.
    """
    from mccpo.experiments import train as experiment

    if flags.methods is not None:
        raise InputError("train takes one method", fix="name it with --method, or run `mccpo compare`")
    options = flags.options(
        curriculum=curriculum, requirements=require or (), floors=floor or (), ready=ready, objective=objective
    )
    tables = {environment: partial(experiment.produce, environment, method)}
    perform(f"train-{environment}-{method}", tables, options, flags)
