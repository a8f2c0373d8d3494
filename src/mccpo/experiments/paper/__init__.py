"""The paper's tables, one file each, and its own numbers.

`from_logs`, which needs polars, is imported on its own.
"""

__all__ = ["from_logs", "reported"]  # modules
