"""What `mccpo serve` is told of the policy: which one decides, and how learners are treated by it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from cyclopts import Parameter

from mccpo.cli.console.output import note
from mccpo.cli.flags import confidence_of
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.serve.policy import Deferral, Ready, Release
    from mccpo.serve.service import Terms


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The flags that say how learners are treated; each is a flag of the command."""

    ready: Annotated[
        str | None,
        Parameter(
            help="How likely a learner must be ready before the gate opens a concept, such as 0.95; or theta, to open "
            "it by mastery. As in training by default."
        ),
    ] = None
    defer: Annotated[
        Literal["teacher", "probe"] | None,
        Parameter(
            help="What to do with choices that only just pass the gate. teacher serves a safe one and asks a teacher. "
            "probe serves what tells most about the prerequisites in doubt. By default they are served as they are."
        ),
    ] = None
    defer_below: Annotated[
        float | None,
        Parameter(help="With --defer, the chance of being ready below which a choice is deferred; 0.97 by default."),
    ] = None
    session_minutes: Annotated[float, Parameter(help="A session ends after so long without a request.")] = 30.0
    late_hours: Annotated[
        float, Parameter(help="An outcome later than that goes on record, and does not change mastery.")
    ] = 24.0
    forgetting_days: Annotated[
        float | None, Parameter(help="The half-life of mastery between sessions; nothing is forgotten by default.")
    ] = None
    retention_days: Annotated[
        float | None, Parameter(help="Erase learners who were not heard of for so long; nobody by default.")
    ] = None
    lower_gate: Annotated[
        bool, Parameter(negative="", help="Let this run decide even if it opens its gate earlier than the last one.")
    ] = False
    bound: Annotated[
        list[str] | None,
        Parameter(negative="", help="How far groups may lie apart before there is an alarm: restriction_rate=0.1."),
    ] = None


class Served(NamedTuple):
    """The policy that is served, what opens its gate if not what did in training, and how choices are deferred."""

    release: Release
    ready: Ready | None
    deferral: Deferral | None


def served_policy(run: Path, rules: Rules, *, part: str | None, method: str | None, seed: int) -> Served:
    """The policy of a run as the flags want it served; a gate that is looser than in training is warned of."""
    from mccpo.serve.policy import load_release

    deferral = _deferral(rules)
    if rules.ready is None:
        return Served(load_release(run, part=part, method=method, seed=seed, deferral=deferral), None, deferral)
    ready: Ready = confidence_of(rules.ready) or "theta"
    trained = load_release(run, part=part, method=method, seed=seed).opening
    if trained.confidence is not None and (ready == "theta" or ready < trained.confidence):
        opens = f"at a mastery of {trained.theta:g}" if ready == "theta" else f"at {ready:g}"
        note(
            f"warning: the gate opens {opens}, in training at a chance of {trained.confidence:g}: no certificate of "
            "the run is about that"
        )
    release = load_release(run, part=part, method=method, seed=seed, ready=ready, deferral=deferral)
    return Served(release, ready, deferral)


def _deferral(rules: Rules) -> Deferral | None:
    from mccpo.serve.policy import Deferral

    if rules.defer is None and rules.defer_below is not None:
        raise InputError("--defer-below is given without --defer", fix="add --defer teacher or --defer probe")
    if rules.defer is None:
        return None
    return Deferral(rules.defer) if rules.defer_below is None else Deferral(rules.defer, rules.defer_below)


def terms_of(rules: Rules) -> Terms:
    """How long sessions, outcomes, mastery and identities last."""
    from mccpo.serve.service import Terms

    return Terms(
        session_seconds=above_0("--session-minutes", rules.session_minutes) * 60,
        late_seconds=above_0("--late-hours", rules.late_hours) * 3600,
        forgetting=_days("--forgetting-days", rules.forgetting_days),
        retention_seconds=_days("--retention-days", rules.retention_days),
    )


def above_0(flag: str, value: float) -> float:
    """A number of a flag, if it is above 0."""
    if not 0 < value < float("inf"):
        raise InputError(f"{flag} is {value}", fix="give a number above 0")
    return value


def _days(flag: str, value: float | None) -> float | None:
    return None if value is None else above_0(flag, value) * 86_400
