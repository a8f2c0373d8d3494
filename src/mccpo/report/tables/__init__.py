"""The tables of a run's report, for a page and for a terminal. Nothing here draws."""

from mccpo.report.tables.text import table

__all__ = ["table"]
