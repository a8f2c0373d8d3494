"""The rules of the service, and what follows from them for a learner at a time.

The record holds what was known when a learner was last heard of. What has been forgotten since then goes on record
with the next session, or the next outcome that counts; until then it is only derived, here.
"""

from __future__ import annotations

from dataclasses import dataclass

from mccpo.serve.policy.release import Release
from mccpo.serve.record.learner_history import LearnerHistory, away_seconds, forgotten


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

    def known_now(self, history: LearnerHistory, release: Release, now: int) -> LearnerHistory:
        """A learner's history with what is known now: every gate, state and page asks here."""
        now = max(now, history.active)  # the clock may have gone back
        ended = history._replace(session=None) if self.session_expired(history, now) else history
        return history._replace(state=forgotten(ended, release, away_seconds(ended, now), self.forgetting).state)

    def session_expired(self, history: LearnerHistory, now: int) -> bool:
        """Whether the learner has made no request for so long that an open session is over."""
        return now - history.active > self.session_seconds * 1000
