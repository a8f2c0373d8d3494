"""Runs to serve from: one that was trained, if only for a moment, and others with weights drawn at random."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.small import HORIZON, PLAN

from mccpo.bench.serve import servers
from mccpo.env import Environment, make
from mccpo.exact import Values
from mccpo.experiments.saved_policies import Policies, write_policies
from mccpo.methods import MethodSpec, PrimalDual, method_arrays, method_spec, train_neural
from mccpo.methods.gradient.network import Network
from mccpo.serve.policy import Release, load_release

ANCHOR = Values(3.0, {"c2": 0.1, "c3": 1.0, "c4": 2.0}, 4.0, 0.5, 0.0, 1.0, 0.01)
BUDGETS = {"c2": 0.09, "c3": 1 / 3, "c4": 1.8}
NAMES = ("mc-cpo", "unconstrained")


def network_for(env: Environment[Any], spec: MethodSpec) -> Network:
    """The network of a method as it is trained: with weights that concepts share, or plain."""
    return PrimalDual(method_arrays(spec, env), shared=spec.shared).network(env)


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of tutor-15 that was trained for some hundred steps: two methods, two seeds."""
    env = make("tutor-15", horizon=HORIZON)
    plan = replace(PLAN, steps=300)
    folder = tmp_path_factory.mktemp("trained")
    kept = []
    for spec in map(method_spec, NAMES):  # one after the other: their networks are of two kinds
        runs = train_neural(env, [spec], BUDGETS, plan)
        kept.append(Policies("tutor-15", env, spec, BUDGETS, ANCHOR, np.asarray(runs.selected)[0], seed=0))
    write_policies(folder, kept)
    return folder


@pytest.fixture(scope="session")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a run's folder of policies for an environment, with weights drawn at random."""

    def made(
        env: Environment[Any],
        *methods: str,
        parts: tuple[str, ...] = ("part",),
        scale: float = 0.3,
        budgets: dict[str, float] | None = None,
        floors: dict[str, float] | None = None,
    ) -> Path:
        draw = np.random.default_rng(0)
        folder = tmp_path_factory.mktemp("run")
        kept = []
        for part in parts:
            for spec in map(method_spec, methods or ("mc-cpo",)):
                weights = draw.normal(scale=scale, size=(2, network_for(env, spec).size)).astype(np.float32)
                kept.append(
                    Policies(
                        part,
                        env,
                        spec,
                        BUDGETS if budgets is None else budgets,
                        ANCHOR,
                        weights,
                        5,
                        floors=floors or {},
                    )
                )
        write_policies(folder, kept)
        return folder

    return made


@pytest.fixture(scope="session")
def release(run_of: Callable[..., Path]) -> Release:
    """MC-CPO on tutor-15, untrained: what matters is what is done with its choices."""
    return load_release(run_of(make("tutor-15")))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server: the one that `MCCPO_TEST_POSTGRES` names, or one started for these tests."""
    with servers.postgres() as server:
        if server is None:
            pytest.skip(f"install PostgreSQL, or set {servers.POSTGRES} to the URL of a server, to run this on it")
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'record.db'}"
        return
    with servers.database_in(request.getfixturevalue("postgres_server")) as url:
        yield f"{url}&keyring={tmp_path / 'record.keyring'}"
