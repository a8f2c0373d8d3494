"""The certificate: what passes and what does not, that no choice of the user's spoils it, and how it is kept."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from mccpo.curriculum import Curriculum
from mccpo.env import make
from mccpo.errors import InputError
from mccpo.exact import Values
from mccpo.experiments import certify as certificate
from mccpo.experiments.certification.certify import Terms, certify, family_of, shortfall
from mccpo.experiments.saved_policies import Policies
from mccpo.files import dump_json
from mccpo.methods import PrimalDual, method_arrays, method_spec
from mccpo.methods.episodes import Episodes
from mccpo.methods.gradient.rollout import network_of

ENV = make("tutor-15", horizon=5)
D = ENV.discounted_horizon
ANCHOR = Values(3.0, {"c2": 0.1, "c3": 1.0, "c4": 2.0}, 4.0, 0.5, 0.0, 1.0, 0.0)
LOOSE = {"c2": 0.05, "c3": 1.6, "c4": 2.5}


def always(*actions, env=ENV, method="mc-cpo", budgets=LOOSE, floors=()):
    """Policies that choose one action whatever they see (the first that is ready, where it is not), one of each."""
    network = network_of(env)
    parameters = np.zeros((len(actions), network.size), np.float32)
    for place, action in enumerate(actions):
        parameters[place, network.size - network.actions - network.signals + action] = 1e3
    plain = replace(method_spec(method), shared=False)  # of shared weights, no bias is one concept's own
    return Policies(env.name, env, plain, dict(budgets), ANCHOR, parameters, seed=0, floors=dict(floors))


def test_policies_within_their_budgets_pass():
    found = certify(always(0, 1), Terms(episodes=300))
    json.loads(dump_json(found.as_json()), parse_constant=pytest.fail)
    assert found.passed is True
    assert shortfall(found) is None
    assert [one.policy for one in found.policies] == [0, 1]
    c3 = found.budgets["c3"]
    assert c3.policy == 0  # demand 0.2 costs more than 0.25
    assert c3.mean == pytest.approx(0.3 * D, rel=1e-5)
    assert c3.mean < c3.bound <= c3.budget == 1.6
    for name, claim in found.budgets.items():
        assert claim.bound == max(one.budgets[name].bound for one in found.policies)


def test_a_mask_on_the_truth_needs_no_bound_on_what_is_not_ready():
    found = certify(always(0, 14), Terms(episodes=40))
    readiness = found.prerequisite
    assert readiness.structural
    assert "mask" in readiness.reason
    assert (readiness.violations, readiness.steps, readiness.bound) == (0, 2 * 40 * 5, 0.0)
    assert found.correction.claims == 2 * 3


def test_a_budget_below_the_mean_is_beyond_any_number_of_episodes():
    found = certify(always(0, budgets=LOOSE | {"c3": 0.29 * D}), Terms(episodes=50))
    assert found.passed is False
    assert found.budgets["c3"].passed is False
    assert re.search(r"c3 of policy 0 .* more episodes do not help", shortfall(found))


def test_too_few_episodes_fail_and_the_number_that_is_named_suffices():
    policies = always(0, budgets=LOOSE | {"c2": 0.002})  # it costs nothing there, which takes episodes to show
    few = certify(policies, Terms(episodes=50))
    needed = few.budgets["c2"].episodes_needed
    assert not few.passed
    assert f"about {needed:,} episodes" in shortfall(few)
    # All at 0: with its bet of everything, weighed by a half, (1 - budget/most)^-n must reach 2/α.
    # Half of the error is for other environments, should they be looked at.
    alpha, most = 0.05 / 2 / 3, 0.022 * D * (1 + 1e-4)
    assert needed == math.ceil(math.log(2 / alpha) / -math.log(1 - 0.002 / most))
    assert certify(policies, Terms(episodes=needed)).passed
    assert not certify(policies, Terms(episodes=needed // 2)).passed


def test_more_confidence_asks_for_more():
    policies = always(0)
    bounds = [certify(policies, Terms(c, episodes=60)).budgets["c4"].bound for c in (0.9, 0.99, 0.9999)]
    assert bounds == sorted(set(bounds))


def test_a_certificate_covers_choosing_among_policies_and_episode_counts(monkeypatch):
    env = make("tutor-15-bkt", horizon=5)
    policies = always(0, 1, 2, env=env, budgets={"c2": 3.0, "c4": 9.0})
    whole = certify(policies, Terms(episodes=60))
    alone = certify(policies, Terms(episodes=60, policy=1))
    assert alone.policies == whole.policies[1:2]
    assert alone.correction == whole.correction
    few, many = (certificate._play(env, policies, 1, episodes).costs for episodes in (30, 60))
    np.testing.assert_array_equal(few, many[:, :30])
    assert len(np.unique(many[2])) > 5  # the episodes do differ
    monkeypatch.setattr(certificate, "_BLOCK", 20)
    blocks = certificate._play(env, policies, 1, 60).costs
    assert len({tuple(block[2]) for block in np.split(blocks, 3, axis=1)}) == 3


@pytest.fixture
def truth(monkeypatch):
    """Episodes of which one in fifty costs as much as an episode can; what each cost then is on average."""
    rng, most = np.random.default_rng(0), ENV.cost_bounds * D

    def play(env, policies, policy, episodes):
        costs = most[:, None] * (rng.random((3, episodes)) < 0.02)
        none = np.zeros(episodes)
        return Episodes(none, costs, none, none, none, none, none, none + 5, none, none)

    monkeypatch.setattr(certificate, "_play", play)
    return 0.02 * most


def test_a_false_certificate_is_as_rare_as_it_says(truth):
    """Rare and dear episodes: any bound below the true mean is a false claim, of six in each certificate."""
    policies = always(0, 1, budgets=dict(zip(ENV.cost_names, truth, strict=True)))
    false = [certify(policies, Terms(episodes=400)).passed is True for _ in range(5)]
    assert not any(false)
    wrong = [
        any(
            claim.bound < claim.budget
            for one in certify(policies, Terms(0.8, episodes=400)).policies
            for claim in one.budgets.values()
        )
        for _ in range(150)
    ]
    assert np.mean(wrong) <= 0.2


def test_picking_the_method_that_passed_is_covered(truth):
    """Eight methods at the edge of their budgets: with the error of one shared by none, one of them often passes."""
    budgets = dict(zip(ENV.cost_names, truth, strict=True))
    run = [replace(always(0, budgets=budgets), part=f"part {at}") for at in range(8)]
    shared = certify(run[0], Terms(0.8, episodes=100), among=run)
    alone = certify(run[0], Terms(0.8, episodes=100))
    assert (shared.correction.claims, alone.correction.claims) == (8 * 3, 3)
    assert shared.correction.family.policies == 8
    assert shared.correction.family.parts == tuple(one.part for one in run)
    assert 1 - shared.correction.confidence_of_each == pytest.approx(0.2 / 2 / 24)
    wrong = [
        any(
            claim.bound < claim.budget
            for policies in run
            for one in certify(policies, Terms(0.8, episodes=400), among=run).policies
            for claim in one.budgets.values()
        )
        for _ in range(30)
    ]
    assert np.mean(wrong) <= 0.2


def test_places_of_environments_never_share_out_more_than_there_is():
    shares = [family_of([always(0)], ["a"], place).share for place in range(2000)]
    assert 0.99 < sum(shares) < 1
    assert shares == sorted(shares, reverse=True)


def test_a_budget_of_zero_is_met_up_to_a_thousandth_of_the_most():
    found = certify(always(0, budgets=LOOSE | {"c2": 0.0}), Terms(episodes=6000))
    assert found.budgets["c2"].budget == pytest.approx(1e-3 * 0.022 * D)
    assert found.budgets["c2"].passed
    assert not certify(always(0, budgets=LOOSE | {"c3": 0.0}), Terms(episodes=50)).budgets["c3"].passed


# Floors.

ALL_FLOORS = {"learning": 0.05, "learning-total": 0.05, "mastered": 1.0, "engagement": 0.5}


def played(policies, policy, name, episodes):
    """What each episode of a certificate has of what a floor is about."""
    seen = certificate._play(policies.env, policies, policy, episodes)
    known = {"learning": seen.learning, "learning-total": seen.gain, "mastered": seen.mastered, "engagement": seen.ret}
    return np.asarray(known[name], float)


def test_what_is_surely_reached_lies_below_the_mean():
    env = make("tutor-15-bkt", horizon=5)
    policies = always(0, 1, env=env, budgets={}, floors=ALL_FLOORS)
    found = certify(policies, Terms(episodes=400, most_violations=1.0))
    json.loads(dump_json(found.as_json()), parse_constant=pytest.fail)
    assert found.correction.claims == 2 * (4 + 1)  # with what may be unready, which an estimate leaves open
    for one in found.policies:
        assert one.budgets == {}
        for name, floor in ALL_FLOORS.items():
            bound = one.floors[name]
            values = played(policies, one.policy, name, 400)
            assert bound.mean == pytest.approx(values.mean(), rel=1e-4, abs=1e-5)
            assert bound.bound < bound.mean
            assert bound.normal <= bound.mean
            assert bound.budget == floor
            assert bound.passed is (bound.bound >= floor)
    for name in ALL_FLOORS:
        assert found.floors[name].bound == min(one.floors[name].bound for one in found.policies)


def test_a_floor_that_is_reached_passes_and_one_above_the_mean_never_does():
    gains = 0.08 * 0.8 * 0.92 ** np.arange(5)  # a concept taught five times, from K = 0.2
    mean = float(ENV.gamma ** np.arange(5) @ gains)
    low = certify(always(0, floors={"learning": 0.8 * mean}), Terms(episodes=2000))
    assert low.passed is True
    assert low.floors["learning"].mean == pytest.approx(mean, rel=1e-4)
    high = certify(always(0, floors={"learning": 1.01 * mean}), Terms(episodes=2000))
    assert high.passed is False
    assert high.floors["learning"].passed is False
    assert all(bound.passed for bound in high.budgets.values())
    said = shortfall(high)
    assert re.search(r"learning of policy 0 is \S+ at least, below its floor \S+; .* more episodes do not help", said)
    assert "is not above the floor" in said
    beyond = certify(always(0, floors={"learning": 99.0}), Terms(episodes=20))
    assert beyond.floors["learning"].passed is False
    assert "more episodes do not help" in shortfall(beyond)


def test_a_floor_fails_with_too_few_episodes_and_passes_with_the_number_named():
    gains = 0.08 * 0.8 * 0.92 ** np.arange(5)
    policies = always(0, floors={"learning-total": 0.95 * float(gains.sum())})
    few = certify(policies, Terms(episodes=20))
    needed = few.floors["learning-total"].episodes_needed
    assert few.floors["learning-total"].passed is False
    assert f"about {max(needed, *(b.episodes_needed for b in few.budgets.values())):,} episodes" in shortfall(few)
    assert certify(policies, Terms(episodes=needed)).floors["learning-total"].passed
    assert not certify(policies, Terms(episodes=needed // 2)).floors["learning-total"].passed


def test_a_false_claim_of_a_floor_is_as_rare_as_the_certificate_says(monkeypatch):
    """Now and then nothing is learnt at all: any bound above the true mean is a false claim."""
    rng = np.random.default_rng(1)
    most = ENV.gain_bound * D

    def play(env, policies, policy, episodes):
        none = np.zeros(episodes)
        learning = most * (rng.random(episodes) < 0.97)
        return Episodes(none, np.zeros((3, episodes)), none, none, none, none, none, none + 5, learning, none)

    monkeypatch.setattr(certificate, "_play", play)
    policies = always(0, 1, budgets={}, floors={"learning": 0.97 * most})
    wrong = [certify(policies, Terms(0.8, episodes=400)) for _ in range(150)]
    assert np.mean([any(one.floors["learning"].passed for one in found.policies) for found in wrong]) <= 0.2


def test_policies_of_shared_weights_are_certified_through_an_estimate_too():
    env, spec = make("tutor-15", horizon=5), method_spec("mc-cpo")
    assert spec.shared
    network = PrimalDual(method_arrays(spec, env), shared=True).network(env)
    parameters = np.random.default_rng(0).normal(scale=0.3, size=(1, network.size)).astype(np.float32)
    policies = Policies(env.name, env, spec, dict(LOOSE), ANCHOR, parameters, seed=0)
    plain = certify(policies, Terms(episodes=20))
    seen = certify(policies, Terms(episodes=20, estimation_error=0.1))
    assert plain.prerequisite.structural
    assert not seen.prerequisite.structural


# What the learner is not ready for.


def test_an_estimation_error_lets_violations_through_and_gates_them():
    env = make("tutor-15", curriculum=Curriculum.from_edges([("a", "b")]), horizon=1)
    policies = always(1, env=env, budgets={"c4": 1.0})
    found = certify(policies, Terms(episodes=1000, estimation_error=0.6))
    readiness = found.prerequisite
    assert not readiness.structural
    assert "σ = 0.6" in readiness.reason
    assert readiness.budget == certificate.MOST_VIOLATIONS
    assert readiness.mean == pytest.approx(readiness.violations / readiness.steps)
    opens = norm.sf((0.7 - 0.2) / 0.6)  # the noise lifts a from K0 to theta
    assert readiness.mean == pytest.approx(opens, abs=4 * math.sqrt(opens * (1 - opens) / 1000))
    assert readiness.bound > readiness.mean
    assert "prerequisite violation rate of policy 0" in shortfall(found)
    assert found.correction.claims == 2
    assert certify(policies, Terms(episodes=1000, estimation_error=0.6, most_violations=0.3)).passed


def test_what_nothing_confines_is_gated_without_being_asked():
    found = certify(always(14, method="unconstrained"), Terms(episodes=50))
    assert found.prerequisite.mean == 1
    assert found.prerequisite.passed is False
    filtered = certify(always(14, method="post-hoc"), Terms(episodes=50))
    assert filtered.prerequisite.structural
    assert "filter" in filtered.prerequisite.reason


def test_where_mastery_is_an_estimate_true_violations_are_bounded_and_gated():
    env = make("tutor-15-bkt", horizon=5, K0=0.65)
    policies = always(3, env=env, budgets={"c2": 3.0})
    told = certify(policies, Terms(episodes=50)).prerequisite
    assert (told.structural, told.budget, told.passed) == (False, certificate.MOST_VIOLATIONS, False)
    assert told.violations > 0
    assert told.mean < told.bound < 1
    assert certify(policies, Terms(episodes=50, most_violations=told.bound)).passed is True


def test_without_budgets_there_is_nothing_to_certify():
    with pytest.raises(InputError, match="no budgets"):
        certify(always(0, budgets={}), Terms(episodes=2))


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"confidence": math.nan}, "confidence is nan"),
        ({"episodes": 0}, "episodes is 0"),
        ({"estimation_error": -0.1}, "error is -0.1"),
        ({"estimation_error": math.inf}, "error is inf"),
        ({"most_violations": 1.5}, "violations are 1.5"),
    ],
)
def test_terms_that_make_no_sense_are_refused(wrong, what):
    with pytest.raises(InputError, match=what):
        Terms(**wrong)


def test_a_policy_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="no policy 2"):
        certify(always(0, 1), Terms(policy=2))
