"""The registry: environments by name, ours and other packages', in every place that takes a name."""

import json
import subprocess
import sys

import gymnasium
import jax
import numpy as np
import pytest

import mccpo
from mccpo.env import (
    Chain,
    Gate,
    UnknownEnvironment,
    check_environment_name,
    describe_environment,
    environment_entry,
    environment_names,
    make,
    needs_data,
    rebuild_environment,
    register_environment,
    registered,
    registry,
    train_and_test,
)
from mccpo.env.gym import register_ids
from mccpo.errors import InputError
from mccpo.experiments import Options, compare
from mccpo.files import dump_json


@pytest.fixture(autouse=True)
def _leaves_no_trace(monkeypatch):
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


def test_the_papers_environments_are_registered():
    ours = {"gate", "chain", "random-finite", "tutor-15", "tutor-25", "tutor-15-bkt"}
    assert ours <= set(registered()) <= set(environment_names())
    assert environment_entry("gate").build is Gate


def test_unknown_names_are_refused_with_the_closest():
    for refuse in (make, check_environment_name, environment_entry, train_and_test):
        with pytest.raises(UnknownEnvironment, match="unknown environment 'tutor15'; did you mean 'tutor-15'"):
            refuse("tutor15")


def test_a_name_is_registered_once():
    register_environment("gate")(Gate)  # as when a module is imported again
    with pytest.raises(InputError, match=r"'gate' is already registered, for mccpo\.env\.finite\.gate\.Gate"):
        register_environment("gate")(Chain)


def test_a_program_registers_its_own():
    @mccpo.register_environment("long-chain", test={"p_learn": 0.5})
    def long_chain(p_learn: float = 0.9):
        """A chain of more steps."""
        return Chain(horizon=8, p_learn=p_learn)

    assert make("long-chain", p_learn=0.4).p_learn == 0.4
    assert environment_entry("long-chain").doc == "A chain of more steps."
    pair = train_and_test("long-chain")
    assert (pair.train.p_learn, pair.test.p_learn) == (0.9, 0.5)
    with pytest.raises(InputError, match="long-chain has no parameter 'speed'; choose from p_learn"):
        make("long-chain", speed=2)


def test_most_are_tested_where_they_are_trained():
    pair = train_and_test("gate")
    assert pair.test is pair.train
    pair = train_and_test("random-curricula")
    assert (pair.train.family, pair.test.family) == (0, 1)


def test_a_package_adds_environments(their_package):
    assert {"easy", "their-course", "broken"} <= set(environment_names())
    assert type(make("easy")).__module__ == "their_package"
    assert make("their-course").R == 0.7
    assert make("their-course", R=0.8).R == 0.8
    assert make("anything", R=0.3).R == 0.3
    assert train_and_test("decorated").test.horizon == 7


def test_listing_names_imports_no_package(their_package):
    assert "easy" in environment_names()
    check_environment_name("broken")
    assert "their_package" not in sys.modules


def test_a_name_of_ours_stays_ours(their_package):
    assert environment_names().count("gate") == 1
    assert type(make("gate")) is Gate


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "broken",
            r"'broken' cannot be imported from their_broken_package:Course \(RuntimeError: no licence\); repair",
        ),
        ("missing", r"'missing' cannot be imported from .*Missing'\); repair the package their-package"),
        ("nothing", "their_package:nothing makes no Environment; let 'nothing' name what makes one"),
        ("number", "their_package:number makes no Environment"),
        ("demanding", "demanding: missing a required argument: 'R'; give it a value"),
    ],
)
def test_what_cannot_be_built_is_one_line_when_asked_for(their_package, name, message):
    with pytest.raises(InputError, match=message) as error:
        make(name)
    assert "\n" not in str(error.value)
    assert make("easy").name == "easy"


@pytest.mark.parametrize("name", ["easy", "named", "decorated", "their-course"])
def test_environments_of_packages_are_described_and_rebuilt(their_package, name):
    env = make(name, R=0.25) if name in ("easy", "their-course") else make(name, horizon=4)
    described = json.loads(dump_json(describe_environment(env)))
    again = rebuild_environment(env.name, described)
    assert type(again) is type(env)
    assert describe_environment(again) == describe_environment(env)


@pytest.mark.parametrize("name", [name for name, entry in registered().items() if not entry.needs_data])
def test_every_environment_is_rebuilt_from_its_description(name):
    env = make(name)
    again = rebuild_environment(name, json.loads(dump_json(describe_environment(env))))
    for ours, theirs in zip(jax.tree.leaves(env), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert jax.tree.structure(env) == jax.tree.structure(again)


def test_a_random_environment_on_a_given_curriculum_is_rebuilt():
    env = make("random-finite", instance=3, curriculum=Chain(concepts=3).curriculum)
    again = rebuild_environment("random-finite", json.loads(dump_json(describe_environment(env))))
    np.testing.assert_array_equal(again.p_learn, env.p_learn)
    assert again.curriculum == env.curriculum


def test_a_missing_package_is_one_clear_line():
    with pytest.raises(UnknownEnvironment, match="no package that is installed here has the environment 'easy'; inst"):
        rebuild_environment("easy", {})


def test_a_class_that_nobody_can_find_again_is_not_described(their_package):
    with pytest.raises(InputError, match=r"their_package\.Unregistered is not registered as 'unregistered'"):
        describe_environment(make("hidden"))


def test_a_parameter_that_is_not_kept_is_named():
    class Forgetful(Gate):
        name = "forgetful"

        def __init__(self, pace: float = 1.0):
            super().__init__(R=0.1 * pace)

    register_environment("forgetful")(Forgetful)
    with pytest.raises(InputError, match="forgetful does not say what its parameter 'pace' was"):
        describe_environment(Forgetful())


def test_gymnasium_knows_the_environments_of_packages(their_package):
    register_ids()
    try:
        env = gymnasium.make("mccpo/TheirCourse-v0", R=0.4)
        assert env.unwrapped.environment.R == 0.4
        envs = gymnasium.make_vec("mccpo/Easy-v0", num_envs=2)
        observations, _ = envs.reset(seed=0)
        assert observations.shape == (2, 3)
    finally:
        for name in [name for name in gymnasium.registry if name.startswith("mccpo/")]:
            del gymnasium.registry[name]
        register_ids()


def test_methods_are_compared_on_a_finite_environment_of_a_package(their_package):
    options = Options(methods=("mc-cpo",), seeds=1, episodes=400)
    compare.check("easy", options)
    assert options.plan(make("named")).batch == 40
    assert Options().plan(make("named")).episodes == 200_000
    assert (Options().plan(make("easy")).episodes, Options().plan(make("easy")).batch) == (20_000, 8)


def test_those_from_data_are_entry_points_and_say_that_they_need_it():
    code = "import sys, mccpo.env as env; sys.exit('mccpo.experiments' in sys.modules or 'polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    from mccpo.experiments.prepare import environments  # noqa: PLC0415 - which registers them

    assert needs_data("junyi-2015-14")
    assert not needs_data("gate")
    assert not needs_data("nobody-knows")
    with pytest.raises(environments.NoData, match="no data"):
        make("junyi-2015-14", data="/nowhere")


def test_a_step_of_a_packages_environment_is_ours(their_package):
    env = gymnasium.make("mccpo.env.gym:mccpo/Gate-v0")
    observation, _ = env.reset(seed=0)
    assert np.array_equal(observation, [0, 0, 0])
