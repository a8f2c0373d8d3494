"""A learner before the gate: the course of fractions, drawn as `mccpo curriculum show` draws it."""

from __future__ import annotations

import numpy as np

import mccpo
from mccpo.curriculum import draw

KNOWN = {"equal parts": 0.9, "times tables": 0.8}


def picture() -> str:
    """The course as it stands for a learner who knows two concepts."""
    course = mccpo.make("fractions").curriculum
    mastery = np.array([KNOWN.get(concept, 0.0) for concept in course.concepts])
    return draw(course, mastery, theta=0.7, title="A learner who knows two concepts")
