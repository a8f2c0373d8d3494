"""The tabular learner as a plain NumPy loop over one run: the yardstick of the bench and an oracle of the tests.

It reads the environment from the enumerated arrays and shares no code with `mccpo.methods`; only the random numbers are
drawn by the caller, so that both can be given the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from mccpo.exact import FiniteModel
from mccpo.methods import MethodSpec, TabularSettings


@dataclass
class PlainLearner:
    """One run of tabular primal–dual REINFORCE; `limit` and `scale` are over all costs, NaN without a budget."""

    model: FiniteModel
    method: MethodSpec
    limit: Float[np.ndarray, " costs"]
    scale: Float[np.ndarray, " costs"]
    settings: TabularSettings
    horizon: int
    bound: Float[np.ndarray, " costs"]
    reward_bound: float
    updates: int = 0
    theta: np.ndarray = field(init=False)
    baseline: np.ndarray = field(init=False)
    integral: np.ndarray = field(init=False)
    error: np.ndarray = field(init=False)
    multipliers: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        costs = len(self.model.cost_names)
        self.theta = np.zeros((self.model.num_states, self.model.num_actions))
        self.baseline = np.zeros((self.model.num_states, 1 + costs))
        self.integral = np.zeros(costs)
        self.error = np.zeros(costs)
        self.multipliers = np.zeros(costs)
        self._shaping = np.array([self.method.shaping.get(name, 0.0) for name in self.model.cost_names])

    def learn(self, choose: Float[np.ndarray, "time batch"], move: Float[np.ndarray, "time batch"]) -> None:
        """One update from the uniform numbers that choose actions and outcomes."""
        states, scores, probs, ratios, signals = self._play(choose, move)
        discount = self.model.gamma ** np.arange(self.horizon)[:, None]
        reach = np.cumprod(ratios, axis=0)
        before = np.concatenate([np.ones_like(reach[:1]), reach[:-1]])
        to_go = np.cumsum(((discount * reach)[..., None] * signals)[::-1], axis=0)[::-1]
        values = self.baseline[states]
        centred = to_go - (discount * reach)[..., None] * values
        advantage = centred[..., 0] - centred[..., 1:] @ (self._shaping + self.multipliers)
        self._improve(states, scores, probs, advantage, discount * before)
        self._centre(states, to_go / (discount * before)[..., None] - values)
        self._price(to_go[0, :, 1:].mean(axis=0))
        self.updates += 1

    def _play(self, choose: np.ndarray, move: np.ndarray) -> tuple[np.ndarray, ...]:
        model, batch = self.model, choose.shape[1]
        state = np.full(batch, int(np.argmax(model.start)))
        previous: np.ndarray | None = None
        steps = []
        for t in range(self.horizon):
            mask = model.mask[state] if self.method.masked else np.ones((batch, model.num_actions), bool)
            weights = np.where(mask, np.exp(self.theta[state] - self.theta[state].max(axis=1, keepdims=True)), 0.0)
            probs = weights / weights.sum(axis=1, keepdims=True)
            new = mask & ~previous if previous is not None else np.zeros_like(mask)
            rate = np.where(new.any(axis=1, keepdims=True), self.method.frontier_rate, 0.0)
            executed = (1 - rate) * probs + rate * new / np.maximum(new.sum(axis=1, keepdims=True), 1)
            action = (np.cumsum(executed, axis=1) <= choose[t][:, None]).sum(axis=1)
            action = np.minimum(action, model.num_actions - 1)
            outcome = (move[t] >= model.probability[state, action, 0]).astype(int)
            rows = np.arange(batch)
            score = -probs
            score[rows, action] += 1
            signals = np.column_stack(
                [model.outcome_rewards[state, action, outcome], model.outcome_costs[state, action, outcome]]
            )
            steps.append((state, score, probs, probs[rows, action] / executed[rows, action], signals))
            previous, state = mask, model.successor[state, action, outcome]
        return tuple(np.stack(part) for part in zip(*steps, strict=True))

    def _improve(
        self,
        states: Int[np.ndarray, "t b"],
        scores: np.ndarray,
        probs: np.ndarray,
        advantage: np.ndarray,
        lived: np.ndarray,
    ) -> None:
        settings, batch = self.settings, states.shape[1]
        elapsed = 1 + self.updates / float(settings.warm)
        surprise = np.log(np.maximum(probs, 1e-30))
        entropy = -(probs * surprise).sum(axis=-1, keepdims=True)
        climb = advantage[..., None] * scores / (self.reward_bound + (self.multipliers * self.bound).sum())
        bonus = float(settings.entropy) * elapsed ** -float(settings.entropy_decay)
        climb -= bonus * lived[..., None] * probs * (surprise + entropy)
        ramp = min(1.0, self.updates * float(settings.baseline_rate) / 10.0)
        alpha = float(settings.alpha) * ramp * elapsed ** -float(settings.alpha_decay)
        np.add.at(self.theta, states, alpha * climb / batch)

    def _centre(self, states: Int[np.ndarray, "t b"], errors: np.ndarray) -> None:
        total = np.zeros_like(self.baseline)
        np.add.at(total, states, errors)
        counts = np.maximum(np.bincount(states.ravel(), minlength=len(total)), 1)[:, None]
        self.baseline += float(self.settings.baseline_rate) * total / counts

    def _price(self, J_c: Float[np.ndarray, " costs"]) -> None:
        if not self.method.constrained:
            return
        rule = self.settings.rule
        elapsed = 1 + self.updates / float(self.settings.warm)
        beta = float(self.settings.beta) * elapsed ** -float(self.settings.beta_decay)
        budgeted = ~np.isnan(self.limit)
        aim = np.where(budgeted, self.limit, 0.0) * (1 - float(self.settings.tighten))
        error = np.where(budgeted, (J_c - aim) / self.scale, 0.0)
        self.error = float(rule.memory) * self.error + (1 - float(rule.memory)) * error
        unit = self.reward_bound / self.bound
        cap = float(rule.cap) * unit
        self.integral = np.clip(self.integral + beta * error * unit, 0.0, cap)
        self.multipliers = np.clip(self.integral + float(rule.proportional) * self.error * unit, 0.0, cap)
