"""`mccpo fit-learner`: a mastery model fitted to logs, and how well it predicts learners it has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from mccpo.cli.commands.logs import TableFlags, TableReading
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note
from mccpo.cli.flags import OnRay, RayFlags
from mccpo.errors import InputError
from mccpo.files import dump_json, write_text

if TYPE_CHECKING:
    from mccpo.mastery.fitting import Diagnostics, Fitted

LEARNER, DIAGNOSTICS = "learner.json", "diagnostics.json"


def fit_learner(
    logs: Annotated[Path, Parameter(help="A canonical table of logs, or a log file with --format.")],
    /,
    *,
    flags: TableFlags = TableReading(),  # noqa: B008 - frozen
    model: Annotated[
        Literal["bkt", "bkt-forget", "pfa", "ema", "elo", "best-lr"],
        Parameter(
            help="bkt is knowledge tracing, bkt-forget the same with forgetting, pfa performance factors, ema a moving "
            "average. elo (abilities and difficulties) and best-lr (a regression, predicts best) also know items."
        ),
    ] = "bkt",
    observed: Annotated[
        Literal["correct", "signal"],
        Parameter(help="What the model is of: right answers, or gains of mastery that the platform registered."),
    ] = "correct",
    restarts: Annotated[WholeNumber, Parameter(help="Places from which knowledge tracing starts.")] = 5,
    seed: Annotated[WholeNumber, Parameter(help="The root of these places and of who is held out.")] = 0,
    held_out: Annotated[float, Parameter(help="The share of learners that the model is judged on.")] = 0.2,
    theta: Annotated[float, Parameter(help="The gate's threshold of mastery, at which calibration is shown.")] = 0.7,
    alpha: Annotated[float, Parameter(help="The step of the moving average.")] = 0.08,
    ridge: Annotated[float, Parameter(help="How strongly elo and best-lr draw their weights to 0.")] = 1.0,
    out: Annotated[
        Path | None,
        Parameter(
            help=f"A folder for {LEARNER}, {DIAGNOSTICS} and a diagram, reliability.html; else nothing is written."
        ),
    ] = None,
    json: JsonFlag = False,
    on_ray: RayFlags = OnRay(),  # noqa: B008 - frozen
) -> None:
    """Fit a model of what learners know to logs, and show how well it predicts the answers of other learners.

    Every concept has parameters of its own; one that the logs do not name gets the mean of the others. An item that is
    new to elo or best-lr counts as a mean item of its concepts.
    """
    from mccpo.mastery import split_learners, write_model
    from mccpo.mastery.fitting import FitSettings, diagnose, fit, warnings_of
    from mccpo.mastery.tables import responses_of
    from mccpo.work import Call

    _check(theta, "--theta", "0.7")
    _check(held_out, "--held-out", "0.2")
    settings = FitSettings(restarts=restarts, seed=seed, alpha=alpha, ridge=ridge)
    calls = on_ray.calls(out)
    responses = responses_of(flags.read(logs), observed)
    training, held = split_learners(responses, held_out, seed)
    (fitted,) = calls([Call(f"{model} of the learners", fit, (model, training, settings))])
    diagnostics = diagnose(fitted.model, held, theta, intervals=True)
    warnings = warnings_of(fitted, training, diagnostics)
    result = {
        "model": model,
        "observed": observed,
        "concepts": len(fitted.model.concepts),
        "held_out": held_out,
        "seed": seed,
        "fit": fitted.report.as_json(),
        "diagnostics": diagnostics.as_json(),
        "warnings": list(warnings),
    }
    if out is not None:
        from mccpo.report.preparation import RELIABILITY_PAGE, render_reliability

        write_model(fitted.model, out / LEARNER)
        write_text(out / DIAGNOSTICS, dump_json(result, indent=1) + "\n")
        write_text(out / RELIABILITY_PAGE, render_reliability(model, diagnostics))
    for warning in warnings:
        note(f"warning: {warning}")
    emit(result, as_json=json, text=lambda: "\n".join(_text(model, fitted, diagnostics)))


def _check(share: float, flag: str, example: str) -> None:
    if not 0 < share < 1:
        raise InputError(f"{flag} is {share:g}", fix=f"give a number between 0 and 1, such as {example}")


def _text(model: str, fitted: Fitted, result: Diagnostics) -> Iterator[str]:
    gate = result.at_theta
    yield (
        f"{model}: {len(fitted.model.concepts)} concepts, judged on {result.events:,} events of "
        f"{result.learners:,} learners who were held out"
    )
    yield f"{'AUC':>10}{'log-loss':>10}{'RMSE':>10}{'ECE':>10}"
    yield "".join(f"{value:>10.4f}" for value in (result.auc, result.log_loss, result.rmse, result.ece))
    if gate.events:
        yield (
            f"mastery at least {gate.theta:g}: {gate.share:.1%} of events; {gate.correct:.1%} were right, "
            f"{gate.predicted:.1%} predicted"
        )
    else:
        yield f"mastery at least {gate.theta:g}: no event"
    if result.intervals:
        auc, loss = result.intervals["auc"], result.intervals["log_loss"]
        yield (
            f"95 % with learners resampled: AUC {auc.low:.4f} to {auc.high:.4f}, "
            f"log-loss {loss.low:.4f} to {loss.high:.4f}"
        )
    yield f"a constant has a log-loss of {result.constant_log_loss:.4f}"
    yield from _reliability(result)


def _reliability(result: Diagnostics) -> Iterator[str]:
    """The reliability diagram in numbers: how many events of about the same predicted chance were right."""
    yield f"{'predicted':>10}{'right':>10}{'95 %':>20}{'events':>10}"
    for one_bin in result.reliability:
        ends = "" if one_bin.interval is None else f"{one_bin.interval.low:.3f} to {one_bin.interval.high:.3f}"
        yield f"{one_bin.predicted:>10.3f}{one_bin.correct:>10.3f}{ends:>20}{one_bin.events:>10,}"
