"""The rules of the service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Terms:
    """How long sessions, outcomes, replies and identities last, and how much the service holds in memory.

    - `session_seconds`: a session is over after so long without a request.
    - `late_seconds`: an outcome that comes later than this after its decision is recorded and does not count.
    - `forgetting`: the half-life in seconds of mastery between sessions; None: nothing is forgotten.
    - `decide_seconds`: how long a policy may take before the fallback decides.
    - `retention_seconds`: a learner without requests for so long is erased by `tidy`; None: nobody is.
    - `reply_seconds`: how long an answer is stored under its idempotency key.
    - `batch`: the most requests in one commit; `waiting`: the most that may wait before more are refused.
    - `cached_learners`: the learners whose histories stay in memory.
    """

    session_seconds: float = 1800.0
    late_seconds: float = 86_400.0
    forgetting: float | None = None
    decide_seconds: float = 0.05
    retention_seconds: float | None = None
    reply_seconds: float = 86_400.0
    batch: int = 128
    waiting: int = 10_000
    cached_learners: int = 10_000
