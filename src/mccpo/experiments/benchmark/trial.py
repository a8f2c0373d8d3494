"""One method on one environment: its settings searched, trained for every κ, judged. A failure is an outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from mccpo.env import Environment
from mccpo.errors import DoesNotApply, InputError
from mccpo.evaluation import Curves
from mccpo.exact import Infeasible, Values
from mccpo.experiments.benchmark.evaluation import BySeed, evaluate_networks, evaluate_rule, evaluate_table, steady
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.scoring import Score, mean_score, nearest, score_of
from mccpo.experiments.options import Session, Stage, kappa_text
from mccpo.experiments.problem import Problem
from mccpo.methods import (
    ITERATIONS,
    GradientEntry,
    GradientMethod,
    ImproperPolicyError,
    Kind,
    MethodEntry,
    NeuralPlan,
    NeuralRuns,
    RuleEntry,
    Setting,
    Snapshot,
    SolverEntry,
    Variant,
    train_variants,
)
from mccpo.work import line

Status = Literal["done", "crashed", "diverged", "timed out", "does not apply"]
DIVERGED = "a policy is not made of finite numbers"
ANY_KAPPA = "any κ"


class TimedOut(Exception):  # noqa: N818 - an outcome of a trial, not a fault of the program
    """A method has had its time."""


class _Clock:
    """The time that a method has. It is looked at between parts of the work; none is cut short."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._begun = time.monotonic()

    def check(self, where: str) -> None:
        """Stops a method that has had its time."""
        if self._limit is not None and time.monotonic() - self._begun > self._limit:
            raise TimedOut(f"stopped after {self._limit:g} s in {where}")


@dataclass(eq=False)
class Trial:
    """What came of one method on one environment.

    **Fields:**

    - `values`: what the policy of every seed is worth, by the κ it is meant for; `unseen` by κ nobody trained for.
    - `settings`: those chosen, by κ; `searched`: all that were tried, and what validation made of each.
    - `policies`: the parameters of every seed, by what they were trained for.
    - `seconds`: training of one run, that is one seed at one κ, without compiling; of a rule, which is not trained,
      judging one seed; of a solver, solving for one κ. `search_seconds`: the whole search. `whole_seconds`: all of it,
      compiling and judging too, on `device`.
    - `seeds`: the numbers of the seeds, where they are not 0, 1 …
    """

    environment: str
    method: str
    kind: Kind
    status: Status = "done"
    why: str = ""
    values: dict[float, BySeed] = field(default_factory=dict)
    unseen: dict[float, BySeed] = field(default_factory=dict)
    settings: dict[float, Setting] = field(default_factory=dict)
    searched: list[dict[str, Any]] = field(default_factory=list)
    policies: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: float | None = None
    search_seconds: float | None = None
    whole_seconds: float | None = None
    device: str | None = None
    seeds: list[int] | None = None

    def as_json(self) -> dict[str, Any]:
        """All but the policies, and but the seeds, whose numbers are their own only from outside."""
        apart = ("policies", "seeds", "values", "unseen", "settings")
        told = {key: value for key, value in vars(self).items() if key not in apart}
        settings = {str(kappa): dict(setting) for kappa, setting in self.settings.items()}
        return told | {"settings": settings, "values": _by_kappa(self.values), "unseen": _by_kappa(self.unseen)}

    @staticmethod
    def from_json(told: Mapping[str, Any]) -> Trial:
        """What `as_json` told, as it was read from a file."""
        told = dict(told)
        values, unseen = (_from_kappa(told[key]) for key in ("values", "unseen"))
        if "setting" in told:  # of a version that searched at one κ for all
            told["settings"] = dict.fromkeys(values, told.pop("setting"))
        settings = {float(kappa): setting for kappa, setting in told["settings"].items()}
        return Trial(**{**told, "values": values, "unseen": unseen, "settings": settings})


def attempt(
    problem: Problem, name: str, load: Callable[[str], MethodEntry], protocol: Protocol, session: Session
) -> Trial:
    """Searches, trains and judges a method; whatever goes wrong in it is said in the trial, and stays there."""
    trial, clock = Trial(problem.name, name, "learner"), _Clock(protocol.limit)
    try:
        entry = load(name)
        trial.kind = entry.kind
        match entry:
            case GradientEntry():
                _Learning(problem, entry, protocol, session, trial, clock).run()
            case RuleEntry():
                after = partial(clock.check, "playing")
                values, trial.seconds = evaluate_rule(problem, entry.build(), protocol, after)
                trial.values = dict.fromkeys(protocol.kappa, values)
            case SolverEntry():
                _solve(problem, entry, protocol, trial, clock)
    except TimedOut as error:
        trial.status, trial.why = "timed out", str(error)
    except DoesNotApply as error:
        trial.status, trial.why = "does not apply", line(error.what)
    except (InputError, ImproperPolicyError) as error:
        trial.status, trial.why = "crashed", line(getattr(error, "what", str(error)))
    except (Exception, SystemExit) as error:  # a method may fail in any way, and the others go on
        trial.status, trial.why = "crashed", line(f"{type(error).__name__}: {error}")
    if trial.status == "done" and any(one is None for seeds in trial.values.values() for one in seeds):
        trial.status, trial.why = "diverged", DIVERGED
    return trial


