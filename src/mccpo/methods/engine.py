"""Many runs at once: how the runs of a table (methods × seeds) share the machine.

A *step* takes one run's method and state a point further, in a context that all runs share. On CPU, one thread per
core takes its share of the runs: small steps vmapped, so that each operation is worth its overhead; large ones run
after run, so that each stays in the cache. On an accelerator one vmapped call takes them all. Either way one program
serves all methods, because a method is data, and all contexts that differ in numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.errors import InputError
from mccpo.methods.mc_cpo.spec import MethodArrays, MethodSpec, method_arrays
from mccpo.work import cores

StateT = TypeVar("StateT")
ProgressT = TypeVar("ProgressT")
ItemT = TypeVar("ItemT")
PartT = TypeVar("PartT")
# Takes the shared context, what one run has of its own (its method, its budgets) and its state.
Step = Callable[[Any, Any, StateT], tuple[StateT, ProgressT]]
Arrays = Mapping[str, np.ndarray]
AT_ONCE = 10  # runs whose results an accelerator chooses at a time
MOST = {"episodes": 10**10, "steps": 10**12, "seeds": 10_000}


class MisfitError(InputError):
    """Arrays that training cannot resume from, because they are of another."""

    def __init__(self, why: str) -> None:
        super().__init__(f"there is nothing here to resume from: {why}", fix="begin anew")
        self.why = why


@dataclass(eq=False)
class Snapshot(Generic[StateT, ProgressT]):
    """Where training stands after a point: the state of every run (stacked), and the curves so far."""

    states: StateT
    curves: list[ProgressT]

    @property
    def point(self) -> int:
        return len(self.curves)


def check_plan(seed: int, **counts: int) -> None:
    """Refuses counts that are not whole numbers of a sensible size, and a root seed that does not fit a random key."""
    for name, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST.get(name, 10**6):
            raise InputError(f"{name} is {count}", fix=f"give a whole number from 1 to {MOST.get(name, 10**6)}")
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise InputError(f"seed is {seed}", fix="give a whole number from 0 to 4294967295")


def workers() -> int:
    """How many threads share the runs: one per core on CPU, one call for all on an accelerator."""
    if jax.default_backend() != "cpu":
        return 1
    return cores()


def side_by_side(function: Callable[[ItemT], PartT], items: Sequence[ItemT]) -> list[PartT]:
    """What a function makes of each item, by one thread per core: programs compile and run without Python's lock."""
    with ThreadPoolExecutor(workers()) as pool:
        return list(pool.map(function, items))


def one_ahead(function: Callable[[ItemT], PartT], items: Sequence[ItemT]) -> list[PartT]:
    """The same where all items take one program: the first compiles it, which all would do if they began together."""
    return [*map(function, items[:1]), *side_by_side(function, items[1:])]


