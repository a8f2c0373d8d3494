"""What a user may choose about an experiment, and how it tells how far it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from mccpo.curriculum import Curriculum
from mccpo.env import FiniteEnvironment, Objective
from mccpo.errors import InputError
from mccpo.evaluation import Curves
from mccpo.experiments.asked.floors import Floor
from mccpo.experiments.saved_policies import Policies
from mccpo.methods import PAPER_METHODS, Arrays, MisfitError, NeuralPlan, Snapshot, TabularPlan, method_entry, point_of

if TYPE_CHECKING:
    from mccpo.experiments.training import Lot


Anchors = Literal["trained", "pretrained"]


@dataclass(frozen=True)
class Level:
    """One level of budgets and floors that a comparison trains for; `swept` is the floor that sets it apart."""

    kappa: float | None = None
    floors: tuple[Floor, ...] = ()
    swept: Floor | None = None

    @property
    def share(self) -> float | None:
        """The floor that sets it apart, as it was asked for."""
        return None if self.swept is None else self.swept.number

    def label(self, environment: str) -> str:
        """What the part of a run at this level is called."""
        of_kappa = [] if self.kappa is None else [kappa_text(self.kappa)]
        return " ".join([environment, *of_kappa, *([] if self.swept is None else [str(self.swept)])])


@dataclass(frozen=True)
class Options:
    """The choices that `compare` and `reproduce` share; what is left out has the paper's value.

    `requirements` are budgets and floors in a teacher's words: see `mccpo.experiments.asked.requirements`. `floors` are
    what must be reached at least, and `sweep` are levels of one more floor, each trained for. `objective` is what is
    made as large as all of them allow. `anchors` says where the policies come from that shares of budgets and floors
    refer to: they are trained, or the pretrained policy is told that engagement alone counts, or learning.
    """

    methods: tuple[str, ...] = PAPER_METHODS
    seeds: int = 10
    episodes: int | None = None
    steps: int | None = None
    seed: int = 0
    kappa: tuple[float, ...] = ()
    budgets: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    floors: tuple[Floor, ...] = ()
    sweep: tuple[Floor, ...] = ()
    objective: Objective = "engagement"
    anchors: Anchors = "trained"

    def __post_init__(self) -> None:
        if not self.methods:
            raise InputError("no method is named", fix="name one or more, such as --methods mc-cpo")
        for name in self.methods:
            method_entry(name)
        if self.objective not in get_args(Objective):
            raise InputError(
                f"the objective is '{self.objective}'", fix=f"choose from {', '.join(get_args(Objective))}"
            )
        for kappa in self.kappa:
            if self.kappa.count(kappa) > 1:
                raise InputError(f"kappa {kappa} is named twice", fix="name each level once")
            if not 0 < kappa < float("inf"):
                raise InputError(f"kappa is {kappa}", fix="give a share of the unconstrained cost, such as 0.9")
        if len(self.kappa) > 1 and self.sweep:
            raise InputError("several kappa and several floors contradict each other", fix="give one or the other")
        if len(self.kappa) > 1 and self.budgets:
            raise InputError("several kappa and a --budget contradict each other", fix="give one or the other")
        if len(self.kappa) > 1 and self.requirements:
            raise InputError("several kappa and a --require contradict each other", fix="give one or the other")

    @property
    def levels(self) -> tuple[Level, ...]:
        """What is trained for, one after the other: every κ, or every floor of a sweep."""
        if self.sweep:
            kappa = self.kappa[0] if self.kappa else None
            return tuple(Level(kappa, (*self.floors, floor), floor) for floor in self.sweep)
        return tuple(Level(kappa, self.floors) for kappa in self.kappa or (None,))

    def plan(self, env: FiniteEnvironment[Any]) -> TabularPlan:
        """How to train on a finite environment."""
        if self.steps is not None:
            raise InputError(f"{env.name} is trained by episodes, not steps", fix="give --episodes")
        episodes = env.training_episodes if self.episodes is None else self.episodes
        return TabularPlan(episodes, env.episodes_per_update, self.seeds, self.seed)

    def neural_plan(self, environment: str) -> NeuralPlan:
        """How to train on an environment that is not finite."""
        if self.episodes is not None:
            raise InputError(f"{environment} is trained by steps, not episodes", fix="give --steps")
        return NeuralPlan(NeuralPlan.steps if self.steps is None else self.steps, self.seeds, self.seed)

    def methods_or(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """The methods asked for, or a table's own where the choice was left open."""
        return own if self.methods == PAPER_METHODS else self.methods

    def only_kappa(self, table: str) -> float | None:
        """The one level of a table that takes one."""
        if len(self.kappa) > 1:
            raise InputError(f"{table} takes one kappa", fix="run `mccpo compare` for several")
        return self.kappa[0] if self.kappa else None


