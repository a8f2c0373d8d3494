"""The bench of the neural learner: that what it times is what it says, and that it does without what is missing."""

import itertools
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.bench import fresh as bench_fresh
from mccpo.bench import neural as bench_neural
from mccpo.bench import peer as bench_peer
from mccpo.bench import rounds as bench_rounds
from mccpo.bench.neural import Bench
from mccpo.bench.neural_results import Growth, GrowthStep
from mccpo.bench.peer import VARIANTS, Peer, PeerMissing, Workers, prepare
from mccpo.bench.peers.plain_tutor import PlainTutors
from mccpo.bench.roofline import Products, _update, chain_of, flops_per_step
from mccpo.bench.rounds import OurLearner, Speed, side_by_side
from mccpo.env import make
from mccpo.errors import InputError, MccpoError
from mccpo.experiments import Session
from mccpo.methods import shared_network_of
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.rollout import Sizes, network_of

SMALL = Sizes(environments=4, rollout=8, minibatch=16, epochs=2)


@pytest.mark.parametrize("parameters", [{}, {"concepts": 9, "curriculum_seed": 3, "horizon": 30, "K0": 0.65}])
def test_the_peers_tutor_follows_our_rules(parameters):
    env = make("tutor-15", **parameters)
    learners, draw = 6, np.random.default_rng(0)
    plain = PlainTutors(env, learners)
    reset, step = jax.jit(jax.vmap(env.reset)), jax.jit(jax.vmap(env.step))
    keys = jax.random.split(jax.random.key(0), learners)
    state, obs = reset(keys)
    features = plain.reset()
    opened = 0
    for _ in range(env.horizon + 20):
        np.testing.assert_allclose(features, obs.features, atol=1e-5)
        np.testing.assert_array_equal(plain.mask, obs.action_mask)
        action = draw.integers(env.num_actions, size=learners) if draw.uniform() < 0.3 else np.zeros(learners, int)
        ours, played = step(keys, state, jnp.asarray(action)), plain.step(action)
        np.testing.assert_allclose(played.reward, ours.reward, atol=1e-5)
        np.testing.assert_array_equal(played.ended, ours.terminated)
        opened += int(played.ended.any())
        state, obs = reset(keys) if ours.terminated.all() else (ours.state, ours.obs)
        features = played.features
    assert opened == 1


def test_the_peers_tutor_gives_features_that_later_steps_leave_alone():
    plain = PlainTutors(make("tutor-15"), 2)
    first = plain.reset()
    kept = first.copy()
    plain.step(np.array([0, 1]))
    np.testing.assert_array_equal(first, kept)


def test_operations_are_counted_by_hand():
    network = Network(features=3, actions=2, signals=3, hidden=(4, 5))
    forward = 2 * (4 * 3 + 5 * 4 + 5 * 5)
    backward = 2 * (4 * 3 + 2 * 5 * 4 + 2 * 5 * 5)  # nobody asks for the gradient of the observations
    assert flops_per_step(network, SMALL) == forward + 2 * (forward + backward)


@pytest.mark.parametrize("of", [network_of, shared_network_of])
def test_the_compiler_counts_the_same_operations(of):
    network = of(make("tutor-15"))
    chain = chain_of(network)
    weights = tuple(jnp.zeros(shape) for shape in chain.shapes)
    inputs = tuple(jnp.zeros((wide, columns * 512)) for wide, columns in chain.inputs)
    counted = jax.jit(partial(_update, chain)).lower(weights, inputs).compile().cost_analysis()["flops"]
    learning = (flops_per_step(network, Sizes(epochs=2)) - flops_per_step(network, Sizes(epochs=1))) * 512
    assert learning == pytest.approx(counted, rel=0.03)  # it counts sums of products, too


def test_products_do_the_work_of_an_iteration(monkeypatch):
    monkeypatch.setattr("mccpo.bench.roofline.SECONDS", 0.05)
    assert Products(Network(5, 3, 2, (8, 8)), SMALL).round() > 0
    assert Products(shared_network_of(make("tutor-15", concepts=5, curriculum_seed=0)), SMALL).round() > 0


class Scripted:
    def __init__(self, name, speeds, log):
        self.name, self.speeds, self.log = name, iter(speeds), log

    def round(self):
        self.log.append(self.name)
        return next(self.speeds)