def as_arrays(tree: Any) -> Any:
    """The tree with its floats as arrays: another R or step size is then another input, not another program."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32) if isinstance(leaf, float) else leaf, tree)


def check_methods(methods: Sequence[MethodSpec]) -> Sequence[MethodSpec]:
    """The methods, of which there must be one at least."""
    if not methods:
        raise InputError("no method is given", fix='give one or more, such as method_spec("mc-cpo")')
    return methods


def stack_methods(methods: Sequence[MethodSpec], env: Environment[Any], seeds: int) -> MethodArrays:
    """The methods as stacked numbers, each as many times as there are seeds."""
    found: MethodArrays = stacked([method_arrays(spec, env) for spec in check_methods(methods)], seeds)
    return found


def stacked(trees: Sequence[Any], seeds: int) -> Any:
    """Trees of numbers stacked, each as many times as there are seeds: what the runs of a table have of their own."""
    repeated = [as_arrays(tree) for tree in trees for _ in range(seeds)]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *repeated)


def starts(start: Callable[..., StateT], context: tuple[Any, ...], methods: int, seeds: int, seed: int) -> StateT:
    """The first state of every run, by `start(*context, key)`.

    Every method meets the same seeds, so that rows differ by their method alone.
    """
    found: StateT = _start_all(start, context, jax.random.key(seed), seeds, methods)
    return found


def begin(
    step: Step[StateT, ProgressT], context: Any, runs: Any, first: StateT, points: int, resume: Arrays | None
) -> Snapshot[StateT, ProgressT]:
    """Where training begins: at the first states, or where the arrays of a snapshot say; others are a `MisfitError`."""
    if resume is None:
        return Snapshot(first, [])
    _, progress = eqx.filter_eval_shape(jax.vmap(partial(step, context)), runs, first)
    return from_arrays(resume, first, progress, points)


def run(
    step: Step[StateT, ProgressT],
    context: Any,
    runs: Any,
    snapshot: Snapshot[StateT, ProgressT],
    points: int,
    *,
    together: bool,
    after_point: Callable[[Snapshot[StateT, ProgressT]], None] | None,
) -> Snapshot[StateT, ProgressT]:
    """Takes every run to its last point, calling `after_point` with a snapshot from which training can resume.

    `together` says whether the runs of a thread are vmapped or taken one by one (an accelerator vmaps always).
    """
    way = _vmapped if together or jax.default_backend() != "cpu" else _one_by_one
    call = partial(way, step, context, runs)
    with ThreadPoolExecutor(workers()) as pool:
        first = snapshot.point
        while snapshot.point < points:
            ahead = 0 if snapshot.point > first else _AHEAD[way]
            states, progress = _spread(call, snapshot.states, pool, ahead)
            snapshot = Snapshot(states, [*snapshot.curves, jax.tree.map(np.asarray, progress)])
            if after_point is not None:
                after_point(snapshot)
    return snapshot


def each(function: Callable[[Any, Any, StateT], Any], context: Any, runs: Any, states: StateT) -> Any:
    """What a function makes of every run, stacked: one by one on CPU, some at a time on an accelerator.

    It may need far more memory than a step of training does, so not all are taken at once.
    """
    if jax.default_backend() == "cpu":
        with ThreadPoolExecutor(workers()) as pool:
            return _spread(partial(_one_by_one, function, context, runs), states, pool, _AHEAD[_one_by_one])
    order = np.arange(len(jax.tree.leaves(states)[0]))
    shares = np.array_split(order, -(-len(order) // AT_ONCE))
    parts = [_vmapped(function, context, runs, states, share, len(shares[0])) for share in shares]
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)


def compile_alone(function: Callable[[Any, Any, StateT], Any], context: Any, runs: Any, states: StateT) -> None:
    """Compiles what `each` will call on a CPU, for states like these: in another thread, while something else runs."""
    one = _pick((runs, states), np.asarray(0))
    _alone.lower(function, context, *one).compile()  # type: ignore[attr-defined]  # what a compiled function has


def to_arrays(snapshot: Snapshot[Any, Any]) -> dict[str, np.ndarray]:
    """A snapshot as named arrays, keyed by tree path; random keys as their data."""
    curves = jax.tree.map(lambda *leaves: np.stack(leaves), *snapshot.curves)
    leaves = jax.tree_util.tree_leaves_with_path({"states": snapshot.states, "curves": curves})
    return {
        jax.tree_util.keystr(path): np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)
        for path, leaf in leaves
    }


def from_arrays(arrays: Arrays, states: StateT, progress: ProgressT, points: int) -> Snapshot[StateT, ProgressT]:
    """The snapshot that `to_arrays` wrote; `states` and `progress` have the shapes of its states and of one point."""
    point = point_of(arrays)
    if not 1 <= point <= points:
        raise MisfitError(f"it is at point {point} of {points}")
    so_far = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((point, *leaf.shape), leaf.dtype), progress)
    found = _fitting(arrays, {"states": states, "curves": so_far})
    return Snapshot(
        jax.tree.map(jnp.asarray, found["states"]),
        [jax.tree.map(lambda leaf, at=at: leaf[at], found["curves"]) for at in range(point)],
    )


def point_of(arrays: Arrays) -> int:
    """The point at which a snapshot was taken: how long its curves are."""
    return next((len(array) for name, array in arrays.items() if name.startswith("['curves']") and array.ndim), 0)


def _fitting(arrays: Arrays, like: Any) -> Any:
    """The arrays of a tree by the paths of its leaves, each of the shape and type of the leaf in `like`."""

    def leaf(path: Any, old: Any) -> Any:
        name = jax.tree_util.keystr(path)
        data = jax.eval_shape(jax.random.key_data, old) if _is_key(old) else old
        if name not in arrays:
            raise MisfitError(f"it has no {name}")
        found = arrays[name]
        if (found.shape, found.dtype) != (data.shape, data.dtype):
            raise MisfitError(f"its {name} is {found.dtype} {found.shape}, not {data.dtype} {data.shape}")
        return jax.random.wrap_key_data(jnp.asarray(found)) if _is_key(old) else found

    return jax.tree_util.tree_map_with_path(leaf, like)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def gather(snapshot: Snapshot[Any, ProgressT], shape: tuple[int, int]) -> ProgressT:
    """The curves of a run as arrays (methods, seeds, points, ...)."""
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *snapshot.curves)
    return jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), stacked)


def _spread(call: Any, states: Any, pool: ThreadPoolExecutor, ahead: float) -> Any:
    """One call for every run, the runs shared between the threads, after `ahead` of them at most have gone first.

    The first call compiles; threads that began beside it would only compile the same again.
    """
    order = np.arange(len(jax.tree.leaves(states)[0]))
    shares = np.array_split(order, min(workers(), len(order)))
    width = max(len(share) for share in shares)
    if ahead == 1:
        shares = [order[:1], *(share for share in np.array_split(order[1:], workers()) if len(share))]

    def one(share: Int[np.ndarray, " runs"]) -> Any:
        return jax.block_until_ready(call(states, share, width))

    first = [one(shares[0])] if ahead else []
    parts = [*first, *pool.map(one, shares[len(first) :])]
    return _join(parts)


def _vmapped(step: Any, context: Any, runs: Any, states: Any, share: Int[np.ndarray, " runs"], width: int) -> Any:
    if len(share) == len(jax.tree.leaves(runs)[0]):
        return _together(step, context, runs, states)
    # Every share is padded to the same width, so that one program serves them all; the padding is cut off again.
    padded = np.pad(share, (0, width - len(share)), mode="edge")
    found = _together(step, context, *jax.tree.map(lambda leaf: leaf[padded], (runs, states)))
    return jax.tree.map(lambda leaf: leaf[: len(share)], found)


def _one_by_one(step: Any, context: Any, runs: Any, states: Any, share: Int[np.ndarray, " runs"], width: int) -> Any:
    del width
    return _stack([_alone(step, context, *_pick((runs, states), at)) for at in share])


# One small program each, where the same leaf by leaf would be dozens to compile.
@jax.jit
def _pick(tree: Any, at: Int[np.ndarray, ""]) -> Any:
    return jax.tree.map(lambda leaf: leaf[at], tree)


@jax.jit
def _stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


@jax.jit
def _join(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *trees)


@eqx.filter_jit
def _start_all(start: Any, context: Any, root: PRNGKeyArray, seeds: int, methods: int) -> Any:
    keys = jax.vmap(partial(jax.random.fold_in, root))(jnp.arange(seeds))
    return jax.vmap(lambda key: start(*context, key))(jnp.tile(keys, methods))


@eqx.filter_jit
def _together(step: Any, context: Any, runs: Any, states: Any) -> Any:
    return jax.vmap(partial(step, context))(runs, states)


@eqx.filter_jit
def _alone(step: Any, context: Any, run: Any, state: Any) -> Any:
    return step(context, run, state)


# How many runs go ahead while a program is yet to be compiled: one, or a whole share where a share is one call.
_AHEAD = {_one_by_one: 1, _vmapped: float("inf")}
