"""Which releases are live, so that a restart finds them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "live",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("named", sa.String(length=128), nullable=False),
        sa.Column("current", sa.String(length=128), nullable=False),
        sa.Column("previous", sa.String(length=128), nullable=True),
        sa.Column("shadow", sa.String(length=128), nullable=True),
        sa.Column("share", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("one"),
    )
