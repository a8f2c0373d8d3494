"""Prerequisite graphs that nobody stated: derived from a taxonomy, from standards, or learnt from responses.

A recipe reads what there is and gives a `Derived`: a graph that says how it was made, with the evidence of every edge.
`junyi2020`, `xes3g5m` and `case` are recipes; `learn` is the estimator from responses; `compare` sets a derived graph
beside one that an expert stated. What each does, and how good it is, is told in docs/graphs.md.
"""
