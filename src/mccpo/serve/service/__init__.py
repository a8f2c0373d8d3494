"""What a tutoring platform asks of the service, however the request came. Imports no jax, polars or equinox."""

from mccpo.serve.service.background import background, pause
from mccpo.serve.service.feed import EventFeed
from mccpo.serve.service.messages import (
    BeginSession,
    DecisionView,
    EndSession,
    Erase,
    LearnerView,
    Next,
    Outcome,
    OutcomeView,
    Override,
    Register,
    SessionView,
    StateView,
)
from mccpo.serve.service.service import Service
from mccpo.serve.service.simulated import simulated_learners
from mccpo.serve.service.terms import Terms
from mccpo.serve.service.unit_of_work import RecordedEvent

__all__ = [
    "BeginSession",
    "DecisionView",
    "EndSession",
    "Erase",
    "EventFeed",
    "LearnerView",
    "Next",
    "Outcome",
    "OutcomeView",
    "Override",
    "RecordedEvent",
    "Register",
    "Service",
    "SessionView",
    "StateView",
    "Terms",
    "background",
    "pause",
    "simulated_learners",
]
