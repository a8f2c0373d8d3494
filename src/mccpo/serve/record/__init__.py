"""The record: the chain of events, the database that holds it, and the check of both. Imports no jax and no polars."""

from mccpo.serve.record.anchors import (
    Anchor,
    Signer,
    create_signing_key,
    is_signed,
    numbers_and_hashes,
    read_anchors,
    read_public_key,
)
from mccpo.serve.record.answered import RecordedAnswers, read_answers
from mccpo.serve.record.backup import BackupResult, RestoreResult, back_up, restore
from mccpo.serve.record.chain import Event, Head
from mccpo.serve.record.engine import engine_of, parse_url
from mccpo.serve.record.keyring import Keyring, keyring_beside
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.rows import Identity
from mccpo.serve.record.store import Store
from mccpo.serve.record.verification import Verdict, verify

__all__ = [
    "Anchor",
    "BackupResult",
    "Event",
    "Head",
    "Identity",
    "Keyring",
    "LearnerHistory",
    "RecordedAnswers",
    "RestoreResult",
    "Signer",
    "Store",
    "Verdict",
    "back_up",
    "create_signing_key",
    "engine_of",
    "is_signed",
    "keyring_beside",
    "numbers_and_hashes",
    "parse_url",
    "read_anchors",
    "read_answers",
    "read_public_key",
    "restore",
    "verify",
]
