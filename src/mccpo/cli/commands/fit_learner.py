"""`mccpo fit-learner`: a mastery model fitted to logs, and how well it predicts learners it has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from mccpo.cli.commands.logs import FormatFlag, MapFlag
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, parse_pairs
from mccpo.errors import InputError
from mccpo.files import dump_json, write_text

LEARNER, DIAGNOSTICS = "learner.json", "diagnostics.json"


def fit_learner(
    logs: Annotated[Path, Parameter(help="A canonical table of logs, or a log file with --format.")],
    /,
    *,
    format: FormatFlag = None,
    map: MapFlag = None,
    model: Annotated[
        Literal["bkt", "bkt-forget", "pfa", "ema"],
        Parameter(help="Knowledge tracing, the same with forgetting, performance factors, or a moving average."),
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
    out: Annotated[
        Path | None, Parameter(help=f"A folder for {LEARNER} and {DIAGNOSTICS}; nothing is written by default.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Fit a model of what learners know to logs, and show how well it predicts the answers of other learners.

    Every concept has parameters of its own; one that the logs do not name gets the mean of the others.
    """
    from mccpo.logs import read
    from mccpo.mastery import split_learners
    from mccpo.mastery.files import write as write_model
    from mccpo.mastery.fitting.diagnostics import diagnose
    from mccpo.mastery.fitting.fit import Settings, fit
    from mccpo.mastery.tables.responses import responses_of

    _check(theta, "--theta", "0.7")
    _check(held_out, "--held-out", "0.2")
    settings = Settings(restarts=restarts, seed=seed, alpha=alpha)
    mapping = parse_pairs(map or [], "--map", str)
    responses = responses_of(read(logs, format, mapping or None), observed)
    kept, held = split_learners(responses, held_out, seed)
    fitted = fit(model, kept, settings)
    found = {
        "model": model,
        "observed": observed,
        "concepts": len(fitted.model.concepts),
        "held_out": held_out,
        "seed": seed,
        "fit": fitted.account,
        "diagnostics": diagnose(fitted.model, held, theta),
    }
    if out is not None:
        write_model(fitted.model, out / LEARNER)
        write_text(out / DIAGNOSTICS, dump_json(found, indent=1) + "\n")
    emit(found, as_json=json, text=lambda: "\n".join(_text(found)))


def _check(share: float, flag: str, example: str) -> None:
    if not 0 < share < 1:
        raise InputError(f"{flag} is {share:g}", fix=f"give a number between 0 and 1, such as {example}")


def _text(found: dict[str, Any]) -> Iterator[str]:
    result, account = found["diagnostics"], found["fit"]
    gate = result["at_theta"]
    yield (
        f"{found['model']}: {found['concepts']} concepts, judged on {result['events']:,} events of "
        f"{result['learners']:,} learners who were held out"
    )
    yield f"{'AUC':>10}{'log-loss':>10}{'RMSE':>10}{'ECE':>10}"
    yield "".join(f"{result[name]:>10.4f}" for name in ("auc", "log_loss", "rmse", "ece"))
    if gate["events"]:
        yield (
            f"mastery at least {gate['theta']:g}: {gate['share']:.1%} of events; {gate['correct']:.1%} were right, "
            f"{gate['predicted']:.1%} predicted"
        )
    else:
        yield f"mastery at least {gate['theta']:g}: no event"
    if "at_bound" in account:
        counts = ", ".join(f"{name} of {len(names)}" for name, names in account["at_bound"].items())
        yield f"at the bound of {account['bound']:g}: {counts} concepts"
    if account.get("not_converged"):
        yield f"not converged: {len(account['not_converged'])} concepts"
