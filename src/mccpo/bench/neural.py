"""How fast the neural learner is: beside MaskablePPO, beside the machine's own limit, from a cold start, and at size.

All is measured in one run on the same cores. `PARTS` lists what can be asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax

from mccpo.bench import fresh as bench_fresh
from mccpo.bench.peer import VARIANTS, Peer, PeerMissing, Variant, Workers, prepare
from mccpo.bench.roofline import Products, flops_per_step
from mccpo.bench.rounds import Contender, OurLearner, side_by_side
from mccpo.curriculum import read_raw
from mccpo.curriculum.lint import repair
from mccpo.env import Environment, make
from mccpo.errors import InputError
from mccpo.experiments.options import Session, Stage
from mccpo.methods.engine import workers
from mccpo.methods.gradient.rollout import Sizes, network_of

ENVIRONMENT = "tutor-15"
OURS = "mccpo"
SEEDS = 10
ROUNDS = 3
POINTS = 9  # of a round of ours: about 200,000 steps a seed
IDENTICAL = Sizes(64, 128, 512, 4)  # not the learner's own, which are chosen for what is learnt
FASTEST = VARIANTS[-1]
OUR_SIZES = (Sizes(), IDENTICAL, Sizes(128, 128, 1024, 4), Sizes(256, 128, 2048, 4))
PEER_SIZES = (IDENTICAL, Sizes(64, 128, 2048, 4), Sizes(128, 128, 2048, 4), Sizes(256, 32, 8192, 4))
CONCEPTS = (15, 100, 835)
JUNYI = Path("junyi2015", "junyi_Exercise_table.csv")


@dataclass(frozen=True)
class Bench:
    """Where a bench tells how far it is, and where the peer's environment is kept (None: nowhere)."""

    session: Session
    cache: Path | None
    note: Callable[[str], None]


def measure(parts: Sequence[str], bench: Bench) -> dict[str, Any]:
    """Measures the parts asked for, all of them when none is named."""
    for name in parts:
        if name not in PARTS:
            raise InputError(f"there is no part {name!r}", fix=f"choose from {', '.join(PARTS)}")
    chosen = [name for name in PARTS if name in parts or not parts]
    head = {"cores": workers(), "device": jax.devices()[0].device_kind, "seeds": SEEDS}
    return head | {name: PARTS[name](bench) for name in chosen}


def speed(bench: Bench) -> dict[str, Any]:
    """Steps per second at identical settings, beside MaskablePPO in all its variants."""
    ours = OurLearner(make(ENVIRONMENT), IDENTICAL, SEEDS, POINTS)

    def contest(peers: Workers | None) -> dict[str, Any]:
        contenders: dict[str, Contender] = {OURS: ours}
        if peers is not None:
            contenders |= {one.name: _peer(peers, one, IDENTICAL) for one in VARIANTS}
        found = side_by_side(contenders, ROUNDS, "speed", bench.session)
        speeds = {name: one.as_dict() for name, one in found.items()}
        return {"sizes": asdict(IDENTICAL), "speeds": speeds, **_ratios(speeds)}

    return _beside_peers(bench, contest)


def best(bench: Bench) -> dict[str, Any]:
    """Steps per second of each library at the setting at which it is fastest, of a few."""
    env = make(ENVIRONMENT)
    ours = {(OURS, sizes): OurLearner(env, sizes, SEEDS, points=4) for sizes in OUR_SIZES}

    def contest(peers: Workers | None) -> dict[str, Any]:
        contenders: dict[tuple[str, Sizes], Contender] = dict(ours)
        if peers is not None:
            contenders |= {(FASTEST.name, sizes): _peer(peers, FASTEST, sizes) for sizes in PEER_SIZES}
        tried: dict[str, list[dict[str, Any]]] = {}
        for (name, sizes), found in side_by_side(contenders, ROUNDS, "best", bench.session).items():
            tried.setdefault(name, []).append({"sizes": asdict(sizes), **found.as_dict()})
        fastest = {name: max(settings, key=_steps_per_second) for name, settings in tried.items()}
        return {"tried": tried, "speeds": fastest, **_ratios(fastest)}

    return _beside_peers(bench, contest)


