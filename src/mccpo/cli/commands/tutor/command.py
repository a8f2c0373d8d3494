"""`mccpo tutor`: from a prerequisite graph to a certified run, in one command."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from mccpo.cli.commands.experiment import carry_out
from mccpo.cli.commands.logs import LogFlags, LogReading
from mccpo.cli.commands.prepare import MembersFlag, read_events, read_members
from mccpo.cli.commands.report import PAGE, write_page
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note
from mccpo.cli.console.progress import progress
from mccpo.cli.flags import BudgetFlag, FloorFlag, Training, confidence_of
from mccpo.errors import GateFailed, InputError

if TYPE_CHECKING:
    from mccpo.curriculum import RawGraph
    from mccpo.env import Tutoring
    from mccpo.experiments import Options, Produced, Session
    from mccpo.experiments.from_graph import LearnersOfPrior
    from mccpo.experiments.prepare import Prepared
    from mccpo.runs.results import Certificate, Rows

    Learners: TypeAlias = LearnersOfPrior | Prepared

FLOOR = "learning=0.8"
PROMISES = "promises.json"
MOST_LESSONS = 10_000
ENDINGS = (".json", ".csv", ".tsv", ".graphml", ".xml")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The flags that say what is asked of a tutor; each is a flag of the command."""

    floor: FloorFlag = None
    kappa: Annotated[
        str | None, Parameter(help="Budgets as a share of the unconstrained costs, such as 0.9; none by default.")
    ] = None
    budget: BudgetFlag = None
    ready: Annotated[
        str,
        Parameter(
            help="How likely a learner must be ready before the gate opens a concept. 'theta' asks for a threshold on "
            "the estimate of each prerequisite instead."
        ),
    ] = "0.95"
    horizon: Annotated[
        WholeNumber | None, Parameter(help="Lessons in an episode; by default 100, or the mean length in the logs.")
    ] = None
    method: Annotated[
        str | None, Parameter(help="How the policy is made: any method of `mccpo compare`; pretrained by default.")
    ] = None
    steps: Annotated[
        WholeNumber | None,
        Parameter(
            help="Training steps; 100,000 by default. They are of the method, if it trains, and of the policies that "
            "shares of floors and budgets refer to."
        ),
    ] = None
    episodes: Annotated[WholeNumber, Parameter(help="Fresh episodes that the certificate is based on.")] = 10_000
    seed: Annotated[WholeNumber, Parameter(help="The root of all random numbers.")] = 0
    no_cache: Annotated[
        bool, Parameter(negative="", help="Neither use nor keep unconstrained runs and compiled programs.")
    ] = False

    def training(self, out: Path | None, *, resume: bool, json: bool) -> Training:
        """The same as the flags of every command that trains: one policy, beside the rules that it is compared with."""
        from mccpo.experiments import FREE
        from mccpo.experiments.from_graph import RULES, STEPS

        return Training(
            methods=",".join(dict.fromkeys((FREE, self.chosen, *RULES))),
            seeds=1,
            steps=STEPS if self.steps is None else self.steps,
            kappa=self.kappa,
            budget=self.budget,
            seed=self.seed,
            no_cache=self.no_cache,
            out=out,
            resume=resume,
            json=json,
        )

    def options(self, flags: Training) -> Options:
        """What is trained for; shares of floors and budgets refer to what the pretrained policy reaches."""
        return replace(flags.options(floors=self.floors), anchors="pretrained")

    @property
    def chosen(self) -> str:
        """The method that is named, or the one that is meant."""
        from mccpo.experiments.from_graph import METHOD

        return METHOD if self.method is None else self.method

    @property
    def floors(self) -> list[str]:
        """The floors asked for; that on learning where neither floors nor budgets are."""
        if self.floor is None and self.kappa is None and self.budget is None:
            return [FLOOR]
        return self.floor or []


AskedFlags: TypeAlias = Annotated[Asked, Parameter(name="*")]


def tutor(
    graph: Annotated[Path, Parameter(help="The prerequisite graph: JSON, CSV, TSV or GraphML.")],
    /,
    *,
    logs: Annotated[
        Path | None,
        Parameter(
            help="Logs of your learners: a table that `mccpo logs convert` wrote, or a file with --format. Without "
            "logs, learners are drawn from a prior."
        ),
    ] = None,
    members: MembersFlag = None,
    reading: LogFlags = LogReading(),  # noqa: B008 - frozen
    asked: AskedFlags = Asked(),  # noqa: B008 - frozen
    out: Annotated[Path | None, Parameter(help="The run's folder; a new one under runs/ by default.")] = None,
    resume: Annotated[bool, Parameter(negative="", help="Go on with the run in --out from where it was stopped.")] = (
        False
    ),
    json: JsonFlag = False,
) -> None:
    """Make a tutor from a prerequisite graph: a policy that is compared with rules, certified, and ready to serve.

    With logs, simulated learners behave as the logs show. Without logs, they are drawn from a prior (a distribution
    fitted to public logs), and the gate is as cautious as that requires. The result is a run like any other:
    `certify`, `report`, `evaluate` and `serve` take it. The command says what the tutor promises and what it does
    not. If something that was asked for is not promised, the run is kept, and the exit code is 3. See docs/tutor.md.
    """
    from mccpo.experiments.from_graph import read_graph

    begun = time.monotonic()
    stated = read_graph(graph)
    flags = asked.training(out, resume=resume, json=json)
    options = asked.options(flags)
    if len(options.levels) > 1:
        raise InputError("a tutor has one level of floors and budgets", fix="run `mccpo compare` for several")
    _check(asked, options)
    learners = _learners(stated, logs, members, reading, asked)
    made = make_tutor(name_of(graph), learners, asked, options, flags, begun=begun)
    emit(made.document, as_json=json, text=lambda: "\n".join(told(made)))
    made.check()


