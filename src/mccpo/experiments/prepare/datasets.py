"""The data sets of the tables from logs: where their files are, and what is made of them.

The data's folder is a release's own, or one that holds a folder for each data set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from mccpo.curriculum import read_raw
from mccpo.curriculum.derive import derive_junyi2020, derive_xes3g5m, learn_graph, read_routes, read_taxonomy
from mccpo.curriculum.lint import repaired
from mccpo.errors import InputError
from mccpo.experiments.prepare.build import prepare
from mccpo.experiments.prepare.document import LogOrigin
from mccpo.experiments.prepare.engagement import first_answers
from mccpo.experiments.prepare.learners import FitModels, LearnerModels, as_learners, halves, without_clock
from mccpo.experiments.prepare.options import PrepareOptions
from mccpo.experiments.prepare.prepared import Prepared
from mccpo.logs import BETWEEN_CONCEPTS, Logs, ReadOptions, load, responses_by_concept
from mccpo.mastery import BKT, PFA, BestLR, Responses, Weights
from mccpo.mastery.fitting import FitSettings, fit
from mccpo.mastery.tables import responses_of

_LEAST_CHANCE = 0.02


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set made into environments, the table that it was made of, and what its readers should know."""

    prepared: Prepared
    logs: Logs
    notes: tuple[str, ...]


def junyi(data: Path, seed: int) -> Dataset:
    """Junyi Academy 2018-2019: concepts and edges from the taxonomy, 5,000 learners with 30 events or more."""
    folder = _folder(data, "junyi2020", ("Log_Problem.csv", "Info_Content.csv"))
    logs = load(folder / "Log_Problem.csv", "junyi-2020")
    derived = derive_junyi2020(read_taxonomy(folder / "Info_Content.csv"))
    members = {item: concept for concept, items in derived.members.items() for item in items}
    made = prepare(
        logs.table, derived.graph, PrepareOptions(minimum=30, seed=seed), members=members, origin=_origin(logs)
    )
    return Dataset(made, logs, derived.notes)


def xes3g5m_data(data: Path, seed: int) -> Dataset:
    """XES3G5M: ancestors on the routes among the hundred most practised components, learners with 20 events or more."""
    folder = _folder(data, "xes3g5m", ("metadata/questions.json",))
    logs = load(folder, "xes3g5m")
    counts: Counter[str] = Counter()
    for name, count in logs.table.drop_nulls("concept").group_by(pl.col("concept").cast(pl.String)).len().iter_rows():
        for part in name.split(BETWEEN_CONCEPTS):
            counts[part] += count
    derived = derive_xes3g5m(read_routes(folder / "metadata"), interactions=counts)
    made = prepare(logs.table, derived.graph, PrepareOptions(minimum=20, seed=seed), origin=_origin(logs))
    return Dataset(made, logs, derived.notes)


def assistments_2009(data: Path, seed: int) -> Dataset:
    """ASSISTments 2009-10, skill builder: a graph learnt from the responses, since none was published."""
    names = ("skill_builder_data_corrected.parquet", "skill_builder_data_corrected.csv", "skill_builder_data.csv")
    logs = load(_one_of(_folder(data, "assist2009", ()), names), "assistments-2009")
    derived = learn_graph(responses_by_concept(logs.table), origin="assistments-2009")
    made = prepare(logs.table, derived.graph, PrepareOptions(seed=seed), origin=_origin(logs))
    return Dataset(made, logs, ("The graph is learnt from the responses; nobody has stated it.", *derived.notes))


def junyi_2015(data: Path, seed: int) -> Dataset:
    """Junyi Academy 2012-2015: the experts' graph over all exercises, and what released samples say of learners.

    One sample has names and no order, another order and no names. So how likely each exercise is to be known comes
    from the first, and how fast exercises are learnt, how often guessed and slipped on, from all of the second
    together.
    """
    folder = _folder(data, "junyi2015", ("junyi_Exercise_table.csv",))
    graph, removed = repaired(read_raw(folder / "junyi_Exercise_table.csv"))
    named = {"learner": "student", "concept": "exercise", "correct": "score"}
    logs = load(folder / "conecd_junyi_responses_named.parquet", "table", ReadOptions(mapping=named))
    ordered = {"learner": "student", "concept": "exercise", "order": "step", "correct": "correct"}
    sequences = load(folder / "grlepg_junyi_sequences.parquet", "table", ReadOptions(mapping=ordered))
    models = _from_samples(responses_of(sequences.table))
    options = PrepareOptions(minimum=10, seed=seed)
    made = prepare(logs.table, graph, options, origin=_origin(logs), models=models)
    notes = (
        f"The graph is the experts', {len(removed)} faults repaired (cycles, self-loops, repeats).",
        "Names and order of answers come from different samples: mastery at the start is each exercise's own, learning "
        "rate, guess and slip are one for all.",
    )
    return Dataset(made, logs, notes)


