"""`mccpo bench` as a user calls it; what it measures is tested beside the experiments."""

import json

import pytest

from mccpo.cli import main
from mccpo.experiments import bench_neural

SIZES = {"environments": 64, "rollout": 128, "minibatch": 512, "epochs": 4}


def speed(steps, **more):
    return {"steps_per_second": steps, "steps_per_second_per_core": steps / 2, "rounds": [steps], **more}


def contest(speeds, ratios, missing=None):
    return {"speeds": speeds, "ratios": ratios, "ratio": min(ratios.values(), default=None), "peer_missing": missing}


FOUND = {
    "cores": 2,
    "device": "cpu",
    "seeds": 10,
    "speed": {
        "sizes": SIZES,
        **contest({"mccpo": speed(400_000.0), "MaskablePPO": speed(20_000.0)}, {"MaskablePPO": 20.0}),
    },
    "best": contest({"mccpo": speed(500_000.0, sizes=SIZES | {"minibatch": 2048})}, {}, "no network"),
    "roofline": {
        "flops_per_step": 208_000,
        "steps_per_second": 400_000.0,
        "flops_per_second": 8.32e10,
        "products_flops_per_second": 1.6e11,
        "share": 0.52,
    },
    "start": {"compile_seconds": 9.0, "first_compare_seconds": 14.0, "second_compare_seconds": 2.5},
    "memory": {"runs": 50, "peak_gib": 1.25},
    "growth": {
        "sizes": [
            {"concepts": 15, "curriculum": "tutor-15", "flops_per_step": 208_000, **speed(400_000.0)},
            {"concepts": 100, "curriculum": "random", "flops_per_step": 900_000, **speed(50_000.0)},
        ],
        "falls_no_faster_than_linearly": False,
    },
}


@pytest.fixture
def asked(monkeypatch):
    """The parts that were asked for, while every measurement gives the same."""
    calls = []
    monkeypatch.setattr(bench_neural, "measure", lambda parts, bench: (calls.append((parts, bench)), FOUND)[1])
    return calls


def test_the_neural_bench_as_text(asked, capsys):
    assert main(["bench", "neural"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "64 × 128, 512, 4 20,000 10,000 20.0 times MaskablePPO" in lines
    assert "64 × 128, 2048, 4 500,000 250,000 mccpo" in lines
    assert "MaskablePPO is not measured: no network" in lines
    assert any("83.2 GFLOP/s, 52% of the 160.0 GFLOP/s" in line for line in lines)
    assert any("9.0 s of compiling" in line and "after 14.0 s, the next after 2.5 s" in line for line in lines)
    assert "memory: 1.25 GiB at most with 50 runs" in lines
    assert "100 50,000 900,000 random" in lines
    assert "steps/s falls FASTER THAN linearly in concepts" in lines
    assert asked[0][0] == []


def test_parts_are_named_and_json_is_what_was_found(asked, capsys):
    assert main(["bench", "neural", "--parts", "memory, speed", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == FOUND
    assert asked[0][0] == ["memory", "speed"]
    assert asked[0][1].cache is not None


@pytest.mark.parametrize(
    ("call", "culprit"),
    [(["neural", "--parts", "speeed"], "speeed"), (["tabular", "--parts", "speed"], "--parts")],
)
def test_a_wrong_part_is_one_line_and_exit_2(call, culprit, capsys):
    assert main(["bench", *call]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert culprit in captured.err
