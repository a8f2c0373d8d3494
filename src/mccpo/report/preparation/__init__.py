"""The pages of a prepared folder and of a fitted model of learners."""

from mccpo.report.preparation.page import PAGE, render_preparation
from mccpo.report.preparation.reliability import RELIABILITY_PAGE, render_reliability

__all__ = ["PAGE", "RELIABILITY_PAGE", "render_preparation", "render_reliability"]
