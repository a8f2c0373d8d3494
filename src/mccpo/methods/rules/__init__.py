"""What tutors do today: rules that choose by what is seen of a learner, without learning a policy."""

from mccpo.methods.episodes import Actor
from mccpo.methods.rules.curriculum_order import CurriculumOrder
from mccpo.methods.rules.greedy_gain import GreedyGain
from mccpo.methods.rules.mastery_learning import MasteryLearning
from mccpo.methods.rules.planning import Planning
from mccpo.methods.rules.random_ready import RandomReady
from mccpo.methods.rules.table import remembers, tabulate
from mccpo.methods.rules.zpdes import ZPDES

TUTORS: dict[str, type[Actor]] = {
    tutor.name: tutor for tutor in (RandomReady, CurriculumOrder, MasteryLearning, ZPDES, GreedyGain, Planning)
}
"""Tutors by name, the simplest first."""

__all__ = [
    "TUTORS",
    "ZPDES",
    "CurriculumOrder",
    "GreedyGain",
    "MasteryLearning",
    "Planning",
    "RandomReady",
    "remembers",
    "tabulate",
]
