"""Search by a part of a name. The database cannot look into sealed names, so this process keeps those it searches.

The first search of a tenant reads all of its names, in small steps between which others get their turn. Later ones
read only what is new on record. A name never changes, but its learner may be erased. It is then dropped with the
erasure, or where another process erased it, by the next search or the next `tidy`. A tenant that nobody has searched
for a while is dropped as a whole.
"""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.record import rows
from mccpo.serve.record.keyring import Keyring
from mccpo.serve.record.schema import EVENT, HEAD, LEARNER
from mccpo.serve.record.store import Store
from mccpo.serve.service.database import Reading
from mccpo.serve.service.unit_of_work import RecordedEvent

KEPT = 600.0
"""Seconds after the last search for which the names of a tenant stay in memory."""
_UNSEALED, _COMPARED = 50, 10_000
"""Names that are unsealed, or compared, before others get their turn: about a millisecond."""


@dataclass
class _Names:
    """The names of a tenant's learners by id, as they are compared.

    `number` is the event up to which they are known, `read` the last learner who was read at first; None: all were.
    """

    number: int | None = None
    read: str | None = ""
    asked: float = 0.0
    names: dict[str, str] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class NameSearch:
    """The names that this process holds in memory, of each tenant that was searched a short while ago."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tenants: dict[str, _Names] = {}

    @property
    def held(self) -> int:
        """How many names are in memory."""
        return sum(len(each.names) for each in self._tenants.values())

    async def matching(self, tenant: str, part: str) -> set[str]:
        """The learners of a tenant whose name contains `part`; upper and lower case are the same."""
        known = self._tenants.setdefault(tenant, _Names())
        known.asked = time.monotonic()
        await self._follow(tenant, known)
        wanted, found = folded(part), set()
        for at, (learner, name) in enumerate(list(known.names.items()), start=1):
            if wanted in name:
                found.add(learner)
            if at % _COMPARED == 0:
                await asyncio.sleep(0)
        return found

    async def tidy(self) -> None:
        """Drops tenants that nobody searches any more, and the names that another process has erased."""
        for tenant, known in list(self._tenants.items()):
            if time.monotonic() - known.asked > KEPT:
                del self._tenants[tenant]
            else:
                await self._follow(tenant, known)

    def on_event(self, recorded: RecordedEvent) -> None:
        """Drops the name of a learner whom this process has erased."""
        event = recorded.event
        if event.kind == "erasure" and event.tenant in self._tenants:
            self._tenants[event.tenant].names.pop(event.learner, None)

    async def _follow(self, tenant: str, known: _Names) -> None:
        """Reads what is missing. Who gives up halfway leaves what was read to the next one."""
        async with known.lock:
            if known.number is None:  # first, so that nothing that happens meanwhile is missed
                async with Reading(self._store) as connection:
                    known.number = (await connection.execute(select(HEAD.c.number))).scalar_one()
            while known.read is not None:
                async with Reading(self._store) as connection:
                    query = _sealed(tenant).where(LEARNER.c.id > known.read).order_by(LEARNER.c.id).limit(rows.CHUNK)
                    chunk = (await connection.execute(query)).all()
                await self._add(known, chunk)
                known.read = chunk[-1].id if len(chunk) == rows.CHUNK else None
            async with Reading(self._store) as connection:
                last = (await connection.execute(select(HEAD.c.number))).scalar_one()
                if last > known.number:
                    await self._apply(connection, tenant, known)
                    known.number = last

    async def _apply(self, connection: AsyncConnection, tenant: str, known: _Names) -> None:
        """Adds who was registered since, and drops who was erased."""
        news = select(EVENT.c.kind, EVENT.c.learner).where(
            EVENT.c.number > known.number, EVENT.c.tenant == tenant, EVENT.c.kind.in_(("learner", "erasure"))
        )
        changed = (await connection.execute(news.order_by(EVENT.c.number))).all()
        added = [row.learner for row in changed if row.kind == "learner"]
        for start in range(0, len(added), rows.CHUNK):
            query = _sealed(tenant).where(LEARNER.c.id.in_(added[start : start + rows.CHUNK]))
            await self._add(known, (await connection.execute(query)).all())
        for row in changed:
            if row.kind == "erasure":
                known.names.pop(row.learner, None)

    async def _add(self, known: _Names, learners: Sequence[Row[Any]]) -> None:
        for start in range(0, len(learners), _UNSEALED):
            known.names |= _unsealed(learners[start : start + _UNSEALED], self._store.keyring)
            await asyncio.sleep(0)


def folded(text: str) -> str:
    """A text as it is compared: in composed characters, and without upper and lower case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _sealed(tenant: str) -> Any:
    columns = (LEARNER.c.id, LEARNER.c.slot, LEARNER.c.sealed)
    return select(*columns).where(LEARNER.c.tenant == tenant, LEARNER.c.erased.is_(None))


def _unsealed(learners: Iterable[Row[Any]], keyring: Keyring) -> dict[str, str]:
    """The names of some learners; whose row is damaged or whose key is erased is found by no name."""
    names = {}
    for row in learners:
        with suppress(ValueError, TypeError):
            names[row.id] = folded(keyring.unseal(row.id, row.slot, rows.IDENTITY, row.sealed)[0])
    return names
