"""Other tutors that fit the paper's facts: what is drawn does fit, and steps as the tutor of that curriculum does."""

import json
from itertools import islice

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Tutor, make
from mccpo.errors import InputError
from mccpo.evaluation import summarise
from mccpo.experiments import TABLES, Options, Session
from mccpo.experiments.paper import parameterisations
from mccpo.experiments.paper.drawn_tutors import (
    ETA,
    FACTS,
    RANGES,
    THETA,
    drawn_tutors,
    first_figures,
    greedy_figures,
)
from mccpo.files import dump_json
from mccpo.runs.results import Results

FEW = 6  # draws take about a second for eight


@pytest.fixture(scope="module")
def draws():
    return list(islice(drawn_tutors(0), FEW))


@pytest.mark.parametrize("count", [FEW, pytest.param(parameterisations.DRAWS, marks=pytest.mark.slow)])
def test_every_draw_fits_the_facts_and_no_two_are_alike(count: int) -> None:
    draws = list(islice(drawn_tutors(0), count))
    for drawn in draws:
        first = first_figures(drawn.parameters, float(drawn.curriculum.demand[0]), float(drawn.parameters["K0"][0]))
        for figures in (first, greedy_figures(drawn)):
            for metric, fact in FACTS.items():
                assert fact.holds(metric, figures[metric]), metric
    assert len({drawn.curriculum.edges for drawn in draws}) == count
    widest = {name: np.ptp([drawn.parameters[name] for drawn in draws]) for name in ("r_difficulty", "c3_demand")}
    for name, spread in widest.items():
        low, high = RANGES[name]
        assert spread > 0.3 * (high - low), f"{name} hardly differs between draws"


def test_the_facts_match_tutor_15_too_and_refuse_others() -> None:
    tutor = make("tutor-15")
    assert isinstance(tutor, Tutor)
    own = {name: getattr(tutor, name) for name in (*tutor.prices._fields, "novelty_span")}
    figures = first_figures(own, 0.2, 0.2)
    assert all(fact.holds(metric, figures[metric]) for metric, fact in FACTS.items())
    dearer = first_figures(own | {"c4_rate": 5.0}, 0.2, 0.2)
    assert not FACTS["J_c4"].holds("J_c4", dearer["J_c4"])


def test_a_drawn_tutor_steps_as_the_tutor_of_its_curriculum(draws) -> None:
    drawn = draws[3]
    plain = Tutor(curriculum=drawn.curriculum, eta=ETA, theta=THETA, **drawn.parameters)
    ours, random = drawn.tutor(), np.random.default_rng(1)
    a, b = (env.reset(jax.random.key(0))[0] for env in (ours, plain))
    steps = [eqx.filter_jit(env.step) for env in (ours, plain)]
    for move in range(40):
        np.testing.assert_array_equal(ours.observe(a).action_mask, plain.observe(b).action_mask)
        action = jnp.asarray(int(random.integers(0, 3)) if move < 30 else int(random.integers(0, 15)))
        x, y = (step(jax.random.key(move), state, action) for step, state in zip(steps, (a, b), strict=True))
        for field in ("reward", "costs", "gain", "unready"):
            np.testing.assert_allclose(getattr(x, field), getattr(y, field), atol=1e-6)
        a, b = x.state, y.state
    np.testing.assert_allclose(ours.cost_bounds, plain.cost_bounds, atol=1e-6)


def test_first_is_who_returns_most_within_the_budgets() -> None:
    def row(ret: float, *met: float):
        return {"return": summarise([ret, ret]), "satisfaction_strict": summarise(list(met))}

    rows = {"a": row(9.0, 1.0, 0.0), "b": row(5.0, 1.0, 1.0), "c": row(4.0, 1.0, 1.0)}
    assert parameterisations._first(rows) == ["b"]
    assert parameterisations._first({"a": rows["a"]}) == []


@pytest.mark.parametrize(("seeds", "each"), [(10, 2), (50, 10), (3, 1)])
def test_a_draw_has_a_fifth_of_the_seeds(seeds: int, each: int) -> None:
    plan = parameterisations._plan(Options(seeds=seeds))
    assert (plan.seeds, plan.steps) == (each, 200_000)


def test_what_is_drawn_is_not_set() -> None:
    with pytest.raises(InputError, match="draws its environments"):
        TABLES["parameterisations"](Options(parameters={"eta": 0.1}), Session())


@pytest.mark.slow
def test_the_table_runs_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameterisations, "DRAWS", 2)
    options = Options(methods=("unconstrained", "post-hoc", "mc-cpo"), steps=12_288, seeds=10)
    results = TABLES["parameterisations"](options, Session()).results
    read = Results.parse(json.loads(dump_json(results.as_json())))
    assert read.instances is not None
    assert set(read.instances) == {"draw 0", "draw 1"}
    assert read.instances["draw 0"].parameters["edges"]
    (setting,) = read.settings
    assert len(setting.rows["mc-cpo"]["return"].per_seed) == 4
    assert len(setting.rows["mc-cpo"]["kept"].per_seed) == 2
    assert setting.rows["mc-cpo"]["prerequisite_violation_rate"].mean == 0
