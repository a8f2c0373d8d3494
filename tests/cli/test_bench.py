"""`mccpo bench` as a user calls it; what it measures is tested beside the experiments."""

import json
from dataclasses import replace

import pytest

from mccpo.bench import logs as bench_logs
from mccpo.bench import neural as bench_neural
from mccpo.bench import ray_cells
from mccpo.bench import tabular as bench_tabular
from mccpo.bench.fresh import Memory
from mccpo.bench.neural_results import (
    SHARED,
    BelowRoofline,
    FastestSettings,
    Growth,
    GrowthStep,
    IdenticalSettings,
    NeuralBench,
    PeerState,
    Roofline,
    SpeedAt,
    Start,
)
from mccpo.bench.rounds import Speed
from mccpo.bench.tabular import TableSpeed, TabularBench
from mccpo.cli import main
from mccpo.methods.gradient.rollout import Sizes

SIZES = Sizes(64, 128, 512, 4)


def speed(steps):
    return Speed(steps, (steps,), 2)


PARTS = {
    "speed": IdenticalSettings(
        SIZES,
        {"mccpo": speed(400_000.0), SHARED: speed(200_000.0), "MaskablePPO": speed(20_000.0)},
        PeerState({"torch": "2"}, None),
    ),
    "best": FastestSettings(
        {"mccpo": (SpeedAt(replace(SIZES, minibatch=2048), speed(500_000.0)), SpeedAt(SIZES, speed(400_000.0)))},
        PeerState(None, "no network"),
    ),
    "roofline": Roofline(BelowRoofline(208_000, 400_000.0, 1.6e11), BelowRoofline(300_000, 200_000.0, 1e11)),
    "start": Start(9.0, 14.0, 2.5),
    "memory": Memory(50, 1.25),
    "growth": Growth(
        (
            GrowthStep(15, "tutor-15", 208_000, speed(400_000.0)),
            GrowthStep(100, "random", 900_000, speed(50_000.0)),
        )
    ),
}


def speed_json(steps):
    return {"steps_per_second": steps, "steps_per_second_per_core": steps / 2, "rounds": [steps]}


SIZES_JSON = {"environments": 64, "rollout": 128, "minibatch": 512, "epochs": 4, "final": SIZES.final}
FASTEST_JSON = {"sizes": SIZES_JSON | {"minibatch": 2048}, **speed_json(500_000.0)}
NEURAL_JSON = {
    "cores": 2,
    "device": "cpu",
    "seeds": 10,
    "speed": {
        "sizes": SIZES_JSON,
        "speeds": {
            "mccpo": speed_json(400_000.0),
            SHARED: speed_json(200_000.0),
            "MaskablePPO": speed_json(20_000.0),
        },
        "ratios": {"MaskablePPO": 20.0},
        "ratio": 20.0,
        "shared_ratios": {"MaskablePPO": 10.0},
        "peer_versions": {"torch": "2"},
        "peer_missing": None,
    },
    "best": {
        "tried": {"mccpo": [FASTEST_JSON, {"sizes": SIZES_JSON, **speed_json(400_000.0)}]},
        "speeds": {"mccpo": FASTEST_JSON},
        "ratios": {},
        "ratio": None,
        "peer_versions": None,
        "peer_missing": "no network",
    },
    "roofline": {
        "flops_per_step": 208_000,
        "steps_per_second": 400_000.0,
        "flops_per_second": 8.32e10,
        "products_flops_per_second": 1.6e11,
        "share": 0.52,
        "shared": {
            "flops_per_step": 300_000,
            "steps_per_second": 200_000.0,
            "flops_per_second": 6e10,
            "products_flops_per_second": 1e11,
            "share": 0.6,
        },
    },
    "start": {"compile_seconds": 9.0, "first_compare_seconds": 14.0, "second_compare_seconds": 2.5},
    "memory": {"runs": 50, "peak_gib": 1.25},
    "growth": {
        "sizes": [
            {"concepts": 15, "curriculum": "tutor-15", "flops_per_step": 208_000, **speed_json(400_000.0)},
            {"concepts": 100, "curriculum": "random", "flops_per_step": 900_000, **speed_json(50_000.0)},
        ],
        "falls_no_faster_than_linearly": False,
    },
}


@pytest.fixture
def asked(monkeypatch):
    """The parts that were asked for, while every measurement gives the same."""
    calls = []
    monkeypatch.setattr(
        bench_neural, "measure", lambda *call: (calls.append(call), NeuralBench(2, "cpu", 10, PARTS))[1]
    )
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


def test_the_neural_bench_as_json(asked, capsys):
    assert main(["bench", "neural", "--parts", "memory, speed", "--json"]) == 0
    out = capsys.readouterr().out
    assert json.dumps(json.loads(out)) == json.dumps(NEURAL_JSON)  # in this order, too
    assert asked[0][0] == ["memory", "speed"]
    assert asked[0][1].cache is not None