@dataclass(frozen=True)
class MadeTutor:
    """A tutor that is made: its run, what it promises, and why its certificate failed, if it did."""

    run: Path
    document: dict[str, Any]
    missing: str | None

    def check(self) -> None:
        """Fails where what was asked for is not promised."""
        if self.missing is not None:
            raise GateFailed(self.missing)


def make_tutor(
    name: str,
    learners: Learners,
    asked: Asked,
    options: Options,
    flags: Training,
    *,
    begun: float,
    about: Mapping[str, Any] | None = None,
) -> MadeTutor:
    """Finds a policy for learners, certifies it, and writes the run; `about` is what its manifest holds besides."""
    for line in _warnings(learners):
        note(f"warning: {line}")
    _refuse_unknown_costs(options, learners.tutor)
    _refuse_unreachable(options, learners.tutor)
    made = time.monotonic()
    produce = partial(_produce, name, learners)
    begin = partial(_write, learners)
    whole = {"environment_sha256": _digest(learners)} | dict(about or {})
    run = carry_out(f"tutor-{name}", {name: produce}, options, flags, begin=begin, about=whole)
    trained = time.monotonic()
    method, certificates = _best_certified(run.path, asked)
    write_page(run.path / PAGE, [run.path])
    seconds = {
        "learners": made - begun,
        "policy and rules": trained - made,
        "certificate and report": time.monotonic() - trained,
    }
    document = _document(run.path, method, learners, certificates, seconds)
    return MadeTutor(run.path, document | {"results": run.document}, _missing(certificates))


def _check(asked: Asked, options: Options) -> None:
    """Refuses numbers that training or the certificate would refuse, before anything is made."""
    from mccpo.experiments import certify

    options.neural_plan("a tutor")
    certify.Terms(episodes=asked.episodes)
    if asked.horizon is not None and not 1 <= asked.horizon <= MOST_LESSONS:
        raise InputError(f"horizon is {asked.horizon}", fix=f"give a whole number from 1 to {MOST_LESSONS}")


def _refuse_unknown_costs(options: Options, env: Tutoring[Any]) -> None:
    for name in options.budgets:
        if name not in env.cost_names:
            raise InputError(f"there is no cost '{name}'", fix=f"choose from {', '.join(env.cost_names)}")


def _learners(graph: RawGraph, logs: Path | None, members: Path | None, reading: LogReading, asked: Asked) -> Learners:
    """The environments that a graph is made into, with learners from logs or from the prior."""
    from mccpo.experiments.from_graph import learners_of_prior

    confidence = confidence_of(asked.ready)
    if logs is None:
        if reading != LogReading() or members is not None:
            raise InputError("flags say how logs are read, and there are none", fix="name them with --logs")
        return learners_of_prior(graph, confidence=confidence, horizon=asked.horizon, seed=asked.seed)
    from mccpo.experiments.prepare import PrepareOptions, prepare

    table, origin = read_events(logs, reading)
    options = PrepareOptions(horizon=asked.horizon, ready=confidence, seed=asked.seed)
    parts = None if members is None else read_members(members)
    return prepare(table, graph, options, members=parts, origin=origin).compared()


def _warnings(learners: Learners) -> tuple[str, ...]:
    from mccpo.experiments.from_graph import LearnersOfPrior

    return learners.warnings if isinstance(learners, LearnersOfPrior) else learners.document.warnings


def _refuse_unreachable(options: Options, env: Tutoring[Any]) -> None:
    """Refuses a floor above what the steps of an episode can add up to, before anything is trained."""
    from mccpo.experiments import most_of_floor

    for floor in options.levels[0].floors:
        most = most_of_floor(env, floor.name)
        if not floor.relative and floor.number > most:
            raise InputError(
                f"no policy reaches {floor}: an episode of {env.horizon} lessons has at most {most:.4g}",
                fix="lower the floor, or raise --horizon",
            )


def _produce(name: str, learners: Learners, options: Options, session: Session) -> Produced:
    from mccpo.experiments import compare

    return compare.compare_on(name, learners.tutor, options, session)


def _write(learners: Learners, run: Path) -> None:
    from mccpo.experiments import PREPARED

    learners.write(run / PREPARED)


