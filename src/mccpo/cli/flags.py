"""The flags that commands share, said once: each command that takes them has the same names, help and defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, WholeNumber, literal, note, number, parse_pairs
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.experiments import Options
    from mccpo.work import Calls, RayCluster


def _pairs(_type: object, text: str, **_: object) -> list[str]:
    """The entries of a variable: white space parts them only where another NAME= follows, as a value may have some."""
    return re.split(r"\s+(?=\w+\s*=)", text.strip())


def _sentences(_type: object, text: str, **_: object) -> list[str]:
    """The sentences of a variable, which may have several with a semicolon between them."""
    return [sentence for part in text.split(";") if (sentence := part.strip())]


BudgetFlag: TypeAlias = Annotated[
    list[str] | None, Parameter(negative="", help="A budget of its own for a cost, such as c4=2.45.")
]
SetFlag: TypeAlias = Annotated[
    list[str] | None,
    Parameter(negative="", env_var_split=_pairs, help="A parameter of the environment, such as p_learn=0.7."),
]
GRAPH_FILE = (
    "a .json, .csv, .tsv or .graphml file, perhaps with .gz. A CSV has the columns prerequisite,concept with a row for "
    "each edge, or name,prerequisites with a row for each concept and '|', ';' or ',' between its prerequisites; a "
    "column demand (0 to 1) may be added"
)
GraphArgument: TypeAlias = Annotated[Path, Parameter(help=f"The prerequisite graph: {GRAPH_FILE}.")]
CurriculumFlag: TypeAlias = Annotated[
    Path | None,
    Parameter(help=f"A prerequisite graph to build the environment on, where it takes one: {GRAPH_FILE}."),
]
RequireFlag: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        negative="",
        env_var_split=_sentences,
        help="A budget in words, such as 'mastery progress in at least 60 % of windows of 10 steps'; can be repeated, "
        "or joined by ';' in a variable.",
    ),
]


FloorFlag: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        negative="",
        help="What must be reached at least. learning=0.8 is 80 % of what can be learnt, mastered=6 is six concepts. "
        "The names are learning, learning-total, mastered and engagement; can be repeated. In `compare`, "
        "learning=0.4,0.6,0.8 gives a front. Without --kappa or --budget, only floors hold.",
    ),
]
ReadyFlag: TypeAlias = Annotated[
    str | None,
    Parameter(
        help="How likely a learner must be ready before the gate opens a concept, such as 0.95. 'theta' asks for a "
        "threshold on the estimate of each prerequisite instead. By default the environment decides.",
    ),
]
ObjectiveFlag: TypeAlias = Annotated[
    Literal["engagement", "learning"],
    Parameter(help="What to maximise within budgets and floors."),
]


@dataclass(frozen=True, kw_only=True)
class Training:
    """The flags of every command that trains; `TrainingFlags` is the type of its parameter."""

    methods: Annotated[
        str | None, Parameter(help="Methods joined by commas; the paper's five by default, and rules in `compare`.")
    ] = None
    seeds: Annotated[WholeNumber, Parameter(help="How many seeds.")] = 10
    episodes: Annotated[WholeNumber | None, Parameter(help="Training episodes of a run; the paper's by default.")] = (
        None
    )
    steps: Annotated[WholeNumber | None, Parameter(help="Training steps of a neural run; the paper's by default.")] = (
        None
    )
    kappa: Annotated[
        str | None, Parameter(help="Budgets as a share of the unconstrained costs, such as 0.5 or 0.9,0.7,0.5.")
    ] = None
    budget: BudgetFlag = None
    set: SetFlag = None
    seed: Annotated[WholeNumber, Parameter(help="The root of all random numbers.")] = 0
    out: Annotated[Path | None, Parameter(help="The run's folder; a new one under runs/ by default.")] = None
    resume: Annotated[bool, Parameter(negative="", help="Go on with the run in --out from where it was stopped.")] = (
        False
    )
    tensorboard: Annotated[
        bool, Parameter(negative="", help="Also write TensorBoard event files into the run's folder, as training goes.")
    ] = False
    no_cache: Annotated[
        bool, Parameter(negative="", help="Neither use nor keep unconstrained runs and compiled programs.")
    ] = False
    require_satisfied: Annotated[
        bool, Parameter(negative="", help="Exit 3 when mc-cpo misses a budget in some seed (τ = 0).")
    ] = False
    json: JsonFlag = False

    def options(
        self,
        *,
        curriculum: Path | None = None,
        requirements: Sequence[str] = (),
        floors: Sequence[str] = (),
        methods: Sequence[str] | None = None,
        ready: str | None = None,
        objective: Literal["engagement", "learning"] = "engagement",
    ) -> Options:
        """The options of the experiment that these flags ask for; `methods` are those that are meant by default."""
        from mccpo.experiments import Options, parse_levels
        from mccpo.methods import PAPER_METHODS

        asked = [parse_levels(floor) for floor in floors]
        swept = [levels for levels in asked if len(levels) > 1]
        if len(swept) > 1:
            raise InputError("two floors have several levels", fix="give several levels of one")
        default = PAPER_METHODS if methods is None else methods
        named = default if self.methods is None else [name.strip() for name in self.methods.split(",")]
        return Options(
            methods=tuple(dict.fromkeys(name for name in named if name)),
            seeds=self.seeds,
            episodes=self.episodes,
            steps=self.steps,
            seed=self.seed,
            kappa=numbers(self.kappa),
            budgets=parse_pairs(self.budget or [], "--budget", number),
            parameters=environment_parameters(self.set, curriculum, ready),
            requirements=tuple(requirements),
            floors=tuple(floor for levels in asked if len(levels) == 1 for floor in levels),
            sweep=swept[0] if swept else (),
            objective=objective,
        )


@dataclass(frozen=True, kw_only=True)
class OnRay:
    """The flags of every command that a Ray cluster can do; `RayFlags` is the type of its parameter."""

    ray: Annotated[
        str | None,
        Parameter(
            help="Have the work done by a Ray cluster that runs already: its address, or auto for the one of this "
            "machine. The nodes must share the folders that the command names. Needs mccpo[ray]."
        ),
    ] = None
    cell_cpus: Annotated[WholeNumber, Parameter(help="With --ray: the cores of each cell of work.")] = 1
    cell_gpus: Annotated[
        float | None,
        Parameter(help="With --ray: the GPUs of each cell, such as 0.5; 0.25 where the cluster has GPUs, else 0."),
    ] = None

    @property
    def cluster(self) -> RayCluster | None:
        """The cluster asked for, if one is; without the package ray that is refused."""
        from mccpo.work import RayCluster

        if self.ray is None:
            if self.cell_gpus is not None:
                raise InputError("--cell-gpus is for a Ray cluster", fix="add --ray, or leave it out")
            return None
        if find_spec("ray") is None:
            raise InputError("--ray needs the package ray", fix="pip install 'mccpo[ray]'")
        return RayCluster(self.ray, self.cell_cpus, self.cell_gpus)

    def calls(self, out: Path | None) -> Calls:
        """How the command makes calls that do not depend on one another; on a cluster by files beside `out`."""
        from mccpo.work import ByCrew, one_by_one

        if (cluster := self.cluster) is None:
            return one_by_one
        if out is None:
            raise InputError("--ray hands its cells files", fix="name a folder that the nodes share with --out")
        return ByCrew(cluster, out.absolute().with_name(f".{out.name}-cells"), _tell_cells)


def _tell_cells(ended: int, cells: int) -> None:
    note(f"cells: {ended} of {cells}")


RayFlags: TypeAlias = Annotated[OnRay, Parameter(name="*")]
"""The type of the parameter of a command that a Ray cluster can do: each field of `OnRay` is a flag of the command."""

TrainingFlags: TypeAlias = Annotated[Training, Parameter(name="*")]
"""The type of the parameter of a command that trains: each field of `Training` is a flag of the command."""


@dataclass(frozen=True, kw_only=True)
class OneMethod(Training):
    """The flags of a command that trains one method: `--methods` is refused with a hint, and its help hides it."""

    methods: Annotated[str | None, Parameter(show=False)] = None


def environment_parameters(
    entries: list[str] | None, curriculum: Path | None, ready: str | None = None
) -> Mapping[str, Any]:
    """The environment's parameters from `--set`, `--curriculum` and `--ready`."""
    found = parse_pairs(entries or [], "--set", literal)
    if ready is not None:
        if "confidence" in found:
            raise InputError("--ready and --set confidence contradict each other", fix="give one of them")
        found["confidence"] = confidence_of(ready)
    if curriculum is not None:
        from mccpo.curriculum import Curriculum

        found["curriculum"] = Curriculum.read(curriculum)
    return found


def confidence_of(ready: str | None) -> float | None:
    """The chance that `--ready` asks for; None where θ is to open the gate."""
    if ready is None or ready == "theta":
        return None
    try:
        confidence = number(ready)
    except ValueError:
        raise InputError(f"--ready is {ready!r}", fix="give a chance such as 0.95, or theta") from None
    if not 0 < confidence < 1:
        raise InputError(f"--ready is {ready}", fix="give a chance strictly between 0 and 1, such as 0.95")
    return confidence


def numbers(text: str | None) -> tuple[float, ...]:
    """The numbers of `--kappa`, joined by commas."""
    if text is None:
        return ()
    try:
        return tuple(number(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--kappa is {text!r}", fix="give numbers joined by commas, such as 0.9,0.7") from None
