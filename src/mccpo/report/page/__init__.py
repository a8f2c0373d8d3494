"""The page of a run: one HTML file. Importing it loads what draws."""

from mccpo.report.page.html import figures, page, render, write_report

__all__ = ["figures", "page", "render", "write_report"]
