"""The section of a page that says where an environment made from logs comes from."""

import pytest

from mccpo.errors import InputError
from mccpo.report.page.html import render
from mccpo.runs.results import Results

RATE = {
    "measure": "ema",
    "population": "episodes",
    "of": "interactions",
    "events": 250,
    "analysed": 1000,
    "learners": 9,
}
DATA = {
    "graph": {"concepts": 14, "edges": 17, "provenance": {}, "derived": "derived by a recipe from <a file>"},
    "events": {"in the table": 12345, "on the graph": 2000, "in episodes": 1000},
    "episodes": {"count": 20, "mean length": 50.4, "horizon": 50},
    "learners": {"tutor": 10, "judge": 9},
    "engagement": {"tutor": {"base": 0.8, "r_squared": 0.114}, "judge": {"base": 0.7, "r_squared": 0.087}},
    "account": {"rows": 12345},
    "decoupling": [
        {**RATE, "rate": 0.25, "low": 0.2, "high": 0.3},
        {**RATE, "measure": "signal", "population": "all", "of": "correct", "rate": None, "low": None, "high": None},
    ],
    "decoupling in the paper": {"events": 90485, "analysed": 340988, "rate": 0.265},
}


def page(beside_paper, data):
    return render([Results.parse(beside_paper | {"data": data})], [None], manifest=None)


def test_the_page_says_what_the_data_is(beside_paper):
    shown = page(beside_paper, DATA)
    assert shown.count("<h3>The data</h3>") == 1
    for text in (
        "14 concepts, 17 edges: derived by a recipe from &lt;a file&gt;",
        "12,345 in the table, 2,000 on the graph, 1,000 in episodes",
        "count 20, mean length 50.4, horizon 50",
        "10 of the tutor, 9 of the judge",
        "0.11 of the tutor, 0.09 of the judge",
        "<td>250</td><td>1,000</td><td>25 %</td><td>20 % to 30 %</td>",
        "the platform&#x27;s signal",
        "<td>right answers</td><td>250</td><td>1,000</td><td>–</td><td>–</td>",
        "The paper reports 90,485 of 340,988, 26.5 %.",
    ):
        assert text in shown, text


def test_a_page_of_other_tables_says_nothing_of_data(beside_paper):
    assert "The data" not in page(beside_paper, None)
    assert "The data" not in render([Results.parse(beside_paper)], [None], manifest=None)


def test_what_is_not_known_is_left_out(beside_paper):
    shown = page(beside_paper, {"graph": {"concepts": 3, "edges": 2}})
    assert "3 concepts, 2 edges" in shown
    assert "brought no gain" not in shown
    assert "<dt>learners</dt>" not in shown
    without = {key: value for key, value in DATA.items() if key != "decoupling in the paper"}
    assert "The paper reports" not in page(beside_paper, without)


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ([], "chain: data"),
        ({"events": {"in the table": "many"}}, "chain: data, events, in the table"),
        ({"decoupling": [{**RATE, "events": None}]}, "chain: data, decoupling, events"),
    ],
)
def test_data_that_cannot_be_read_is_an_error_that_says_where(beside_paper, data, where):
    with pytest.raises(InputError, match=where):
        page(beside_paper, data)
