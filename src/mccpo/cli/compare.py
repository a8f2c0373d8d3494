"""`mccpo compare`: the methods side by side on one environment."""

from __future__ import annotations

from functools import partial

from mccpo.cli import experiment as flags
from mccpo.cli.output import JsonFlag


def compare(
    environment: str,
    /,
    *,
    methods: flags.MethodsFlag = None,
    seeds: flags.SeedsFlag = 10,
    episodes: flags.EpisodesFlag = None,
    steps: flags.StepsFlag = None,
    kappa: flags.KappaFlag = None,
    budget: flags.BudgetFlag = None,
    set: flags.SetFlag = None,
    curriculum: flags.CurriculumFlag = None,
    seed: flags.SeedFlag = 0,
    out: flags.OutFlag = None,
    resume: flags.ResumeFlag = False,
    require_satisfied: flags.RequireFlag = False,
    json: JsonFlag = False,
) -> None:
    """Train and evaluate the methods on an environment, side by side, and write the report.

    Parameters
    ----------
    environment
        gate, chain, random-finite, tutor-15, tutor-25 or tutor-15-bkt.
    """
    from mccpo.experiments import compare as experiment

    parameters = flags.environment_parameters(set, curriculum)
    options = flags.read_options(methods, seeds, episodes, steps, seed, kappa, budget, parameters)
    tables = {environment: partial(experiment.produce, environment)}
    flags.perform(
        f"compare-{environment}", tables, options,
        out=out, resume=resume, as_json=json, require_satisfied=require_satisfied,
    )  # fmt: skip