class SamplesReport(NamedTuple):
    """What was fitted to all exercises together."""

    learn: float
    guess: float
    slip: float
    decay: float

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {"of all exercises together": self._asdict()}


def _from_samples(sequences: Responses) -> FitModels:
    """The models of learners: pace from the sequences, all exercises together; the start from first answers."""

    def models(ours: Responses, theirs: Responses, settings: FitSettings) -> LearnerModels:
        # Those whose pace the judge has are others than those whose pace the tutor has, as with all that is fitted.
        mine, yours = (
            as_learners(half, np.zeros(half.rows, np.int32), ("any",)) for half in halves(sequences, settings.seed)
        )
        tracing, factors, others = (
            fit(name, half, settings).model for name, half in (("bkt", mine), ("pfa", yours), ("bkt", yours))
        )
        assert isinstance(tracing, BKT)
        assert isinstance(factors, PFA)
        assert isinstance(others, BKT)
        first = [_filled(first_answers(half)) for half in (ours, theirs)]
        sure = np.clip(first[1], _LEAST_CHANCE, 1 - _LEAST_CHANCE)
        success, failure = (np.full(len(sure), float(values[-1])) for values in (factors.success, factors.failure))
        learn, guess, slip = (float(values[-1]) for values in (tracing.learn, tracing.guess, tracing.slip))
        logit = np.log(sure / (1 - sure))
        # A network that reads named exercises in order cannot be had: no sample has both.
        return LearnerModels(
            _started(tracing, first[0], ours.concepts),
            PFA(logit, success, failure, factors.decay, ours.concepts),
            _started(others, first[1], theirs.concepts),
            _practised(halves(sequences, settings.seed)[1], logit, theirs.concepts, settings),
            None,
            SamplesReport(learn, guess, slip, factors.decay),
        )

    return models


def _started(pace: BKT, first: np.ndarray, concepts: tuple[str, ...]) -> BKT:
    """Knowledge tracing with one pace for all exercises, and a start of each by its right first answers."""
    learn, guess, slip = (float(values[-1]) for values in (pace.learn, pace.guess, pace.slip))
    known = np.clip((first - guess) / (1 - slip - guess), _LEAST_CHANCE, 1 - _LEAST_CHANCE)
    learnt, guessed, slipped = (np.full(len(first), value) for value in (learn, guess, slip))
    return BKT(known, learnt, guessed, slipped, concepts)


def _practised(sequences: Responses, logit: np.ndarray, concepts: tuple[str, ...], settings: FitSettings) -> BestLR:
    """Best-LR with what practice adds as the sequences have it, and the ease of each exercise by its first answers."""
    model = fit("best-lr", without_clock(sequences)._replace(item=None, items=()), settings).model
    assert isinstance(model, BestLR)
    own = np.zeros((len(concepts) + 1, len(BestLR.OWN)))
    own[:-1, 0] = logit[: len(concepts)] - model.weights.shared[0]
    return BestLR(Weights(model.weights.shared, own, np.zeros(1), concepts, ()))


def _filled(chance: Any) -> Any:
    """Chances with the mean where nobody answered, and that mean once more, for what is not in the data at all."""
    mean = float(np.nanmean(chance))
    return np.append(np.where(np.isnan(chance), mean, chance), mean)


def _origin(logs: Logs) -> LogOrigin:
    return LogOrigin(format=logs.format, account=logs.account)


def _folder(data: Path, name: str, files: tuple[str, ...]) -> Path:
    """The folder of a data set: the one given, or its own in there."""
    if not data.is_dir():
        raise InputError(f"{data} is not a folder", fix="name the folder of the data with --data")
    folder = data / name if (data / name).is_dir() else data
    for file in files:
        if not (folder / file).exists():
            raise InputError(f"{folder} has no {file}", fix="name the folder of the release with --data")
    return folder


def _one_of(folder: Path, names: tuple[str, ...]) -> Path:
    file = next((folder / name for name in names if (folder / name).exists()), None)
    if file is None:
        raise InputError(f"{folder} has none of {', '.join(names)}", fix="name the folder of the release with --data")
    return file


def retained(dataset: Dataset) -> np.ndarray:
    """Which rows of the log are in the retained episodes: the paper's denominator."""
    rows, in_episodes = (_event_numbers(table) for table in (dataset.logs.table, dataset.prepared.episodes))
    return np.isin(rows, in_episodes)


def _event_numbers(table: pl.DataFrame) -> np.ndarray:
    """A number for each event, by learner and position, that stays the same when others are left out."""
    return table["learner"].to_physical().to_numpy().astype(np.int64) << 32 | table["order"].to_numpy()


DATASETS: dict[str, Callable[[Path, int], Dataset]] = {
    "junyi": junyi,
    "xes3g5m": xes3g5m_data,
    "assistments-2009": assistments_2009,
    "junyi-2015": junyi_2015,
}
