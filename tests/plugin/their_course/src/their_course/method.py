"""A method of this package."""

from __future__ import annotations

from typing import Any

from mccpo.methods import Context, OnPolicy, penalised, price_unit, register_method


@register_method(label="Their method")
class TheirMethod(OnPolicy):
    """PPO at prices that never change."""

    name = "their-method"
    search = ({}, {"price": 0.1}, {"price": 1.0})
    price: float = 0.3

    def improve(self, context: Context) -> tuple[Any, Any]:
        prices = self.price * price_unit(context.env, context.budgets) * context.budgets.active
        advantage = penalised(context.evidence.appraisal.advantages, prices)
        return self.ascend(context, advantage), prices
