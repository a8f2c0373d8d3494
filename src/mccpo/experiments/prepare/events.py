"""The events that an environment is made of: those on the graph, of learners who have enough of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import polars as pl

from mccpo.curriculum import Curriculum
from mccpo.curriculum.lint import spelling
from mccpo.errors import InputError
from mccpo.experiments.prepare.options import FEWEST_LEARNERS, PrepareOptions
from mccpo.logs import BETWEEN_CONCEPTS, episodes


def events_on_graph(table: pl.DataFrame, curriculum: Curriculum, members: Mapping[str, str] | None) -> pl.DataFrame:
    """The events on concepts of the graph, named as the graph names them."""
    known = set(curriculum.concepts)
    renamed = []
    for name in table["concept"].dtype.categories:  # type: ignore[attr-defined]  # an Enum
        parts = [members.get(part, "") if members is not None else part for part in name.split(BETWEEN_CONCEPTS)]
        renamed.append(BETWEEN_CONCEPTS.join(sorted({part for part in parts if part in known})) or None)
    names = pl.Series("concept", renamed, dtype=pl.Enum(sorted({name for name in renamed if name is not None})))
    on_graph = table.with_columns(names.gather(table["concept"].to_physical())).drop_nulls("concept")
    if on_graph.height:
        return on_graph
    if table["concept"].null_count() == table.height:
        raise InputError("no event names a concept", fix="give logs whose events have concepts")
    fix = "give the graph of these logs, or --members item,concept"
    if members is None and (alike := alike_names(table, curriculum)):
        logged, named = next(iter(alike.items()))
        fix = f"name concepts alike: the logs have {logged!r}, the graph {named!r}"
    raise InputError("no event is on a concept of the graph", fix=fix)


def retained_episodes(on_graph: pl.DataFrame, options: PrepareOptions) -> pl.DataFrame:
    """The events of the learners who have enough of them, or of a sample of these learners."""
    retained = episodes(on_graph, options.minimum, options.episodes, seed=options.seed)
    learners = retained["episode"].n_unique()
    if learners < FEWEST_LEARNERS:
        what = f"{learners} learners have {options.minimum} events or more on the graph"
        raise InputError(f"{what}, and {FEWEST_LEARNERS} are needed", fix="lower --minimum, or give more logs")
    return retained


def concepts_in(events: pl.DataFrame) -> set[str]:
    """The names of the concepts that events are on, each by itself where an event has several."""
    names = events["concept"].drop_nulls().unique().cast(pl.String)
    return {part for name in names for part in name.split(BETWEEN_CONCEPTS)}


def alike_names(table: pl.DataFrame, curriculum: Curriculum) -> dict[str, str]:
    """Concepts of the logs that are not on the graph, with the concept of the graph that is spelt alike."""
    by_spelling = {spelling(name): name for name in curriculum.concepts}
    left_out = sorted(concepts_in(table) - set(curriculum.concepts))
    return {name: by_spelling[spelling(name)] for name in left_out if spelling(name) in by_spelling}


def apart(events: pl.DataFrame) -> pl.DataFrame:
    """One row for each concept of each event."""
    parts = pl.col("concept").cast(pl.String).str.split(BETWEEN_CONCEPTS)
    return events.with_columns(parts.alias("concept")).explode("concept")


def mean_length(retained: pl.DataFrame) -> float:
    """How many events an episode has on average."""
    return retained.height / retained["episode"].n_unique()


def digest(retained: pl.DataFrame) -> str:
    """The sha256 of who answered what, and how."""
    content = retained.select(pl.col("learner").cast(pl.String), pl.col("concept").cast(pl.String), "order", "correct")
    return hashlib.sha256(content.write_csv().encode()).hexdigest()
