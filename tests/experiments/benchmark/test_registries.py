"""Who takes part and where: the registries, and what other packages add to them."""

import pytest

from mccpo.env import check_environment_name, make
from mccpo.errors import InputError
from mccpo.experiments.benchmark.suites import SUITES
from mccpo.methods import GradientEntry, adjusted, method_entry, method_names, method_spec
from mccpo.methods.gradient.gradient_method import PrimalDual
from mccpo.methods.registry import MOST_SETTINGS

MODULE = """
from mccpo.methods.constrained import PPOLagrangian
from mccpo.methods.rules import RandomReady

class Mine(PPOLagrangian):
    name = "mine"

class Rule(RandomReady):
    pass

def course():
    pass
"""
POINTS = """
[mccpo.methods]
mine = their_package:Mine
rule = their_package:Rule
broken = their_package:Missing
wrong = their_package:course
mc-cpo = their_package:Mine
"""


@pytest.fixture
def their_package(install):
    install(MODULE, POINTS)


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


def test_a_package_adds_methods(their_package):
    assert {"mine", "rule", "broken"} <= set(method_names(variants=False))
    assert method_names(variants=False).count("mc-cpo") == 1
    mine = method_entry("mine")
    assert (mine.kind, mine.name, mine.sees_budgets) == ("learner", "mine", True)
    assert method_entry("rule").kind == "tutor"
    assert method_entry("mc-cpo").search  # ours
    with pytest.raises(InputError, match="the method 'broken' of their_package:Missing fails"):
        method_entry("broken")
    with pytest.raises(InputError, match="'wrong' names no class"):
        method_entry("wrong")


def test_the_suites_name_environments_that_there_are():
    for suite in SUITES.values():
        for name in suite.environments:
            check_environment_name(name)
