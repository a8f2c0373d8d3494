"""`mccpo train`: one method on one environment."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from cyclopts import Parameter

from mccpo.cli.commands.experiment import perform
from mccpo.cli.flags import (
    CurriculumFlag,
    FloorFlag,
    ObjectiveFlag,
    OneMethod,
    OnRay,
    RayFlags,
    ReadyFlag,
    RequireFlag,
)
from mccpo.errors import InputError


def train(
    environment: Annotated[
        str,
        Parameter(
            help="An environment, such as gate, chain, random-finite, tutor-15, tutor-25 or tutor-15-bkt, or a folder "
            "that `mccpo prepare` made."
        ),
    ],
    /,
    *,
    method: Annotated[str, Parameter(help="The method to train.")] = "mc-cpo",
    start: Annotated[
        Literal["pretrained"] | None,
        Parameter(
            name="--from",
            help="The policy that mc-cpo starts from. It then trains for a tenth of the steps.",
        ),
    ] = None,
    curriculum: CurriculumFlag = None,
    require: RequireFlag = None,
    floor: FloorFlag = None,
    ready: ReadyFlag = None,
    objective: ObjectiveFlag = "engagement",
    flags: Annotated[OneMethod, Parameter(name="*")] = OneMethod(),  # noqa: B008 - nothing in it can change
    on_ray: RayFlags = OnRay(),  # noqa: B008
) -> None:
    """Train one method on an environment, and keep its policies, so that you can evaluate, certify and serve them.

    First it trains the unconstrained policies, or takes them from the cache. κ (budgets as a share of their costs) and
    RHSI (the paper's index of reward hacking) refer to them.
    """
    from mccpo.experiments import train as experiment

    if flags.methods is not None:
        raise InputError("train takes one method", fix="name it with --method, or run `mccpo compare`")
    options = flags.options(
        curriculum=curriculum, requirements=require or (), floors=floor or (), ready=ready, objective=objective
    )
    if start is not None:
        if method != "mc-cpo":
            raise InputError(f"{method} does not start from {start}", fix="leave --method out, or --from")
        method = f"mc-cpo-from-{start}"
    tables = {environment: partial(experiment.produce, environment, method)}
    perform(f"train-{environment}-{method}", tables, options, flags, on_ray=on_ray)
