"""The tutor: graded mastery on a curriculum of any size, with engagement that pulls away from learning."""

from mccpo.env.tutor.bkt import GROUPS, Group, Latent, TutorBKT, posterior
from mccpo.env.tutor.curricula import core, profile_curriculum
from mccpo.env.tutor.cut import cut
from mccpo.env.tutor.estimation import Estimated, EstimatedState
from mccpo.env.tutor.families import RandomCurricula
from mccpo.env.tutor.fractions import Fractions, fractions_curriculum
from mccpo.env.tutor.gating import with_gate_of
from mccpo.env.tutor.goal import TutorGoal
from mccpo.env.tutor.prepared import EVERYONE, PreparedJudge, PreparedTutor
from mccpo.env.tutor.profiles import Tutor, Tutor25, TutorActivities
from mccpo.env.tutor.state import Lesson, Progress, TutorState
from mccpo.env.tutor.tutoring import Tutoring
from mccpo.policy import ACTIVITIES, Activity

__all__ = [
    "ACTIVITIES",
    "EVERYONE",
    "GROUPS",
    "Activity",
    "Estimated",
    "EstimatedState",
    "Fractions",
    "Group",
    "Latent",
    "Lesson",
    "PreparedJudge",
    "PreparedTutor",
    "Progress",
    "RandomCurricula",
    "Tutor",
    "Tutor25",
    "TutorActivities",
    "TutorBKT",
    "TutorGoal",
    "TutorState",
    "Tutoring",
    "core",
    "cut",
    "fractions_curriculum",
    "posterior",
    "profile_curriculum",
    "with_gate_of",
]
