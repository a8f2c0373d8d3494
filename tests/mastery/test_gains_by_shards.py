"""Gains of mastery by shards of learners: the same bits as of the whole table."""

import numpy as np
import polars as pl
import pytest

from mccpo.logs import moving_average, read_table, shards
from mccpo.mastery.fitting import FitSettings
from mccpo.mastery.tables import gains_by_model


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {
            "learner": f"u{who:03d}",
            "concept": [None, "sums", "halves", "halves~~sums"][int(rng.integers(4))],
            "order": order,
            "correct": bool(rng.random() < 0.6),
        }
        for who in range(60)
        for order in range(int(rng.integers(1, 30)))
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "table.parquet")
    return read_table(tmp_path / "table.parquet")


@pytest.mark.parametrize("count", [1, 3, 16, 1000])
def test_shards_are_whole_learners_and_all_rows(table, count, monkeypatch):
    monkeypatch.setattr(moving_average, "_CHUNK", 50)
    parts = shards(table, count)
    assert 1 <= len(parts) <= count
    assert len(parts) > 1 or count == 1
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(table.height))
    learners = [set(table["learner"][part.start : part.stop].cast(str)) for part in parts]
    assert sum(map(len, learners)) == len(set.union(*learners))


def test_gains_of_shards_match_the_whole(table, tmp_path, monkeypatch):
    monkeypatch.setattr(moving_average, "_CHUNK", 50)
    settings, models = FitSettings(restarts=1), ["ema", "bkt"]
    whole = gains_by_model(table, models, settings)
    apart = gains_by_model(table, models, settings, left_in=tmp_path / "events.parquet")
    assert len(shards(table, 16)) > 2
    for name in models:
        np.testing.assert_array_equal(apart[name], whole[name])
