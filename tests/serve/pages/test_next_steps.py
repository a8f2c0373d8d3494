"""What the monitor tells a teacher to do."""

import pytest

from mccpo.serve.monitor.spending import COSTS
from mccpo.serve.pages.next_steps import WORDS, next_steps


def rate(recent, of=100):
    return {"count": 0, "of": of, "rate": recent, "recent": recent}


def cost(within):
    return {"session": 1.0, "full": 1.0, "interval": None, "budget": 0.5, "within": within}


def seen(**other):
    costs = dict.fromkeys(("c2", "c3", "c4"), cost(True))
    return {"fallback": rate(0.0), "decoupling": rate(0.0), "costs": costs, "floors": {}} | other


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (seen(), []),
        (seen(fallback=rate(0.2)), ["The policy often fails."]),
        (seen(fallback=rate(0.2, of=3)), []),
        (seen(costs={"c2": cost(False), "c3": cost(True), "c4": cost(None)}), ["Too little progress."]),
        (
            seen(costs={"c2": cost(None), "c3": cost(False), "c4": cost(False)}),
            ["Too little challenge.", "Busy without"],
        ),
        (seen(floors={"mastered": cost(False)}), ["Concepts mastered: less than promised."]),
        (seen(decoupling=rate(0.3)), ["Right answers that teach nothing."]),
    ],
)
def test_the_monitor_says_what_to_do_next(report, words):
    steps = next_steps(report)
    assert len(steps) == len(words)
    assert all(step.what.startswith(word) and step.do for step, word in zip(steps, words, strict=True))


def test_every_cost_and_floor_has_words_and_advice():
    assert set(WORDS) == {*COSTS, "learning", "mastered", "engagement"}
    for name in WORDS:
        kind = "costs" if name in COSTS else "floors"
        assert next_steps(seen(**{kind: {name: cost(False)}}))
