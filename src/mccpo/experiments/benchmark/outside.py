"""Agents of other packages, played through the Gymnasium adapter, in the same table as everyone else.

    from mccpo.experiments.benchmark import measure, write_agent_rows

    rows = [measure("tutor-15", agents[seed].act, name="my-agent", kappa=0.7, seed=seed) for seed in range(3)]
    write_agent_rows("my-agent.parquet", rows)

`mccpo benchmark --rows my-agent.parquet` then sets them beside the methods. An agent that was trained for budgets says
for which κ; `results.json` of a benchmark has the budgets under `environments`. One that saw none leaves κ out, and
counts at every κ. Its name is its own, and its seeds are the same at every κ. Needs the extra `gym`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from mccpo.env import Environment, TrainTest, check_environment_name, train_and_test
from mccpo.errors import InputError
from mccpo.exact import Values
from mccpo.experiments.benchmark.agent_rows import AgentRow
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.trial import Trial
from mccpo.experiments.problem import Problem
from mccpo.methods import EVALUATION_EPISODES

Act = Callable[[Float[np.ndarray, " features"], Bool[np.ndarray, " actions"]], int]
"""What an agent does, by what it sees and by what a masked policy may do."""


def measure(
    environment: str | Environment[Any],
    act: Act,
    *,
    name: str,
    kappa: float | None = None,
    seed: int = 0,
    episodes: int = EVALUATION_EPISODES,
    seconds: float | None = None,
) -> AgentRow:
    """One row: what one agent (one seed of it) is worth on fresh episodes; `seconds` is how long it was trained.

    >>> row = measure("gate", lambda observation, mask: int(mask.argmax()), name="my-agent", episodes=2)
    >>> row.method, row.seed, sorted(row.costs)
    ('my-agent', 0, ['c'])
    """
    from mccpo.env.gym import TutorEnv  # noqa: PLC0415 - Gymnasium is an extra

    env = train_and_test(environment).test if isinstance(environment, str) else environment
    played = [_episode(TutorEnv(env), act, seed=episode + 10**6 * (seed + 1)) for episode in range(episodes)]

    def mean(values: Iterable[float]) -> float:
        return float(np.mean(list(values)))

    unready, steps = sum(episode.unready for episode in played), sum(episode.length for episode in played)
    return AgentRow(
        environment=environment if isinstance(environment, str) else env.name,
        method=name,
        kappa=kappa,
        seed=seed,
        ret=mean(episode.ret for episode in played),
        engagement=mean(episode.engagement for episode in played),
        gain=mean(episode.gain for episode in played),
        violation_rate=mean(float(episode.violated) for episode in played),
        prerequisite_violation_rate=unready / steps,
        costs={cost: mean(episode.costs[cost] for episode in played) for cost in env.cost_names},
        seconds=seconds,
    )


def check_agents(
    rows: Sequence[AgentRow],
    protocol: Protocol,
    *,
    taken: Collection[str],
    asked: Collection[str],
    open_environment: Callable[[str], TrainTest],
) -> None:
    """Refuses rows that could not join the table, before anything is trained.

    `taken` are the names of methods, which no agent may have. `asked` are the environments of the benchmark; rows of
    others are not looked at, if there are such environments.
    """
    measured: dict[tuple[str, str], list[AgentRow]] = {}
    for row in rows:
        if row.method in taken:
            fix = "give the agent a name of its own"
            raise InputError(f"{row.where}: '{row.method}' is the name of a method here", fix=fix)
        if row.environment in asked:
            measured.setdefault((row.environment, row.method), []).append(row)
        else:
            _check_environment(row)
    for agent_rows in measured.values():
        _check_seeds(agent_rows, protocol)
    for environment in dict.fromkeys(environment for environment, _ in measured):
        try:
            costs = open_environment(environment).test.cost_names
        except (Exception, SystemExit):  # no method is tried where it cannot be opened, and the results say so
            continue
        for row in rows:
            if row.environment == environment:
                _check_costs(row, costs)


def left_out(rows: Iterable[AgentRow], asked: Collection[str]) -> list[str]:
    """The environments of rows that a benchmark does not ask for."""
    return sorted({row.environment for row in rows} - set(asked))


def agent_trials(problem: Problem, rows: Sequence[AgentRow], protocol: Protocol) -> list[Trial]:
    """The agents among rows that were measured on an environment, each as if it had been tried here."""
    agents: dict[str, list[AgentRow]] = {}
    for row in rows:
        if row.environment == problem.name:
            agents.setdefault(row.method, []).append(row)
    trials = []
    for name, measured in agents.items():
        agent_rows = sorted(measured, key=lambda row: row.seed)
        seeds = sorted({row.seed for row in agent_rows})
        trial = Trial(problem.name, name, "outside", seconds=agent_rows[0].seconds, seeds=seeds)
        for kappa in protocol.kappa:
            meant = _meant_for(agent_rows, kappa)
            if meant:
                trial.values[kappa] = [_values(problem, row) for row in meant]
                trial.seeds = [row.seed for row in meant]
        if len(trial.values) < len(protocol.kappa):
            trial.status, trial.why = "does not apply", "it was not measured at this κ"
        trials.append(trial)
    return trials


@dataclass
class _Episode:
    """One episode: discounted return and costs, undiscounted engagement and gain, and steps that were not ready."""

    costs: dict[str, float]
    ret: float = 0.0
    engagement: float = 0.0
    gain: float = 0.0
    unready: float = 0.0
    length: float = 0.0
    violated: bool = False


def _episode(env: Any, act: Act, seed: int) -> _Episode:
    inner = env.environment
    observation, info = env.reset(seed=seed)
    episode = _Episode(costs=dict.fromkeys(inner.cost_names, 0.0))
    discount, ended = 1.0, False
    while not ended:
        action = int(act(observation, info["action_mask"].astype(bool)))
        observation, reward, terminated, truncated, info = env.step(action)
        episode.ret += discount * reward
        episode.engagement += reward
        episode.gain += info["gain"]
        episode.unready += info["unready"]
        episode.length += 1
        for name, cost in info["costs"].items():
            episode.costs[name] += discount * cost
        episode.violated = episode.violated or any(info["costs"][name] > 0 for name in inner.constrained)
        discount, ended = discount * inner.gamma, terminated or truncated
    return episode


def _values(problem: Problem, row: AgentRow) -> Values:
    _check_costs(row, problem.test.cost_names)
    return Values(
        ret=row.ret,
        costs={name: row.costs[name] for name in problem.test.cost_names},
        engagement=row.engagement,
        gain=row.gain,
        pi_hack=0.0,
        violation_rate=row.violation_rate,
        prerequisite_violation_rate=row.prerequisite_violation_rate,
    )


def _meant_for(rows: Iterable[AgentRow], kappa: float) -> list[AgentRow]:
    """The rows that count at a κ: those trained for it, and those trained for none."""
    return [row for row in rows if row.kappa in (None, kappa)]


def _check_environment(row: AgentRow) -> None:
    try:
        check_environment_name(row.environment)
    except InputError as error:
        raise InputError(f"{row.where}: {error.what}", fix=error.fix) from error


def _check_seeds(rows: Sequence[AgentRow], protocol: Protocol) -> None:
    """Refuses an agent on an environment that has a seed twice at some κ, or other seeds than at another κ."""
    first: tuple[float, set[int]] | None = None
    for kappa in protocol.kappa:
        seen: set[int] = set()
        for row in _meant_for(rows, kappa):
            if row.seed in seen:
                what = f"{row.where}: seed {row.seed} of {row.method} is there twice at κ = {kappa:g}"
                raise InputError(what, fix="give one row for each environment, κ and seed")
            seen.add(row.seed)
        if not seen:
            continue
        first = first or (kappa, seen)
        if odd := seen ^ first[1]:
            seed = min(odd)
            here, missing = (first[0], kappa) if seed in first[1] else (kappa, first[0])
            row = next(row for row in _meant_for(rows, here) if row.seed == seed)
            what = f"{row.where}: seed {seed} of {row.method} is there at κ = {here:g}, not at κ = {missing:g}"
            raise InputError(what, fix="measure the same seeds at every κ")


def _check_costs(row: AgentRow, costs: Iterable[str]) -> None:
    for name in costs:
        if name not in row.costs:
            what = f"{row.where}: {row.method} on {row.environment} has no J_{name}"
            raise InputError(what, fix="measure it again on this environment")
