"""How fast the neural learner is: beside MaskablePPO, beside the machine's own limit, from a cold start, and at size.

All is measured in one run on the same cores. `PARTS` lists what can be asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jax

from mccpo.bench import fresh as bench_fresh
from mccpo.bench.neural_results import (
    OURS,
    SHARED,
    BelowRoofline,
    FastestSettings,
    Growth,
    GrowthStep,
    IdenticalSettings,
    NeuralBench,
    Part,
    PeerState,
    Roofline,
    SpeedAt,
    Start,
)
from mccpo.bench.peer import VARIANTS, Peer, PeerMissing, Variant, Workers, prepare
from mccpo.bench.roofline import Products, flops_per_step
from mccpo.bench.rounds import Contender, OurLearner, Speed, side_by_side
from mccpo.curriculum import read_raw
from mccpo.curriculum.lint import repair
from mccpo.env import Environment, make
from mccpo.errors import InputError
from mccpo.experiments import Session, Stage
from mccpo.methods import Sizes, network_of, shared_network_of, workers

ENVIRONMENT = "tutor-15"
SEEDS = 10
ROUNDS = 3
POINTS = 9  # of a round of ours: about 200,000 steps a seed
IDENTICAL = Sizes(64, 128, 512, 4)  # not the learner's own, which are chosen for what is learnt
FASTEST = VARIANTS[-1]
OUR_SIZES = (Sizes(), IDENTICAL, Sizes(128, 128, 1024, 4), Sizes(256, 128, 2048, 4))
PEER_SIZES = (IDENTICAL, Sizes(64, 128, 2048, 4), Sizes(128, 128, 2048, 4), Sizes(256, 32, 8192, 4))
CONCEPTS = (15, 100, 835)
JUNYI = Path("junyi2015", "junyi_Exercise_table.csv")
Speeds = TypeVar("Speeds")


@dataclass(frozen=True)
class Bench:
    """Where a bench shows how far it is, and where the peer's environment is kept (None: nowhere)."""

    session: Session
    cache: Path | None
    note: Callable[[str], None]


def measure(parts: Sequence[str], bench: Bench) -> NeuralBench:
    """Measures the parts asked for, all of them when none is named."""
    for name in parts:
        if name not in PARTS:
            raise InputError(f"there is no part {name!r}", fix=f"choose from {', '.join(PARTS)}")
    chosen = [name for name in PARTS if name in parts or not parts]
    measured = {name: PARTS[name](bench) for name in chosen}
    return NeuralBench(workers(), jax.devices()[0].device_kind, SEEDS, measured)


def speed(bench: Bench) -> IdenticalSettings:
    """Steps per second at identical settings, beside MaskablePPO in all its variants."""
    env = make(ENVIRONMENT)
    ours: dict[str, Contender] = {
        OURS: OurLearner(env, IDENTICAL, SEEDS, POINTS),
        SHARED: OurLearner(env, IDENTICAL, SEEDS, POINTS, shared=True),
    }

    def contest(peers: Workers | None) -> dict[str, Speed]:
        contenders = dict(ours)
        if peers is not None:
            contenders |= {variant.name: _peer(peers, variant, IDENTICAL) for variant in VARIANTS}
        return side_by_side(contenders, ROUNDS, "speed", bench.session)

    speeds, peer = _beside_peers(bench, contest)
    return IdenticalSettings(IDENTICAL, speeds, peer)


def best(bench: Bench) -> FastestSettings:
    """Steps per second of each library at the setting at which it is fastest, of a few."""
    env = make(ENVIRONMENT)
    ours = {(OURS, sizes): OurLearner(env, sizes, SEEDS, points=4) for sizes in OUR_SIZES}

    def contest(peers: Workers | None) -> dict[tuple[str, Sizes], Speed]:
        contenders: dict[tuple[str, Sizes], Contender] = dict(ours)
        if peers is not None:
            contenders |= {(FASTEST.name, sizes): _peer(peers, FASTEST, sizes) for sizes in PEER_SIZES}
        return side_by_side(contenders, ROUNDS, "best", bench.session)

    speeds, peer = _beside_peers(bench, contest)
    tried: dict[str, list[SpeedAt]] = {}
    for (name, sizes), measured in speeds.items():
        tried.setdefault(name, []).append(SpeedAt(sizes, measured))
    return FastestSettings({name: tuple(settings) for name, settings in tried.items()}, peer)


