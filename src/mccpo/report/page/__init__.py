"""The page of a run, which draws its figures."""

from mccpo.report.page.html import write_report

__all__ = ["write_report"]
