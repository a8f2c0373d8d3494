"""Rules that are served choose as the methods of the same names do, behind the same gate and with honest chances."""

import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Observation, make
from mccpo.errors import InputError
from mccpo.experiments.saved_policies import Policies, write_policies
from mccpo.methods import METHODS, MethodSpec
from mccpo.policy import ACTIVITIES
from mccpo.serve.policy import decide, load_release
from mccpo.serve.policy.decision import propensities, recheck
from mccpo.serve.policy.learner_state import LearnerState, observe
from mccpo.serve.policy.network import executed
from mccpo.serve.policy.rule import RULES

from ..conftest import ANCHOR, BUDGETS  # noqa: TID252 - the same runs are served

ENVIRONMENTS = {
    "theta": lambda: make("tutor-15-bkt"),
    "confidence": lambda: make("tutor-15-bkt", confidence=0.9),
    "activities": lambda: make("tutor-15", activities=ACTIVITIES),
}


@pytest.fixture(scope="module", params=sorted(ENVIRONMENTS))
def env(request):
    return ENVIRONMENTS[request.param]()


def served(folder, env, name):
    rule = Policies("part", env, MethodSpec(name), BUDGETS, ANCHOR, np.zeros((1, 0), np.float32), seed=0)
    write_policies(folder, [rule])
    return load_release(folder, method=name)


def learners(release, count=40):
    """Learners at every stage; some know several concepts equally well."""
    draw = np.random.default_rng(0)
    for at in range(count):
        K = draw.uniform(0, 1, len(release.concepts)) ** (1 if at % 2 else 0.2)
        yield LearnerState(K.round(1) if at % 4 == 0 else K, np.zeros(len(K), np.int64), t=at % 7)


@pytest.mark.parametrize("name", RULES)
def test_a_served_rule_chooses_as_its_method_does(env, name, tmp_path):
    release, method = served(tmp_path, env, name), METHODS.get(name).build()
    for state in learners(release):
        features, ready = observe(release, state)
        obs = Observation(jnp.asarray(features, jnp.float32)[:, None], jnp.asarray(ready)[:, None])
        expected = method.probabilities(env, method.begin(env, 1), obs)[:, 0]
        told = executed(release.network.logits(features), ready, masked=release.masked, rule=release.rule)
        np.testing.assert_allclose(told, expected, atol=1e-6)


@pytest.mark.parametrize("name", RULES)
def test_its_decisions_are_ready_certified_and_as_likely_as_they_say(env, name, tmp_path):
    release = served(tmp_path, env, name)
    for state in learners(release, 12):
        chances = propensities(release, state)
        assert chances.sum() == pytest.approx(1)
        assert not chances[np.repeat(~release.ready(state.K), len(release.activities))].any()
        for uniform in (0.0, 0.4, 0.999):
            decision = decide(release, state, uniform, timeout=60)
            assert decision.by == "policy"
            assert decision.propensity == pytest.approx(chances[decision.action])
            assert recheck(release, state, decision.concept, decision.activity, decision.certificate) is None
            told = {**decision.certificate, "propensity": decision.propensity / 2}
            assert "propensity" in recheck(release, state, decision.concept, decision.activity, told)


@pytest.mark.parametrize(("name", "words"), [("zpdes", "remembers a learner's answers"), ("planning", "is a rule")])
def test_what_cannot_be_served_says_why(name, words, tmp_path):
    with pytest.raises(InputError, match=words):
        served(tmp_path, ENVIRONMENTS["theta"](), name)
