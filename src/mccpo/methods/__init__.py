"""How policies come about: MC-CPO, the paper's baselines, constrained methods, rules and solvers, by name.

`METHODS` holds all of them. A method learns by gradient (`GradientMethod`), follows a rule (a `Policy`), or computes
its policy from a finite environment's arrays.
"""

from mccpo.methods.engine import (
    Arrays,
    MisfitError,
    Snapshot,
    as_arrays,
    check_plan,
    gather,
    one_ahead,
    point_of,
    side_by_side,
    to_arrays,
    workers,
)
from mccpo.methods.episodes import (
    EVALUATION_EPISODES,
    Episodes,
    Moment,
    NetworkPolicy,
    Policy,
    account,
    evaluate_policy,
    perform,
    summed,
    trace,
)
from mccpo.methods.gradient.gradient_method import GradientMethod, PrimalDual
from mccpo.methods.gradient.graph_network import shared_network_of
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Progress as NeuralProgress
from mccpo.methods.gradient.rollout import Sizes, network_of
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.gradient.training import (
    EVALUATION,
    ITERATIONS,
    NeuralPlan,
    NeuralRuns,
    Variant,
    choice_steps,
    evaluate_neural,
    evaluate_policies,
    train_neural,
    train_some,
    train_variants,
    validation_steps,
)
from mccpo.methods.gumbel import sample_gumbel
from mccpo.methods.mc_cpo.family import method_spec
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.mc_cpo.multipliers import Budgets, MultiplierRule, Multipliers, budgets_of
from mccpo.methods.mc_cpo.spec import MethodArrays, MethodSpec, execute, method_arrays
from mccpo.methods.mc_cpo.tabular import Progress, TabularSettings, TabularState
from mccpo.methods.mc_cpo.tabular_training import TabularPlan, TabularRuns, train_tabular
from mccpo.methods.policy_set import (
    IMPROPER,
    ImproperPolicyError,
    NetworkPolicies,
    PolicySet,
    RulePolicies,
    check_rule,
    is_distribution,
    play_rule,
)
from mccpo.methods.registry import (
    METHODS,
    GradientEntry,
    Kind,
    MethodEntry,
    RuleEntry,
    Setting,
    SolverEntry,
    adjusted,
    is_masked,
    method_entry,
    method_names,
    register_method,
    sees_budgets,
)

# Each of these registers what it has, in the order of the tables.
from mccpo.methods import baselines  # isort: skip
from mccpo.methods.mc_cpo import mc_cpo  # isort: skip
from mccpo.methods.mc_cpo import recurrent  # isort: skip
from mccpo.methods import pretrained  # isort: skip
from mccpo.methods import constrained  # isort: skip
from mccpo.methods import rules  # isort: skip
from mccpo.methods import solvers  # isort: skip
from mccpo.methods.constrained import Context, OnPolicy, penalised  # isort: skip
from mccpo.methods.pretrained import policies_alone, prepare_alone  # isort: skip
from mccpo.methods.rules import among_quick, remembers, tabulate  # isort: skip

PAPER_METHODS = ("unconstrained", "reward-shaped", "post-hoc", "mc-cpo", "mc-cpo-no-frontier")
"""The five that the paper compares."""
NETWORK_METHODS = PAPER_METHODS[:-1]
"""The same where a network learns: MC-CPO has no frontier there, and the last one would be the same row again."""
COMPARED_METHODS = (*NETWORK_METHODS, "random-ready", "mastery-learning", "zpdes")
"""What `compare` shows by default: the paper's baselines, MC-CPO, and what tutors do today."""
OURS = "mc-cpo"

__all__ = [
    "COMPARED_METHODS",
    "EVALUATION",
    "EVALUATION_EPISODES",
    "IMPROPER",
    "ITERATIONS",
    "METHODS",
    "NETWORK_METHODS",
    "OURS",
    "PAPER_METHODS",
    "Arrays",
    "Budgets",
    "Context",
    "Episodes",
    "GradientEntry",
    "GradientMethod",
    "ImproperPolicyError",
    "Kind",
    "MethodArrays",
    "MethodEntry",
    "MethodSpec",
    "MisfitError",
    "Moment",
    "MultiplierRule",
    "Multipliers",
    "Network",
    "NetworkPolicies",
    "NetworkPolicy",
    "NeuralPlan",
    "NeuralProgress",
    "NeuralRuns",
    "OnPolicy",
    "PPOSettings",
    "Policy",
    "PolicySet",
    "PrimalDual",
    "Progress",
    "RuleEntry",
    "RulePolicies",
    "Setting",
    "Sizes",
    "Snapshot",
    "SolverEntry",
    "TabularPlan",
    "TabularRuns",
    "TabularSettings",
    "TabularState",
    "Variant",
    "account",
    "adjusted",
    "among_quick",
    "as_arrays",
    "baselines",
    "budgets_of",
    "check_plan",
    "check_rule",
    "choice_steps",
    "constrained",
    "evaluate_neural",
    "evaluate_policies",
    "evaluate_policy",
    "execute",
    "gather",
    "is_distribution",
    "is_masked",
    "mc_cpo",
    "method_arrays",
    "method_entry",
    "method_names",
    "method_spec",
    "network_of",
    "one_ahead",
    "penalised",
    "perform",
    "play_rule",
    "point_of",
    "policies_alone",
    "prepare_alone",
    "pretrained",
    "price_unit",
    "recurrent",
    "register_method",
    "remembers",
    "rules",
    "sample_gumbel",
    "sees_budgets",
    "shared_network_of",
    "side_by_side",
    "solvers",
    "summed",
    "tabulate",
    "to_arrays",
    "trace",
    "train_neural",
    "train_some",
    "train_tabular",
    "train_variants",
    "validation_steps",
    "workers",
]
