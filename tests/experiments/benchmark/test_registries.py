"""Who takes part and where: the registries, and what other packages add to them."""

import sys
from itertools import pairwise

import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import ENVIRONMENTS, PreparedTutor, describe_environment, make
from mccpo.errors import InputError
from mccpo.experiments.benchmark import environments
from mccpo.files import dump_json
from mccpo.methods import GradientEntry, adjusted, method_entry, method_names, method_spec
from mccpo.methods.gradient.gradient_method import PrimalDual
from mccpo.methods.registry import MOST_SETTINGS

MODULE = """
from mccpo.methods.constrained import PPOLagrangian
from mccpo.methods.rules import RandomReady
from mccpo.env import Gate

class Mine(PPOLagrangian):
    name = "mine"

class Rule(RandomReady):
    pass

def course():
    return Gate(R=0.7)
"""
POINTS = """
[mccpo.methods]
mine = their_package:Mine
rule = their_package:Rule
broken = their_package:Missing
wrong = their_package:course
mc-cpo = their_package:Mine
[mccpo.environments]
their-course = their_package:course
their-rule = their_package:Rule
"""


@pytest.fixture
def their_package(tmp_path, monkeypatch):
    """A distribution that is installed, as far as Python can tell."""
    about = tmp_path / "their_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (tmp_path / "their_package.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("their_package", None)


def test_everyone_has_the_same_search_allowance_and_recommends_its_first():
    for name in method_names(variants=False):
        one = method_entry(name)
        assert one.name == name
        if isinstance(one, GradientEntry):
            assert len(one.search) in (1, MOST_SETTINGS), name
            assert not one.search[0], name


@pytest.mark.parametrize("name", method_names(variants=False))
def test_every_setting_can_be_built(name):
    one, env = method_entry(name), make("gate")
    for setting in one.search if isinstance(one, GradientEntry) else ():
        one.build(env, setting)


def test_shaping_is_tuned_by_multiples_of_the_papers_prices():
    env = make("gate")
    learner = method_entry("reward-shaped-tuned").build(env, {"scale": 0.1})
    assert isinstance(learner, PrimalDual)
    assert learner.method.shaping.tolist() == pytest.approx([0.1 * method_spec("reward-shaped").shaping["c"]])


def test_numbers_are_replaced_by_their_paths(standing):
    found = adjusted(standing(), {"factor": 2.0, "settings.rule.cap": 7.0})
    assert (found.factor, found.settings.rule.cap) == (2.0, 7.0)
    assert standing().factor == 1.0
    with pytest.raises(InputError, match="no number 'speed'"):
        adjusted(standing(), {"speed": 2.0})


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="did you mean 'mc-cpo'"):
        method_entry("mc-cp")
    with pytest.raises(InputError, match="did you mean 'tutor-15'"):
        environments.check("tutor15")


def test_a_package_adds_methods(their_package):
    assert {"mine", "rule", "broken"} <= set(method_names(variants=False))
    assert method_names(variants=False).count("mc-cpo") == 1
    mine = method_entry("mine")
    assert (mine.kind, mine.name, mine.sees_budgets) == ("learner", "mine", True)
    assert method_entry("rule").kind == "tutor"
    assert method_entry("mc-cpo").search  # ours
    with pytest.raises(AttributeError):
        method_entry("broken")
    with pytest.raises(InputError, match="neither a GradientMethod nor an Policy"):
        method_entry("wrong")


def test_a_package_adds_environments(their_package):
    found = environments.world("their-course")
    assert found.test is found.train
    assert float(found.train.R) == pytest.approx(0.7)
    with pytest.raises(InputError, match="makes no Environment"):
        environments.world("their-rule")


def test_the_suites_name_environments_that_there_are():
    for suite in environments.SUITES.values():
        for name in suite.environments:
            environments.check(name)
            assert name in ENVIRONMENTS or name.startswith(("junyi", "assistments"))


def test_random_curricula_are_judged_on_other_graphs():
    found = environments.world("random-curricula")
    assert found.train.family != found.test.family


def test_what_needs_data_says_that_there_is_none(monkeypatch, tmp_path):
    monkeypatch.delenv("MCCPO_DATA", raising=False)
    with pytest.raises(environments.NoData, match="no data"):
        environments.world("assistments-2009")
    with pytest.raises(environments.NoData, match="no data"):
        environments.world("junyi-2015-14", tmp_path)


def test_data_that_was_prepared_before_is_taken_as_it_is(tmp_path):
    names = [f"concept-{number}" for number in range(20)]
    edges = list(pairwise(names))
    same = {"K0": [0.5] * 20, "eta": [0.1] * 20, "guess": [0.2] * 20, "slip": [0.1] * 20}
    tutor = PreparedTutor(curriculum=Curriculum(edges, names, dict.fromkeys(names, 0.5)), horizon=30, **same)
    (tmp_path / "junyi-2015").mkdir()
    file = tmp_path / "junyi-2015/tutor.json"
    file.write_text(dump_json({"environment": tutor.name, "parameters": describe_environment(tutor)}))
    assert environments.world("junyi-2015-14", tmp_path).train.num_actions == 14
    with pytest.raises(environments.NoData):
        environments.world("assistments-2009", tmp_path)
    (tmp_path / "assistments-2009").mkdir()
    (tmp_path / "assistments-2009/tutor.json").write_text('{"environment": "gate", "parameters": {}}')
    with pytest.raises(environments.NoData, match="is of no logs"):
        environments.world("assistments-2009", tmp_path)