def kappa_text(kappa: float) -> str:
    """A κ as names of parts have it: every digit counts, or two levels would be one part."""
    return f"κ={float(kappa)!r}"


def describe(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an environment in words and numbers; a curriculum by its size and a digest of its content."""
    return {name: _describe(value) for name, value in parameters.items()}


def _describe(value: Any) -> Any:
    if not isinstance(value, Curriculum):
        return value
    content = repr((value.concepts, value.edges, value.demand.tolist()))
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    return f"{len(value)} concepts, {len(value.edges)} edges, sha256 {digest}"


@dataclass(frozen=True)
class Stage:
    """A part of an experiment, trained in one go from point to point.

    `steps_per_point` is what all its runs together go through in a point, counted in `unit`: steps or episodes. Where
    the unit is cells of work, done by other processes, nothing compiles here.
    """

    label: str
    points: int
    steps_per_point: int
    unit: str = "steps"

    @classmethod
    def of_cells(cls, label: str, cells: int) -> Stage:
        """Cells of work, each of them a point."""
        return cls(label, cells, 1, "cells")

    @property
    def compiles(self) -> bool:
        """Whether its first point takes longer, because programs are compiled for it."""
        return self.unit != "cells"


@dataclass(frozen=True, kw_only=True)
class Session:
    """Where an experiment tells how far it is and keeps what it needs to go on; by default nowhere.

    - `progress(stage, point)`: the stage is at this point; told as it begins, too.
    - `load(label)`: the arrays of a stage that was begun before; `save(label, snapshot)` keeps them.
    - `record(label, curves)`: the training curves of a stage so far.
    - `recall(key)`: the arrays that another experiment left under a key that says all they depend on;
      `remember(key, arrays)` leaves them.
    - `keep(policies)`: what a method learnt.
    - `ahead(lots)`: has lots trained by other processes, which leave checkpoints for `load`; see
      `mccpo.experiments.training.Lot`.
    """

    progress: Callable[[Stage, int], None] | None = None
    load: Callable[[str], Arrays | None] | None = None
    save: Callable[[str, Snapshot[Any, Any]], None] | None = None
    record: Callable[[str, Curves], None] | None = None
    recall: Callable[[str], Arrays | None] | None = None
    remember: Callable[[str, Arrays], None] | None = None
    keep: Callable[[Policies], None] | None = None
    ahead: Callable[[Sequence[Lot]], None] | None = None

    def begin(self, stage: Stage) -> Arrays | None:
        """The arrays that a stage goes on from, if it was begun before."""
        found = self.load(stage.label) if self.load is not None else None
        if self.progress is not None:
            self.progress(stage, 0 if found is None else point_of(found))
        return found

    @contextmanager
    def resuming(self, stage: Stage) -> Iterator[Arrays | None]:
        """Begins a stage that is trained inside; arrays that training cannot go on from are named by their part."""
        try:
            yield self.begin(stage)
        except MisfitError as error:
            raise InputError(
                f"the checkpoint of '{stage.label}' is not one of this part: {error.why}",
                fix="delete it from the run's checkpoints and resume; its part starts anew",
            ) from error

    def after_point(
        self, stage: Stage, curves: Callable[[Snapshot[Any, Any]], Curves]
    ) -> Callable[[Snapshot[Any, Any]], None]:
        """What training calls after each point of a stage; `curves` are those of a snapshot."""

        def after_point(snapshot: Snapshot[Any, Any]) -> None:
            if self.record is not None:
                self.record(stage.label, curves(snapshot))
            if self.save is not None:
                self.save(stage.label, snapshot)
            if self.progress is not None:
                self.progress(stage, snapshot.point)

        return after_point

    def telling(self, stage: Stage) -> Callable[[int], None]:
        """What work calls that is not resumed: it tells how many points of a stage are done, first that it begins."""
        return lambda done: None if self.progress is None else self.progress(stage, done)

    def end(self, label: str, curves: Curves) -> None:
        """Records a stage whose points may not have been trained now, because it was recalled or had ended before."""
        if self.record is not None:
            self.record(label, curves)
