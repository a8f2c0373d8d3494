"""The gains of mastery with every event of a table, by models: at once, or by shards of whole learners."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
from jaxtyping import Float

from mccpo.logs import ema, shards
from mccpo.mastery.bkt import BKT, BKTForget
from mccpo.mastery.fitting import FitSettings, fit, gains_by_event
from mccpo.mastery.tables.responses import responses_of
from mccpo.work import Call, Calls, one_by_one

SHARDS = 16
"""In how many parts the events go to other processes, at most."""

Events: TypeAlias = pl.DataFrame | Path
"""A canonical table, or the file that one was left in for another process."""


def gains_by_model(
    table: pl.DataFrame,
    names: Sequence[str],
    settings: FitSettings,
    calls: Calls = one_by_one,
    left_in: Path | None = None,
) -> dict[str, Float[np.ndarray, " rows"]]:
    """What each event adds to the mastery of its concepts, on average over them, by model; NaN where it has none.

    The models are ema, bkt and bkt-forget; knowledge tracing is fitted to the events first. Where other processes make
    the `calls`, they read the events from the file `left_in`, shard by shard: what comes out is the same.
    """
    events: Events = table
    parts = [slice(0, table.height)]
    if left_in is not None:
        table.write_parquet(left_in)
        events, parts = left_in, shards(table, SHARDS)
    traced = [name for name in names if name != "ema"]
    fitted = calls([Call(f"{name} of all learners", fit_tracing, (events, name, settings)) for name in traced])
    models = dict(zip(traced, fitted, strict=True))
    asked = [(name, part) for name in names for part in parts]
    gains = calls(
        [
            Call(f"{name} of rows {part.start} on", gains_between, (events, part, models.get(name), settings.alpha))
            for name, part in asked
        ]
    )
    return {
        name: np.concatenate([gain for (model, _), gain in zip(asked, gains, strict=True) if model == name])
        for name in names
    }


def fit_tracing(events: Events, name: str, settings: FitSettings) -> BKT | BKTForget:
    """Knowledge tracing fitted to events."""
    model = fit(name, responses_of(_read(events)), settings).model
    assert isinstance(model, BKT | BKTForget)
    return model


def gains_between(
    events: Events, part: slice, model: BKT | BKTForget | None, alpha: float
) -> Float[np.ndarray, " rows"]:
    """The gains with some of the events, by knowledge tracing or, where no model is given, by the moving average."""
    table = _read(events, part)
    if model is None:
        path = ema(table, alpha=alpha)
        return (path["after"] - path["before"]).fill_null(float("nan")).to_numpy()
    return gains_by_event(model, responses_of(table), table.height)


def _read(events: Events, part: slice | None = None) -> pl.DataFrame:
    """Events, or some of them, with all names of the whole table."""
    rows = (0, None) if part is None else (part.start, part.stop - part.start)
    if isinstance(events, pl.DataFrame):
        return events.slice(*rows)
    return pl.scan_parquet(events).slice(*rows).collect()
