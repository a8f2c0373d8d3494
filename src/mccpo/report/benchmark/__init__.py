"""The report of a benchmark: its folder in, one HTML file out, which opens offline."""

from mccpo.report.benchmark.page import PAGE, write

__all__ = ["PAGE", "write"]
