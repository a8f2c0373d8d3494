"""What wrong edges do, in small: one rule, on one curriculum."""

import pytest

from mccpo.errors import InputError
from mccpo.experiments import TABLES, Options, Session
from mccpo.experiments.paper import wrong_edges

RULES = ("random-ready",)


def test_missing_edges_harm_readiness_and_extra_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrong_edges, "CURRICULA", {"tutor-15": {"concepts": 6}})
    monkeypatch.setattr(wrong_edges, "TEACHES", "random-ready")
    monkeypatch.setattr(wrong_edges, "SHARES", (0.8,))
    monkeypatch.setattr(wrong_edges, "MISTAKES", ("missing", "extra"))
    results = TABLES["wrong-edges"](Options(methods=RULES, seeds=5), Session()).results
    rows = {setting.name.removeprefix("tutor-15, "): setting.rows for setting in results.settings}
    assert set(rows) == {"no wrong edges", "80% missing", "80% extra"}
    for method in RULES:
        right, missing, extra = (rows[name][method] for name in ("no wrong edges", "80% missing", "80% extra"))
        assert right["wrong_edges"].mean == 0 < missing["wrong_edges"].mean
        assert missing["true_violation_rate"].mean > 2 * right["true_violation_rate"].mean
        assert extra["true_violation_rate"].mean < missing["true_violation_rate"].mean / 2
        assert missing["prerequisite_violation_rate"].mean == 0  # by the wrong graph, all is well
    assert "80% missing" in (results.finding or "")


def test_what_has_no_meaning_here_is_refused() -> None:
    with pytest.raises(InputError, match="environments and floors of its own"):
        TABLES["wrong-edges"](Options(kappa=(0.5,)), Session())