def roofline(bench: Bench) -> Roofline:
    """The share of the machine's own rate for a network's products that learning reaches at identical settings."""
    env = make(ENVIRONMENT)
    networks = {OURS: network_of(env), SHARED: shared_network_of(env)}
    contenders: dict[tuple[str, str], Contender] = {}
    for name, network in networks.items():
        contenders[name, "learner"] = OurLearner(env, IDENTICAL, SEEDS, POINTS, shared=name == SHARED)
        contenders[name, "products"] = Products(network, IDENTICAL)
    speeds = side_by_side(contenders, ROUNDS, "roofline", bench.session)

    def below(name: str) -> BelowRoofline:
        learner, products = speeds[name, "learner"], speeds[name, "products"]
        return BelowRoofline(flops_per_step(networks[name], IDENTICAL), learner.per_second, products.per_second)

    return Roofline(below(OURS), below(SHARED))


def start(bench: Bench) -> Start:
    """Seconds of compilation without any cache, and from the start of `mccpo compare` to its first trained point."""
    after_step = _progress(bench, "start", 2)
    compilation = bench_fresh.compilation_apart()
    after_step(1)
    first, second = bench_fresh.seconds_to_train()
    after_step(2)
    return Start(compilation.compile_seconds, first, second)


def memory(bench: Bench) -> bench_fresh.Memory:
    """The peak memory of a process that trains all methods with ten seeds."""
    after_step = _progress(bench, "memory", 1)
    measured = bench_fresh.memory_apart()
    after_step(1)
    return measured


def growth(bench: Bench) -> Growth:
    """Steps per second from 15 to 835 concepts, one run on each core."""
    steps = []
    for concepts in CONCEPTS:
        env, curriculum = _tutor(concepts)
        ours = {OURS: OurLearner(env, IDENTICAL, workers(), points=3)}
        speeds = side_by_side(ours, 2, f"growth {concepts}", bench.session)
        flops = flops_per_step(network_of(env), IDENTICAL)
        steps.append(GrowthStep(env.num_actions, curriculum, flops, speeds[OURS]))
    return Growth(tuple(steps))


PARTS: dict[str, Callable[[Bench], Part]] = {
    "speed": speed,
    "best": best,
    "roofline": roofline,
    "start": start,
    "memory": memory,
    "growth": growth,
}


def _beside_peers(bench: Bench, contest: Callable[[Workers | None], Speeds]) -> tuple[Speeds, PeerState]:
    """A contest with the peer, or, where the peer cannot be had, without."""
    try:
        with Workers(prepare(bench.cache, bench.note), min(workers(), SEEDS)) as peers:
            return contest(peers), PeerState(peers.versions, None)
    except PeerMissing as reason:
        bench.note(f"MaskablePPO is not measured: {reason}")
        return contest(None), PeerState(None, str(reason))


def _peer(workers: Workers, variant: Variant, sizes: Sizes) -> Peer:
    return Peer(workers, variant, sizes, SEEDS, iterations=1 if variant.environment == "gymnasium" else 3)


def _tutor(concepts: int) -> tuple[Environment[Any], str]:
    """A tutor with this many concepts, and its curriculum's name: the largest is Junyi's where the data is at hand."""
    if concepts == 15:
        return make(ENVIRONMENT), ENVIRONMENT
    data = os.environ.get("MCCPO_DATA")
    if concepts == 835 and data and (path := Path(data) / JUNYI).exists():
        return make(ENVIRONMENT, curriculum=repair(read_raw(path))[0]), "Junyi 2015"
    return make(ENVIRONMENT, concepts=concepts, curriculum_seed=0), "random"


def _progress(bench: Bench, label: str, points: int) -> Callable[[int], None]:
    """What shows how far a part is whose steps are not rounds."""
    stage = Stage(label, points, steps_per_point=0)
    bench.session.begin(stage)
    return lambda point: bench.session.progress(stage, point) if bench.session.progress is not None else None
