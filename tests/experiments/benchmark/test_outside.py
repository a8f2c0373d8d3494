"""Agents of other packages: played through the adapter, written, read, and set beside the others."""

import numpy as np
import polars as pl
import pytest

from mccpo.env import TrainTest, make
from mccpo.errors import InputError
from mccpo.exact import evaluate
from mccpo.experiments import Session
from mccpo.experiments.benchmark.outside import check, joined, left_out, measure, read, write
from mccpo.experiments.benchmark.problem import pose
from mccpo.experiments.benchmark.rows import rows_of
from mccpo.methods.rules import RandomReady, tabulate

EPISODES = 400


@pytest.fixture(scope="module")
def rows():
    """An agent that takes any ready action, with two seeds."""
    draws = np.random.default_rng(0)
    act = lambda _seen, mask: draws.choice(np.flatnonzero(mask))  # noqa: E731
    return [measure("gate", act, name="anyone", seed=seed, episodes=EPISODES, seconds=1.5) for seed in range(2)]


@pytest.fixture(scope="module")
def posed(small):
    env = make("gate")
    return pose("gate", TrainTest(env, env), small, Session())


def test_an_agent_is_worth_what_its_policy_is_worth_exactly(rows, posed):
    exact = evaluate(posed.model, tabulate(posed.env, RandomReady())[posed.model.index])
    for row in rows:
        assert row["return"] == pytest.approx(exact.ret, abs=4 / np.sqrt(EPISODES))
        assert row["J_c"] == pytest.approx(exact.costs["c"], abs=4 / np.sqrt(EPISODES))
        assert row["gain"] == pytest.approx(exact.gain, abs=4 / np.sqrt(EPISODES))
        assert row["prerequisite_violation_rate"] == 0


def test_its_rows_join_the_table(rows, posed, small, tmp_path):
    write(tmp_path / "agent.parquet", rows)
    agent, *others = joined(posed, read(tmp_path / "agent.parquet"), small)
    assert not others
    found = rows_of(posed, agent, small)
    assert {(row["kappa"], row["seed"], row["kind"], row["status"]) for row in found} == {
        (kappa, seed, "outside", "done") for kappa in small.kappa for seed in (0, 1)
    }
    assert found[0]["return"] == rows[0]["return"]
    assert found[0]["seconds"] == 1.5
    assert not joined(posed, [{**rows[0], "environment": "chain"}], small)


def test_an_agent_trained_for_one_kappa_stands_there_alone(rows, posed, small):
    (agent,) = joined(posed, [{**row, "kappa": 0.9} for row in rows], small)
    status = {(row["kappa"], row["status"]) for row in rows_of(posed, agent, small)}
    assert status == {(0.9, "done"), (0.5, "does not apply")}


def test_its_seeds_keep_their_numbers(rows, posed, small):
    (agent,) = joined(posed, [{**row, "seed": row["seed"] + 7} for row in rows], small)
    assert [row["seed"] for row in rows_of(posed, agent, small)] == [7, 8, 7, 8]


def wrong(**change):
    return lambda rows: [rows[0], {**rows[1], **change}]


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
def test_rows_that_cannot_join_are_refused_by_file_and_row(rows, posed, small, tmp_path, change, said):
    path = tmp_path / "agent.parquet"
    write(path, change(rows))
    with pytest.raises(InputError) as refused:
        check(read(path), small, taken={"mc-cpo"}, asked={"gate"}, open_=lambda _: posed.world)
    assert f"{path}, {said}" in str(refused.value)


def test_a_number_that_is_a_text_is_refused(rows, tmp_path):
    path = tmp_path / "agent.parquet"
    pl.DataFrame([{**row, "return": "much"} for row in rows]).write_parquet(path)
    with pytest.raises(InputError, match="row 1: return is 'much'"):
        read(path)


def test_rows_of_other_environments_are_left_out(rows, posed, small):
    others = [*rows, {**rows[0], "environment": "chain"}]
    check(others, small, taken={"mc-cpo"}, asked={"gate"}, open_=lambda _: posed.world)
    assert left_out(others, {"gate"}) == ["chain"]


def test_files_of_something_else_are_refused(rows, posed, small, tmp_path):
    (tmp_path / "none.parquet").write_text("none")
    with pytest.raises(InputError):
        read(tmp_path / "none.parquet")
    without = {key: value for key, value in rows[0].items() if key != "J_c"}
    with pytest.raises(InputError, match="no J_c"):
        joined(posed, [without], small)
