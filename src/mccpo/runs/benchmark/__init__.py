"""A benchmark's folder as types: `results.json` and `rows.parquet`, written by the benchmark and read without jax.

fields.py     the entries of a JSON object, each read as the kind of value that it must be
measured.py   one metric over seeds
cell.py       one method on one environment at one κ
problem.py    the problem that an environment poses: anchor, budgets, optimum; or why nothing was run there
findings.py   what follows from the rows: cells, scores, aggregates, profiles, winners
results.py    all of `results.json`
rows.py       a row of `rows.parquet`
"""

from mccpo.runs.benchmark.cell import Cell
from mccpo.runs.benchmark.findings import (
    Aggregate,
    Findings,
    Improvement,
    InterquartileMean,
    Leaders,
    OverallScores,
    Profile,
    Winners,
)
from mccpo.runs.benchmark.problem import Anchor, NotRun, Optimum, ProblemRecord
from mccpo.runs.benchmark.results import (
    NOT_A_BENCHMARK,
    RESULTS,
    BenchmarkResults,
    ByKappa,
    MethodRecord,
    ProtocolRecord,
    Seconds,
    Unseen,
    read_results,
    write_results,
)
from mccpo.runs.benchmark.rows import ROWS, CellKey, Outcome, Row, read_frame, worst_costs, write_rows

__all__ = [
    "NOT_A_BENCHMARK",
    "RESULTS",
    "ROWS",
    "Aggregate",
    "Anchor",
    "BenchmarkResults",
    "ByKappa",
    "Cell",
    "CellKey",
    "Findings",
    "Improvement",
    "InterquartileMean",
    "Leaders",
    "MethodRecord",
    "NotRun",
    "Optimum",
    "Outcome",
    "OverallScores",
    "ProblemRecord",
    "Profile",
    "ProtocolRecord",
    "Row",
    "Seconds",
    "Unseen",
    "Winners",
    "read_frame",
    "read_results",
    "worst_costs",
    "write_results",
    "write_rows",
]
