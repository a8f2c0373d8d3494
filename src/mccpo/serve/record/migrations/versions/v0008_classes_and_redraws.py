"""A class can be asked for without reading names, draws without an answer are counted, and lists have an index."""

import json
import unicodedata

import sqlalchemy as sa
from alembic import context, op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("learner", sa.Column("class_hash", sa.String(length=64), nullable=True))
    op.add_column("standing", sa.Column("draws", sa.Integer(), nullable=False, server_default="0"))
    keyring, connection = context.config.attributes["keyring"], op.get_bind()
    query = "SELECT id, tenant, slot, sealed FROM learner WHERE sealed IS NOT NULL"
    changes = []
    for row in connection.execute(sa.text(query)):
        try:
            _, labels, _ = keyring.unseal(row.id, row.slot, "identity", row.sealed)
            of = unicodedata.normalize("NFC", labels["class"]).strip()
        except (ValueError, TypeError, LookupError):  # of no class, or damaged, which `verify` finds
            continue
        changes.append({"id": row.id, "class_hash": keyring.keyed_hash("class", row.tenant, of)})
    if changes:
        connection.execute(sa.text("UPDATE learner SET class_hash = :class_hash WHERE id = :id"), changes)
    _count_draws(connection)
    op.create_index("learner_of_class", "learner", ["tenant", "class_hash"])
    op.create_index("standing_of_tenant", "standing", ["tenant", "active", "learner"])
    with op.batch_alter_table("standing") as standing:
        standing.alter_column("draws", server_default=None)


def _count_draws(connection: sa.Connection) -> None:
    """Counts draws without an answer in a record that went back to 0007 and comes again: its events tell of them."""
    query = "SELECT learner, kind, text FROM event WHERE number >= :first ORDER BY number"
    told = "SELECT min(number) FROM event WHERE kind = 'decision' AND text LIKE '%\"redraw\":%'"
    first = connection.execute(sa.text(told)).scalar()
    if first is None:
        return
    draws: dict[str, int] = {}
    for row in connection.execute(sa.text(query), {"first": first}):
        content = json.loads(row.text)["content"]
        if row.kind == "decision":
            draws[row.learner] = content["redraw"] + 1 if "redraw" in content else 0
        elif row.kind == "override" or (row.kind == "outcome" and (content["counted"] or "away" not in content)):
            draws[row.learner] = 0
    changes = [{"learner": learner, "draws": count} for learner, count in draws.items() if count]
    if changes:
        connection.execute(sa.text("UPDATE standing SET draws = :draws WHERE learner = :learner"), changes)


def downgrade() -> None:
    """The tables of 0007, which know nothing of redraws: events that name them are of no meaning to it, and stay."""
    op.drop_index("standing_of_tenant", "standing")
    op.drop_index("learner_of_class", "learner")
    with op.batch_alter_table("standing") as standing:
        standing.drop_column("draws")
    with op.batch_alter_table("learner") as learner:
        learner.drop_column("class_hash")