def test_the_tabular_bench(monkeypatch, capsys):
    tables = {"gate": TableSpeed(2.0, 0.5, 1000.0, 30.0, 50.0), "chain": TableSpeed(3.0, 1.0, 2000.0, 70.0, 60.0)}
    monkeypatch.setattr(bench_tabular, "measure", lambda _: TabularBench(2, tables))
    assert main(["bench", "tabular"]) == 0
    out = capsys.readouterr().out
    assert "gate           2.0               0.5         1,000                 50" in out
    assert "both tables in 5.0 s on 2 cores" in out
    assert "take 100 s: 20.0 times, 10.0 times per core" in out
    assert main(["bench", "tabular", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["cores", "tables", "seconds", "plain_seconds", "ratio", "ratio_per_core"]
    assert told["tables"]["gate"] == {
        "seconds": 2.0,
        "compile_seconds": 0.5,
        "episodes_per_second": 1000.0,
        "plain_seconds": 30.0,
        "plain_episodes_per_second": 50.0,
    }


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


STAGES = {"read": 2.0, "write": 0.2, "mastery": 0.3, "episodes": 0.1, "audit": 0.4}
LOGS = bench_logs.LogsBench(
    cores=2,
    rounds=3,
    sizes=(
        bench_logs.SizeResult(
            2_000, 9, bench_logs.PipelineRun(0.01, 0.01, 0.1), bench_logs.PipelineRun(0.002, 0.002, 0.1, STAGES)
        ),
        bench_logs.SizeResult(
            1_000_000, 4484, bench_logs.PipelineRun(1.5, 2.0, 0.3), bench_logs.PipelineRun(3.0, 4.4, 0.5, STAGES)
        ),
    ),
    pandas=bench_logs.PandasResult(1_000_000, 90.0, 30.0, ["n: 3 and 4"]),
)


def test_the_logs_bench_as_text(monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(bench_logs, "measure", lambda rows, *_: (calls.append(rows), LOGS)[1])
    assert main(["bench", "logs", "--rows", "1000000,2000"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert calls == [(1_000_000, 2_000)]
    assert (
        "1,000,000 1.50 3.00 2.00 2.20 3.00 0.50 read 2.00, write 0.20, mastery 0.30, episodes 0.10, audit 0.40"
        in lines
    )
    assert "time grows FASTER THAN linearly in rows" in lines
    assert "pandas at 1,000,000 rows: 90.0 s, mccpo is 30.0 times as fast, OTHER RESULTS (n: 3 and 4)" in lines
    assert main(["bench", "logs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == LOGS.as_json()
    assert calls[1] == bench_logs.ROWS


@pytest.mark.parametrize("call", [["logs", "--rows", "many"], ["tabular", "--rows", "1000"], ["logs", "--parts", "x"]])
def test_rows_belong_to_the_logs_bench(call, capsys):
    assert main(["bench", *call]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1


FIGURES = {"requests": 40_000, "per_second": 900.0, "p50_ms": 30.0, "p99_ms": 120.0, "client_share": 0.08}
SERVED = {
    "cores": 2,
    "learners": 10_000,
    "pairs": 2,
    "connections": 32,
    "databases": {
        "sqlite": {
            "served": FIGURES,
            "bare": FIGURES | {"per_second": 600.0},
            "grouped": FIGURES | {"per_second": 1800.0},
            "to_bare": {"throughput": 1.5, "p50": 1.0, "p99": 1.0},
            "to_grouped": {"throughput": 0.5, "p50": 1.0, "p99": 1.0},
            "errors": [],
            "unready": [],
            "start_seconds": 1.25,
            "restart_seconds": 1.5,
            "megabytes": 130.0,
            "verified": {"events": 60_000, "seconds": 7.0, "wrong": None},
            "missed": [],
        },
        "postgresql": {"missing": "there is none"},
    },
}


@pytest.fixture
def served(monkeypatch):
    """A bench that measures nothing, and how many learners it was called with."""
    calls = []
    monkeypatch.setattr("mccpo.cli.commands.bench.serve.train_small", lambda folder: folder)
    monkeypatch.setattr("mccpo.bench.serve.measure", lambda _, __, learners: (calls.append(learners), SERVED)[1])
    return calls


def test_the_serve_bench_as_text(served, capsys):
    assert main(["bench", "serve"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "sqlite served 900 30.0 120.0 8%" in lines
    assert "bare 600 1.50 30.0 120.0 1.00 8%" in lines
    assert "everything on record holds: 60,000 events replayed in 7.0 s" in lines
    assert "postgresql is not measured: there is none" in lines
    assert main(["bench", "serve", "--learners", "500", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == SERVED
    assert served == [10_000, 500]


def test_a_bar_that_is_missed_is_told_and_exit_3(served, monkeypatch, capsys):
    monkeypatch.setitem(SERVED["databases"]["sqlite"], "missed", ["p99 is 3.5 times the bare endpoint's"])
    assert main(["bench", "serve"]) == 3
    captured = capsys.readouterr()
    assert "MISSED: p99 is 3.5 times" in captured.out
    assert "sqlite: p99 is 3.5 times" in captured.err


@pytest.mark.parametrize(
    "call", [["tabular", "--learners", "10"], ["serve", "--rows", "10"], ["serve", "--parts", "x"]]
)
def test_learners_belong_to_the_serve_bench(call, capsys):
    assert main(["bench", *call]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_ray_bench_says_what_a_cell_costs_and_how_busy_it_was(monkeypatch, capsys):
    nodes, processes = ((40.0, 39.0, 44.0), (20.0, 18.0, 21.0)), ((38.0, 39.0, 37.0), (19.0, 20.0, 18.0))
    measured = ray_cells.RayBench(2, 0.5, 0.6, 1.6, 4.0, *nodes, *processes)
    asked = []
    monkeypatch.setattr(ray_cells, "measure", lambda _, seconds: asked.append(seconds) or measured)
    assert main(["bench", "ray", "--cell-seconds", "5"]) == 0
    told = capsys.readouterr().out
    assert "on 2 cores, of which 0.5 were wanted before" in told
    assert "1.00 s more" in told
    assert "on two: 2.00 times as fast" in told
    assert "by two: 2.00 times as fast" in told
    assert main(["bench", "ray", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["speed_up"], found["ceiling"]) == (2.0, 2.0)
    assert asked == [5, ray_cells.SECONDS]


def test_seconds_of_a_cell_belong_to_the_ray_bench(capsys):
    assert main(["bench", "serve", "--cell-seconds", "5"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
