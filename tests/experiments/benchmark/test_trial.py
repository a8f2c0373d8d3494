"""One method on one environment: how it is searched, stopped and judged, and which failure is whose."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Conditioned, Gate, at_kappa, make
from mccpo.errors import InputError
from mccpo.exact import Values
from mccpo.experiments import Session
from mccpo.experiments.benchmark import trial as trials
from mccpo.experiments.benchmark.rows import rows_of
from mccpo.experiments.benchmark.scoring import Score, mean_score
from mccpo.experiments.benchmark.trial import Trial, attempt
from mccpo.experiments.problem import Problem, pose
from mccpo.methods import GradientEntry, RuleEntry, SolverEntry
from mccpo.methods.episodes import Policy
from mccpo.methods.registry import entry_of
from mccpo.methods.rules import RandomReady

ANCHOR = Values(34.0, {"c2": 0.9, "c3": 15.9, "c4": 27.6}, 40.0, 1.0, 0.0, 1.0, 0.0)


class Scaled(RandomReady):
    """Any ready action, by chances that are multiplied: by 1 a rule, by another number none."""

    by: float = 1.0

    def probabilities(self, env, memory, obs):
        return self.by * super().probabilities(env, memory, obs)


class Remembering(Scaled):
    """The same, judged by episodes on a finite environment as well."""

    def begin(self, env, episodes):
        return jnp.zeros(episodes)


class Exiting(Policy):
    def probabilities(self, env, memory, obs):
        sys.exit(7)


class Misused(Policy):
    def probabilities(self, env, memory, obs):
        raise InputError("it was built wrongly", fix="build it well")


def solver_giving(chance):
    """A solver whose policy has the same chance everywhere."""

    def solve(model, budgets):
        return np.full((model.num_states, model.num_actions), chance(model))

    return SolverEntry("solver", "solver", "", solve)


@pytest.fixture(scope="module")
def gate():
    return pose(make("gate"))


@pytest.fixture(scope="module")
def tutor():
    env = make("tutor-15")
    return Problem("tutor-15", env, env, ANCHOR, ANCHOR)


def follow(problem, rule, protocol):
    return attempt(problem, "rule", lambda name: RuleEntry(name, name, "", rule), protocol, Session())


@pytest.mark.parametrize("rule", [Scaled, Remembering])
@pytest.mark.parametrize(
    ("by", "status", "why"),
    [(1.0, "done", ""), (np.nan, "diverged", "not made of finite numbers"), (3.0, "crashed", "do not sum to 1")],
)
def test_a_rule_without_valid_chances_has_failed(gate, small, rule, by, status, why):
    found = follow(gate, lambda: rule(by=by), small)
    assert found.status == status
    assert why in found.why
    assert {row.status for row in rows_of(gate, found, small)} == {status}


def test_a_policy_judged_by_episodes_has_it_too(tutor, small):
    found = [follow(tutor, lambda by=by: Scaled(by=by), small).status for by in (1.0, np.nan, -1.0)]
    assert found == ["done", "diverged", "crashed"]


def test_only_what_says_so_does_not_apply(gate, tutor, small):
    assert follow(gate, Misused, small).status == "crashed"
    solver = SolverEntry(
        "solver", "solver", "", lambda model, _: np.full((model.num_states, model.num_actions), np.nan)
    )
    assert attempt(gate, "solver", lambda _: solver, small, Session()).status == "crashed"
    assert attempt(tutor, "solver", lambda _: solver, small, Session()).status == "does not apply"


def test_a_method_that_exits_has_crashed_and_ctrl_c_passes(gate, small):
    found = follow(gate, Exiting, small)
    assert (found.status, found.why) == ("crashed", "SystemExit: 7")

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow(gate, interrupted, small)


def test_rules_and_solvers_have_no_more_time_than_others(gate, small):
    hurried = replace(small, limit=1e-9)
    for rule in (Scaled, Remembering):
        found = follow(gate, rule, hurried)
        assert (found.status, found.values) == ("timed out", {})
    even = SolverEntry(
        "solver", "solver", "", lambda model, _: np.full((model.num_states, model.num_actions), 1 / model.num_actions)
    )
    found = attempt(gate, "solver", lambda _: even, hurried, Session())
    assert (found.status, found.why) == ("timed out", "stopped after 1e-09 s in solving for κ=0.5")


def test_the_seconds_of_a_rule_are_measured_without_compiling(gate, small):
    for rule in (Scaled, Remembering):
        assert 0 < follow(gate, rule, small).seconds < 1


def test_settings_are_searched_for_where_they_are_trained(gate, small, standing, monkeypatch):
    """On graphs that they are judged on, under the budgets there, they would be chosen by the test."""
    easy, hard = gate.reference, replace(gate.reference, costs={"c": 0.25})
    problem = Problem("gate", Gate(R=0.5), Gate(R=0.6), easy, hard)
    seen = []

    def evaluate(_problem, env, _playing, _network, parameters, _protocol, _seed):
        seen.append(float(env.R))
        return [[replace(easy, costs={"c": 0.3})] * parameters.shape[1] for _ in parameters]

    monkeypatch.setattr(trials, "evaluate_networks", evaluate)
    method = GradientEntry("standing", "standing", "", lambda _env, _setting: standing(), ({}, {"factor": 1.0}))
    found = attempt(problem, "standing", lambda _: method, small, Session())
    assert found.status == "done", found.why
    assert seen == pytest.approx([0.5, 0.5, 0.6])  # each setting, then the test
    assert [one["kappa"] for one in found.searched] == [0.5, 0.9, 0.5, 0.9]
    assert [one["met"] for one in found.searched] == [1] * 4  # 0.3 is within 0.5 × 1, and beyond 0.9 × 0.25


COLD, WARM = {"factor": 1.0}, {"factor": 1.5}


@pytest.fixture
def search(gate, small, standing, monkeypatch):
    """Searches two settings of a learner that is worth, by setting and level, what a test says; tells what it trained.

    Costs are those of the two seeds, in the order of the levels trained for; of the test there are none to choose by.
    """

    def search(costs, **kind):
        trained, left = [], [*costs, [[0.1] * 2] * 2]
        inner = trials.train_variants

        def train(env, variants, plan, **given):
            trained.append([(float(one.learner.factor), one.budgets.get("c")) for one in variants])
            return inner(env, variants, plan, **given)

        def evaluate(_problem, _env, _playing, _network, parameters, _protocol, _seed):
            levels = left.pop(0)[: len(parameters)]
            return [[replace(gate.reference, costs={"c": cost}) for cost in seeds] for seeds in levels]

        monkeypatch.setattr(trials, "train_variants", train)
        monkeypatch.setattr(trials, "evaluate_networks", evaluate)
        method = GradientEntry(
            "standing", "standing", "", lambda _env, setting: standing(**setting), (COLD, WARM), **kind
        )
        found = attempt(gate, "standing", lambda _: method, small, Session())
        assert found.status == "done", found.why
        return found, trained

    return search


def test_settings_are_searched_at_every_kappa(gate, small, search):
    """One setting meets the narrow budget, the other the wide one."""
    found, trained = search([[[0.4, 0.4], [0.95, 0.95]], [[0.6, 0.6], [0.8, 0.8]]])
    assert found.settings == {0.5: COLD, 0.9: WARM}
    assert [(one["kappa"], one["setting"], one["met"]) for one in found.searched] == [
        (0.5, COLD, 1), (0.9, COLD, 0), (0.5, WARM, 0), (0.9, WARM, 1),
    ]  # fmt: skip
    searching, training = trained  # the anchor of the gate costs 1
    assert searching == [(1.0, 0.5), (1.0, 0.9), (1.5, 0.5), (1.5, 0.9)]
    assert training == [(1.0, 0.5), (1.5, 0.9)]
    told = {row.kappa: json.loads(row.settings) for row in rows_of(gate, found, small)}
    assert told == {0.5: COLD, 0.9: WARM}


def test_what_is_trained_once_has_one_setting_for_all_kappas(search):
    """At the narrow budget alone it would be the first, of which one seed in two meets it."""
    found, (searching, training) = search([[[0.4, 0.95]], [[0.6, 0.6]]], sees_budgets=False)
    assert [(one["kappa"], one["met"]) for one in found.searched] == [(0.5, 0.5), (0.9, 0.5), (0.5, 0.0), (0.9, 1.0)]
    assert found.settings == {0.5: WARM, 0.9: WARM}  # as many meet it over both, and it is missed by less
    assert (searching, training) == ([(1.0, None), (1.5, None)], [(1.5, None)])


def test_no_search_leaves_the_recommended_setting(gate, small, standing):
    method = GradientEntry(
        "standing", "standing", "", lambda _env, setting: standing(**setting), (COLD, WARM), sees_budgets=False
    )
    found = attempt(gate, "standing", lambda _: method, replace(small, search=False), Session())
    assert (found.settings, found.searched) == ({0.5: {}, 0.9: {}}, [])


def test_a_mean_score_covers_every_number():
    found = mean_score([Score(1.0, 0.0, 4.0), Score(0.5, -0.2, 1.0)])
    assert found == pytest.approx((0.75, -0.1, 2.5))


def test_a_trial_comes_back_from_its_file():
    known = {0.5: [ANCHOR, None], 0.9: [ANCHOR, ANCHOR]}
    trial = Trial("gate", "cpo", "learner", values=known, settings={0.5: {}, 0.9: WARM}, searched=[{"kappa": 0.5}])
    told = json.loads(json.dumps(trial.as_json()))
    again = Trial.from_json(told)
    assert vars(again) == vars(trial)
    older = {name: value for name, value in told.items() if name != "settings"} | {"setting": WARM}
    assert Trial.from_json(older).settings == {0.5: WARM, 0.9: WARM}  # of a version that searched at one κ for all


def test_conditioned_policies_are_left_out_at_other_kappas(gate, small, standing):
    class Ranged(standing):
        def training_environment(self, env):
            return Conditioned(env, (0.4, 1.0), relative=True)

        def environment_at(self, env, kappa):
            if kappa < 0.6:
                raise InputError(f"kappa is {kappa}", fix="ask for 0.6 or more")
            return at_kappa(env, kappa)

    trained = []
    session = Session(progress=lambda stage, _: trained.append(stage.label))
    method = GradientEntry("ranged", "ranged", "", lambda _env, _setting: Ranged(), conditioned=True)
    found = attempt(gate, "ranged", lambda _: method, small, session)
    assert {(row.kappa, row.status, row.why) for row in rows_of(gate, found, small)} == {
        (0.5, "does not apply", "kappa is 0.5; ask for 0.6 or more"),
        (0.9, "done", ""),
    }
    assert list(found.unseen) == [0.75]
    assert trained
    trained.clear()
    nowhere = attempt(gate, "ranged", lambda _: method, replace(small, kappa=(0.5,)), session)
    assert (nowhere.status, trained) == ("does not apply", [])


@pytest.mark.slow
def test_the_method_of_the_documentation_works(small):
    page = (Path(__file__).parents[3] / "docs/how-to/write-a-plug-in.md").read_text()
    code = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class MyMethod" in block)
    given = {}
    exec(code, given)
    problem = pose(make("gate"))
    trial = attempt(problem, "mine", lambda name: entry_of(given["MyMethod"], name), small, Session())
    assert (trial.status, trial.why) == ("done", "")
    assert len(trial.searched) == 3 * 2  # settings at every κ
    assert set(trial.settings) == {0.5, 0.9}
