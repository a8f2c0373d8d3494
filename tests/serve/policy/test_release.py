"""Releases: read from a run as they are, rebuilt from what is kept of them, and refused in one line where damaged."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.exact import Values
from mccpo.experiments.evaluate import preferred
from mccpo.experiments.saved_policies import Policies, read_policies, write_policies
from mccpo.files import canonical_json
from mccpo.methods import METHODS, MethodSpec
from mccpo.serve.policy.release import build_release, load_release

PART = "part"


def change(folder, edit):
    """Edits what a folder says of its policies, as if it were from before it said what its parts hash to."""
    path = folder / "policies.json"
    document = json.loads(path.read_text())
    document.pop("parts_sha256", None)
    edit(document)
    path.write_text(json.dumps(document))


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(run_of):
    return run_of(make("tutor-15", horizon=40))


def test_a_release_is_what_the_run_says(run_of):
    env = make("prepared", concepts=3, K0=[0.1, 0.2, 0.3], activities=("hint", "practice"), theta=0.6)
    found = load_release(run_of(env))
    assert (found.part, found.method, found.seed) == (PART, "mc-cpo", 0)
    assert found.curriculum == env.curriculum
    assert (found.theta, found.horizon) == (0.6, 100)
    np.testing.assert_allclose(found.learner.prior, [0.1, 0.2, 0.3], atol=1e-7)
    assert found.learner.learn.tolist() == [0.08] * 3
    assert [name for name, _ in found.actions] == [name for name in env.curriculum.concepts for _ in range(2)]
    assert found.tutor.action_names == env.action_names
    assert found.action("v1", "practice") == 3
    assert found.budgets == {"c2": 0.09, "c3": 1 / 3, "c4": 1.8}
    assert (found.prices.c2_gain, found.prices.c4_rate) == (env.c2_gain, env.c4_rate)
    with pytest.raises(InputError, match="no activity 'quiz'"):
        found.action("v1", "quiz")
    with pytest.raises(InputError, match="no concept 'v7'"):
        found.action("v7")


@pytest.mark.parametrize("name", ["tutor-25", "tutor-15-bkt", "tutor-15-activities", "prepared", "fractions"])
def test_tutors_are_served_by_their_parameters(run_of, name):
    env = make(name, horizon=40)
    served = load_release(run_of(env))
    assert (served.tutor.environment, served.tutor.action_names) == (name, env.action_names)


def test_budgets_of_an_ensemble_are_in_the_units_of_what_the_tutor_believes(run_of):
    env = make("prepared-ensemble", concepts=4, relative=[[0.5, 1.0, 2.0, 1.0], [1.5, 1.0, 0.5, 1.0]])
    plain, found = load_release(run_of(make("prepared", concepts=4))), load_release(run_of(env))
    assert found.learner.prior.tolist() == plain.learner.prior.tolist()
    assert found.budgets == {
        "c2": 0.5 * plain.budgets["c2"], "c3": plain.budgets["c3"], "c4": 2 * plain.budgets["c4"]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tutor-15-goal", "it has 'basics', which the service does not know"),
        ("prepared-judge", "it has 'decay', which the service does not know"),
        ("random-curricula", "it has no 'curriculum'"),
        ("tutor-15-answers", "it has 'sees', which the service does not know"),
    ],
)
def test_other_tutors_are_refused_with_the_reason(run_of, name, why):
    with pytest.raises(InputError, match=f"a policy of '{name}' cannot be served: {why}") as caught:
        load_release(run_of(make(name)))
    assert "\n" not in str(caught.value)


def test_a_policy_that_remembers_is_refused_in_one_line(tmp_path):
    env = make("tutor-15-bkt", concepts=4)
    network = METHODS["mc-cpo-recurrent"].build(env, {}).network(env)
    spec = MethodSpec("mc-cpo-recurrent", masked=True, shared=True, constrained=True)
    weights = np.full((1, network.size), 0.1, np.float32)
    budgets = {"c2": 0.1, "c3": 1.0, "c4": 2.0}
    anchor = Values(3.0, budgets, 4.0, 0.5, 0.0, 1.0, 0.01)
    write_policies(tmp_path, [Policies(PART, env, spec, budgets, anchor, weights, 5)])
    with pytest.raises(InputError, match="'mc-cpo-recurrent' remembers a learner's episode, which the serv") as caught:
        load_release(tmp_path)
    assert "serve a policy of another method, such as mc-cpo" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_that_was_held_to_floors_alone_is_served(run_of):
    env = make("tutor-15", horizon=40)
    found = load_release(run_of(env, budgets={}, floors={"learning": 0.5, "mastered": 3.0}))
    assert found.budgets == {}
    assert found.masked
    assert found.network.logits(np.full(env.num_features, 0.3)).shape == (env.num_actions,)


def test_where_there_are_no_activities_every_action_is_practice(release):
    assert release.actions[3] == ("v3", "practice")
    assert release.action("v3") == release.action("v3", "practice") == 3
    assert release.masked


def test_a_release_is_rebuilt_from_what_is_kept_of_it(folder):
    one = load_release(folder)
    again = build_release(one.description, one.weights, version=one.version)
    assert (again.version, again.sha256) == (one.version, one.sha256)
    assert again.network.network == one.network.network
    np.testing.assert_array_equal(again.network.parameters, one.network.parameters)


def test_versions_and_hashes_tell_what_differs(folder, run_of):
    one, other = load_release(folder), load_release(folder, seed=1)
    assert one.version != other.version
    assert one.sha256.policy != other.sha256.policy
    assert one.sha256[1:] == other.sha256[1:]
    theta = load_release(run_of(make("tutor-15", horizon=40, theta=0.6)))
    assert theta.version != one.version
    assert theta.sha256.learner != one.sha256.learner
    assert theta.sha256.curriculum == one.sha256.curriculum
    assert load_release(run_of(make("tutor-15", curriculum_seed=1))).sha256.curriculum != one.sha256.curriculum


def test_what_is_kept_of_a_release_cannot_be_changed_unseen(folder):
    one = load_release(folder)
    content = json.loads(one.description)
    content["parameters"]["curriculum"]["concepts"][-1]["prerequisites"] = []  # a gate left open
    flipped = bytes([one.weights[0] ^ 1]) + one.weights[1:]
    for description, weights in ((canonical_json(content), one.weights), (one.description, flipped)):
        with pytest.raises(InputError, match="has been changed") as caught:
            build_release(description, weights, version=one.version)
        assert "\n" not in str(caught.value)


def test_parts_methods_and_seeds_are_chosen_by_name(run_of):
    folder = run_of(make("tutor-15"), "mc-cpo", "unconstrained", parts=("a", "b"))
    assert load_release(folder, part="b", method="unconstrained").part == "b"
    assert not load_release(folder, part="b", method="unconstrained").masked
    with pytest.raises(InputError, match="2 parts; name one with --part: a, b"):
        load_release(folder)
    with pytest.raises(InputError, match="no part 'c'; choose from a, b"):
        load_release(folder, part="c")
    with pytest.raises(InputError, match="method 'post-hoc'; choose from mc-cpo, unconstrained"):
        load_release(folder, part="a", method="post-hoc")
    for seed in (2, -1):
        with pytest.raises(InputError, match="choose from 0 to 1"):
            load_release(folder, part="a", seed=seed)


def test_the_only_method_with_budgets_is_the_default(run_of):
    folder = run_of(make("tutor-15"), "unconstrained", "mc-cpo-no-frontier", "post-hoc")
    assert load_release(folder).method == "mc-cpo-no-frontier"
    assert preferred(read_policies(folder)) == "mc-cpo-no-frontier"
    several = run_of(make("tutor-15"), "mc-cpo-no-frontier", "mc-cpo-paper", "unconstrained")
    assert preferred(read_policies(several)) == "mc-cpo"
    with pytest.raises(InputError, match="no policy of the method 'mc-cpo'"):
        load_release(several)


def test_a_run_that_is_not_finished_is_not_served(folder):
    (folder / "manifest.json").write_text('{"finished": false}')
    with pytest.raises(InputError, match="not finished"):
        load_release(folder)
    (folder / "manifest.json").write_text('{"finished": true}')
    load_release(folder)


def parameters(document):
    return document["parts"][PART]["parameters"]


def own_network(document):
    """That of the method itself, whose weights concepts share; the part has the one that most methods have."""
    return document["parts"][PART]["methods"]["mc-cpo"]["network"]


EDITS = {
    "another format": lambda d: d.update(format="x/1"),
    "no parts": lambda d: d.pop("parts"),
    "empty parts": lambda d: d.update(parts={}),
    "parts of another kind": lambda d: d.update(parts=[1]),
    "another hash": lambda d: d.update(sha256="0" * 64),
    "no hash": lambda d: d.pop("sha256"),
    "a finite environment": lambda d: d["parts"][PART].update(environment="chain", parameters={"p_learn": 0.6}),
    "an environment without a name": lambda d: d["parts"][PART].update(environment=None),
    "a parameter that nobody knows": lambda d: parameters(d).update(mastery=0.95),
    "another curriculum": lambda d: parameters(d)["curriculum"]["concepts"].pop(),
    "a renamed concept": lambda d: parameters(d)["curriculum"]["concepts"][-1].update(name="x"),
    "a cycle": lambda d: parameters(d)["curriculum"]["concepts"][0].update(prerequisites=["v3"]),
    "a misspelt key": lambda d: parameters(d)["curriculum"]["concepts"][3].update(prerequisite=["v0"]),
    "no curriculum": lambda d: parameters(d).pop("curriculum"),
    "other activities": lambda d: parameters(d).update(activities=[{"name": "hint"}]),
    "activities that teach too much": lambda d: parameters(d).update(activities=[{"name": "hint", "gain": 99.0}]),
    "theta of 1": lambda d: parameters(d).update(theta=1.0),
    "theta of NaN": lambda d: parameters(d).update(theta=float("nan")),
    "theta as text": lambda d: parameters(d).update(theta="0.7"),
    "theta as truth": lambda d: parameters(d).update(theta=True),
    "no theta": lambda d: parameters(d).pop("theta"),
    "K0 beyond 1": lambda d: parameters(d).update(K0=[0.1] * 14 + [1.5]),
    "K0 of too few": lambda d: parameters(d).update(K0=[0.1] * 14),
    "guess of NaN": lambda d: parameters(d).update(guess=float("nan")),
    "guess and slip that say nothing": lambda d: parameters(d).update(guess=0.5, slip=0.5),
    "no horizon": lambda d: parameters(d).update(horizon=0),
    "half a step": lambda d: parameters(d).update(horizon=1.5),
    "no novelty": lambda d: parameters(d).update(novelty_span=0.0),
    "infinite novelty": lambda d: parameters(d).update(novelty_span=float("inf")),
    "a negative budget": lambda d: d["parts"][PART]["budgets"].update(c3=-1),
    "an infinite budget": lambda d: d["parts"][PART]["budgets"].update(c3=float("inf")),
    "another network": lambda d: own_network(d).update(hidden=[64, 32]),
    "a network of other rounds": lambda d: own_network(d).update(rounds=1),
    "a network without neighbours": lambda d: own_network(d).update(sees_neighbours=False),
    "a network of fewer concepts": lambda d: own_network(d).update(concepts=14),
    "a network of no blocks": lambda d: own_network(d).update(blocks=[]),
    "an unknown kind of network": lambda d: own_network(d).update(kind="deep"),
    "a network of another kind": lambda d: d["parts"][PART]["network"].update(depth=3),
    "a network of other features": lambda d: own_network(d).update(features=60),
    "an unknown filter": lambda d: d["parts"][PART]["methods"]["mc-cpo"].update(filter="sieve"),
    "a mask that is no truth": lambda d: d["parts"][PART]["methods"]["mc-cpo"].update(masked="yes"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_a_changed_description_is_refused_in_one_line(folder, edit):
    change(folder, edit)
    with pytest.raises(InputError, match=r"policies\.") as caught:
        load_release(folder)
    assert "\n" not in str(caught.value)


def an_edge_less(document):
    row = next(row for row in parameters(document)["curriculum"]["concepts"] if row.get("prerequisites"))
    row["prerequisites"].pop()


@pytest.mark.parametrize(
    "edit",
    [
        an_edge_less,
        lambda d: parameters(d).update(theta=0.6),
        lambda d: d["parts"][PART]["methods"]["mc-cpo"].update(masked=False),
        lambda d: d["parts"][PART]["budgets"].update(c3=9.0),
    ],
)
def test_an_edited_policy_file_is_refused(folder, edit):
    path = folder / "policies.json"
    saved = json.loads(path.read_text())
    path.write_text(json.dumps(saved))  # laid out anew, it says the same
    before = load_release(folder)
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"policies\.json: .* is not what the run saved") as caught:
        load_release(folder)
    assert "\n" not in str(caught.value)
    change(folder, lambda _: None)  # nothing else is wrong with it: where no hash is kept, nobody can tell
    assert load_release(folder).version != before.version


@pytest.mark.parametrize("cut", [0, 7, 100, -1])
@pytest.mark.parametrize("hashed", [False, True])
def test_truncated_weights_are_refused_in_one_line(folder, cut, hashed):
    path = folder / "policies.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    if hashed:  # as if whoever cut them had also changed the hash
        change(folder, lambda d: d.update(sha256=sha256(path.read_bytes())))
    with pytest.raises(InputError, match=r"policies\.safetensors") as caught:
        load_release(folder)
    assert "\n" not in str(caught.value)


def test_files_that_are_missing_or_no_json_are_refused(folder, tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*policies\.json"):
        load_release(tmp_path)
    (folder / "policies.safetensors").unlink()
    with pytest.raises(InputError, match=r"cannot read .*policies\.safetensors"):
        load_release(folder)
    (folder / "policies.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        load_release(folder)


def spoilt(arrays):
    arrays[f"{PART}/mc-cpo"][0, 5] = np.nan


def doubled(arrays):
    arrays[f"{PART}/mc-cpo"] = arrays[f"{PART}/mc-cpo"].astype(np.float64)


def shortened(arrays):
    arrays[f"{PART}/mc-cpo"] = np.ascontiguousarray(arrays[f"{PART}/mc-cpo"][:, :-1])


def renamed(arrays):
    arrays["x"] = arrays.pop(f"{PART}/mc-cpo")


@pytest.mark.parametrize("spoil", [spoilt, doubled, shortened, renamed])
def test_weights_that_do_not_fit_are_refused_in_one_line(folder, spoil):
    path = folder / "policies.safetensors"
    arrays = load_file(path)
    spoil(arrays)
    path.write_bytes(save(arrays))
    change(folder, lambda d: d.update(sha256=sha256(path.read_bytes())))
    with pytest.raises(InputError, match=r"policies\.json") as caught:
        load_release(folder)
    assert "\n" not in str(caught.value)


def test_a_release_is_not_changed_by_accident(release):
    with pytest.raises(AttributeError):
        release.version = "x"
    with pytest.raises(ValueError, match="read-only"):
        release.learner.learn[0] = 1.0
    assert replace(release, masked=False).masked is False


WALK = """
import importlib, pkgutil, sys
import mccpo.cli.commands.keys, mccpo.cli.commands.serve, mccpo.serve
for module in pkgutil.walk_packages(mccpo.serve.__path__, "mccpo.serve."):
    if ".migrations" not in module.name:
        importlib.import_module(module.name)
        print(module.name)
heavy = ("jax", "jaxlib", "equinox", "polars", "matplotlib", "rustworkx", "scipy")
found = [name for name in heavy if name in sys.modules]
sys.exit(f"imports {found}" if found else 0)
"""


def test_the_service_and_its_commands_import_no_jax_and_nothing_of_its_company():
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert {"mccpo.serve.policy.decision", "mccpo.serve.service", "mccpo.serve.pages"} <= set(done.stdout.split())
