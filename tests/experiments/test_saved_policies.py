"""Saved policies: they come back as they were, act in NumPy as they were trained in JAX, and damage is named."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import Activity, Group, describe_environment, make, rebuild_environment
from mccpo.errors import InputError, MccpoError
from mccpo.evaluation import Curves
from mccpo.exact import Values
from mccpo.experiments import evaluate
from mccpo.experiments.saved_policies import Policies, load_policies, read_policies, write_policies
from mccpo.files import dump_json
from mccpo.methods import METHODS, MethodSpec, PrimalDual, execute, method_arrays, method_spec
from mccpo.policy import masked_softmax
from mccpo.runs.folder import RunFolder

MINE = Curriculum.from_edges(
    [("counting", "adding"), ("adding", "multiplying")], demand={"counting": 0.1, "adding": 1 / 3, "multiplying": 0.9}
)
ENVIRONMENTS = {
    "the profile": make("tutor-15", horizon=8),
    "a user's": make("tutor-25", curriculum=MINE, horizon=7, gamma=0.97, eta=0.11, theta=0.65),
    "a random one": make("tutor-15", curriculum_seed=3, concepts=6),
    "activities": make("tutor-15", concepts=4, activities=("hint", Activity("quiz", 0.7, 0.5, -0.1))),
    "groups": make("tutor-15-bkt", groups=(Group("a", 0.25, eta=1.2), Group("b", 0.75, K0=0.8)), guess=0.15),
}
ANCHOR = Values(3.0, {"c2": 0.1, "c3": 1.0, "c4": 2.0}, 4.0, 0.5, 0.0, 1.0, 0.01)
BUDGETS = {"c2": 0.09, "c3": 1 / 3, "c4": 1.8}


def network_for(env, spec):
    """The network of a method of the family: with weights that concepts share, or plain."""
    return PrimalDual(method_arrays(spec, env), shared=spec.shared).network(env)


def policies(env, method="mc-cpo", seeds=2, part="tutor-15 κ=0.9", *, budgets=BUDGETS, floors=None, shared=None):
    spec = method_spec(method) if shared is None else replace(method_spec(method), shared=shared)
    shape = (seeds, network_for(env, spec).size)
    parameters = np.random.default_rng(0).normal(scale=0.3, size=shape).astype(np.float32)
    return Policies(part, env, spec, dict(budgets), ANCHOR, parameters, seed=5, floors=floors or {})


def behaviour(env, steps=20):
    """What an environment does in an episode of fixed actions, as numbers."""

    def step(state, draw):
        key, action = draw
        after = env.step(key, state, action)
        return after.state, (after.reward, after.costs, after.obs.features, after.obs.action_mask, after.unready)

    state, obs = env.reset(jax.random.key(1))
    draws = jax.random.split(jax.random.key(2), steps), jnp.arange(steps) % env.num_actions
    return obs, jax.lax.scan(step, state, draws)[1]


@pytest.mark.parametrize("env", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_an_environment_comes_back_from_its_description(env):
    described = json.loads(dump_json(describe_environment(env)), parse_constant=pytest.fail)
    rebuilt = rebuild_environment(env.name, described)
    assert type(rebuilt) is type(env)
    assert rebuilt.curriculum == env.curriculum
    assert rebuilt.action_names == env.action_names
    assert (rebuilt.gamma, rebuilt.horizon) == (env.gamma, env.horizon)
    jax.tree.map(np.testing.assert_array_equal, behaviour(rebuilt), behaviour(env))


def test_a_description_leaves_no_parameter_to_a_default():
    described = describe_environment(make("tutor-15-bkt"))
    assert {"K0", "eta", "theta", "gamma", "horizon", "c2_gain", "guess", "curriculum", "groups"} <= described.keys()


def test_policies_come_back_as_they_were(tmp_path):
    env = ENVIRONMENTS["a user's"]
    kept = [policies(env), policies(env, "post-hoc"), policies(env, part="tutor-25 κ=0.7", seeds=1)]
    write_policies(tmp_path, kept)
    for before, after in zip(kept, read_policies(tmp_path), strict=True):
        assert (after.part, after.method, after.budgets) == (before.part, before.method, before.budgets)
        assert (after.anchor, after.seed) == (before.anchor, before.seed)
        np.testing.assert_array_equal(after.parameters, before.parameters)
        assert after.env.curriculum == MINE


@pytest.mark.parametrize("budgets", [{}, {"c4": 1.8}, BUDGETS], ids=["no budgets", "one budget", "all budgets"])
def test_policies_with_floors_come_back_with_them(tmp_path, budgets):
    env = ENVIRONMENTS["groups"]
    floors = {"learning": 1 / 3, "mastered": 2.5, "learning-total": 0.9, "engagement": 1e-3}
    write_policies(tmp_path, [policies(env, budgets=budgets, floors=floors)])
    (after,) = read_policies(tmp_path)
    assert (after.floors, after.budgets) == (floors, dict(budgets))
    assert after.constraints.amounts == {**budgets, **floors}
    assert after.method.shared


def test_a_floor_that_the_environment_cannot_count_is_refused(folder):
    change(folder, lambda document: part(document).update(floors={"joy": 1.0}))
    with pytest.raises(InputError, match=r"policies\.json: unknown floor 'joy'"):
        read_policies(folder)


def test_policies_from_before_floors_and_shared_weights_still_open(tmp_path):
    """Their descriptions say nothing of either: the network is plain, and what they are held to is budgets alone."""
    before = policies(ENVIRONMENTS["the profile"], shared=False)
    write_policies(tmp_path, [before])

    def as_it_was(document):
        assert "floors" not in part(document)
        del part(document)["methods"]["mc-cpo"]["shared"]
        for name in ("learning", "mastered"):
            del part(document)["anchor"][name]

    change(tmp_path, as_it_was)
    (after,) = read_policies(tmp_path)
    assert (after.method, after.budgets, after.floors) == (before.method, BUDGETS, {})
    assert after.anchor == ANCHOR
    np.testing.assert_array_equal(after.parameters, before.parameters)


def test_a_graph_network_from_before_it_told_its_rounds_still_opens(tmp_path):
    """As `gits` had it, the one method with such a network then."""
    env = ENVIRONMENTS["the profile"]
    network = METHODS["gits"].build(env, {}).network(env)
    draw = np.random.default_rng(0).normal(scale=0.3, size=(1, network.size)).astype(np.float32)
    spec = MethodSpec("gits", masked=True, constrained=True)
    write_policies(tmp_path, [Policies("tutor-15 κ=0.9", env, spec, BUDGETS, ANCHOR, draw, seed=5)])

    def as_it_was(document):
        described = part(document)["methods"]["gits"]["network"]
        del described["rounds"], described["sees_neighbours"]

    change(tmp_path, as_it_was)
    (after,) = read_policies(tmp_path)
    np.testing.assert_array_equal(after.parameters, draw)


def test_two_parts_of_one_name_are_not_mixed(tmp_path):
    env = ENVIRONMENTS["the profile"]
    tighter = replace(policies(env, "unconstrained"), budgets={**BUDGETS, "c4": 0.1})
    for twice in ([policies(env), policies(env)], [policies(env), tighter]):
        with pytest.raises(MccpoError, match=r"two parts of the run go by the name 'tutor-15 κ=0\.9'"):
            write_policies(tmp_path, twice)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["mc-cpo", "unconstrained", "post-hoc", "post-hoc-block"])
@pytest.mark.parametrize("batch", [pytest.param((), marks=pytest.mark.slow), (2, 3)])
def test_numpy_acts_as_the_trained_policy_does(method, batch):
    env = ENVIRONMENTS["the profile"]
    one = policies(env, method)
    rng = np.random.default_rng(1)
    features = rng.random((*batch, env.num_features)).astype(np.float32)
    mask = rng.random((*batch, env.num_actions)) < 0.5
    mask[..., 0] = True
    found = one.act(features, mask, policy=1)
    numbers = method_arrays(one.method, env)
    flat = jnp.asarray(features).reshape(-1, env.num_features).T
    logits, _ = network_for(env, one.method).apply(jnp.asarray(one.parameters[1]), flat)
    gate = jnp.asarray(mask).reshape(-1, env.num_actions)
    trained = masked_softmax(logits.T, gate | ~numbers.masked).probs
    expected = execute(numbers, trained, gate, jnp.asarray(env.hack)).reshape(found.shape)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected, atol=1e-6, rtol=0)
    np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-5)
    if method != "unconstrained":
        assert (found[..., :-1][~mask] == 0).all()


def test_a_policy_that_remembers_comes_back_and_acts_by_whole_episodes(tmp_path):
    env = make("tutor-15-answers", concepts=4, horizon=5)
    network = METHODS["mc-cpo-recurrent"].build(env, {}).network(env)
    parameters = np.random.default_rng(0).normal(scale=0.3, size=(2, network.size)).astype(np.float32)
    spec = MethodSpec("mc-cpo-recurrent", masked=True, shared=True, constrained=True)
    write_policies(tmp_path, [Policies("part", env, spec, dict(BUDGETS), ANCHOR, parameters, seed=5)])
    (one,) = read_policies(tmp_path)
    assert one.policies.network(env) == network
    np.testing.assert_array_equal(one.parameters, parameters)
    with pytest.raises(InputError, match="mc-cpo-recurrent acts by the whole episode"):
        one.act(np.zeros(env.num_features), np.ones(env.num_actions, bool))


# What a folder may hold instead.


@pytest.fixture
def folder(tmp_path):
    write_policies(tmp_path, [policies(ENVIRONMENTS["the profile"])])
    return tmp_path


def change(folder, edit):
    """Edits what a folder says of its policies, as if it were from before it said what its parts hash to."""
    path = folder / "policies.json"
    document = json.loads(path.read_text())
    document.pop("parts_sha256", None)
    edit(document)
    path.write_text(json.dumps(document))


def part(document):
    return document["parts"]["tutor-15 κ=0.9"]


EDITS = {
    "another format": lambda d: d.update(format="x/1"),
    "no parts": lambda d: d.pop("parts"),
    "parts of another kind": lambda d: d.update(parts=[1]),
    "another environment": lambda d: part(d).update(environment="tutor-25x"),
    "another size": lambda d: part(d)["parameters"].update(activities=[{"name": "hint"}, {"name": "quiz"}]),
    "a cycle": lambda d: part(d)["parameters"]["curriculum"]["concepts"][0].update(prerequisites=["v3"]),
    "no curriculum": lambda d: part(d)["parameters"].update(curriculum=None),
    "a wrong number": lambda d: part(d)["parameters"].update(theta=7),
    "an unknown parameter": lambda d: part(d)["parameters"].update(tetha=0.7),
    "no budgets": lambda d: part(d).pop("budgets"),
    "empty budgets": lambda d: part(d).update(budgets={}),
    "a budget that was taken out": lambda d: part(d)["budgets"].pop("c3"),
    "a budget on no cost": lambda d: part(d)["budgets"].update(c9=1),
    "a negative budget": lambda d: part(d)["budgets"].update(c3=-1),
    "an infinite budget": lambda d: part(d)["budgets"].update(c3=float("inf")),
    "no part": lambda d: d.update(parts={}),
    "an unknown filter": lambda d: part(d)["methods"]["mc-cpo"].update(filter="sieve"),
    "an unknown field": lambda d: part(d)["methods"]["mc-cpo"].update(strength=1),
    "a method without policies": lambda d: part(d)["methods"]["mc-cpo"].update(name="mc-ppo"),
    "another digest": lambda d: d.update(sha256="0" * 64),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_a_changed_description_is_refused(folder, edit):
    change(folder, edit)
    with pytest.raises(InputError, match=r"policies\."):
        read_policies(folder)


def test_an_edge_that_was_edited_is_noticed(tmp_path):
    folder = tmp_path
    write_policies(folder, [policies(ENVIRONMENTS["the profile"], shared=False)])
    path = folder / "policies.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document))  # laid out anew, it says the same
    (before,) = read_policies(folder)
    concepts = part(document)["parameters"]["curriculum"]["concepts"]
    next(row for row in concepts if row.get("prerequisites"))["prerequisites"].pop()
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"policies\.json: .* is not what the run saved") as caught:
        read_policies(folder)
    assert "\n" not in str(caught.value)
    change(folder, lambda _: None)  # a run from before the hash was kept is taken as it is
    (after,) = read_policies(folder)
    assert len(after.env.curriculum.edges) == len(before.env.curriculum.edges) - 1


def test_shared_weights_are_of_the_graph_that_they_were_trained_on(folder):
    """Even where no hash was kept: the network itself is made of edges."""

    def edit(document):
        concepts = part(document)["parameters"]["curriculum"]["concepts"]
        next(row for row in concepts if row.get("prerequisites"))["prerequisites"].pop()

    change(folder, edit)
    with pytest.raises(InputError, match=r"the network of .* is another than the environment's"):
        read_policies(folder)


@pytest.mark.parametrize("content", [b"", b"not tensors", None])
def test_damaged_policies_are_refused(folder, content):
    path = folder / "policies.safetensors"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"policies\.safetensors"):
        read_policies(folder)


def test_policies_that_are_not_numbers_are_refused(tmp_path):
    one = policies(ENVIRONMENTS["the profile"])
    one.parameters[1, 3] = np.nan
    write_policies(tmp_path, [one])
    with pytest.raises(InputError, match="finite"):
        read_policies(tmp_path)


# As parts of a run.


def test_a_run_keeps_its_policies_and_only_a_finished_one_gives_them(tmp_path):
    curves = {"part": Curves(np.array([1]), {"mc-cpo": {"return": np.array([[0.5]])}})}
    run = RunFolder(tmp_path / "run", {"run": "x"})
    run.finish({"table": "tutor-15"}, curves, [policies(ENVIRONMENTS["the profile"]).stored()])
    assert [one.part for one in load_policies(tmp_path / "run")] == ["tutor-15 κ=0.9"]
    (tmp_path / "run/manifest.json").write_text('{"finished": false}')
    with pytest.raises(InputError, match="not finished"):
        load_policies(tmp_path / "run")


# Evaluated again.


def test_a_table_of_saved_policies_has_a_row_for_each_method():
    env = make("tutor-15", horizon=3)
    (results,) = evaluate.evaluate([policies(env), policies(env, "unconstrained")], episodes=5)
    table = results.as_json()
    assert set(table["rows"]) == {"mc-cpo", "unconstrained"}
    assert table["budgets"] == BUDGETS
    assert table["protocol"]["seed"] == 6  # the run's is 5
    row = table["rows"]["mc-cpo"]
    assert len(row["return"]["per_seed"]) == 2
    assert row["prerequisite_violation_rate"]["mean"] == 0
    assert row["rhsi"]["mean"] == pytest.approx(
        np.mean([
            ret / 3 * np.sqrt(np.mean([(c2 / 0.1) ** 2, c3**2, (c4 / 2) ** 2]))
            for ret, c2, c3, c4 in zip(*(row[m]["per_seed"] for m in ("return", "J_c2", "J_c3", "J_c4")), strict=True)
        ])
    )  # fmt: skip


def test_a_table_of_saved_policies_counts_floors_among_what_must_be_met():
    env = make("tutor-15", horizon=3)
    loose = dict.fromkeys(BUDGETS, 99.0)
    (low,) = evaluate.evaluate([policies(env, budgets=loose, floors={"learning": 1e-3})], episodes=5)
    (high,) = evaluate.evaluate([policies(env, budgets=loose, floors={"learning": 9.0})], episodes=5)
    rows = [table.as_json()["rows"]["mc-cpo"] for table in (low, high)]
    assert [row["satisfaction_strict"]["mean"] for row in rows] == [1.0, 0.0]
    assert rows[0]["learning"] == rows[1]["learning"]
    assert 0 < rows[0]["learning"]["mean"] < rows[0]["dK"]["mean"] < 0.08 * 3
    assert high.as_json()["floors"] == {"learning": 9.0}


def test_parts_and_environments_are_kept_apart():
    short, other = make("tutor-15", horizon=2), make("tutor-25", horizon=2)
    found = [policies(short, part="a"), policies(short, part="b"), policies(other, part="c")]
    first, second = (table.as_json() for table in evaluate.evaluate(found, episodes=2, seed=1))
    assert list(first["settings"]) == ["a", "b"]
    assert second["table"] == "tutor-25"
    assert set(second["rows"]) == {"mc-cpo"}
    assert evaluate.choose(found, None, "b") == [found[1]]
    with pytest.raises(InputError, match="choose from a, b, c"):
        evaluate.choose(found, None, "d")
    with pytest.raises(InputError, match="no method 'post-hoc'"):
        evaluate.choose(found, "post-hoc", None)


THEIRS = """
from typing import ClassVar
from mccpo.env import Tutor

class Course(Tutor):
    name: ClassVar[str] = "their-course"
"""


def test_policies_of_another_packages_environment_need_the_package(install, tmp_path):
    installed = install(THEIRS, "[mccpo.environments]\ntheir-course = their_package:Course\n")
    write_policies(tmp_path, [policies(make("their-course", horizon=9))])
    (again,) = read_policies(tmp_path)
    assert (type(again.env).__name__, again.env.horizon) == ("Course", 9)
    (installed / "their_package-1.0.dist-info/entry_points.txt").write_text("")
    missing = "no package that is installed here has the environment 'their-course'; install the one"
    with pytest.raises(InputError, match=missing):
        read_policies(tmp_path)
