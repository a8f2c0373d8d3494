"""The paper's tables, one file each, its own numbers, and two tables of ours: random-finite and coverage.

`from_logs`, which needs polars, is imported on its own.
"""

__all__ = ["ablation", "claims", "from_logs", "reported", "verdicts"]  # modules
