"""Whole curricula: what building, training, serving and drawing one takes, as the number of concepts grows.

Each size has a process of its own, so that its memory can be told. Times are seconds of processor time on one core,
which other work on the machine does not count towards. Run as a module with a number of concepts, it prints one JSON
object.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mccpo.curriculum import Curriculum
from mccpo.env import Environment, make
from mccpo.errors import MccpoError
from mccpo.exact import Values
from mccpo.experiments import Policies, write_policies
from mccpo.methods import NeuralPlan, PrimalDual, Variant, method_arrays, method_spec, train_variants
from mccpo.report.curriculum import curriculum_page
from mccpo.serve.policy import decide, initial_state, load_release

CONCEPTS = (100, 835, 1330, 3277)
ONE_CORE = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OPENBLAS_NUM_THREADS": "1"}
DECISIONS = 400
_BACK, _MOST = 60, 3  # a concept needs up to so many of those that come shortly before it


def measure(sizes: Sequence[int], note: Callable[[str], None]) -> dict[str, Any]:
    """What every size takes, and how time and memory grow from the smallest to the largest."""
    found = []
    for concepts in sizes:
        note(f"{concepts:,} concepts")
        found.append(_apart(concepts))
    return {"sizes": found}


def lines(found: dict[str, Any]) -> list[str]:
    """The figures as text."""
    heads = "concepts  edges  build s  steps/s a core  10⁶ steps h  decision p50 ms  p99 ms  page s    kB  peak GiB"
    rows = [
        f"{one['concepts']:>8,}{one['edges']:>7,}{one['build_seconds']:>9.2f}{one['steps_per_second']:>16,.0f}"
        f"{1e6 / one['steps_per_second'] / 3600:>13.2f}{one['decision_p50_ms']:>17.2f}{one['decision_p99_ms']:>8.2f}"
        f"{one['page_seconds']:>8.2f}{one['page_bytes'] / 1e3:>6,.0f}{one['peak_gib']:>10.2f}"
        for one in found["sizes"]
    ]
    return [heads, *rows]


def sparse_curriculum(concepts: int) -> Curriculum:
    """A made-up curriculum of any size: each concept needs up to three of the sixty before it, some need none.

    >>> sparse_curriculum(50).depth > 5
    True
    """
    draw = np.random.default_rng(concepts)
    names = [f"skill {at:04d}" for at in range(concepts)]
    edges = []
    for at in range(1, concepts):
        before = np.arange(max(0, at - _BACK), at)
        needs = 0 if draw.random() < 0.12 else min(len(before), int(draw.integers(1, _MOST + 1)))
        edges += [(names[of], names[at]) for of in draw.choice(before, size=needs, replace=False)]
    return Curriculum.from_edges(edges, concepts=names, demand=draw.uniform(0.2, 0.9, concepts).round(3))


def measured(concepts: int) -> dict[str, Any]:
    """One size, in this process."""
    begun = time.process_time()
    curriculum = sparse_curriculum(concepts)
    env = make("tutor-15", curriculum=curriculum)
    jax.block_until_ready(jax.jit(lambda key: env.reset(key))(jax.random.key(0)))
    built = time.process_time() - begun
    build_gib = _peak()
    page_begun = time.process_time()
    page = curriculum_page(curriculum, f"{concepts} concepts")
    page_seconds = time.process_time() - page_begun
    return {
        "concepts": concepts,
        "edges": len(curriculum.edges),
        "build_seconds": built,
        "build_gib": build_gib,
        "page_seconds": page_seconds,
        "page_bytes": len(page.encode()),
        **_served(env),
        "steps_per_second": _trained(env),
        "peak_gib": _peak(),
    }


def _trained(env: Environment[Any]) -> float:
    """Steps of training in a second of one core: those of the points after the first, which compiles."""
    spec = method_spec("mc-cpo")
    learner = PrimalDual(method_arrays(spec, env), shared=spec.shared)
    plan = NeuralPlan(steps=2 * 3 * NeuralPlan().sizes.steps, seeds=1, validation=1)
    times: list[float] = []
    budgets = {"c2": 0.8}
    choose_nothing = learner.settings._replace(selecting=0.0)
    variant = Variant(PrimalDual(learner.method, settings=choose_nothing, shared=spec.shared), budgets)
    train_variants(env, [variant], plan, after_point=lambda _: times.append(time.process_time()))
    return 3 * plan.sizes.steps / (times[-1] - times[-2])


def _served(env: Environment[Any]) -> dict[str, float]:
    """Milliseconds of a decision by a policy with weights drawn at random, as the service takes it."""
    spec = method_spec("mc-cpo")
    size = PrimalDual(method_arrays(spec, env), shared=spec.shared).network(env).size
    weights = np.random.default_rng(0).normal(scale=0.3, size=(1, size)).astype(np.float32)
    nothing = Values(0.0, dict.fromkeys(env.cost_names, 1.0), 0.0, 1.0, 0.0, 0.0, 0.0)
    with tempfile.TemporaryDirectory(prefix="mccpo-bench-") as folder:
        write_policies(Path(folder), [Policies("scale", env, spec, {"c2": 0.8}, nothing, weights, 0)])
        release = load_release(Path(folder))
    standing, times = initial_state(release), []
    for uniform in np.random.default_rng(1).random(DECISIONS):
        begun = time.thread_time()
        decide(release, standing, float(uniform), timeout=60.0)
        times.append(1e3 * (time.thread_time() - begun))
    p50, p99 = np.percentile(times, [50, 99])
    return {"decision_p50_ms": float(p50), "decision_p99_ms": float(p99)}


def _apart(concepts: int) -> dict[str, Any]:
    command = [sys.executable, "-m", __name__, str(concepts)]
    done = subprocess.run(command, env={**os.environ, **ONE_CORE}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MccpoError(f"measuring {concepts} concepts failed: {done.stderr.strip()[-300:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _peak() -> float:
    """The most memory that this process has held, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measured(int(sys.argv[1]))))
