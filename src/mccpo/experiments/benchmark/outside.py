"""Agents of other packages, played through the Gymnasium adapter, in the same table as everyone else.

    from mccpo.experiments.benchmark.outside import measure, write

    rows = [measure("tutor-15", agents[seed].act, name="my-agent", kappa=0.7, seed=seed) for seed in range(3)]
    write("my-agent.parquet", rows)

`mccpo benchmark --rows my-agent.parquet` then sets them beside the methods. An agent that was trained for budgets says
for which κ; `results.json` of a benchmark has the budgets under `environments`. One that saw none leaves κ out, and
stands at every κ. Needs the extra `gym`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Bool, Float

from mccpo import atomic
from mccpo.algo.selection import EVALUATION_EPISODES
from mccpo.env import Environment
from mccpo.errors import InputError
from mccpo.exact import Values
from mccpo.experiments.benchmark.environments import world
from mccpo.experiments.benchmark.posing import Posed
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.rows import read_frame
from mccpo.experiments.benchmark.trial import Trial

Act = Callable[[Float[np.ndarray, " features"], Bool[np.ndarray, " actions"]], int]
"""What an agent does, by what it sees and by what a masked policy may do."""

_COLUMNS = {
    "environment": pl.String, "method": pl.String, "kappa": pl.Float64, "seed": pl.Int64, "return": pl.Float64,
    "engagement": pl.Float64, "gain": pl.Float64, "violation_rate": pl.Float64,
    "prerequisite_violation_rate": pl.Float64, "seconds": pl.Float64,
}  # fmt: skip


def measure(
    environment: str | Environment[Any],
    act: Act,
    *,
    name: str,
    kappa: float | None = None,
    seed: int = 0,
    episodes: int = EVALUATION_EPISODES,
    seconds: float | None = None,
) -> dict[str, Any]:
    """One row: what one agent (one seed of it) is worth on fresh episodes; `seconds` is how long it was trained."""
    from mccpo.env.gym_adapter import TutorEnv  # noqa: PLC0415 - Gymnasium is an extra

    env = world(environment).test if isinstance(environment, str) else environment
    played = [_episode(TutorEnv(env), act, seed=episode + 10**6 * (seed + 1)) for episode in range(episodes)]
    mean = {key: float(np.mean([one[key] for one in played])) for key in played[0] if key not in ("unready", "length")}
    unready, steps = (sum(one[key] for one in played) for key in ("unready", "length"))
    return {
        "environment": environment if isinstance(environment, str) else env.name,
        "method": name,
        "kappa": kappa,
        "seed": seed,
        **mean,
        "prerequisite_violation_rate": unready / steps,
        "seconds": seconds,
    }


def write(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows of `measure`, of one agent or several, to be named with `--rows`."""
    rows = list(rows)
    costs = sorted({key for one in rows for key in one if key.startswith("J_")})
    columns = _COLUMNS | dict.fromkeys(costs, pl.Float64)
    table = pl.DataFrame([{name: one.get(name) for name in columns} for one in rows], schema=columns)
    with atomic.replacing(path) as scratch:
        table.write_parquet(scratch)


def read(path: Path) -> list[dict[str, Any]]:
    """Reads what `write` wrote."""
    found = read_frame(path)
    if missing := [name for name in _COLUMNS if name not in found.columns]:
        raise InputError(f"{path} has no column '{missing[0]}'", fix="write it by mccpo.experiments.benchmark.outside")
    return found.to_dicts()


def joined(posed: Posed, rows: Sequence[Mapping[str, Any]], protocol: Protocol) -> list[Trial]:
    """The agents among rows that were measured on an environment, each as if it had been tried here."""
    agents: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["environment"] == posed.name:
            agents.setdefault(row["method"], []).append(row)
    found = []
    for name, own in agents.items():
        trial = Trial(posed.name, name, "outside", seconds=own[0]["seconds"])
        for kappa in protocol.kappa:
            meant = [row for row in own if row["kappa"] in (None, kappa)]
            if meant:
                trial.values[kappa] = [_values(posed, row) for row in sorted(meant, key=lambda row: row["seed"])]
        if len(trial.values) < len(protocol.kappa):
            trial.status, trial.why = "does not apply", "it was not measured at this κ"
        found.append(trial)
    return found


def _episode(env: Any, act: Act, seed: int) -> dict[str, float]:
    """One episode: discounted return and costs, undiscounted engagement and gain, and what was not ready."""
    inner = env.environment
    observation, info = env.reset(seed=seed)
    found = dict.fromkeys(("return", "engagement", "gain", "violation_rate", "unready", "length"), 0.0)
    found |= {f"J_{name}": 0.0 for name in inner.cost_names}
    discount, ended = 1.0, False
    while not ended:
        action = int(act(observation, info["action_mask"].astype(bool)))
        observation, reward, terminated, truncated, info = env.step(action)
        found["return"] += discount * reward
        found["engagement"] += reward
        found["gain"] += info["gain"]
        found["unready"] += info["unready"]
        found["length"] += 1
        for name, cost in info["costs"].items():
            found[f"J_{name}"] += discount * cost
        if any(info["costs"][name] > 0 for name in inner.constrained):
            found["violation_rate"] = 1.0
        discount, ended = discount * inner.gamma, terminated or truncated
    return found


def _values(posed: Posed, row: Mapping[str, Any]) -> Values | None:
    costs: dict[str, Any] = {name: row.get(f"J_{name}") for name in posed.env.cost_names}
    if absent := [name for name, cost in costs.items() if cost is None]:
        raise InputError(
            f"{row['method']} on {posed.name} has no J_{absent[0]}", fix="measure it again on this environment"
        )
    return Values(
        ret=row["return"],
        costs=costs,
        engagement=row["engagement"],
        gain=row["gain"],
        pi_hack=0.0,
        violation_rate=row["violation_rate"],
        prerequisite_violation_rate=row["prerequisite_violation_rate"],
    )
