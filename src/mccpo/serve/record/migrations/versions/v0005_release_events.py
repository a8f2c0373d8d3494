"""Which event says what is live; visits to the pages, which several processes share."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("head", sa.Column("live", sa.BigInteger(), nullable=True))
    op.create_table(
        "visit",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_visit_until"), "visit", ["until"], unique=False)
