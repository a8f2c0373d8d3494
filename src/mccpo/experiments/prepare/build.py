"""From logs and a prerequisite graph to an environment to train in, and another one to judge by.

Learners are split in two halves by name. Knowledge tracing is fitted to one: its learners are those a policy is trained
with. Performance factors are fitted to the other: these learners judge the policy. The folder that is written holds

    curriculum.json   the graph, with the demands found
    tutor.json        the environment to train in: `mccpo.make(folder)`
    judge.json        the one to judge by: `mccpo.make(folder/judge.json)`
    learner.json, judge-learner.json   the two models, as `mccpo fit-learner` writes them
    episodes.parquet  the retained episodes, as a canonical table
    prepared.json     where all of it comes from, and every number that was chosen or found

and is the same to the byte for the same input.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float

from mccpo import files
from mccpo.curriculum import Curriculum, RawGraph, check_theta, write_raw
from mccpo.curriculum.lint import Removal, repair
from mccpo.env import PreparedJudge, PreparedTutor, describe_environment
from mccpo.env.registry import JUDGE, TUTOR
from mccpo.env.tutor.prepared import EVERYONE
from mccpo.errors import InputError
from mccpo.experiments.prepare.learners import Models, fitted, groups_of, halves, harmless, labels_of
from mccpo.experiments.prepare.signals import Engagement, demand_of, engagement_of
from mccpo.files import dump_json
from mccpo.logs import BETWEEN_CONCEPTS, MINIMUM, MOST, NAMES, encode, episodes, write_table
from mccpo.mastery import BKT, PFA, Responses, codes, write_model
from mccpo.mastery.fitting import FitSettings, trajectories
from mccpo.mastery.tables import responses_of

FORMAT = "mccpo-prepared/1"
DOCUMENT = "prepared.json"
"""The file that makes a folder a prepared one; it is put there last."""
C2_SHARE, C4_SHARE = 0.022 / 0.064, 10.5 * 0.064
"""What c2 and c4 ask of a lesson in the paper's tutor, in units of what the first lesson brings there: 0.08·0.8."""
FEWEST_LEARNERS = 4
_LEAST_RATE, _MOST_RATE = 1e-3, 0.5
_LEAST_K0, _MOST_K0 = 0.01, 0.99
_MOST_GUESS = 0.49
"""A guess and a slip of one half each would leave an answer without a word to say."""


@dataclass(frozen=True)
class Choices:
    """What `prepare` leaves open.

    **Fields:**

    - `minimum`: events that a learner must have; `episodes`: how many learners to keep at most.
    - `horizon`: of the environment; the mean length of the episodes where it is None.
    - `group`: the group column by which learners are told apart.
    - `theta`: the mastery that opens the gate.
    - `restarts`, `seed`: of the fits, of the sample of episodes and of the split.
    """

    minimum: int = MINIMUM
    episodes: int = MOST
    horizon: int | None = None
    group: str | None = None
    theta: float = 0.7
    restarts: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_theta(self.theta)
        for name in ("minimum", "episodes", "horizon", "restarts"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}", fix="give at least 1")


@dataclass(frozen=True, eq=False)
class Prepared:
    """What logs were made into, ready to be written."""

    graph: RawGraph
    tutor: PreparedTutor
    judge: PreparedJudge
    learner: BKT
    judging: PFA
    episodes: pl.DataFrame
    document: dict[str, Any]

    def write(self, folder: Path) -> None:
        """Writes the folder. All is written elsewhere first, so that what fails leaves the folder as it was."""
        check_folder(folder)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.")
        except OSError as error:
            fix = "choose a folder that you may write to"
            raise InputError(f"cannot write {folder}: {error.strerror or error}", fix=fix) from error
        with scratch as place:
            self._write_into(Path(place))
            folder.mkdir(exist_ok=True)
            for path in sorted(Path(place).iterdir(), key=lambda one: (one.name == DOCUMENT, one.name)):
                path.replace(folder / path.name)

    def _write_into(self, folder: Path) -> None:
        write_raw(self.graph, folder / "curriculum.json")
        write_model(self.learner, folder / "learner.json")
        write_model(self.judging, folder / "judge-learner.json")
        tight = self.episodes.with_columns(encode(self.episodes[name]) for name in NAMES)
        write_table(tight, folder / "episodes.parquet")
        for name, env in ((JUDGE, self.judge), (TUTOR, self.tutor)):
            described = {"environment": env.name, "parameters": describe_environment(env)}
            files.write_text(folder / name, dump_json(described, indent=1) + "\n")
        files.write_text(folder / DOCUMENT, dump_json(self.document, indent=2) + "\n")


