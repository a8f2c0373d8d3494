"""The distribution of problems that `pretrained` is trained on, drawn inside the compiled program."""

from mccpo.env.tutor.problems.drawn_problem import DrawnLearner, DrawnProblem, draw_problem, with_numbers
from mccpo.env.tutor.problems.graphs import LEAST_CONCEPTS, SHAPES, DrawnGraph, depth_of, draw_graph, drawn_graph
from mccpo.env.tutor.problems.ranges import LONGEST, DrawnNumbers, draw_numbers

__all__ = [
    "LEAST_CONCEPTS",
    "LONGEST",
    "SHAPES",
    "DrawnGraph",
    "DrawnLearner",
    "DrawnNumbers",
    "DrawnProblem",
    "depth_of",
    "draw_graph",
    "draw_numbers",
    "draw_problem",
    "drawn_graph",
    "with_numbers",
]
