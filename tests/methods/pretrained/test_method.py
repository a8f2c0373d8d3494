"""The pretrained policy as a method that every command can name, and as what MC-CPO starts from."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import small

from mccpo import make
from mccpo.cli import main
from mccpo.experiments import Options, load_policies
from mccpo.methods import PrimalDual, budgets_of, method_arrays, method_spec
from mccpo.methods.gradient import selection
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.pretrained import PretrainingPlan, pretrain, pretrained_parameters
from mccpo.methods.pretrained.network import conditioned
from mccpo.methods.pretrained.pretraining import Pass
from mccpo.methods.pretrained.weights import parameters_in

TUTOR = ["tutor-15", "--seeds", "1", "--set", f"horizon={small.HORIZON}", "--set", "concepts=5"]


@pytest.fixture
def _small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Options, "neural_plan", small.plan)
    monkeypatch.setattr("mccpo.methods.pretrained.price_search.EPISODES", 2)
    monkeypatch.setattr("mccpo.methods.pretrained.method.FINAL", 16)


@pytest.mark.usefixtures("_small")
def test_it_is_compared_with_others_and_its_policies_are_kept(tmp_path, capsys):
    call = [
        "compare",
        *TUTOR,
        "--methods",
        "pretrained,random-ready",
        "--floor",
        "learning=0.5",
        "--out",
        "run",
        "--json",
    ]
    assert main(call) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert set(rows) == {"pretrained", "random-ready"}
    assert "lambda_learning" in rows["pretrained"]
    policies = {one.method.name: one for one in load_policies(tmp_path / "run")}["pretrained"]
    _, obs = policies.env.reset(jax.random.key(0))
    chances = policies.act(np.asarray(obs.features), np.asarray(obs.action_mask))
    assert chances.sum() == pytest.approx(1.0, abs=1e-5)
    assert (chances[:-1][~np.asarray(obs.action_mask)] == 0).all()


@pytest.mark.usefixtures("_small")
def test_mc_cpo_starts_from_it(tmp_path, capsys):
    assert main(["train", *TUTOR, "--from", "pretrained", "--kappa", "0.9", "--out", "run", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert set(rows) == {"mc-cpo-from-pretrained"}
    assert load_policies(tmp_path / "run")[0].parameters.shape[0] == 1


def test_a_method_that_does_not_apply_says_so_before_training(capsys):
    assert main(["compare", "tutor-15-activities", "--methods", "pretrained"]) == 2
    assert "pretrained sees mastery" in capsys.readouterr().err


def test_only_mc_cpo_starts_from_it(capsys):
    assert main(["train", "tutor-15", "--method", "cpo", "--from", "pretrained"]) == 2
    assert "cpo does not start from pretrained" in capsys.readouterr().err


def test_the_file_in_the_package_fits_the_network():
    assert pretrained_parameters().shape == (conditioned().size,)


def test_a_file_of_something_else_is_refused():
    with pytest.raises(Exception, match="mccpo pretrain"):
        parameters_in(b"nothing", "nothing.safetensors")


def test_the_same_seed_gives_the_same_policy():
    passes = (Pass(1.0, 4, 2, PPOSettings(foresight=0.1)),)
    one, same, other = (pretrain(PretrainingPlan(steps=1, seed=seed, learners=2, passes=passes)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert np.isfinite(one).all()
    assert np.abs(one - other).max() > 1e-3


def test_what_a_short_search_never_looked_at_is_not_its_result(monkeypatch):
    # The places that no look filled hold the parameters of the start, which choose at random among what is ready.
    env = make("tutor-15", concepts=5)
    method = PrimalDual(method_arrays(method_spec("mc-cpo"), env), shared=True)
    state = selection.start(env, Sizes(), method, jax.random.key(0))
    looked_at = jnp.ones_like(state.average)
    state = state._replace(finalists=selection.enter(state.finalists, jnp.asarray(1.0), looked_at))
    monkeypatch.setattr(selection, "scored", lambda *given: -given[4].sum())  # the start would win
    chosen = selection.conclude(env, Sizes(), method, budgets_of(env, {"c2": 1.0}), state)
    np.testing.assert_array_equal(chosen, looked_at)
