"""The page of a curriculum: what `mccpo curriculum show` writes of a graph that is too large for one drawing."""

from mccpo.report.curriculum.page import curriculum_page

__all__ = ["curriculum_page"]
