"""What tutors do today: rules that choose by what is seen of a learner, without learning a policy."""

from mccpo.algo.judging import Actor
from mccpo.algo.tutors.curriculum_order import CurriculumOrder
from mccpo.algo.tutors.greedy_gain import GreedyGain
from mccpo.algo.tutors.mastery_learning import MasteryLearning
from mccpo.algo.tutors.planning import Planning
from mccpo.algo.tutors.random_ready import RandomReady
from mccpo.algo.tutors.table import remembers, tabulate
from mccpo.algo.tutors.zpdes import ZPDES

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
