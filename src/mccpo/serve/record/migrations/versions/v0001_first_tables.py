"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

GENESIS = "b105597605bada686b4b72c74e8684ee4bb429a15917cf82e7de35baac6ac8f1"
"""The hash before the first event, as it was when this was written."""


def upgrade() -> None:
    op.create_table(
        "decision",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("learner", sa.String(length=32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("concept", sa.Text(), nullable=False),
        sa.Column("activity", sa.Text(), nullable=False),
        sa.Column("outcome", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("number"),
    )
    op.create_index("decision_of_tenant", "decision", ["tenant", "number"], unique=False)
    op.create_table(
        "event",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("learner", sa.String(length=32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("event_of_learner", "event", ["learner", "number"], unique=False)
    op.create_table(
        "head",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("one"),
    )
    op.create_table(
        "learner",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("labels", sa.Text(), nullable=True),
        sa.Column("registered", sa.BigInteger(), nullable=False),
        sa.Column("erased", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant", "name", name="learner_by_name"),
    )
    op.create_index("learner_of_tenant", "learner", ["tenant", "id"], unique=False)
    op.create_table(
        "note",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("learner", sa.String(length=32), nullable=False),
        sa.Column("teacher", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("salt", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index(op.f("ix_note_learner"), "note", ["learner"], unique=False)
    op.create_table(
        "release",
        sa.Column("version", sa.String(length=128), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("weights", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("version"),
    )
    op.create_table(
        "reply",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("request", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("learner", sa.String(length=32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_reply_at"), "reply", ["at"], unique=False)
    op.create_index(op.f("ix_reply_learner"), "reply", ["learner"], unique=False)
    op.create_table(
        "session",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("learner", sa.String(length=32), nullable=False),
        sa.Column("began", sa.BigInteger(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("cause", sa.String(length=16), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "standing",
        sa.Column("learner", sa.String(length=32), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("release", sa.String(length=128), nullable=False),
        sa.Column("mastery", sa.LargeBinary(), nullable=False),
        sa.Column("practised", sa.LargeBinary(), nullable=False),
        sa.Column("previous", sa.LargeBinary(), nullable=True),
        sa.Column("t", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=True),
        sa.Column("session", sa.String(length=32), nullable=True),
        sa.Column("began", sa.BigInteger(), nullable=False),
        sa.Column("active", sa.BigInteger(), nullable=False),
        sa.Column("decision", sa.String(length=32), nullable=True),
        sa.Column("erased", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("learner"),
    )
    op.execute(sa.text("INSERT INTO head (one, number, hash, at) VALUES (1, 0, :hash, 0)").bindparams(hash=GENESIS))
