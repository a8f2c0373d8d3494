"""`mccpo recalibrate`: a tutor made again from what its learners answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mccpo.cli.commands.keys import DATABASE
from mccpo.cli.commands.tutor.command import PROMISES, Asked, MadeTutor, make_tutor, told
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note
from mccpo.errors import GateFailed, InputError
from mccpo.files import dump_json, read_json, write_text

if TYPE_CHECKING:
    from mccpo.curriculum import RawGraph
    from mccpo.env import PriorTutor
    from mccpo.experiments.from_graph import LearnerPosterior, LearnersOfPrior
    from mccpo.mastery import Responses
    from mccpo.serve.record import RecordedAnswers

CHANGES = "recalibration.json"
_NO_TUTOR = "name the folder of a run that `mccpo tutor GRAPH` made without logs"
_SHOWN = 40
"""Concepts that are printed at most; all are in the file."""


@dataclass(frozen=True, eq=False)
class ServedTutor:
    """The run that is served: what was asked of it, its graph, what it believes, and what it promised."""

    run: Path
    configuration: dict[str, Any]
    graph: RawGraph
    env: PriorTutor
    promises: dict[str, Any]

    def asked(self, steps: int | None, episodes: int, *, no_cache: bool) -> Asked:
        """The same floors, budgets and gate as before; where no method was named, none is named now."""
        from mccpo.experiments.from_graph import METHOD

        own = self.configuration
        floors = [_floor(floor) for floor in own["floors"]]
        kappa = ",".join(f"{value:g}" for value in own["kappa"]) or None
        budgets = [f"{name}={value!r}" for name, value in own["budgets"].items()] or None
        return Asked(
            floor=floors or None,
            kappa=kappa,
            budget=budgets,
            ready="theta" if self.env.confidence is None else repr(float(self.env.confidence)),
            horizon=self.env.horizon,
            method=None if METHOD in own["methods"] else self.promises["method"],
            steps=own["steps"] if steps is None else steps,
            episodes=episodes,
            seed=own["seed"],
            no_cache=no_cache,
        )

    @property
    def name(self) -> str:
        return str(self.configuration["run"]).removeprefix("tutor-")


def recalibrate(
    run: Annotated[Path, Parameter(help="The run of a tutor that was made of a graph without logs.")],
    /,
    *,
    database: Annotated[
        str | None,
        Parameter(help="The record: a file, or sqlite:///FILE or postgresql://…; decisions.db in RUN by default."),
    ] = None,
    steps: Annotated[
        WholeNumber | None, Parameter(help="Training steps, as in `mccpo tutor`; those of RUN by default.")
    ] = None,
    episodes: Annotated[WholeNumber, Parameter(help="Fresh episodes that the certificate is based on.")] = 10_000,
    no_cache: Annotated[
        bool, Parameter(negative="", help="Neither use nor keep unconstrained runs and compiled programs.")
    ] = False,
    out: Annotated[Path | None, Parameter(help="The new run's folder; a new one beside RUN by default.")] = None,
    json: JsonFlag = False,
) -> None:
    """Make a tutor again from the answers of its learners: a new run, for the same floors, budgets and gate.

    The record of the service is verified first. The answers that counted update what is believed of every concept. The
    gate's caution and the prices are then found anew, and the policy is certified. RUN stays as it is. The new run says
    up to which event it was learnt, so that an auditor can tell what was known when. Load it into the service to go on
    with the same record. See docs/how-to/learn-from-answers.md.
    """
    from mccpo.experiments.from_graph import learn_platform, learners_of_prior

    begun = time.monotonic()
    served = _served(run)
    asked = served.asked(steps, episodes, no_cache=no_cache)
    place = _free(run) if out is None else out
    flags = asked.training(place, resume=False, json=json)
    options = asked.options(flags)
    answers = asyncio.run(_answers(database or str(run / DATABASE), served))
    note(
        f"the record holds: {len(answers.correct):,} answers of {len(answers.learners):,} learners, up to event "
        f"{answers.head.number:,}"
    )
    learnt = learn_platform(_responses(answers, served.env.curriculum.concepts), seed=asked.seed)
    if not learnt.draws.agreed:
        note(f"warning: the chains that were drawn do not agree (R̂ = {learnt.draws.r_hat:.2f}): intervals are rough")
    confidence = served.env.confidence
    learners = learners_of_prior(
        served.graph, confidence=confidence, horizon=served.env.horizon, seed=asked.seed, prior=learnt
    )
    about = {"learnt_from": _learnt_from(answers, served)}
    made = make_tutor(served.name, learners, asked, options, flags, begun=begun, about=about)
    changes = {"learnt_from": about["learnt_from"], **_changes(served, learnt, learners, made)}
    write_text(made.run / CHANGES, dump_json(changes, indent=2) + "\n")
    lines = (*_text(changes), "", *told(made), _next(made, changes))
    emit(made.document | changes, as_json=json, text=lambda: "\n".join(lines))
    made.check()


def _served(run: Path) -> ServedTutor:
    """The run, if it is one of a graph without logs."""
    from mccpo.curriculum import read_raw
    from mccpo.env import TUTOR_FILE, PriorTutor, make
    from mccpo.experiments import PREPARED

    manifest = read_json(run / "manifest.json", fix=_NO_TUTOR)
    promises, prepared = run / PROMISES, run / PREPARED
    env = make(str(prepared / TUTOR_FILE)) if (prepared / TUTOR_FILE).exists() else None
    if not isinstance(env, PriorTutor) or not promises.exists():
        raise InputError(f"{run} is no finished tutor of a graph without logs", fix=_NO_TUTOR)
    graph = read_raw(prepared / "curriculum.json")
    return ServedTutor(run, manifest["configuration"], graph, env, read_json(promises, fix=_NO_TUTOR))


async def _answers(database: str, served: ServedTutor) -> RecordedAnswers:
    """The answers on record, once all of it is known to hold."""
    from mccpo.curriculum import render_json
    from mccpo.files import sha256_json
    from mccpo.serve.record import Store, read_answers, verify

    store = Store(database)
    await store.open(create=False)
    try:
        verdict = await verify(store)
        if verdict.wrong is not None:
            raise GateFailed(f"nothing is learnt from a record that does not hold: {verdict.wrong}")
        curriculum = sha256_json(loads(render_json(served.env.curriculum.to_raw())))  # as releases have it
        return await read_answers(store, verdict, curriculum)
    finally:
        await store.close()


def _responses(answers: RecordedAnswers, concepts: tuple[str, ...]) -> Responses:
    import numpy as np

    from mccpo.mastery import Responses

    if not answers.correct:
        raise InputError("there is no answer on record that counts", fix="let the service teach learners first")
    place = {name: at for at, name in enumerate(concepts)}
    learner = np.array(answers.learner)
    order = np.argsort(learner, kind="stable")
    return Responses(
        learner=learner[order],
        concept=np.array([place[name] for name in answers.concept])[order],
        correct=np.array(answers.correct)[order],
        event=np.arange(len(order)),
        time=np.full(len(order), np.nan),
        learners=answers.learners,
        concepts=concepts,
    )


def _learnt_from(answers: RecordedAnswers, served: ServedTutor) -> dict[str, Any]:
    """Where the answers end, for an auditor: the new run knew nothing that came later."""
    return {
        "run": served.run.name,
        "event": answers.head.number,
        "hash": answers.head.hash,
        "learners": len(answers.learners),
        "answers": len(answers.correct),
        "erased_learners": answers.erased,
        "late_answers": answers.uncounted,
    }


def _changes(served: ServedTutor, learnt: LearnerPosterior, made: LearnersOfPrior, new: MadeTutor) -> dict[str, Any]:
    """What was believed, doubted and promised before, and what now."""
    import numpy as np

    from mccpo.experiments.from_graph import PARAMETERS

    concepts = served.env.curriculum.concepts
    size = (len(concepts),)
    own = (served.env.K0, served.env.eta, served.env.guess, served.env.slip)
    before = {name: np.broadcast_to(values, size) for name, values in zip(PARAMETERS, own, strict=True)}
    doubts = [np.broadcast_to(env.doubt, size) for env in (served.env, made.tutor)]
    rows = {}
    for at, concept in enumerate(concepts):
        chances = {
            name: {"before": round(float(before[name][at]), 6), "after": round(one.mean, 6)}
            | {"low": round(one.low, 6), "high": round(one.high, 6)}
            for name, one in learnt.of_concept(at).items()
        }
        doubt = {"before": float(doubts[0][at]), "after": float(doubts[1][at])}
        rows[concept] = {"answers": int(learnt.answers[at]), **chances, "doubt": doubt}
    return {
        "platform": {name: one._asdict() for name, one in learnt.of_platform().items()},
        "concepts": rows,
        "lower_gate": bool((doubts[1] < doubts[0]).any()),
        "promised_before": served.promises["promised"],
        "promised_after": new.document["promised"],
    }


def _text(changes: dict[str, Any]) -> Iterator[str]:
    learnt = changes["learnt_from"]
    yield (
        f"learnt from {learnt['answers']:,} answers of {learnt['learners']:,} learners, up to event {learnt['event']:,}"
    )
    yield f"{'':<20}{'answers':>8}   {'known at the start':<24}{'learnt in a lesson':<24}{'guess':<24}{'slip':<24}doubt"
    concepts = list(changes["concepts"].items())
    for name, row in concepts[:_SHOWN]:
        told = "".join(f"{_chance(row[parameter]):<24}" for parameter in ("prior", "learn", "guess", "slip"))
        yield f"{name[:19]:<20}{row['answers']:>8}   {told}{row['doubt']['before']:.3g} → {row['doubt']['after']:.3g}"
    if len(concepts) > _SHOWN:
        yield f"… and {len(concepts) - _SHOWN} more in {CHANGES}"
    for when in ("before", "after"):
        yield f"promised {when}:"
        yield from (f"  {one['text']} ({one['learners']})" for one in changes[f"promised_{when}"])
        if not changes[f"promised_{when}"]:
            yield "  nothing"


def _chance(one: dict[str, float]) -> str:
    return f"{one['before']:.2f} → {one['after']:.2f} [{one['low']:.2f}, {one['high']:.2f}]"


def _next(made: MadeTutor, changes: dict[str, Any]) -> str:
    """How the service that runs goes on with the new run, which opens some gate earlier only where that is said."""
    meant = ', "lower_gate": true' if changes["lower_gate"] else ""
    return f'or into the service that runs: POST /v1/releases {{"run": "{made.run.name}"{meant}}}'


def _floor(floor: dict[str, Any]) -> str:
    """A floor as the command line has it."""
    from mccpo.experiments import Floor

    return Floor(**floor).exact


def _free(run: Path) -> Path:
    """The first folder beside a run that is not there yet: the service loads runs from there."""
    whole = run.resolve()
    count = 2
    while (place := whole.with_name(f"{whole.name}-{count}")).exists():
        count += 1
    return place
