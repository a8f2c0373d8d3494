"""Finds what is wrong with a prerequisite graph, and repairs it. It needs rustworkx, which other rooms do without."""

from mccpo.curriculum.lint.check import GRAVE, KINDS, Finding, Kind, LintReport, check
from mccpo.curriculum.lint.names import near_duplicates, spelling
from mccpo.curriculum.lint.repair import Removal, repair, repaired

__all__ = [
    "GRAVE",
    "KINDS",
    "Finding",
    "Kind",
    "LintReport",
    "Removal",
    "check",
    "near_duplicates",
    "repair",
    "repaired",
    "spelling",
]
