"""Agents of other packages, played through the Gymnasium adapter, in the same table as everyone else.

    from mccpo.experiments.benchmark.outside import measure, write

    rows = [measure("tutor-15", agents[seed].act, name="my-agent", kappa=0.7, seed=seed) for seed in range(3)]
    write("my-agent.parquet", rows)

`mccpo benchmark --rows my-agent.parquet` then sets them beside the methods. An agent that was trained for budgets says
for which κ; `results.json` of a benchmark has the budgets under `environments`. One that saw none leaves κ out, and
stands at every κ. Its name is its own, and its seeds are the same at every κ. Needs the extra `gym`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Bool, Float

from mccpo import files
from mccpo.env import Environment, TrainTest, check_environment_name, train_and_test
from mccpo.errors import InputError
from mccpo.exact import Values
from mccpo.experiments.benchmark.problem import Posed
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.rows import read_frame
from mccpo.experiments.benchmark.trial import Trial
from mccpo.methods.episodes import EVALUATION_EPISODES

Act = Callable[[Float[np.ndarray, " features"], Bool[np.ndarray, " actions"]], int]
"""What an agent does, by what it sees and by what a masked policy may do."""

_COLUMNS = {
    "environment": pl.String, "method": pl.String, "kappa": pl.Float64, "seed": pl.Int64, "return": pl.Float64,
    "engagement": pl.Float64, "gain": pl.Float64, "violation_rate": pl.Float64,
    "prerequisite_violation_rate": pl.Float64, "seconds": pl.Float64,
}  # fmt: skip
_ALWAYS = ("return", "engagement", "gain", "violation_rate", "prerequisite_violation_rate")
"""What every row has a number for."""


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
    from mccpo.env.gym import TutorEnv  # noqa: PLC0415 - Gymnasium is an extra

    env = train_and_test(environment).test if isinstance(environment, str) else environment
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
    with files.replacing(path) as scratch:
        table.write_parquet(scratch)


def read(path: Path) -> list[dict[str, Any]]:
    """Reads what `write` wrote; each row says `where` it is from."""
    found = read_frame(path)
    if missing := [name for name in _COLUMNS if name not in found.columns]:
        raise InputError(f"{path} has no column '{missing[0]}'", fix="write it by mccpo.experiments.benchmark.outside")
    rows = [{**row, "where": f"{path}, row {number}"} for number, row in enumerate(found.to_dicts(), start=1)]
    for row in rows:
        _check_row(row)
    return rows


def check(
    rows: Sequence[Mapping[str, Any]],
    protocol: Protocol,
    *,
    taken: Collection[str],
    asked: Collection[str],
    open_: Callable[[str], TrainTest],
) -> None:
    """Refuses rows that could not join the table, before anything is trained.

    `taken` are the names of methods, which no agent may have. `asked` are the environments of the benchmark; rows of
    others are not looked at, if there are such environments.
    """
    measured: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["method"] in taken:
            fix = "give the agent a name of its own"
            raise InputError(f"{_where(row)}: '{row['method']}' is the name of a method here", fix=fix)
        if row["environment"] in asked:
            measured.setdefault((row["environment"], row["method"]), []).append(row)
        else:
            _check_environment(row)
    for own in measured.values():
        _check_seeds(own, protocol)
    for environment in dict.fromkeys(environment for environment, _ in measured):
        try:
            costs = open_(environment).test.cost_names
        except (Exception, SystemExit):  # nobody is tried where it cannot be opened, and that is told
            continue
        for row in rows:
            if row["environment"] == environment:
                _check_costs(row, costs)


def left_out(rows: Iterable[Mapping[str, Any]], asked: Collection[str]) -> list[str]:
    """The environments of rows that a benchmark does not ask for."""
    return sorted({row["environment"] for row in rows} - set(asked))


def joined(posed: Posed, rows: Sequence[Mapping[str, Any]], protocol: Protocol) -> list[Trial]:
    """The agents among rows that were measured on an environment, each as if it had been tried here."""
    agents: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["environment"] == posed.name:
            agents.setdefault(row["method"], []).append(row)
    found = []
    for name, own in agents.items():
        own = sorted(own, key=lambda row: row["seed"])
        seeds = sorted({row["seed"] for row in own})
        trial = Trial(posed.name, name, "outside", seconds=own[0]["seconds"], seeds=seeds)
        for kappa in protocol.kappa:
            meant = _meant(own, kappa)
            if meant:
                trial.values[kappa] = [_values(posed, row) for row in meant]
                trial.seeds = [row["seed"] for row in meant]
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


def _values(posed: Posed, row: Mapping[str, Any]) -> Values:
    _check_costs(row, posed.env.cost_names)
    return Values(
        ret=row["return"],
        costs={name: row[f"J_{name}"] for name in posed.env.cost_names},
        engagement=row["engagement"],
        gain=row["gain"],
        pi_hack=0.0,
        violation_rate=row["violation_rate"],
        prerequisite_violation_rate=row["prerequisite_violation_rate"],
    )


def _meant(rows: Iterable[Mapping[str, Any]], kappa: float) -> list[Mapping[str, Any]]:
    """The rows that stand at a κ: those trained for it, and those trained for none."""
    return [row for row in rows if row["kappa"] in (None, kappa)]


def _check_row(row: Mapping[str, Any]) -> None:
    """Refuses a row whose own values are not what they should be, whatever is compared."""
    fix = "measure it again, or leave the row out"
    for name in ("environment", "method"):
        if not isinstance(row[name], str) or not row[name]:
            raise InputError(f"{_where(row)}: {name} is {row[name]!r}", fix="give a name")
    if not isinstance(row["seed"], int) or row["seed"] < 0:
        raise InputError(f"{_where(row)}: seed is {row['seed']!r}", fix="give a whole number from 0 on")
    for name, value in row.items():
        wanted = name in _ALWAYS
        optional = name in ("kappa", "seconds") or name.startswith("J_")
        if (wanted or (optional and value is not None)) and not _number(value):
            raise InputError(f"{_where(row)}: {name} is {value!r}, which is no finite number", fix=fix)
    if row["kappa"] is not None and row["kappa"] <= 0:
        raise InputError(f"{_where(row)}: kappa is {row['kappa']}", fix="give a share above 0, or none")


def _check_environment(row: Mapping[str, Any]) -> None:
    try:
        check_environment_name(row["environment"])
    except InputError as error:
        raise InputError(f"{_where(row)}: {error.what}", fix=error.fix) from error


def _check_seeds(own: Sequence[Mapping[str, Any]], protocol: Protocol) -> None:
    """Refuses an agent on an environment that has a seed twice at some κ, or other seeds than at another κ."""
    first: tuple[float, set[int]] | None = None
    for kappa in protocol.kappa:
        seen: set[int] = set()
        for row in _meant(own, kappa):
            if row["seed"] in seen:
                what = f"{_where(row)}: seed {row['seed']} of {row['method']} is there twice at κ = {kappa:g}"
                raise InputError(what, fix="give one row for each environment, κ and seed")
            seen.add(row["seed"])
        if not seen:
            continue
        first = first or (kappa, seen)
        if odd := seen ^ first[1]:
            seed = min(odd)
            here, missing = (first[0], kappa) if seed in first[1] else (kappa, first[0])
            row = next(row for row in _meant(own, here) if row["seed"] == seed)
            what = f"{_where(row)}: seed {seed} of {row['method']} is there at κ = {here:g}, not at κ = {missing:g}"
            raise InputError(what, fix="measure the same seeds at every κ")


def _check_costs(row: Mapping[str, Any], costs: Iterable[str]) -> None:
    for name in costs:
        if row.get(f"J_{name}") is None:
            what = f"{_where(row)}: {row['method']} on {row['environment']} has no J_{name}"
            raise InputError(what, fix="measure it again on this environment")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _where(row: Mapping[str, Any]) -> str:
    return str(row.get("where", "a row of an outside agent"))
