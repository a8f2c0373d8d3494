"""The tutor: graded mastery on a curriculum of any size, with engagement that pulls away from learning."""

from mccpo.env.tutor.answering import Answering
from mccpo.env.tutor.bkt import GROUPS, Group, Latent, TutorAnswers, TutorBKT, posterior
from mccpo.env.tutor.curricula import core, profile_curriculum
from mccpo.env.tutor.cut import cut
from mccpo.env.tutor.drawn import DrawnTutor, drawn_tutor
from mccpo.env.tutor.ensemble import SHARED, PreparedEnsemble
from mccpo.env.tutor.estimation import Estimated, EstimatedState
from mccpo.env.tutor.families import RandomCurricula
from mccpo.env.tutor.fractions import Fractions, fractions_curriculum
from mccpo.env.tutor.gating import with_gate_of
from mccpo.env.tutor.goal import TutorGoal
from mccpo.env.tutor.judges import PreparedBestLR, PreparedRecurrent
from mccpo.env.tutor.learner_weights import PracticeWeights, RecurrentWeights
from mccpo.env.tutor.misstated import MisstatedTutor
from mccpo.env.tutor.population import Population
from mccpo.env.tutor.prepared import EVERYONE, PreparedJudge, PreparedTutor, PriorTutor
from mccpo.env.tutor.profiles import Tutor, Tutor25, TutorActivities
from mccpo.env.tutor.state import Lesson, Progress, TutorState
from mccpo.env.tutor.tutoring import Tutoring
from mccpo.policy import ACTIVITIES, Activity

__all__ = [
    "ACTIVITIES",
    "EVERYONE",
    "GROUPS",
    "SHARED",
    "Activity",
    "Answering",
    "DrawnTutor",
    "Estimated",
    "EstimatedState",
    "Fractions",
    "Group",
    "Latent",
    "Lesson",
    "MisstatedTutor",
    "Population",
    "PracticeWeights",
    "PreparedBestLR",
    "PreparedEnsemble",
    "PreparedJudge",
    "PreparedRecurrent",
    "PreparedTutor",
    "PriorTutor",
    "Progress",
    "RandomCurricula",
    "RecurrentWeights",
    "Tutor",
    "Tutor25",
    "TutorActivities",
    "TutorAnswers",
    "TutorBKT",
    "TutorGoal",
    "TutorState",
    "Tutoring",
    "core",
    "cut",
    "drawn_tutor",
    "fractions_curriculum",
    "posterior",
    "profile_curriculum",
    "with_gate_of",
]
