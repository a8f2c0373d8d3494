"""The primal–dual family: methods that are one algorithm in other numbers, as data.

On a finite environment a table of logits learns them (`mccpo.methods.mc_cpo.tabular`), elsewhere a network does, by PPO
(`mccpo.methods.gradient.ppo`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from mccpo.env import Environment
from mccpo.errors import InputError
from mccpo.methods.gradient.gradient_method import GradientMethod, PrimalDual
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.spec import MethodSpec, method_arrays
from mccpo.methods.mc_cpo.tabular import TabularSettings
from mccpo.methods.registry import GradientEntry, Setting, add, adjusted, method_entry

PAPER = (
    "O. Olukola, N. Rahimi, MC-CPO: Mastery-Conditioned Constrained Policy Optimization for Pedagogically Safe "
    "Intelligent Tutoring Systems."
)
PPO_SEARCH: tuple[Setting, ...] = (
    {},
    {"settings.learning_rate": 5e-4},
    {"settings.learning_rate": 2e-3},
    {"settings.entropy": 0.01},
    {"settings.gae": 0.95},
    {"settings.foresight": 0.0},
)


def register_family(
    spec: MethodSpec,
    label: str,
    about: str,
    search: tuple[Setting, ...] = ({},),
    *,
    settings: PPOSettings | None = None,
    tabular: TabularSettings | None = None,
    build: Callable[[Environment[Any], Setting], GradientMethod] | None = None,
    seeks_budgets: bool = True,
    variant: bool = False,
) -> None:
    """Registers a member of the family; `settings` and `tabular` are its numbers where they are others."""
    add(
        GradientEntry(
            spec.name,
            label,
            about,
            build or partial(primal_dual, spec, settings or PPOSettings()),
            search,
            sees_budgets=spec.constrained,
            seeks_budgets=seeks_budgets,
            spec=spec,
            settings=settings,
            tabular=tabular,
            variant=variant,
        )
    )


def primal_dual(spec: MethodSpec, settings: PPOSettings, env: Environment[Any], setting: Setting) -> GradientMethod:
    """A member of the family on an environment, some of its numbers replaced."""
    return adjusted(PrimalDual(method_arrays(spec, env), settings=settings, shared=spec.shared), setting)


def shaped(spec: MethodSpec, env: Environment[Any], setting: Setting) -> GradientMethod:
    """Shaping by a multiple of a method's prices: the `scale` of the setting."""
    scale = setting.get("scale", 1.0)
    prices = {cost: scale * price for cost, price in spec.shaping.items()}
    return primal_dual(replace(spec, shaping=prices), PPOSettings(), env, {})


def method_spec(name: str) -> MethodSpec:
    """The data of a member of the family, by name.

    >>> method_spec("mc-cpo").name
    'mc-cpo'
    """
    entry = method_entry(name)
    if not isinstance(entry, GradientEntry) or entry.spec is None:
        raise InputError(f"{name} is not of the primal–dual family", fix="name one such as mc-cpo")
    return entry.spec
