"""Why budgets and floors were met in no seed, as far as is known: infeasible, not found, or only not met."""

from mccpo.experiments.feasibility.diagnosis import Diagnosis, Minimisers, diagnose
from mccpo.experiments.feasibility.examine import examine

__all__ = ["Diagnosis", "Minimisers", "diagnose", "examine"]