def test_contenders_take_turns():
    log, told = [], []
    contenders = {"a": Scripted("a", [1.0, 9.0, 2.0], log), "b": Scripted("b", [5.0, 4.0, 6.0], log)}
    found = side_by_side(contenders, 3, "contest", Session(progress=lambda stage, point: told.append((stage, point))))
    assert log == ["a", "b"] * 3
    assert {name: speed.per_second for name, speed in found.items()} == {"a": 2.0, "b": 5.0}
    assert found["a"].rounds == (1.0, 9.0, 2.0)
    assert [point for _, point in told] == list(range(7))
    assert told[0][0].points == 6


def test_our_speed_is_of_the_points_after_the_first(monkeypatch):
    clock = iter([100.0, 107.0, 200.0, 202.0, 204.0, 206.0])  # when points end: two of warming up, then four
    monkeypatch.setattr(bench_rounds, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    trained = []

    def train(env, methods, budgets, plan, *, after_point):
        trained.append((plan.points, sorted(budgets)))
        for _ in range(plan.points):
            after_point(None)

    monkeypatch.setattr(bench_rounds, "train_neural", train)
    learner = OurLearner(make("tutor-15"), SMALL, seeds=5, points=4)
    assert learner.round() == 5 * bench_rounds.ITERATIONS * 4 * 8 / 2.0
    assert trained == [(2, ["c2", "c3", "c4"]), (4, ["c2", "c3", "c4"])]


@pytest.mark.parametrize(
    ("speeds", "verdict"),
    [((100.0, 10.0, 1.0), True), ((100.0, 40.0, 5.0), True), ((100.0, 9.9, 5.0), False), ((100.0, 90.0, 8.0), False)],
)
def test_growth_compares_each_size_with_the_next(speeds, verdict):
    steps = (GrowthStep(10**at, "random", 1, Speed(speed, (speed,), 2)) for at, speed in enumerate(speeds))
    assert Growth(tuple(steps)).falls_no_faster_than_linearly is verdict


def test_largest_curriculum_is_real_where_data_is(monkeypatch, tmp_path):
    monkeypatch.delenv("MCCPO_DATA", raising=False)
    assert [(len(env.curriculum), whose) for env, whose in map(bench_neural._tutor, (15, 100, 835))] == [
        (15, "tutor-15"),
        (100, "random"),
        (835, "random"),
    ]
    monkeypatch.setenv("MCCPO_DATA", str(tmp_path))
    assert bench_neural._tutor(835)[1] == "random"
    table = tmp_path / bench_neural.JUNYI
    table.parent.mkdir()
    table.write_text('name,prerequisites\ncounting,counting\nadding,counting\nmultiplying,"counting,adding"\n')
    env, whose = bench_neural._tutor(835)
    assert (env.curriculum.concepts, whose) == (("counting", "adding", "multiplying"), "Junyi 2015")


def bench(notes=None, cache=None):
    return Bench(Session(), cache, (notes if notes is not None else []).append)


def test_only_the_parts_asked_for_are_measured(monkeypatch):
    parts = {name: lambda _, name=name: name for name in ("speed", "memory", "growth")}
    monkeypatch.setattr(bench_neural, "PARTS", parts)
    assert list(bench_neural.measure(["growth", "speed"], bench()).parts) == ["speed", "growth"]
    assert list(bench_neural.measure([], bench()).parts) == list(parts)
    with pytest.raises(InputError, match=r"'speeed'; choose from speed, memory, growth"):
        bench_neural.measure(["speed", "speeed"], bench())


def test_our_figures_without_the_peer(monkeypatch):
    monkeypatch.setattr(bench_neural, "OurLearner", lambda *_, **__: Scripted("ours", itertools.repeat(7.0), []))
    notes = []
    either = ["mccpo", "mccpo, shared weights"]
    for part, ours in ((bench_neural.speed, either), (bench_neural.best, either[:1])):
        found = part(bench(notes)).as_json()
        assert list(found["speeds"]) == ours
        assert found["speeds"]["mccpo"]["steps_per_second"] == 7.0
        assert found["ratio"] is None
        assert "MCCPO_CACHE" in found["peer_missing"]
    assert len(notes) == 2
    assert all(note.startswith("MaskablePPO is not measured: ") and "\n" not in note for note in notes)


def test_missing_peer_says_why(monkeypatch, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho something else\necho 'ERROR: no network' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(bench_peer.sys, "executable", str(broken))
    with pytest.raises(PeerMissing, match=r"^its environment cannot be created: ERROR: no network$"):
        prepare(tmp_path / "cache", lambda _: None)
    monkeypatch.setattr(bench_peer.sys, "executable", str(tmp_path / "nowhere"))
    with pytest.raises(PeerMissing, match="nowhere"):
        prepare(tmp_path / "cache", lambda _: None)


STANDIN = """
    import json, sys
    sys.stdout.write(json.dumps({"torch": "0"}) + "\\n")
    sys.stdout.flush()
    for line in sys.stdin:
        request = json.loads(line)
        if request["sizes"]["environments"] == 13:
            sys.exit("thirteen is too many")
        steps = len(request["seeds"]) * request["iterations"] * request["sizes"]["environments"]
        sys.stdout.write(json.dumps({"steps": steps}) + "\\n")
        sys.stdout.flush()
"""


@pytest.fixture
def standin(monkeypatch, tmp_path):
    """A peer that only counts."""
    script = tmp_path / "standin.py"
    script.write_text(textwrap.dedent(STANDIN))
    monkeypatch.setattr(bench_peer, "SCRIPT", script)
    return Path(sys.executable)


def test_the_seeds_are_shared_between_the_peers_processes(standin, monkeypatch):
    with Workers(standin, 3) as workers:
        assert workers.versions == {"torch": "0"}
        peer = Peer(workers, VARIANTS[0], Sizes(7, 8, 7), seeds=10, iterations=3)
        clock = iter([10.0, 12.0])
        monkeypatch.setattr(bench_peer, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
        assert peer.round() == 10 * 3 * 7 / 2.0


def test_a_peer_that_stops_says_why_and_leaves_no_process(standin):
    with Workers(standin, 2) as workers:
        with pytest.raises(PeerMissing, match=r"^it stopped: thirteen is too many$"):
            Peer(workers, VARIANTS[0], Sizes(13, 8, 13), seeds=4, iterations=1)
        processes = workers._processes
    assert [process.poll() is not None for process in processes] == [True, True]


def test_every_variant_of_the_peer_is_measured(standin, monkeypatch, tmp_path):
    monkeypatch.setattr(bench_neural, "prepare", lambda *_: standin)
    monkeypatch.setattr(bench_neural, "OurLearner", lambda *_, **__: Scripted("ours", itertools.repeat(7.0), []))
    found = bench_neural.speed(bench(cache=tmp_path)).as_json()
    assert list(found) == ["sizes", "speeds", "ratios", "ratio", "shared_ratios", "peer_versions", "peer_missing"]
    assert list(found["speeds"]) == ["mccpo", "mccpo, shared weights", *(variant.name for variant in VARIANTS)]
    assert found["ratio"] == min(found["ratios"].values())
    assert found["peer_missing"] is None
    found = bench_neural.best(bench(cache=tmp_path)).as_json()
    assert list(found) == ["tried", "speeds", "ratios", "ratio", "peer_versions", "peer_missing"]
    assert len(found["tried"][VARIANTS[-1].name]) == len(bench_neural.PEER_SIZES)
    fastest = max(setting["steps_per_second"] for setting in found["tried"][VARIANTS[-1].name])
    assert found["speeds"][VARIANTS[-1].name]["steps_per_second"] == fastest


def test_a_measurement_apart_that_fails_says_so_in_one_line():
    with pytest.raises(MccpoError, match=r"measuring nothing failed: KeyError: 'nothing'"):
        bench_fresh.measure_apart("nothing")


@pytest.mark.slow
def test_fresh_processes_measure_compilation_memory_and_start():
    assert bench_fresh.compilation_apart().compile_seconds > 1
    memory = bench_fresh.memory_apart()
    assert memory.runs == 50
    assert 0.2 < memory.peak_gib < 4
    begun = time.perf_counter()
    first, second = bench_fresh.seconds_to_train()
    assert 0 < second < first < time.perf_counter() - begun