def _solve(problem: Problem, entry: SolverEntry, protocol: Protocol, trial: Trial, clock: _Clock) -> None:
    if problem.model is None:
        raise DoesNotApply(f"{problem.name} is not finite", fix="name a finite environment")
    if problem.floors:
        raise DoesNotApply(f"{entry.name} goes by budgets, and knows no floors", fix="leave it out here")
    begun = time.perf_counter()
    for kappa in protocol.kappa:
        if isinstance(found := problem.optimum(kappa), Infeasible):
            raise DoesNotApply(found.what(problem.limits(kappa)), fix=found.fix())
        table = entry.solve(problem.model, problem.limits(kappa))
        clock.check(f"solving for {kappa_text(kappa)}")
        trial.values[kappa] = [evaluate_table(problem, table)] * protocol.seeds
        trial.policies[kappa_text(kappa)] = np.asarray(table, np.float32)
    trial.seconds = (time.perf_counter() - begun) / len(protocol.kappa)


class _Learning:
    """The trial of a method that is trained."""

    def __init__(
        self, problem: Problem, entry: GradientEntry, protocol: Protocol, session: Session, trial: Trial, clock: _Clock
    ) -> None:
        self._problem = problem
        self._entry = entry
        self._protocol = protocol
        self._session = session
        self._trial = trial
        self._clock = clock

    def run(self) -> None:
        """Fills in the trial."""
        trial, protocol = self._trial, self._protocol
        if self._entry.conditioned and protocol.floors:
            raise DoesNotApply(f"{self._entry.name} goes by budgets, and knows no floors", fix="leave it out here")
        refused = {kappa: error for kappa in protocol.kappa if (error := self._refusal(kappa))}
        if refused:
            trial.status, trial.why = "does not apply", line(str(next(iter(refused.values()))))
        asked = [kappa for kappa in protocol.kappa if kappa not in refused]
        if not asked:
            return
        trial.settings = {kappa: {} for kappa in asked}
        if protocol.search and len(self._entry.search) > 1:
            begun = time.perf_counter()
            trial.settings = self._search(asked)
            trial.search_seconds = time.perf_counter() - begun
        plan = protocol.plan
        variants = [self._variant(trial.settings[kappa or asked[0]], kappa) for kappa in self._levels]
        runs, seconds = self._train(variants, plan, "training")
        trial.seconds = seconds / (len(variants) * plan.seeds)
        for kappa, selected in zip(self._levels, runs.selected, strict=True):
            trial.policies[ANY_KAPPA if kappa is None else kappa_text(kappa)] = selected
        env, learner = self._problem.test, self._learner(trial.settings[asked[0]])
        trial.values = self._judge(env, learner, _broken_if_last_is(runs), asked, plan.seed)
        if self._entry.conditioned:
            unseen = [kappa for kappa in protocol.unseen if not self._refusal(kappa)]
            trial.unseen = self._judge(env, learner, runs.selected, unseen, plan.seed)
        elif self._for_each_kappa:
            trial.unseen = nearest(trial.values, protocol.unseen)

    @property
    def _for_each_kappa(self) -> bool:
        return self._entry.sees_budgets and not self._entry.conditioned

    @property
    def _levels(self) -> Sequence[float | None]:
        """What is trained for: every κ, or all at once where budgets are not seen, or told when a policy is asked."""
        return self._protocol.kappa if self._for_each_kappa else (None,)

    def _refusal(self, kappa: float) -> InputError | None:
        """Why it has no answer at a κ: one that is conditioned may be made for a range of them."""
        if self._entry.conditioned:
            try:
                self._learner({}).environment_at(self._problem.test, kappa)
            except InputError as error:
                return error
        return None

    def _search(self, asked: Sequence[float]) -> dict[float, Setting]:
        """By κ, the setting of the best score with validation seeds, which no test seed is among.

        It is chosen in the world trained in: what is to be judged elsewhere must not be known by then. What is trained
        once for all κ has one setting for all, of the best mean score.
        """
        settings, plan = self._entry.search, self._protocol.search_plan
        variants = [self._variant(setting, level) for setting in settings for level in self._levels]
        runs, _ = self._train(variants, plan, "search")
        selected = runs.selected.reshape(len(settings), len(self._levels), *runs.selected.shape[1:])
        scores: dict[float, list[Score]] = {kappa: [] for kappa in asked}
        for setting, policies in zip(settings, selected, strict=True):
            values = self._judge(self._problem.env, self._learner(setting), policies, asked, plan.seed)
            for kappa in asked:
                held = self._problem.constraints(kappa)
                score = score_of(values[kappa], held, seeks_budgets=self._entry.seeks_budgets)
                self._trial.searched.append({"kappa": kappa, "setting": dict(setting), **score._asdict()})
                scores[kappa].append(score)
        if not self._for_each_kappa:
            together = [mean_score([scores[kappa][place] for kappa in asked]) for place in range(len(settings))]
            scores = dict.fromkeys(asked, together)
        return {kappa: settings[max(range(len(settings)), key=tried.__getitem__)] for kappa, tried in scores.items()}

    def _learner(self, setting: Setting) -> GradientMethod:
        """The method as it plays: without floors, which only training prices."""
        return self._entry.build(self._problem.env, setting)

    def _variant(self, setting: Setting, kappa: float | None) -> Variant:
        """The method as it is trained for a κ."""
        learner = self._entry.build(self._floored, setting)
        if self._entry.conditioned:
            return Variant(learner, self._problem.budgets(1.0))
        return Variant(learner, {} if kappa is None else self._problem.constraints(kappa).amounts)

    @property
    def _floored(self) -> Environment[Any]:
        """The environment to train in, with a cost for each floor: the same whatever the κ."""
        held = self._problem.constraints(self._protocol.kappa[0])
        return held.environment(self._problem.env) if held.floors else self._problem.env

    def _train(self, variants: Sequence[Variant], plan: NeuralPlan, what: str) -> tuple[NeuralRuns, float]:
        """Trains variants, and gives the seconds that all took together."""
        plan = variants[0].learner.plan(plan)
        label = f"{self._problem.name} {self._entry.name} {what}"
        stage = Stage(label, plan.points, len(variants) * plan.seeds * ITERATIONS * plan.sizes.steps)
        tell = self._session.after_point(stage, lambda _: Curves(np.zeros(0, int), {}, unit="steps"))
        self._session.begin(stage)
        ticks = [time.perf_counter()]

        def after_point(snapshot: Snapshot[Any, Any]) -> None:
            ticks.append(time.perf_counter())
            tell(snapshot)
            self._clock.check(f"{what}, at point {snapshot.point}")

        world = variants[0].learner.training_environment(self._floored)
        runs = train_variants(world, variants, plan, after_point=after_point)
        return runs, steady(ticks)

    def _judge(
        self, env: Environment[Any], learner: GradientMethod, parameters: np.ndarray, kappas: Sequence[float], seed: int
    ) -> dict[float, BySeed]:
        """What policies are worth in a world at each κ; one that was trained for no κ is asked for all."""
        protocol = self._protocol
        if self._entry.conditioned:
            found = {}
            for kappa in kappas:
                world = learner.environment_at(env, kappa)
                playing, network = learner.playing(world), learner.network(world)
                found[kappa] = evaluate_networks(self._problem, world, playing, network, parameters, protocol, seed)[0]
            return found
        judged = evaluate_networks(
            self._problem, env, learner.playing(env), learner.network(env), parameters, protocol, seed
        )
        if len(judged) == 1:
            return dict.fromkeys(kappas, judged[0])
        return dict(zip(kappas, judged, strict=True))


def _broken_if_last_is(runs: NeuralRuns) -> np.ndarray:
    """The selected policies; that of a run which ended in no numbers is none, though validation had kept an earlier."""
    ended_well = np.isfinite(runs.last).all(axis=-1, keepdims=True)
    return np.where(ended_well, runs.selected, np.nan)


def _by_kappa(values: Mapping[float, BySeed]) -> dict[str, list[dict[str, Any] | None]]:
    return {str(kappa): [None if one is None else asdict(one) for one in seeds] for kappa, seeds in values.items()}


def _from_kappa(told: Mapping[str, Any]) -> dict[float, BySeed]:
    return {float(kappa): [None if one is None else Values(**one) for one in seeds] for kappa, seeds in told.items()}