def check_folder(folder: Path) -> None:
    """Refuses a folder that holds something else than what was prepared before."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / DOCUMENT).exists())):
        raise InputError(f"{folder} holds something else", fix="name a new folder")


def repaired(raw: RawGraph) -> tuple[RawGraph, tuple[Removal, ...]]:
    """A graph without its faults, and what had to go; a demand that nobody stated stays unstated."""
    curriculum, removed = repair(raw)
    rows = (replace(row, demand=raw.demand.get(row.name)) for row in curriculum.to_raw().rows)
    return RawGraph(tuple(rows), raw.source).labelled_as(raw), removed


def prepare(
    table: pl.DataFrame,
    graph: RawGraph,
    choices: Choices | None = None,
    *,
    members: Mapping[str, str] | None = None,
    origin: Mapping[str, Any] | None = None,
    models: Models = fitted,
) -> Prepared:
    """Makes environments of a canonical table and a graph.

    `members` says which concept of the graph each concept of the table belongs to; without it they have the same names.
    Events on other concepts are left out, and counted. `origin` is what the document says of where the table is from.
    `models` gives the two models of learners from the responses of the two halves, where fitting them is not enough.
    """
    chosen = choices or Choices()
    curriculum = Curriculum.from_raw(graph)
    on_graph = _on_graph(table, curriculum, members)
    kept = _episodes(on_graph, chosen)
    labels = None if chosen.group is None else labels_of(kept, chosen.group)
    ours, theirs = halves(_coded(responses_of(kept), curriculum), chosen.seed)
    settings = FitSettings(restarts=chosen.restarts, seed=chosen.seed)
    learner, judging, fits = models(ours, theirs, settings)
    demand, asked = demand_of(_apart(kept), curriculum.concepts)
    graph = _with_demand(graph, curriculum, demand)
    base = _base(Curriculum.from_raw(graph), learner)
    if labels is not None:
        base["groups"] = groups_of(labels, ours, settings, base["K0"], base["eta"])
    base |= {"theta": chosen.theta, "horizon": chosen.horizon or max(2, round(_mean_length(kept)))}
    tutor, engaged = _tutor(base, learner, ours)
    judge, judged = _judge(base, harmless(judging), theirs)
    document = {
        "format": FORMAT,
        "from": dict(origin or {}),
        "choices": asdict(chosen),
        **_described(graph, tutor),
        "events": {"in the table": table.height, "on the graph": on_graph.height, "in episodes": kept.height},
        **_counted(kept, tutor),
        "learners": {"tutor": len(np.unique(ours.learner)), "judge": len(np.unique(theirs.learner))},
        "engagement": {"tutor": engaged._asdict(), "judge": judged._asdict()},
        "demand": {"mean of": asked, "least": float(tutor.demand.min()), "most": float(tutor.demand.max())},
        "fits": fits,
    }
    return Prepared(graph, tutor, judge, learner, judging, kept, document)


def _on_graph(table: pl.DataFrame, curriculum: Curriculum, members: Mapping[str, str] | None) -> pl.DataFrame:
    """The events on concepts of the graph, named as the graph names them."""
    known = set(curriculum.concepts)
    renamed = []
    for name in table["concept"].dtype.categories:  # type: ignore[attr-defined]  # an Enum
        parts = [members.get(part, "") if members is not None else part for part in name.split(BETWEEN_CONCEPTS)]
        renamed.append(BETWEEN_CONCEPTS.join(sorted({part for part in parts if part in known})) or None)
    names = pl.Series("concept", renamed, dtype=pl.Enum(sorted({name for name in renamed if name is not None})))
    found = table.with_columns(names.gather(table["concept"].to_physical())).drop_nulls("concept")
    if not found.height:
        said = "no event names a concept" if table["concept"].null_count() == table.height else ""
        fix = "give the graph of these logs, or --members item,concept"
        raise InputError(
            said or "no event is on a concept of the graph", fix="give logs whose events have concepts" if said else fix
        )
    return found


def _episodes(on_graph: pl.DataFrame, chosen: Choices) -> pl.DataFrame:
    kept = episodes(on_graph, chosen.minimum, chosen.episodes, seed=chosen.seed)
    found = kept["episode"].n_unique()
    if found < FEWEST_LEARNERS:
        what = f"{found} learners have {chosen.minimum} events or more on the graph, and {FEWEST_LEARNERS} are needed"
        raise InputError(what, fix="lower --minimum, or give more logs")
    return kept


def _apart(events: pl.DataFrame) -> pl.DataFrame:
    """One row for each concept of each event."""
    parts = pl.col("concept").cast(pl.String).str.split(BETWEEN_CONCEPTS)
    return events.with_columns(parts.alias("concept")).explode("concept")


def _coded(responses: Responses, curriculum: Curriculum) -> Responses:
    """The responses with the codes of the curriculum."""
    place = np.array([curriculum.index(name) for name in responses.concepts], np.int32)
    return responses._replace(concept=place[responses.concept], concepts=curriculum.concepts)


def _with_demand(graph: RawGraph, curriculum: Curriculum, demand: Float[np.ndarray, " concepts"]) -> RawGraph:
    # A graph that says itself what its concepts ask keeps that.
    found = {name: round(float(one), 6) for name, one in zip(curriculum.concepts, demand, strict=True)} | graph.demand
    rows = (replace(row, demand=found[row.name]) for row in curriculum.to_raw().rows)
    return RawGraph(tuple(rows), graph.source).labelled_as(graph)


def _mean_length(kept: pl.DataFrame) -> float:
    return kept.height / kept["episode"].n_unique()


def _described(graph: RawGraph, tutor: PreparedTutor) -> dict[str, Any]:
    """What the document says of the graph, and of the groups on it."""
    size = {"concepts": len(tutor.curriculum), "edges": len(tutor.curriculum.edges), "provenance": graph.provenances()}
    derived = {} if graph.derived is None else {"derived": str(graph.derived)}
    return {"graph": size | derived, "groups": [group._asdict() for group in tutor.groups]}


def _counted(kept: pl.DataFrame, tutor: PreparedTutor) -> dict[str, Any]:
    """What the document says of the episodes."""
    count = {"count": kept["episode"].n_unique(), "mean length": _mean_length(kept), "horizon": tutor.horizon}
    return {"episodes": count, "sha256 of the episodes": _digest(kept)}


def _base(curriculum: Curriculum, learner: BKT) -> dict[str, Any]:
    """What both environments have in common: the curriculum, and what the tutor believes of learners."""
    at = codes(learner, curriculum.concepts)

    def held(values: Float[np.ndarray, " entries"], least: float, most: float) -> Float[np.ndarray, " concepts"]:
        return np.clip(values[at], least, most).astype(np.float32)

    return {
        "curriculum": curriculum,
        "K0": held(learner.prior, _LEAST_K0, _MOST_K0),
        "eta": held(learner.learn, _LEAST_RATE, _MOST_RATE),
        "guess": held(learner.guess, 0.0, _MOST_GUESS),
        "slip": held(learner.slip, 0.0, _MOST_GUESS),
        "groups": EVERYONE,
        "c3_demand": float(np.median(curriculum.demand)),
    }


def _tutor(base: Mapping[str, Any], learner: BKT, responses: Responses) -> tuple[PreparedTutor, Engagement]:
    engaged = _engagement(base, learner, responses)
    first = float((base["eta"] * (1 - base["K0"])).mean())
    return PreparedTutor(**base, **_signals(engaged, first)), engaged


def _judge(base: Mapping[str, Any], judging: PFA, responses: Responses) -> tuple[PreparedJudge, Engagement]:
    at = codes(judging, base["curriculum"].concepts)
    ease, success, failure = (values[at].astype(np.float32) for values in judging[:3])
    chance, right, wrong = (1 / (1 + np.exp(-logit)) for logit in (ease, ease + success, ease + failure))
    first = float((chance * (right - chance) + (1 - chance) * (wrong - chance)).mean())
    engaged = _engagement(base, judging, responses)
    effects: dict[str, Any] = {"ease": ease, "success": success, "failure": failure, "decay": judging.decay}
    return PreparedJudge(**base, **effects, **_signals(engaged, max(first, _LEAST_RATE))), engaged


def _engagement(base: Mapping[str, Any], model: BKT | PFA, responses: Responses) -> Engagement:
    mastery = np.asarray(trajectories(model, responses).mastery, float)
    return engagement_of(responses, mastery, np.asarray(base["curriculum"].demand))


def _signals(engaged: Engagement, first: float) -> dict[str, Any]:
    """The numbers of r_E, c2 and c4, where `first` is what the first lesson on a concept brings on average."""
    return {
        "r_base": engaged.base,
        "r_difficulty": engaged.difficulty,
        "r_novelty": engaged.novelty,
        "c2_gain": C2_SHARE * first,
        "c4_rate": C4_SHARE / first,
    }


def _digest(kept: pl.DataFrame) -> str:
    content = kept.select(pl.col("learner").cast(pl.String), pl.col("concept").cast(pl.String), "order", "correct")
    return hashlib.sha256(content.write_csv().encode()).hexdigest()
