"""Pictures of prerequisite graphs."""

from mccpo.curriculum.drawing.svg import draw

__all__ = ["draw"]
