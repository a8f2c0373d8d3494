"""What the tests of commands share."""

import pytest


@pytest.fixture
def figures() -> None:
    """Asked for by a test that looks at the figures of a report."""


@pytest.fixture(autouse=True)
def _figures_are_drawn_where_they_are_looked_at(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawing takes longer than a small run, and has tests of its own; every run writes its report all the same."""
    if "figures" not in request.fixturenames:
        monkeypatch.setattr("mccpo.report.page.html.galleries", lambda *_: [])
        monkeypatch.setattr("mccpo.report.page.html.opening", lambda *_: None)
