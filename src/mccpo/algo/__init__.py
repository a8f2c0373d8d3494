"""Policies, multipliers and the learners."""

from mccpo.algo.engine import Snapshot
from mccpo.algo.masked import REFUSAL, Masked, masked_softmax, mix, sample, sample_gumbel
from mccpo.algo.method import METHODS, PAPER_METHODS, Method, MethodSpec, as_numbers, execute, method_spec
from mccpo.algo.multipliers import Budgets, MultiplierRule, Multipliers, budgets_of
from mccpo.algo.neural import NeuralPlan, NeuralRuns, evaluate_neural, train_neural
from mccpo.algo.tabular import Progress, TabularSettings, TabularState
from mccpo.algo.training import TabularPlan, TabularRuns, train_tabular

__all__ = [
    "METHODS",
    "PAPER_METHODS",
    "REFUSAL",
    "Budgets",
    "Masked",
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
    "masked_softmax",
    "method_spec",
    "mix",
    "sample",
    "sample_gumbel",
    "train_neural",
    "train_tabular",
]
