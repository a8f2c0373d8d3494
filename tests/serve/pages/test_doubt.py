"""Where the gate counts on less than the mastery that is shown, state and pages say so beside it."""

from html import unescape

import pytest

from mccpo.env import EVERYONE, make
from mccpo.serve.policy import load_release

from ..client import serving  # noqa: TID252 - shared by the folders of these tests

SPACE = "\N{NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def api(run_of, tmp_path_factory):
    """Learners begin with a mastery of 0.99 in everything, of whose odds the gate strikes off nine tenths."""
    env = make("tutor-15-bkt", concepts=6, horizon=20, confidence=0.95, doubt=0.9, K0=0.99, groups=EVERYONE)
    with serving(load_release(run_of(env)), tmp_path_factory.mktemp("record") / "record.db") as found:
        yield found


def test_state_has_what_the_gate_counts_on(api):
    state = api.get(f"/v1/learners/{api.learner('doubted')}/state").json()
    odds = 99 * (1 - 0.9)
    for concept in state["concepts"]:
        assert concept["mastery"] == pytest.approx(0.99)
        assert concept["trusted"] == pytest.approx(odds / (1 + odds))
    assert any(concept["unmet"] for concept in state["concepts"])  # locked, though all are at 0.99


def test_pages_call_nothing_mastered_that_keeps_the_gate_shut(api):
    learner = api.learner("shown")
    text = unescape(api.get(f"/pages/learners/{learner}").text)
    counted = f"99{SPACE}%, the gate counts on 91{SPACE}%"
    assert 'data-status="mastered"' not in text
    assert f"waits for <bdi>v0</bdi> ({counted})" in text
    assert f'<span class="value">{counted}</span>' in text
    assert "0 of 6 mastered" in api.get("/pages/learners").text
