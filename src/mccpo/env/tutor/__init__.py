"""The tutor: graded mastery on a curriculum of any size, with engagement that pulls away from learning."""

from mccpo.env.tutor.activities import ACTIVITIES, Activity
from mccpo.env.tutor.bkt import GROUPS, Group, Latent, TutorBKT, posterior
from mccpo.env.tutor.curricula import profile_curriculum
from mccpo.env.tutor.estimation import Estimated, EstimatedState
from mccpo.env.tutor.prepared import PreparedJudge, PreparedTutor
from mccpo.env.tutor.profiles import Tutor, Tutor25
from mccpo.env.tutor.tutoring import Lesson, Progress, Tutoring, TutorState

__all__ = [
    "ACTIVITIES",
    "GROUPS",
    "Activity",
    "Estimated",
    "EstimatedState",
    "Group",
    "Latent",
    "Lesson",
    "PreparedJudge",
    "PreparedTutor",
    "Progress",
    "Tutor",
    "Tutor25",
    "TutorBKT",
    "TutorState",
    "Tutoring",
    "posterior",
    "profile_curriculum",
]
