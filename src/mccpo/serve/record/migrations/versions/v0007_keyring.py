"""Names, labels and teachers' words are sealed, each with a key of its learner that is outside the database.

Stored replies are dropped: what was hashed in them could be guessed.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import context, op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    keyring, connection = context.config.attributes["keyring"], op.get_bind()
    op.add_column("head", sa.Column("keyring", sa.String(length=32), nullable=False, server_default=""))
    op.add_column("learner", sa.Column("slot", sa.BigInteger(), nullable=True))
    op.add_column("learner", sa.Column("name_hash", sa.String(length=64), nullable=True))
    op.add_column("learner", sa.Column("sealed", sa.LargeBinary(), nullable=True))
    op.add_column("note", sa.Column("sealed", sa.LargeBinary(), nullable=False, server_default=""))
    slots = _seal_names(connection, keyring)
    _seal_notes(connection, keyring, slots)
    connection.execute(sa.text("UPDATE head SET keyring = :id"), {"id": keyring.id})
    op.execute("DELETE FROM reply")
    with op.batch_alter_table("learner") as learner:
        learner.drop_constraint("learner_by_name", type_="unique")
        for column in ("name", "labels", "salt"):
            learner.drop_column(column)
        learner.create_unique_constraint("learner_by_name", ["tenant", "name_hash"])
    with op.batch_alter_table("note") as note:
        for column in ("teacher", "reason", "salt"):
            note.drop_column(column)
        note.alter_column("sealed", server_default=None)
    with op.batch_alter_table("head") as head:
        head.alter_column("keyring", server_default=None)


def _seal_names(connection: sa.Connection, keyring: Any) -> dict[str, int]:
    """Seals who learners are; returns the slots of their keys."""
    query = "SELECT id, tenant, name, labels, salt FROM learner WHERE name IS NOT NULL ORDER BY id"
    learners = connection.execute(sa.text(query)).all()
    if not learners:
        return {}
    slots = dict(zip([row.id for row in learners], keyring.add([row.id for row in learners]), strict=True))
    change = sa.text("UPDATE learner SET slot = :slot, name_hash = :name_hash, sealed = :sealed WHERE id = :id")
    changes = []
    for row in learners:
        words = [row.name, _labels(row.labels), row.salt]
        sealed = keyring.seal(row.id, slots[row.id], "identity", words)
        name_hash = keyring.keyed_hash("name", row.tenant, row.name)
        changes.append({"id": row.id, "slot": slots[row.id], "name_hash": name_hash, "sealed": sealed})
    connection.execute(change, changes)
    return slots


def _labels(text: str) -> Any:
    """The labels of a row; what is damaged stays so, for `verify` to find."""
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return None


def _seal_notes(connection: sa.Connection, keyring: Any, slots: dict[str, int]) -> None:
    notes = connection.execute(sa.text("SELECT number, learner, teacher, reason, salt FROM note")).all()
    changes = []
    for row in notes:
        if row.learner in slots:
            words = [row.teacher, row.reason, row.salt]
            sealed = keyring.seal(row.learner, slots[row.learner], f"note {row.number}", words)
            changes.append({"number": row.number, "sealed": sealed})
    if changes:
        connection.execute(sa.text("UPDATE note SET sealed = :sealed WHERE number = :number"), changes)
