"""Prerequisite graphs that nobody stated: derived from a taxonomy, from standards, or learnt from responses.

A recipe reads what there is and gives a `Derived`: a graph that says how it was made, with the evidence of every edge.
`RECIPES` has them by name; `learn_graph` is the estimator from responses; `compare_graphs` compares a derived graph
with one that an expert stated. What each does, and how good it is, is told in docs/graphs.md.
"""

from mccpo.curriculum.derive.case import CASE, CaseChoices, derive_case, read_package
from mccpo.curriculum.derive.compare import Agreement, Comparison, compare_graphs
from mccpo.curriculum.derive.inputs import read_counts
from mccpo.curriculum.derive.junyi2020 import JUNYI_2020, Junyi2020Choices, Taxonomy, derive_junyi2020, read_taxonomy
from mccpo.curriculum.derive.junyi2020_sizes import PAPER, GraphSize, every_combination, graph_size, one_at_a_time
from mccpo.curriculum.derive.partial_order import LearnChoices, learn_graph
from mccpo.curriculum.derive.recipe import Derived, Recipe
from mccpo.curriculum.derive.scores import Scores
from mccpo.curriculum.derive.xes3g5m import XES3G5M, Xes3g5mChoices, derive_xes3g5m, read_routes

RECIPES = {recipe.name: recipe for recipe in (JUNYI_2020, XES3G5M, CASE)}
"""The recipes by name."""

__all__ = [
    "PAPER",
    "RECIPES",
    "Agreement",
    "CaseChoices",
    "Comparison",
    "Derived",
    "GraphSize",
    "Junyi2020Choices",
    "LearnChoices",
    "Recipe",
    "Scores",
    "Taxonomy",
    "Xes3g5mChoices",
    "compare_graphs",
    "derive_case",
    "derive_junyi2020",
    "derive_xes3g5m",
    "every_combination",
    "graph_size",
    "learn_graph",
    "one_at_a_time",
    "read_counts",
    "read_package",
    "read_routes",
    "read_taxonomy",
]
