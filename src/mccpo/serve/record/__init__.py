"""The record: the chain of events, the database that holds it, and the check of both. Imports no jax and no polars."""

from mccpo.serve.record.chain import Event, Head
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.rows import Identity
from mccpo.serve.record.store import Store, engine_of, parse_url
from mccpo.serve.record.verification import Verdict, verify

__all__ = [
    "Event",
    "Head",
    "Identity",
    "LearnerHistory",
    "Store",
    "Verdict",
    "engine_of",
    "parse_url",
    "verify",
]
