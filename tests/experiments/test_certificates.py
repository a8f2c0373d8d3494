"""The certificates of a run: each is kept, what was looked at is in it, and what is not about the run is refused."""

import json
from dataclasses import replace

import pytest

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.experiments import certificates
from mccpo.experiments.certification.certificates import (
    FOLDER,
    LEDGER,
    TRAINING,
    certificate_files,
    certify_run,
    read_certificates,
    write_certificate,
)
from mccpo.experiments.certification.certify import Terms, certify
from mccpo.experiments.saved_policies import read_policies, write_policies
from mccpo.files import dump_json

from .test_certify import LOOSE, always

FEW = Terms(episodes=2)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A folder with the policies of two methods, of which mc-cpo's were certified."""
    monkeypatch.setattr(certificates, "load_policies", read_policies)
    write_policies(tmp_path, [always(0, 1), always(1, method="unconstrained")])
    certify_run(tmp_path, FEW)
    return tmp_path


def names(run):
    return [path.name for path in certificate_files(run)]


def test_a_failed_certificate_is_kept_too(run):
    (kept,) = read_certificates(run)
    assert dump_json(kept.as_json(), indent=2) + "\n" == (run / FOLDER / "tutor-15.mc-cpo.json").read_text()
    assert kept.passed is False
    assert kept.budgets.keys() == LOOSE.keys()


def test_a_second_certificate_does_not_overwrite_the_first(run):
    first = (run / FOLDER / "tutor-15.mc-cpo.json").read_text()
    certify_run(run, Terms(episodes=3))
    certify_run(run, FEW, method="unconstrained")
    certify_run(run, Terms(episodes=2, policy=1))
    assert names(run) == [
        "tutor-15.mc-cpo.json",
        "tutor-15.mc-cpo.2.json",
        "tutor-15.unconstrained.policy-0.json",
        "tutor-15.mc-cpo.policy-1.json",
    ]
    assert (run / FOLDER / "tutor-15.mc-cpo.json").read_text() == first
    assert [one.episodes for one in read_certificates(run)] == [2, 3, 2, 2]
    assert [one.correction.family.certificates for one in read_certificates(run)] == [0, 1, 2, 3]


def test_the_same_certificate_again_is_the_same_file(run):
    certify_run(run, FEW)
    assert names(run) == ["tutor-15.mc-cpo.json"]


def test_the_family_is_every_policy_of_the_run(run):
    (kept,) = read_certificates(run)
    family = kept.correction.family
    assert (family.methods, family.parts, family.policies) == (("mc-cpo", "unconstrained"), ("tutor-15",), 3)
    assert family.environments == (TRAINING,)
    assert kept.correction.claims == 2 * 3 + 1 * (3 + 1)  # nothing confines the unconstrained policy to what is ready


def test_every_environment_that_is_looked_at_has_a_place(run, tmp_path):
    made = certify_run(run, FEW, on=["tutor-15", None, "tutor-15"])
    assert [(one.on, one.correction.family.place) for one, _ in made] == [("tutor-15", 1), ("", 0)]
    again = certify_run(run, Terms(episodes=3, estimation_error=0.1))
    family = again[0][0].correction.family
    assert family.environments == (TRAINING, "tutor-15", f"{TRAINING}, σ = 0.1")
    assert family.place == 2
    assert "tutor-15.mc-cpo.sigma-0.1.json" in names(run)
    assert "tutor-15.mc-cpo.on-tutor-15.json" in names(run)
    first, other = read_certificates(run)[:2]
    assert other.correction.confidence_of_each > first.correction.confidence_of_each  # 1/6 of the error, not 1/2


def test_an_environment_of_the_same_name_is_another(run, monkeypatch):
    certify_run(run, FEW, on=["tutor-15"])
    monkeypatch.setattr(certificates, "make", lambda name: make(name, K0=0.5))
    ((second, path),) = certify_run(run, FEW, on=["tutor-15"])
    assert second.correction.family.place == 2
    assert path.name == "tutor-15.mc-cpo.on-tutor-15.2.json"


def test_there_need_be_none(tmp_path):
    assert read_certificates(tmp_path) == []


def test_earlier_versions_are_read(run):
    path = run / FOLDER / "tutor-15.mc-cpo.json"
    path.rename(run / "certificate.json")
    assert names(run) == ["certificate.json"]
    assert len(read_certificates(run)) == 1


def test_a_certificate_of_other_policies_is_refused(run):
    write_policies(run, [always(1)])
    with pytest.raises(InputError, match="other policies"):
        read_certificates(run)
    ((anew, _),) = certify_run(run, FEW)
    assert anew.correction.family.certificates == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part["budgets"].update(c3=99.0),
        lambda part: part["parameters"].update(K0=0.9),
        lambda part: part["methods"]["mc-cpo"].update(masked=False),
    ],
    ids=["budgets", "environment", "method"],
)
def test_a_certificate_is_of_all_that_describes_the_policies(run, change):
    path = run / "policies.json"
    document = json.loads(path.read_text())
    change(document["parts"]["tutor-15"])
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="other policies"):
        read_certificates(run)


def test_a_certificate_goes_by_the_policies_not_by_their_stated_digest(run):
    path = run / "policies.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="other policies"):
        read_certificates(run)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "mccpo-certificate/1", "passed": "yes"}'])
def test_a_damaged_certificate_is_refused(run, content):
    (run / FOLDER / "tutor-15.mc-cpo.json").write_text(content)
    with pytest.raises(InputError, match=r"mc-cpo\.json"):
        read_certificates(run)


def test_a_damaged_ledger_is_refused(run):
    path = run / FOLDER / LEDGER
    path.write_text(json.dumps(json.loads(path.read_text()) | {"looks": [{"name": "x"}]}))
    with pytest.raises(InputError, match=r"looked\.json is damaged"):
        certify_run(run, FEW)


def test_a_certificate_of_floors_is_kept_as_it_was(tmp_path):
    policies = always(0, floors={"learning": 0.1, "mastered": 1.0})
    write_policies(tmp_path, [policies])
    kept, _ = write_certificate(tmp_path, certify(policies, Terms(episodes=20)))
    assert read_certificates(tmp_path) == [kept]
    assert set(kept.floors) == {"learning", "mastered"}
    write_policies(tmp_path, [replace(policies, floors={"learning": 0.01, "mastered": 1.0})])
    with pytest.raises(InputError, match="other policies"):
        read_certificates(tmp_path)
