"""The simulation of our statistics: that it says what it counts, and that what we use now holds."""

import pytest

from mccpo.experiments import TABLES, Options, Session
from mccpo.experiments.paper import coverage
from mccpo.experiments.paper.coverage import BEFORE, NOW


@pytest.fixture(scope="module")
def settings():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "BATCHES", 2)
        patch.setattr(coverage, "SAMPLES", 60)
        patch.setattr(coverage, "SIZES", (4,))
        patch.setattr(coverage, "RESAMPLES", 99)
        results = TABLES["coverage"](Options(), Session()).results
    assert results.finding is not None
    return {setting.name: setting.rows for setting in results.settings}


def test_every_study_has_both_procedures_and_shares(settings):
    assert list(settings) == list(coverage.studies())
    for rows in settings.values():
        assert rows[BEFORE].keys() == rows[NOW].keys()
        assert all(0 <= share <= 1 for row in rows.values() for cell in row.values() for share in cell.per_seed)


def test_what_we_use_now_is_right_more_often(settings):
    intervals, tests, agreement, shares = settings.values()
    normal = "covered, normal, 4 seeds"
    assert intervals[BEFORE][normal].mean < intervals[NOW][normal].mean
    assert intervals[NOW][normal].mean == pytest.approx(0.95, abs=0.06)
    assert tests[NOW]["differences found"].mean > 5 * tests[BEFORE]["differences found"].mean
    assert tests[NOW]["any false alarm of ten"].mean < 0.15 < tests[BEFORE]["any false alarm of ten"].mean
    off = "paper off by the margin, varying"
    assert agreement[NOW][off].mean < 0.1 < agreement[BEFORE][off].mean
    assert agreement[NOW]["paper right, steady"].mean > 0.8
    assert shares[BEFORE]["covered"].mean < shares[NOW]["covered"].mean


def test_the_same_seed_makes_up_the_same_experiments(monkeypatch):
    monkeypatch.setattr(coverage, "BATCHES", 1)
    monkeypatch.setattr(coverage, "SAMPLES", 20)
    name, study = "tests at 5 %, ten seeds", coverage._tests
    first, again, other = (coverage._setting(name, study, seed).rows for seed in (0, 0, 1))
    assert first == again
    assert first != other
