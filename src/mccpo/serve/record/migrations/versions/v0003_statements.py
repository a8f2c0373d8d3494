"""The statement of xAPI that reported an outcome: one that is sent again is known again."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("decision", sa.Column("statement", sa.String(length=36), nullable=True))
    op.create_index("decision_of_statement", "decision", ["tenant", "statement"], unique=True)
