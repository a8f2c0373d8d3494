"""Agents of other packages: played through the adapter, written, read, and set beside the others."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from mccpo.env import TrainTest, make
from mccpo.errors import InputError
from mccpo.exact import evaluate
from mccpo.experiments.benchmark.agent_rows import read_agent_rows, write_agent_rows
from mccpo.experiments.benchmark.outside import agent_trials, check_agents, left_out, measure
from mccpo.experiments.benchmark.rows import rows_of
from mccpo.experiments.problem import pose
from mccpo.methods.rules import RandomReady, tabulate

EPISODES = 400


@pytest.fixture(scope="module")
def rows():
    """An agent that takes any ready action, with two seeds."""
    draws = np.random.default_rng(0)
    act = lambda _seen, mask: draws.choice(np.flatnonzero(mask))  # noqa: E731
    return [measure("gate", act, name="anyone", seed=seed, episodes=EPISODES, seconds=1.5) for seed in range(2)]


@pytest.fixture(scope="module")
def problem():
    return pose(make("gate"))


def test_measured_values_are_near_the_exact(rows, problem):
    exact = evaluate(problem.model, tabulate(problem.test, RandomReady())[problem.model.index])
    for row in rows:
        assert row.ret == pytest.approx(exact.ret, abs=4 / np.sqrt(EPISODES))
        assert row.costs["c"] == pytest.approx(exact.costs["c"], abs=4 / np.sqrt(EPISODES))
        assert row.gain == pytest.approx(exact.gain, abs=4 / np.sqrt(EPISODES))
        assert row.prerequisite_violation_rate == 0


def test_rows_join_the_table(rows, problem, small, tmp_path):
    write_agent_rows(tmp_path / "agent.parquet", rows)
    agent, *others = agent_trials(problem, read_agent_rows(tmp_path / "agent.parquet"), small)
    assert not others
    found = rows_of(problem, agent, small)
    assert {(row.kappa, row.seed, row.kind, row.status) for row in found} == {
        (kappa, seed, "outside", "done") for kappa in small.kappa for seed in (0, 1)
    }
    assert found[0].outcome.ret == rows[0].ret
    assert found[0].seconds == 1.5
    assert not agent_trials(problem, [replace(rows[0], environment="chain")], small)


def test_agent_trained_for_one_kappa_counts_there_alone(rows, problem, small):
    (agent,) = agent_trials(problem, [replace(row, kappa=0.9) for row in rows], small)
    status = {(row.kappa, row.status) for row in rows_of(problem, agent, small)}
    assert status == {(0.9, "done"), (0.5, "does not apply")}


def test_its_seeds_keep_their_numbers(rows, problem, small):
    (agent,) = agent_trials(problem, [replace(row, seed=row.seed + 7) for row in rows], small)
    assert [row.seed for row in rows_of(problem, agent, small)] == [7, 8, 7, 8]


def opened(name):
    return TrainTest(env := make(name), env)


def wrong(**change):
    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (wrong(**{"return": None}), "row 2: return is None"),
        (wrong(**{"return": float("nan")}), "row 2: return is nan"),
        (wrong(J_c=float("inf")), "row 2: J_c is inf"),
        (wrong(seed=None), "row 2: seed is None"),
        (wrong(method=None), "row 2: method is None"),
        (wrong(kappa=-0.5), "row 2: kappa is -0.5"),
        (wrong(environment="gates"), "row 2: unknown environment 'gates'"),
        (wrong(method="mc-cpo"), "row 2: 'mc-cpo' is the name of a method"),
        (wrong(J_c=None), "row 2: anyone on gate has no J_c"),
        (wrong(seed=0), "row 2: seed 0 of anyone is there twice at κ = 0.5"),
        (wrong(kappa=0.9), "row 2: seed 1 of anyone is there at κ = 0.9, not at κ = 0.5"),
    ],
)
def test_refusals_name_file_and_row(rows, small, tmp_path, change, said):
    path = tmp_path / "agent.parquet"
    first, second = (row.columns() for row in rows)
    pl.DataFrame([first, {**second, **change}], strict=False).write_parquet(path)
    with pytest.raises(InputError) as refused:
        check_agents(
            read_agent_rows(path),
            small,
            taken={"mc-cpo"},
            asked={"gate"},
            open_environment=opened,
        )
    assert f"{path}, {said}" in str(refused.value)


def test_a_number_that_is_a_text_is_refused(rows, tmp_path):
    path = tmp_path / "agent.parquet"
    pl.DataFrame([{**row.columns(), "return": "much"} for row in rows]).write_parquet(path)
    with pytest.raises(InputError, match="row 1: return is 'much'"):
        read_agent_rows(path)


def test_rows_of_other_environments_are_left_out(rows, small):
    others = [*rows, replace(rows[0], environment="chain")]
    check_agents(others, small, taken={"mc-cpo"}, asked={"gate"}, open_environment=opened)
    assert left_out(others, {"gate"}) == ["chain"]


def test_files_of_something_else_are_refused(rows, problem, small, tmp_path):
    (tmp_path / "none.parquet").write_text("none")
    with pytest.raises(InputError):
        read_agent_rows(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="no J_c"):
        agent_trials(problem, [replace(rows[0], costs={})], small)
