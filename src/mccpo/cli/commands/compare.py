"""`mccpo compare`: the methods side by side on one environment or several."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from cyclopts import Parameter

from mccpo.cli.commands.experiment import perform
from mccpo.cli.flags import (
    CurriculumFlag,
    FloorFlag,
    ObjectiveFlag,
    OnRay,
    RayFlags,
    ReadyFlag,
    RequireFlag,
    Training,
    TrainingFlags,
)
from mccpo.errors import InputError


def compare(
    *environments: Annotated[
        str,
        Parameter(
            help="One or more of gate, chain, random-finite, tutor-15, tutor-25, tutor-15-bkt, or a folder that "
            "`mccpo prepare` made."
        ),
    ],
    curriculum: CurriculumFlag = None,
    require: RequireFlag = None,
    floor: FloorFlag = None,
    ready: ReadyFlag = None,
    objective: ObjectiveFlag = "engagement",
    flags: TrainingFlags = Training(),  # noqa: B008 - nothing in it can change
    on_ray: RayFlags = OnRay(),  # noqa: B008
) -> None:
    """Train and evaluate the methods on an environment, side by side, and write the report.

    Several environments make one run and one report, with a table each.
    """
    from mccpo.experiments import compare as experiment
    from mccpo.methods import COMPARED_METHODS

    if not environments:
        raise InputError("no environment is named", fix="name one or more, such as tutor-15")
    for environment in environments:
        if environments.count(environment) > 1:
            raise InputError(f"{environment} is named twice", fix="name each environment once")
    options = flags.options(
        curriculum=curriculum,
        requirements=require or (),
        floors=floor or (),
        ready=ready,
        objective=objective,
        methods=COMPARED_METHODS,
    )
    tables = {environment: partial(experiment.produce, environment) for environment in environments}
    # What is wrong with the first shows as it begins; the others should not wait for its training.
    checks = [partial(experiment.check, environment) for environment in environments[1:]]
    perform(f"compare-{'-'.join(environments)}", tables, options, flags, checks=checks, on_ray=on_ray)
