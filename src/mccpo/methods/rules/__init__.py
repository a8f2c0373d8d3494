"""What tutors do today: rules that choose by what is seen of a learner, without learning a policy."""

from mccpo.methods.rules.table import remembers, tabulate

# In the order of the tables.
from mccpo.methods.rules.random_ready import RandomReady  # isort: skip
from mccpo.methods.rules.curriculum_order import CurriculumOrder  # isort: skip
from mccpo.methods.rules.mastery_learning import MasteryLearning  # isort: skip
from mccpo.methods.rules.zpdes import ZPDES  # isort: skip
from mccpo.methods.rules.greedy_gain import GreedyGain  # isort: skip
from mccpo.methods.rules.planning import Planning  # isort: skip
from mccpo.methods.rules.one_of import among_quick  # isort: skip

__all__ = [
    "ZPDES",
    "CurriculumOrder",
    "GreedyGain",
    "MasteryLearning",
    "Planning",
    "RandomReady",
    "among_quick",
    "remembers",
    "tabulate",
]
