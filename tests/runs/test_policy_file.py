"""The files that hold a run's policies: read without jax, written as they were read, and damage named in one line."""

import hashlib
import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from mccpo.errors import InputError, MccpoError
from mccpo.policy import GraphPolicyNetwork, PolicyNetwork
from mccpo.runs import StoredPolicies, network_from_json, network_json, read_policy_file, write_policy_file

NETWORK = PolicyNetwork(features=3, actions=2, signals=1, hidden=(4, 4))


def stored(part="a", method="mc-cpo", **other):
    given = {
        "part": part,
        "environment": "tutor-15",
        "environment_parameters": {"theta": 0.7},
        "actions": ["v0", "v1"],
        "plain_network": network_json(NETWORK),
        "network": network_json(NETWORK),
        "budgets": {"c2": 0.1},
        "anchor": {"ret": 3.0},
        "seed": 5,
        "method": {"name": method, "masked": True},
        "parameters": np.arange(2 * NETWORK.size, dtype=np.float32).reshape(2, -1),
    }
    return StoredPolicies(**given | other)


def document(folder):
    return json.loads((folder / "policies.json").read_text())


def test_policies_come_back_as_they_were_and_are_written_alike(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    given = [stored(), stored(method="unconstrained"), stored("b")]
    write_policy_file(first, given)
    file = read_policy_file(first)
    assert file.path == first / "policies.json"
    for one, other in zip(file.policies, given, strict=True):
        assert (one.part, one.method_name, one.network) == (other.part, other.method_name, other.network)
        assert (one.actions, one.budgets, one.anchor, one.seed) == (other.actions, other.budgets, other.anchor, 5)
        np.testing.assert_array_equal(one.parameters, other.parameters)
    write_policy_file(second, file.policies)
    for name in ("policies.json", "policies.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


@pytest.mark.parametrize("other", [stored(), stored(method="post-hoc", budgets={"c2": 0.2})])
def test_two_parts_of_one_name_are_refused(tmp_path, other):
    with pytest.raises(MccpoError, match="go by the name 'a'"):
        write_policy_file(tmp_path, [stored(), other])


EDITS = {
    "has the format": lambda content: content.update(format="x/1"),
    "is not what the run saved": lambda content: content["parts"]["a"].update(environment="chain"),
    "is damaged": lambda content: content.update(parts=[1], parts_sha256=None),
    "it holds no policies": lambda content: content.update(parts={}, parts_sha256=None),
    "does not hold the policies": lambda content: content.update(sha256="0" * 64),
}


@pytest.mark.parametrize("line", EDITS)
def test_changes_are_refused_in_one_line(tmp_path, line):
    write_policy_file(tmp_path, [stored()])
    content = document(tmp_path)
    EDITS[line](content)
    (tmp_path / "policies.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=line) as caught:
        read_policy_file(tmp_path, fix="do this")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sizes", [{"hidden": [4]}, {"hidden": [4, 0]}, {"features": 2.5}, {"signals": -1}])
def test_networks_that_cannot_be_are_refused(tmp_path, sizes):
    write_policy_file(tmp_path, [stored()])
    content = document(tmp_path)
    content["parts"]["a"]["network"].update(sizes)
    del content["parts_sha256"]
    (tmp_path / "policies.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"policies\.json"):
        read_policy_file(tmp_path)


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda rows: rows.astype(np.float64), "no rows of single-precision numbers"),
        (lambda rows: rows[:0], "no rows of single-precision numbers"),
        (lambda rows: np.ascontiguousarray(rows[:, :-1]), "do not fit their network"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(tmp_path, spoil, line):
    write_policy_file(tmp_path, [stored()])
    path = tmp_path / "policies.safetensors"
    tensors = save({name: spoil(rows) for name, rows in load_file(path).items()})
    path.write_bytes(tensors)
    content = document(tmp_path) | {"sha256": hashlib.sha256(tensors).hexdigest()}
    (tmp_path / "policies.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=line):
        read_policy_file(tmp_path)


def test_policies_of_a_rule_have_no_network(tmp_path):
    write_policy_file(
        tmp_path, [stored(), stored(method="zpdes", network=None, parameters=np.zeros((2, 0), np.float32))]
    )
    plain, rule = read_policy_file(tmp_path).policies
    assert plain.network == network_json(NETWORK)
    assert (rule.network, rule.parameters.shape) == (None, (2, 0))


def test_a_network_of_another_kind_says_so(tmp_path):
    graph = GraphPolicyNetwork(3, 2, 1, (4, 4), concepts=2, edges=((0, 1),), blocks=((0, 1),), fixed=((0.2,), (0.9,)))
    rows = np.zeros((2, graph.size), np.float32)
    told = stored(method="ccpo", network={"kind": "knots"}, parameters=rows, kappa=0.7)
    write_policy_file(tmp_path, [stored(method="gits", network=network_json(graph), parameters=rows), told])
    gits, ccpo = read_policy_file(tmp_path).policies
    assert network_from_json(gits.network) == graph
    assert ccpo.kappa == 0.7
    with pytest.raises(InputError, match="which only training runs"):
        network_from_json(ccpo.network)
