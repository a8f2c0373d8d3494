"""What the service reads, as answers to its tenants; it sees what is committed."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.policy.release import Release
from mccpo.serve.problems import Missing
from mccpo.serve.record import rows
from mccpo.serve.record.chain import rfc3339
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.schema import EVENT, HEAD, LEARNER
from mccpo.serve.record.store import Store
from mccpo.serve.service import queries, roll
from mccpo.serve.service.database import Reading
from mccpo.serve.service.messages import AnchorView, ClassView, DecisionView, LearnerView, PresenceView, StateView
from mccpo.serve.service.roll import Classes, NameSearch
from mccpo.serve.service.terms import Terms
from mccpo.serve.service.views import learner_view

_KEYED = '"key":{"id":'
"""What the text of an event holds that came by a key: events are canonical JSON, and free text in them is quoted."""


MANY, SHARE = 10_000, 0.05
"""Classes with more learners than that are told as they were last counted until counting takes no more than this share
of the time."""


EXPORTED_AT_ONCE = 50
"""Rows of an export that are read and told before others get their turn: some ten milliseconds."""


class Reader(ABC):
    """The reading half of the service. Every call names its tenant, who never sees anything of another."""

    store: Store
    terms: Terms
    clock: Callable[[], int]
    names_held: NameSearch
    _classes: dict[tuple[str, tuple[str, ...] | None], tuple[list[ClassView], float]]
    """The classes of a tenant, all or some, as they were last counted, and until when they are told again."""

    @property
    @abstractmethod
    def release(self) -> Release:
        """The release that decides now."""

    @property
    @abstractmethod
    def releases_on_record(self) -> dict[str, Release]:
        """The releases read from the record so far, by version."""

    @abstractmethod
    async def _refresh(self, connection: AsyncConnection) -> None:
        """Reads which release decides now, as another process may have changed it."""

    async def learner(self, tenant: str, learner: str) -> LearnerView:
        async with self._reading() as connection:
            return learner_view(await queries.read_identity(connection, self.store.keyring, tenant, learner))

    async def learner_named(self, tenant: str, name: str) -> LearnerView:
        """The learner whom a tenant calls by this name."""
        async with self._reading() as connection:
            matching = await rows.learners_named(connection, self.store.keyring, [(tenant, name)])
        if not matching:
            raise Missing("there is no learner of that name")
        return learner_view(roll.identity_from_row(matching[tenant, name], self.store.keyring))

    async def check_class(self, tenant: str, learner: str, classes: Classes) -> None:
        """Refuses a learner who is in none of the classes, as if there were none; None stands for all classes."""
        if classes is not None:
            theirs = roll.in_classes(self.store.keyring, tenant, classes)
            async with self._reading() as connection:
                if not await rows.select_rows(connection, LEARNER, "id", [learner], *theirs):
                    raise Missing(f"there is no learner {learner}")

    async def learners(
        self, tenant: str, *, after: str = "", limit: int = 100, classes: Classes = None
    ) -> list[LearnerView]:
        """A tenant's learners in the order of their ids, from the one after `after`; of some classes, or of all."""
        query = select(LEARNER).where(*roll.in_classes(self.store.keyring, tenant, classes))
        query = query.where(LEARNER.c.erased.is_(None), LEARNER.c.id > after).order_by(LEARNER.c.id).limit(limit)
        async with self._reading() as connection:
            learners = await connection.execute(query)
            return [learner_view(roll.identity_from_row(row, self.store.keyring)) for row in learners]

    async def presences(
        self, tenant: str, part: str = "", *, skip: int = 0, limit: int = 50, classes: Classes = None
    ) -> list[PresenceView]:
        """A tenant's learners whose name contains `part`, the most recently active first; of some classes, or all."""
        # Before a connection is taken: who held one and waited for another could wait for ever.
        among = await self.names_held.matching(tenant, part) if part else None
        async with self._reading() as connection:
            await self._refresh(connection)
            identities = await roll.list_learners(connection, self.store.keyring, tenant, among, skip, limit, classes)
            ids = [identity.id for identity in identities]
            histories = await queries.read_histories(connection, ids, self.releases_on_record)
        release = self.release
        return [queries.presence_view(each, self._known(histories[each.id]), release) for each in identities]

    async def classes(self, tenant: str, classes: Classes = None) -> list[ClassView]:
        """The classes that learners are in, by name, with how many are in each and when one was last heard of.

        They are counted from all learners. Where these are many, the counts are told again for some seconds.
        """
        asked = (tenant, None if classes is None else tuple(sorted(classes)))
        views, until = self._classes.get(asked, ([], 0.0))
        began = time.monotonic()
        if began < until:
            return views
        async with self._reading() as connection:
            views = await roll.list_classes(connection, self.store.keyring, tenant, classes)
        now = time.monotonic()
        if sum(view.learners for view in views) > MANY:
            self._classes[asked] = (views, now + (now - began) / SHARE)
        return views

    async def names(self, tenant: str, learners: Collection[str]) -> dict[str, str]:
        """The names of a tenant's learners by id; erased learners have none."""
        async with self._reading() as connection:
            matching = await rows.select_rows(connection, LEARNER, "id", learners, LEARNER.c.tenant == tenant)
        identities = [roll.identity_from_row(row, self.store.keyring) for row in matching]
        return {identity.id: identity.name for identity in identities if identity.name is not None}

    async def count_learners(self) -> int:
        """The learners on record, over all tenants."""
        async with self._reading() as connection:
            return int((await connection.execute(select(func.count()).select_from(LEARNER))).scalar_one())

    async def anchor(self) -> AnchorView:
        """The end of the record, by which it can be shown later that nothing before it was changed."""
        async with self._reading() as connection:
            number, hash, at = (await connection.execute(select(HEAD.c.number, HEAD.c.hash, HEAD.c.at))).one()
        return AnchorView(f"{number}:{hash}", number, hash, rfc3339(at))

    async def names_keys(self) -> bool:
        """Whether an event on record names the key by which it came: such a record is not served without keys."""
        keyed = EVENT.c.text.contains(_KEYED)
        async with self._reading() as connection:  # from the end: once there are keys, recent events have one
            query = select(EVENT.c.number).where(keyed).order_by(EVENT.c.number.desc()).limit(1)
            return (await connection.execute(query)).scalar() is not None

    async def state(self, tenant: str, learner: str) -> StateView:
        """A learner's mastery, what is ready, and which prerequisites lock the rest."""
        async with self._reading() as connection:
            await self._refresh(connection)
            history = await queries.read_history(connection, tenant, learner, self.releases_on_record)
        return queries.state_view(self._known(history), self.release)  # by the gate that the next decision will pass

    async def decision(self, tenant: str, decision: str) -> DecisionView:
        async with self._reading() as connection:
            decisions = await queries.list_decisions(connection, self.store.keyring, tenant, ids=[decision])
        if not decisions:
            raise Missing(f"there is no decision {decision}")
        return decisions[0]

    async def decision_reported_by(self, tenant: str, statement: str) -> str | None:
        """The id of the decision whose outcome an xAPI statement has reported, if it has."""
        async with self._reading() as connection:
            decisions = await rows.decisions_by_statement(connection, [(tenant, statement)])
        return decisions[0].id if decisions else None

    async def decisions(
        self, tenant: str, *, learner: str | None = None, after: int = 0, limit: int = 100, classes: Classes = None
    ) -> list[DecisionView]:
        """Decisions in the order of the record, from the one after number `after`, of one learner or of all."""
        async with self._reading() as connection:
            if learner is not None:
                await queries.check_learner(connection, tenant, learner)
            return await queries.list_decisions(
                connection, self.store.keyring, tenant, learner=learner, after=after, limit=limit, classes=classes
            )

    async def latest_decisions(
        self,
        tenant: str,
        *,
        learner: str | None = None,
        after: int = 0,
        before: int | None = None,
        limit: int = 50,
        classes: Classes = None,
    ) -> list[DecisionView]:
        """The newest decisions between two numbers of the record, the newest first."""
        async with self._reading() as connection:
            return await queries.list_decisions(
                connection,
                self.store.keyring,
                tenant,
                learner=learner,
                after=after,
                before=before,
                limit=limit,
                newest=True,
                classes=classes,
            )

    async def deferred_decisions(
        self, tenant: str, *, after: int = 0, limit: int = 100, classes: Classes = None
    ) -> list[DecisionView]:
        """Decisions that wait for a teacher: they were deferred, and the learner has not answered yet."""
        async with self._reading() as connection:
            return await queries.list_deferred(
                connection, self.store.keyring, tenant, after=after, limit=limit, classes=classes
            )

    async def decisions_by_id(self, tenant: str, ids: Collection[str], classes: Classes = None) -> list[DecisionView]:
        """Those of a tenant's decisions that have one of the ids."""
        async with self._reading() as connection:
            return await queries.list_decisions(
                connection, self.store.keyring, tenant, ids=ids, limit=len(ids), classes=classes
            )

    async def export(self, tenant: str, *, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """One row per decision: the columns of a log, and what off-policy evaluation needs."""
        while True:  # a connection for each chunk: a slow reader must not block one
            async with self._reading() as connection:
                decisions = await queries.list_decisions(
                    connection, self.store.keyring, tenant, after=after, limit=EXPORTED_AT_ONCE
                )
                chunk = await queries.export_rows(connection, self.store.keyring, decisions)
            for row in chunk:
                yield row
            if len(decisions) < EXPORTED_AT_ONCE:
                return
            after = decisions[-1].number
            await asyncio.sleep(0)  # others need not wait for all of them

    async def export_columns(self, tenant: str) -> list[str]:
        """The columns of an export: those that all rows have, and one for each label that learners have now."""
        async with self._reading() as connection:
            return [
                *queries.EXPORTED,
                *(f"group_{name}" for name in await queries.label_names(connection, self.store.keyring, tenant)),
            ]

    async def export_learner(self, tenant: str, learner: str) -> dict[str, Any]:
        """All that is stored about one learner."""
        state = await self.state(tenant, learner)
        async with self._reading() as connection:
            return await queries.export_learner(connection, self.store.keyring, tenant, learner, state)

    def _known(self, history: LearnerHistory) -> LearnerHistory:
        return self.terms.known_now(history, self.release, self.clock())

    def _reading(self) -> Reading:
        return Reading(self.store)
