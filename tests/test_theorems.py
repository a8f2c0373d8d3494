"""Proposition 1 and Theorem 3 of MC-CPO in the form that is true, and what refutes the stronger forms."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from mccpo.curriculum import Curriculum, frontier
from mccpo.env import make
from mccpo.exact import Optimum, enumerate_model, evaluate, solve
from mccpo.methods import execute, method_arrays, method_spec


@st.composite
def learning_paths(draw):
    """A curriculum and a path of mastery vectors on which no mastery ever falls."""
    size = draw(st.integers(1, 8))
    names = [f"c{i}" for i in range(size)]
    pairs = [(names[u], names[v]) for v in range(size) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    steps = draw(st.lists(st.lists(st.floats(0, 1), min_size=size, max_size=size), min_size=2, max_size=6))
    return Curriculum.from_edges(edges, names), np.maximum.accumulate(np.array(steps), axis=0)


@settings(deadline=None)
@given(learning_paths(), st.sampled_from([0.25, 0.5, 0.7]))
def test_proposition_1_the_ready_set_never_shrinks_while_no_mastery_falls(path, theta):
    curriculum, K = path
    masks = curriculum.ready(K, theta)
    assert (masks[:-1] <= masks[1:]).all()
    assert (np.diff(masks.sum(axis=1)) == frontier(masks[1:], masks[:-1]).sum(axis=1)).all()


@pytest.mark.parametrize(("name", "overrides"), [("gate", {}), ("chain", {}), ("random-finite", {"instance": 1})])
def test_proposition_1_holds_in_every_transition_of_the_finite_environments(name, overrides):
    model = enumerate_model(make(name, **overrides))
    goes_on = (model.successor >= 0) & (model.probability > 0)
    before = np.broadcast_to(model.mask[:, None, None], (*model.successor.shape, model.num_actions))[goes_on]
    after = model.mask[model.successor[goes_on]]
    assert (before <= after).all()
    assert (before.sum(axis=1) < after.sum(axis=1)).any() == (name != "gate")


def test_proposition_1_fails_if_mastery_only_does_not_fall_in_expectation():
    """K(u) at the threshold moves by ±1/4 with equal chance: E[K] stays, and E|A_f| falls from 2 to 3/2."""
    curriculum, theta = Curriculum.from_edges([("u", "v")]), 0.5
    now, move = np.array([theta, 0.0]), np.array([0.25, 0.0])
    outcomes = [(Fraction(1, 2), now + move), (Fraction(1, 2), now - move)]
    expected_mastery = [sum(p * Fraction(float(K[i])) for p, K in outcomes) for i in range(2)]
    assert expected_mastery == [Fraction(float(k)) for k in now]
    expected_size = sum(p * int(curriculum.ready(K, theta).sum()) for p, K in outcomes)
    assert int(curriculum.ready(now, theta).sum()) == 2
    assert expected_size == Fraction(3, 2)


class GateCase:
    """The gate with its unconstrained optimum and the best return that its budget of 0 allows."""

    def __init__(self, R):
        self.env = make("gate", R=R)
        self.model = enumerate_model(self.env)
        free = solve(self.model, masked=False)
        best = solve(self.model, self.env.fixed_budgets)
        assert isinstance(free, Optimum)
        assert isinstance(best, Optimum)
        self.free, self.best = free.policy, best.values.ret
        self.root = int(np.argmax(self.model.start))

    def filtered(self, name, policy):
        method = method_arrays(method_spec(name), self.env)
        executed = execute(method, jnp.asarray(policy), jnp.asarray(self.model.mask), jnp.asarray(self.model.hack))
        return np.asarray(executed, float)

    def best_filter(self, support):
        """The best return of any filter that puts mass on the given actions only and meets the budget, by a program."""
        found = linprog(
            -self.model.reward[self.root],
            A_ub=self.model.costs[self.root].T,
            b_ub=[self.env.fixed_budgets["c"]],
            A_eq=np.ones((1, support.size)),
            b_eq=[1],
            bounds=[(0, 1 if allowed else 0) for allowed in support],
        )
        assert found.status == 0
        return -found.fun


@pytest.fixture(scope="module", params=[0.05, 0.6, 0.95])
def gate(request):
    return GateCase(request.param)


def test_the_gate_is_as_theorem_3_needs_it(gate):
    assert gate.model.num_states == 1
    assert gate.free[0].tolist() == pytest.approx([0, 0, 1], abs=1e-6)
    assert gate.best == pytest.approx(gate.env.R, abs=1e-6)


def test_theorem_3_blocking_the_unconstrained_optimum_returns_nothing(gate):
    executed = gate.filtered("post-hoc-block", gate.model.hack[None].astype(float))
    values = evaluate(gate.model, executed)
    assert values.ret == 0
    assert values.costs["c"] == 0
    assert values.ret < gate.best


def test_theorem_3_filters_within_the_support_of_the_optimum_lose_return_too(gate):
    support = np.append(gate.free[0] > 1e-6, True)  # and the no-op, which any filter may fall back on
    assert support.tolist() == [False, False, True, True]
    assert gate.best_filter(support) == pytest.approx(0, abs=1e-9)
    assert gate.best_filter(support) < gate.best


def test_theorem_3_fails_for_filters_that_may_use_any_feasible_action(gate):
    """Renormalising meets supp F(π) ⊆ supp π ∪ A_f and returns the optimum R: there is no gap."""
    optimum = gate.model.hack[None].astype(float)
    executed = gate.filtered("post-hoc-renormalise", optimum)
    allowed = (optimum > 0) | gate.model.mask
    assert (executed[:, :-1] <= allowed).all()
    assert executed[0, -1] == 0
    values = evaluate(gate.model, executed)
    assert values.costs["c"] == 0
    assert values.ret == pytest.approx(gate.env.R, abs=1e-6)
    assert gate.best_filter(np.append(allowed[0], True)) == pytest.approx(gate.env.R)


def test_a_learnt_policy_has_full_support_so_only_blocking_keeps_the_gap(gate):
    """A softmax leaves prog some probability: a filter within its support may return R; blocking returns R π(prog)."""
    learnt = np.array([[0.004, 0.001, 0.995]])
    assert gate.best_filter(np.append(learnt[0] > 0, True)) == pytest.approx(gate.env.R)
    blocked = evaluate(gate.model, gate.filtered("post-hoc-block", learnt))
    assert blocked.ret == pytest.approx(0.004 * gate.env.R, rel=1e-5)
    assert blocked.ret < gate.best
