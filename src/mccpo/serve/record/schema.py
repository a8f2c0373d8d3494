"""The tables of the record. `migrations/` makes them; a test holds the two together.

Identities and words about learners are in tables of their own (`learner`, `note`), so that they can be erased and the
chain of events still holds. They are sealed with the keys of their learners, which are in the keyring. `standing`,
`decision` and `head` can be rebuilt from the events: they are what the service reads instead of replaying, and what
`verify` compares with the replay.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()

RELEASE = Table(
    "release",
    METADATA,
    Column("version", String(128), primary_key=True),
    Column("description", Text, nullable=False),  # with the weights, all that `build_release` needs
    Column("weights", LargeBinary, nullable=False),
)

# Which releases were live, in records from before events said so: read once, when the first such event is written.
LIVE = Table(
    "live",
    METADATA,
    Column("one", Integer, primary_key=True, autoincrement=False),  # there is one row, or none yet
    Column("named", String(128), nullable=False),  # the release that the service was started with
    Column("current", String(128), nullable=False),
    Column("previous", String(128)),
    Column("shadow", String(128)),
    Column("share", Float, nullable=False),
)

EVENT = Table(
    "event",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("tenant", String(128), nullable=False),
    Column("learner", String(32), nullable=False),
    Column("text", Text, nullable=False),
    Column("hash", String(64), nullable=False),
    Index("event_of_learner", "learner", "number"),
)

HEAD = Table(
    "head",
    METADATA,
    Column("one", Integer, primary_key=True, autoincrement=False),  # the lock that writers take: there is one row
    Column("number", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("live", BigInteger),  # the number of the last event that says which releases are live
    Column("keyring", String(32), nullable=False),  # the id of the keyring that names are sealed with
)

VISIT = Table(
    "visit",
    METADATA,
    Column("id", String(64), primary_key=True),  # the hash of the cookie
    Column("key", String(32), nullable=False),  # the id of the key that signed in
    Column("until", BigInteger, nullable=False, index=True),
)

# What the monitor of each tenant had seen up to an event, so that a restart need not read the record from its start.
MONITOR = Table(
    "monitor",
    METADATA,
    Column("tenant", String(128), primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("state", LargeBinary, nullable=False),
)

LEARNER = Table(
    "learner",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("tenant", String(128), nullable=False),
    Column("registered", BigInteger, nullable=False),
    Column("erased", BigInteger),
    Column("slot", BigInteger),  # where the learner's key is in the keyring
    Column("name_hash", String(64)),  # keyed by the keyring's secret; null once erased
    Column("class_hash", String(64)),  # of the label `class`, keyed alike; null without one, and once erased
    Column("sealed", LargeBinary),  # name, labels, and the salt of the event's commitment to them; null once erased
    UniqueConstraint("tenant", "name_hash", name="learner_by_name"),
    Index("learner_of_tenant", "tenant", "id"),
    Index("learner_of_class", "tenant", "class_hash"),
)

STANDING = Table(
    "standing",
    METADATA,
    Column("learner", String(32), primary_key=True),
    Column("tenant", String(128), nullable=False),
    Column("release", String(128), nullable=False),
    Column("mastery", LargeBinary, nullable=False),
    Column("practised", LargeBinary, nullable=False),
    Column("previous", LargeBinary),
    Column("t", Integer, nullable=False),
    Column("last", Integer),
    Column("session", String(32)),
    Column("began", BigInteger, nullable=False),
    Column("active", BigInteger, nullable=False),
    Column("decision", String(32)),
    Column("erased", Boolean, nullable=False),
    Column("draws", Integer, nullable=False),  # decisions that were drawn since the learner's last answer
    Index("standing_of_tenant", "tenant", "active", "learner"),
)

DECISION = Table(
    "decision",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("number", BigInteger, nullable=False, unique=True),
    Column("tenant", String(128), nullable=False),
    Column("learner", String(32), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("concept", Text, nullable=False),
    Column("activity", Text, nullable=False),
    Column("outcome", BigInteger),  # the number of the event that reports it
    Column("statement", String(36)),  # the id of the xAPI statement that it came by
    Index("decision_of_tenant", "tenant", "number"),
    Index("decision_of_statement", "tenant", "statement", unique=True),
)

SESSION = Table(
    "session",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("tenant", String(128), nullable=False),
    Column("learner", String(32), nullable=False),
    Column("began", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("cause", String(16)),
)

NOTE = Table(
    "note",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of the override that it is about
    Column("learner", String(32), nullable=False, index=True),
    Column("sealed", LargeBinary, nullable=False),  # the teacher, the reason, and the salt of the commitment to them
)

REPLY = Table(
    "reply",
    METADATA,
    Column("id", String(64), primary_key=True),  # the hash of tenant and idempotency key
    Column("request", String(64), nullable=False),
    Column("answer", Text, nullable=False),  # of a request about a learner, only which event it is told by
    Column("learner", String(32), nullable=False, index=True),
    Column("at", BigInteger, nullable=False, index=True),
)
