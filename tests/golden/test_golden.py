"""What a fixed list of small calls gave before the rooms were moved, and gives still.

`calls.py` compares two versions on one machine to the last bit. Here the calls whose numbers hold on any machine are
compared: those that train nothing, to nine digits; one that trains by a table, to two.
"""

import contextlib
import json
from pathlib import Path

import pytest
from tests.golden.calls import CALLS, call

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
EXACT = ("solve chain", "solve gate", "logs generate", "derive", "audit")


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """What the calls give now; later ones read what earlier ones wrote."""
    with contextlib.chdir(tmp_path_factory.mktemp("golden")):
        return {name: call(CALLS[name]) for name in (*EXACT, "compare gate")}


def differences(old, new, where=""):
    """Where two trees of JSON differ by more than rounding."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = [f"{where}/{key} is missing on one side" for key in old.keys() ^ new.keys()]
        for key in old.keys() & new.keys():
            found += differences(old[key], new[key], f"{where}/{key}")
        return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [found for at, pair in pairs for found in differences(*pair, f"{where}[{at}]")]
    numbers = isinstance(old, float) and isinstance(new, int | float)
    same = new == pytest.approx(old, rel=1e-9, abs=1e-12) if numbers else old == new
    return [] if same else [f"{where}: {old!r} is now {new!r}"]


@pytest.mark.parametrize("name", EXACT)
def test_what_trains_nothing_gives_the_same(name, given):
    out = {key: value for key, value in given[name]["out"].items() if key in GOLDEN[name]["out"]}
    assert given[name]["exit"] == GOLDEN[name]["exit"]
    assert differences(GOLDEN[name]["out"], out) == []


def test_a_table_learns_the_same(given):
    table, golden = given["compare gate"]["out"], GOLDEN["compare gate"]
    assert differences(golden["budgets"], table["budgets"]) == []
    assert differences(golden["optimum"], table["optimum"]) == []
    for method, row in golden["rows"].items():
        now = {metric: table["rows"][method][metric]["mean"] for metric in row}
        assert now == pytest.approx(row, rel=2e-2, abs=2e-2), method


def test_a_difference_is_noticed():
    old = {"rows": [1.0, {"a": 2}], "name": "x"}
    assert len(differences(old, {"rows": [1.0 + 1e-6, {"a": 2}], "name": "y"})) == 2
    assert differences(old, {"rows": [1.0], "name": "x"})
    assert differences(old, {"rows": [1.0, {"a": 2}]})
