"""Policies, multipliers and the learners."""

from mccpo.methods.engine import Snapshot
from mccpo.methods.gradient.training import NeuralPlan, NeuralRuns, evaluate_neural, train_neural
from mccpo.methods.gumbel import sample_gumbel
from mccpo.methods.mc_cpo.multipliers import Budgets, MultiplierRule, Multipliers, budgets_of
from mccpo.methods.mc_cpo.spec import METHODS, PAPER_METHODS, Method, MethodSpec, as_numbers, execute, method_spec
from mccpo.methods.mc_cpo.tabular import Progress, TabularSettings, TabularState
from mccpo.methods.mc_cpo.tabular_training import TabularPlan, TabularRuns, train_tabular

__all__ = [
    "METHODS",
    "PAPER_METHODS",
    "Budgets",
    "Method",
    "MethodSpec",
    "MultiplierRule",
    "Multipliers",
    "NeuralPlan",
    "NeuralRuns",
    "Progress",
    "Snapshot",
    "TabularPlan",
    "TabularRuns",
    "TabularSettings",
    "TabularState",
    "as_numbers",
    "budgets_of",
    "evaluate_neural",
    "execute",
    "method_spec",
    "sample_gumbel",
    "train_neural",
    "train_tabular",
]