def _digest(learners: Learners) -> str:
    """Which environment it is: a run is only resumed in the very same."""
    from mccpo.env import describe_environment
    from mccpo.files import dump_json

    return hashlib.sha256(dump_json(describe_environment(learners.tutor)).encode()).hexdigest()


def _best_certified(run: Path, asked: Asked) -> tuple[str, list[Certificate]]:
    """The method that is the tutor, and its certificates.

    A rule takes the policy's place if no method was named, the rule can be served, it is better, and its own
    certificate passes.
    """
    from mccpo.experiments.from_graph import in_its_place

    own = _certify(run, asked, asked.chosen)
    rules = in_its_place(_rows(run), asked.chosen, _most_unready(own)) if asked.method is None else []
    if rules:
        note(f"{rules[0]}, a simple rule, is better than {asked.chosen} here: it is certified, too")
        others = _certify(run, asked, rules[0])
        if others[0].passed:
            return rules[0], others
    return asked.chosen, own


def _rows(run: Path) -> Rows:
    from mccpo.runs import read_run
    from mccpo.runs.results import parse_document

    _, raw = read_run(run)
    return parse_document(raw, run / "results.json")[0].settings[0].rows


def _most_unready(certificates: list[Certificate]) -> float | None:
    """The share of lessons that may be unready in truth, where a certificate bounds it."""
    ready = certificates[0].prerequisite
    return None if ready is None else ready.budget


def _certify(run: Path, asked: Asked, method: str) -> list[Certificate]:
    """The certificates of a policy: with the learners that it was made for, and with those that judge it."""
    from mccpo.experiments import certificates, certify

    environments, notes = certificates.all_environments(run, method, None)
    for line in notes:
        note(line)
    terms = certify.Terms(episodes=asked.episodes)
    with progress() as show:
        made = certificates.certify_run(run, terms, method=method, on=environments, progress=show)
    return [certificate for certificate, _ in made]


def _document(
    run: Path, method: str, learners: Learners, certificates: list[Certificate], seconds: dict[str, float]
) -> dict[str, Any]:
    """What the tutor promises and what it does not, as the run keeps it and as it is printed."""
    from mccpo.experiments.from_graph import compared, not_promised, promises_of
    from mccpo.files import dump_json, write_text
    from mccpo.runs import read_run
    from mccpo.runs.results import parse_document

    _, raw = read_run(run)
    results = parse_document(raw, run / "results.json")[0]
    seen, sources = _seen(learners)
    promises, unready = promises_of(certificates), _most_unready(certificates)
    document = {
        "run": str(run),
        "method": method,
        "learners": seen,
        "passed": certificates[0].passed,
        "confidence": certificates[0].confidence,
        "promised": [promise.as_json() for promise in promises if promise.kept],
        "not_promised": [
            *(f"{promise.text} (with {promise.learners})" for promise in promises if not promise.kept),
            *not_promised(results, method, unready, seen=seen, sources=sources),
        ],
        "warnings": list(_warnings(learners)),
        "compared": compared(results.settings[0].rows, unready),
    }
    write_text(run / PROMISES, dump_json(document, indent=2) + "\n")
    return document | {"seconds": {name: round(value, 1) for name, value in seconds.items()}}


def _seen(learners: Learners) -> tuple[str, tuple[str, ...]]:
    """Where what is believed of learners comes from, and the logs behind a prior."""
    from mccpo.experiments.from_graph import LearnerPosterior, LearnersOfPrior

    if not isinstance(learners, LearnersOfPrior):
        return "logs", ()
    return "answers" if isinstance(learners.prior, LearnerPosterior) else "prior", learners.prior.sources


def _missing(certificates: list[Certificate]) -> str | None:
    from mccpo.experiments.from_graph import failure

    return failure(certificates)


def told(made: MadeTutor) -> Iterator[str]:
    """What a tutor is worth beside the rules, what it promises and what it does not, in lines."""
    document = made.document
    yield f"{'':<20}{'return':>9}{'learning':>10}{'mastered':>10}{'unready':>9}   meets all"
    for name, row in document["compared"].items():
        numbers = f"{row['return']:>9.4g}{row['learning']:>10.4g}{row['mastered']:>10.4g}"
        met = "yes" if row["meets_all"] else "no"
        yield f"{name:<20}{numbers}{row.get('true_violation_rate', 0.0):>9.2%}   {met}"
    yield ""
    yield f"{document['method']} promises, with {document['confidence']:.0%} confidence in all of it at once:"
    for promise in document["promised"]:
        yield f"  {promise['text']} ({promise['learners']})"
    if not document["promised"]:
        yield "  nothing"
    yield "it does not promise:"
    for line in document["not_promised"]:
        yield f"  {line}"
    spent = ", ".join(f"{name} {value:.0f} s" for name, value in document["seconds"].items())
    yield f"\ntook: {spent}"
    yield f"report: {made.run / PAGE}"
    yield f"next: mccpo serve {document['run']} --no-keys"


def name_of(graph: Path) -> str:
    """What the tables are called: the file's name without the endings that say its format."""
    name = graph.name.removesuffix(".gz")
    return Path(name).stem if Path(name).suffix.lower() in ENDINGS else name
