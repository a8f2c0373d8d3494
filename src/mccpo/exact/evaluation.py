"""The exact value of any policy on a finite environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from jaxtyping import Float

from mccpo.errors import InputError
from mccpo.exact.model import FiniteModel

ROUNDING = 1e-7  # relative: an optimum on its budget or floor must not miss it by what the solver leaves


@dataclass(frozen=True)
class Values:
    """What a policy is worth, exactly.

    `ret` and `costs` are discounted; `engagement` and `gain` (ΔK) are not. `pi_hack` and
    `prerequisite_violation_rate` are shares of steps, `violation_rate` is the share of episodes in which some
    constrained cost arises. `learning` is the gain with discount, `mastered` the number of concepts that are mastered
    when an episode ends; both are 0 in runs of versions that did not measure them. `true_violation_rate` is the share
    of steps that teach what the learner is not ready for in truth; None where nobody counted.
    """

    ret: float
    costs: dict[str, float]
    engagement: float
    gain: float
    pi_hack: float
    violation_rate: float
    prerequisite_violation_rate: float
    learning: float = 0.0
    mastered: float = 0.0
    true_violation_rate: float | None = None

    def reached(self, floor: str) -> float:
        """What the policy reaches of what a floor is about."""
        known = {"learning": self.learning, "learning-total": self.gain, "engagement": self.ret}
        return self.mastered if floor == "mastered" else known[floor]


def occupancy(
    model: FiniteModel, policy: Float[np.ndarray, "states actions+1"], gamma: float
) -> Float[np.ndarray, "states actions+1"]:
    """How often, discounted by `gamma`, a policy takes each action in each state."""
    moves = scipy.sparse.csr_array(
        (policy.ravel(), (np.repeat(np.arange(model.num_states), policy.shape[1]), np.arange(policy.size))),
        shape=(model.num_states, policy.size),
    )
    flow = scipy.sparse.eye_array(model.num_states, format="csc") - gamma * (moves @ model.flow).T.tocsc()
    visits = np.atleast_1d(scipy.sparse.linalg.spsolve(flow, model.start))
    taken: Float[np.ndarray, "states actions+1"] = visits[:, None] * policy
    return taken


def evaluate(
    model: FiniteModel,
    policy: Float[np.ndarray, "states actions|actions+1"],
    *,
    constrained: tuple[str, ...] | None = None,
) -> Values:
    """The exact value of a policy given as one distribution per state of the model (without or with the no-op).

    `constrained` names the costs that the violation rate is about; by default those of the environment.

    >>> import mccpo
    >>> model = mccpo.enumerate_model(mccpo.make("gate"))
    >>> best = mccpo.solve(model).policy
    >>> round(evaluate(model, best).ret, 3)
    1.0
    """
    policy = _complete(model, policy)
    discounted = occupancy(model, policy, model.gamma)
    visits = occupancy(model, policy, 1.0)
    steps = visits.sum()
    unready = float((visits[:, :-1] * model.unready).sum() / steps)
    return Values(
        ret=float((discounted * model.reward).sum()),
        costs={name: float((discounted * model.costs[..., i]).sum()) for i, name in enumerate(model.cost_names)},
        engagement=float((visits * model.reward).sum()),
        gain=float((visits * model.gain).sum()),
        pi_hack=float(visits[:, :-1][:, model.hack].sum() / steps),
        violation_rate=_violation_rate(model, policy, constrained or model.constrained),
        prerequisite_violation_rate=unready,
        true_violation_rate=unready,  # these environments know what is mastered
        learning=float((discounted * model.gain).sum()),
        mastered=float((visits * model.mastered_at_end).sum()),
    )


def rhsi(values: Values, unconstrained: Values, constrained: tuple[str, ...]) -> float:
    """The reward hacking severity index: relative return times the root mean square of the relative constrained costs.

    1 for the unconstrained policy and not clipped: above 1 means worse. A cost that the unconstrained policy does not
    incur is left out. It says nothing of learning: a policy that engages nobody has an RHSI of 0, whether it teaches or
    not, and the same policy has another RHSI beside other unconstrained policies. So it stands beside ΔK and the number
    of concepts mastered wherever it is shown.
    """
    shares = [values.costs[c] / unconstrained.costs[c] for c in constrained if unconstrained.costs[c] > 0]
    severity = float(np.sqrt(np.mean(np.square(shares)))) if shares else 0.0
    return values.ret / unconstrained.ret * severity


def satisfies(
    costs: Mapping[str, float], budgets: Mapping[str, float], slack: Mapping[str, float], tolerance: float
) -> bool:
    """Whether every budget is met within `tolerance`; a budget of 0 is met up to `slack`, since 0 is never reached."""
    return all(costs[c] <= ((1 + tolerance) * d * (1 + ROUNDING) if d > 0 else slack[c]) for c, d in budgets.items())


def reaches(values: Values, floors: Mapping[str, float], tolerance: float) -> bool:
    """Whether a policy reaches every floor within `tolerance`."""
    return all(values.reached(name) >= (1 - tolerance) * floor * (1 - ROUNDING) for name, floor in floors.items())


def _complete(model: FiniteModel, policy: Float[np.ndarray, "states a"]) -> Float[np.ndarray, "states actions+1"]:
    if policy.shape == (model.num_states, model.num_actions):
        policy = np.pad(policy, ((0, 0), (0, 1)))
    if policy.shape != (model.num_states, model.num_actions + 1):
        raise InputError(
            f"the policy has shape {policy.shape}",
            fix=f"give one row of {model.num_actions} probabilities for each of {model.num_states} states",
        )
    if not (np.isfinite(policy).all() and (policy >= 0).all() and np.allclose(policy.sum(axis=1), 1, atol=1e-5)):
        raise InputError("the policy's rows are not probability distributions", fix="normalise each row to sum to 1")
    exact = policy.astype(float)
    return exact / exact.sum(axis=1, keepdims=True)  # single precision leaves rows a little off 1


def _violation_rate(
    model: FiniteModel, policy: Float[np.ndarray, "states actions+1"], constrained: tuple[str, ...]
) -> float:
    # The chance that an episode stays clean is a value function of its own: 1 at the end, times "no cost" at each step.
    which = [model.cost_names.index(c) for c in constrained]
    clean = (model.outcome_costs[..., which] == 0).all(axis=-1)
    weight = policy[..., None] * model.probability * clean
    ends = np.where(model.successor < 0, weight, 0.0).sum(axis=(1, 2))
    goes_on = (model.successor >= 0) & (weight > 0)
    rows = np.broadcast_to(np.arange(model.num_states)[:, None, None], weight.shape)[goes_on]
    step = scipy.sparse.csc_array((weight[goes_on], (rows, model.successor[goes_on])), shape=(model.num_states,) * 2)
    stays_clean = np.atleast_1d(
        scipy.sparse.linalg.spsolve(scipy.sparse.eye_array(model.num_states, format="csc") - step, ends)
    )
    return float(1 - model.start @ stays_clean)