def roofline(bench: Bench) -> dict[str, Any]:
    """The share of the machine's own rate for the network's products that learning reaches at identical settings."""
    env = make(ENVIRONMENT)
    network = network_of(env)
    contenders: dict[str, Contender] = {
        OURS: OurLearner(env, IDENTICAL, SEEDS, POINTS),
        "products": Products(network, IDENTICAL),
    }
    found = side_by_side(contenders, ROUNDS, "roofline", bench.session)
    flops = flops_per_step(network, IDENTICAL)
    return {
        "flops_per_step": flops,
        "steps_per_second": found[OURS].per_second,
        "flops_per_second": flops * found[OURS].per_second,
        "products_flops_per_second": found["products"].per_second,
        "share": flops * found[OURS].per_second / found["products"].per_second,
    }


def start(bench: Bench) -> dict[str, Any]:
    """Seconds of compilation without any cache, and from the start of `mccpo compare` to its first trained point."""
    tell = _steps_of(bench, "start", 2)
    compiled = bench_fresh.measure_apart("compiling")
    tell(1)
    first, second = bench_fresh.seconds_to_train()
    tell(2)
    return {**compiled, "first_compare_seconds": first, "second_compare_seconds": second}


def memory(bench: Bench) -> dict[str, Any]:
    """The peak memory of a process that trains all methods with ten seeds."""
    tell = _steps_of(bench, "memory", 1)
    found = bench_fresh.measure_apart("memory")
    tell(1)
    return found


def growth(bench: Bench) -> dict[str, Any]:
    """Steps per second from 15 to 835 concepts, one run on each core."""
    rows = []
    for concepts in CONCEPTS:
        env, curriculum = _tutor(concepts)
        found = side_by_side(
            {OURS: OurLearner(env, IDENTICAL, workers(), points=3)}, 2, f"growth {concepts}", bench.session
        )
        flops = flops_per_step(network_of(env), IDENTICAL)
        rows.append(
            {"concepts": env.num_actions, "curriculum": curriculum, "flops_per_step": flops, **found[OURS].as_dict()}
        )
    return {"sizes": rows, "falls_no_faster_than_linearly": falls_no_faster_than_linearly(rows)}


def falls_no_faster_than_linearly(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether from each size to the next, n times the concepts leave at least one n-th of the speed."""
    products = [row["concepts"] * row["steps_per_second"] for row in rows]
    return products == sorted(products)


PARTS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "speed": speed,
    "best": best,
    "roofline": roofline,
    "start": start,
    "memory": memory,
    "growth": growth,
}


def _beside_peers(bench: Bench, contest: Callable[[Workers | None], dict[str, Any]]) -> dict[str, Any]:
    """A contest with the peer, or, where the peer cannot be had, without."""
    try:
        with Workers(prepare(bench.cache, bench.note), min(workers(), SEEDS)) as peers:
            return contest(peers) | {"peer_versions": peers.versions, "peer_missing": None}
    except PeerMissing as reason:
        bench.note(f"MaskablePPO is not measured: {reason}")
        return contest(None) | {"peer_versions": None, "peer_missing": str(reason)}


def _peer(workers: Workers, variant: Variant, sizes: Sizes) -> Peer:
    return Peer(workers, variant, sizes, SEEDS, iterations=1 if variant.environment == "gymnasium" else 3)


def _ratios(speeds: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """How many times each peer's speed ours is; the ratio that counts is against the fastest."""
    ours = speeds[OURS]["steps_per_second"]
    ratios = {name: ours / one["steps_per_second"] for name, one in speeds.items() if name != OURS}
    return {"ratios": ratios, "ratio": min(ratios.values(), default=None)}


def _steps_per_second(found: dict[str, Any]) -> float:
    return float(found["steps_per_second"])


def _tutor(concepts: int) -> tuple[Environment[Any], str]:
    """A tutor with this many concepts, and its curriculum's name: the largest is Junyi's where the data is at hand."""
    if concepts == 15:
        return make(ENVIRONMENT), ENVIRONMENT
    data = os.environ.get("MCCPO_DATA")
    if concepts == 835 and data and (path := Path(data) / JUNYI).exists():
        return make(ENVIRONMENT, curriculum=repair(read_raw(path))[0]), "Junyi 2015"
    return make(ENVIRONMENT, concepts=concepts, curriculum_seed=0), "random"


def _steps_of(bench: Bench, label: str, points: int) -> Callable[[int], None]:
    """Tells how far a part is whose steps are not rounds."""
    stage = Stage(label, points, steps_per_point=0)
    bench.session.begin(stage)
    return lambda point: bench.session.progress(stage, point) if bench.session.progress is not None else None
