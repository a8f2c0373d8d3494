"""Knowledge tracing fitted by expectation maximisation: all concepts and all restarts at once.

The maximisation step is a ratio of counts, clipped to its bounds, which is exact, since each parameter's part of the
expected log-likelihood has one peak. Every two steps are extended along the way they went, as far as pays (Varadhan and
Roland 2008, Simple and globally convergent methods for accelerating the convergence of any EM algorithm); an extension
that loses likelihood is taken back. Problems that have converged leave the data.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, Int64

from mccpo.mastery.fitting.expectation import SlabArrays, with_forgetting, without_forgetting
from mccpo.mastery.fitting.sequence_packing import Slab, Tiles, pack

EPSILON = 1e-6
"""How close to 0 and 1 a probability may come."""
_LONGEST = 16.0  # the most that a way is extended
_REPACK = 0.6  # the share of problems in the slabs below which those that are done are taken out


@dataclass(frozen=True)
class Stop:
    """When to stop: once a step changes the log-likelihood by less than `tolerance`, or after `steps` of them."""

    tolerance: float = 1e-3
    steps: int = 200


class Optimum(NamedTuple):
    """Where each problem ended: parameters, their log-likelihood, the steps it took, and whether it converged."""

    parameters: Float[np.ndarray, "problems parameters"]
    log_likelihood: Float[np.ndarray, " problems"]
    steps: Int[np.ndarray, " problems"]
    converged: Bool[np.ndarray, " problems"]


def maximise(
    tiles: Tiles,
    starts: Float[np.ndarray, "concepts restarts parameters"],
    most: Float[np.ndarray, " parameters"],
    stop: Stop,
    workers: int,
) -> Optimum:
    """Climbs from each start; problems are counted concept by concept, then by restart. No parameter exceeds `most`."""
    size = starts.shape[-1]
    at = np.clip(starts.reshape(-1, size), EPSILON, most)
    optimum = Optimum(at.copy(), np.full(len(at), -np.inf), np.zeros(len(at), int), np.zeros(len(at), bool))
    safe = at.copy()  # where two plain steps led, in case their extension does not pay
    active = np.arange(len(at))
    with ThreadPoolExecutor(workers) as pool:
        step = _Step(tiles, starts.shape[1], most, pool, workers)
        while len(active) and optimum.steps[active[0]] < stop.steps:
            base = at[active]
            first, before = step(base, active)
            lost = before < optimum.log_likelihood[active]
            first[lost] = safe[active[lost]]
            second, value = step(first, active)
            done = ~lost & (np.abs(value - before) < stop.tolerance)
            optimum.parameters[active], optimum.log_likelihood[active] = first, value
            optimum.steps[active] += 2
            optimum.converged[active] = done
            safe[active] = second
            at[active] = np.where(lost[:, None], second, np.clip(_extended(base, first, second), EPSILON, most))
            active = active[~done]
    return optimum


def log_likelihood(
    tiles: Tiles, parameters: Float[np.ndarray, "concepts parameters"], workers: int
) -> Float[np.ndarray, " concepts"]:
    """The log-likelihood of the answers on each concept under parameters from anywhere."""
    with ThreadPoolExecutor(workers) as pool:
        step = _Step(tiles, 1, np.ones(parameters.shape[1]), pool, workers)
        return step(np.clip(parameters, 1e-12, 1 - 1e-12), np.arange(len(parameters)))[1]


def _extended(
    base: Float[np.ndarray, "problems parameters"],
    first: Float[np.ndarray, "problems parameters"],
    second: Float[np.ndarray, "problems parameters"],
) -> Float[np.ndarray, "problems parameters"]:
    """Two steps, extended along a parabola by how much the second one was shorter than the first."""
    way = first - base
    bend = second - first - way
    longer = np.linalg.norm(way, axis=1) / np.maximum(np.linalg.norm(bend, axis=1), 1e-300)
    length = np.clip(longer, 1.0, _LONGEST)[:, None]
    return base + 2 * length * way + length**2 * bend


class _Step:
    """One step of expectation and maximisation, for the problems that are still at work."""

    def __init__(
        self,
        tiles: Tiles,
        restarts: int,
        most: Float[np.ndarray, " parameters"],
        pool: ThreadPoolExecutor,
        workers: int,
    ) -> None:
        self._tiles, self._restarts, self._most = tiles, restarts, most
        self._pool, self._workers = pool, workers
        self._expect = without_forgetting if len(most) == 4 else with_forgetting
        self._problems = 0
        self._packed = 0
        self._slabs: list[tuple[SlabArrays, Int64[np.ndarray, "blocks tiles"]]] = []

    def __call__(
        self, at: Float[np.ndarray, "problems parameters"], active: Int64[np.ndarray, " problems"]
    ) -> tuple[Float[np.ndarray, "problems parameters"], Float[np.ndarray, " problems"]]:
        """Where the step leads from `at`, and the log-likelihood of `at`."""
        if not self._slabs:
            self._problems = int(active[-1]) + 1
        if len(active) < _REPACK * self._packed or not self._slabs:
            slabs = pack(self._tiles, active, self._restarts, self._workers)
            self._slabs, self._packed = list(self._pool.map(_placed, slabs)), len(active)
        parameters = np.full((len(self._most), self._problems), 0.25)  # of those that are done, it does not matter
        parameters[:, active] = at.T
        by_slab = self._pool.map(lambda slab: self._totals(slab[0], slab[1], parameters), self._slabs)
        totals = np.sum(list(by_slab), axis=0)[:, active]
        true, chances = totals[0:-1:2].T, totals[1:-1:2].T
        ratio = np.divide(true, chances, out=at.copy(), where=chances > 0)
        return np.clip(ratio, EPSILON, self._most), totals[-1]

    def _totals(
        self,
        slab: SlabArrays,
        problem: Int64[np.ndarray, "blocks tiles"],
        parameters: Float[np.ndarray, "parameters problems"],
    ) -> Float[np.ndarray, "totals problems"]:
        """The totals of one slab, added up for each problem."""
        used = problem[: int(slab.used)]
        taken = np.full((len(self._most), *problem.shape), 0.25)
        taken[:, : len(used)] = parameters[:, used]
        with jax.enable_x64(True):  # it holds for one thread
            totals = np.asarray(self._expect(slab, jnp.asarray(taken)))[: len(used)]
        by_kind = totals.transpose(1, 0, 2)
        return np.stack([np.bincount(used.ravel(), kind.ravel(), self._problems) for kind in by_kind])


def _placed(slab: Slab) -> tuple[SlabArrays, Int64[np.ndarray, "blocks tiles"]]:
    """The slab where the compiled program takes it, and whose tiles they are."""
    with jax.enable_x64(True):
        arrays = (slab.cells, np.int32(slab.used), slab.start, slab.height, slab.weight, slab.length)
        return SlabArrays(*(jnp.asarray(array) for array in arrays)), slab.problem
