"""What the service reads, as answers to its tenants; it sees what is committed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection
from typing import Any

from sqlalchemy import func, select

from mccpo.serve.policy.release import Release
from mccpo.serve.problems import Missing
from mccpo.serve.record import rows
from mccpo.serve.record.schema import LEARNER
from mccpo.serve.record.store import Store
from mccpo.serve.service import queries
from mccpo.serve.service.database import Reading
from mccpo.serve.service.messages import DecisionView, LearnerView, PresenceView, StateView


class Reader(ABC):
    """The reading half of the service. Every call names its tenant, who never sees anything of another."""

    store: Store

    @property
    @abstractmethod
    def release(self) -> Release:
        """The release that decides now."""

    @property
    @abstractmethod
    def releases_on_record(self) -> dict[str, Release]:
        """The releases read from the record so far, by version."""

    async def learner(self, tenant: str, learner: str) -> LearnerView:
        async with self._reading() as connection:
            return queries.learner_view(await queries.read_identity(connection, tenant, learner))

    async def learner_named(self, tenant: str, name: str) -> LearnerView:
        """The learner whom a tenant calls by this name."""
        async with self._reading() as connection:
            matching = await rows.learners_named(connection, [(tenant, name)])
        if not matching:
            raise Missing("there is no learner of that name")
        return queries.learner_view(queries.identity_from_row(matching[0]))

    async def learners(self, tenant: str, *, after: str = "", limit: int = 100) -> list[LearnerView]:
        """A tenant's learners in the order of their ids, from the one after `after`."""
        matching = (LEARNER.c.tenant == tenant) & LEARNER.c.erased.is_(None) & (LEARNER.c.id > after)
        async with self._reading() as connection:
            learners = await connection.execute(select(LEARNER).where(matching).order_by(LEARNER.c.id).limit(limit))
            return [queries.learner_view(queries.identity_from_row(row)) for row in learners]

    async def presences(self, tenant: str, part: str = "", *, skip: int = 0, limit: int = 50) -> list[PresenceView]:
        """A tenant's learners whose name contains `part`, the most recently active first."""
        async with self._reading() as connection:
            return await queries.list_presences(connection, tenant, self.release.opening.mastered, part, skip, limit)

    async def names(self, tenant: str, learners: Collection[str]) -> dict[str, str]:
        """The names of a tenant's learners by id; erased learners have none."""
        async with self._reading() as connection:
            matching = await rows.select_rows(connection, LEARNER, "id", learners, LEARNER.c.tenant == tenant)
        return {row.id: row.name for row in matching if row.name is not None}

    async def count_learners(self) -> int:
        """The learners on record, over all tenants."""
        async with self._reading() as connection:
            return int((await connection.execute(select(func.count()).select_from(LEARNER))).scalar_one())

    async def state(self, tenant: str, learner: str) -> StateView:
        """A learner's mastery, what is ready, and which prerequisites lock the rest."""
        async with self._reading() as connection:
            history = await queries.read_history(connection, tenant, learner, self.releases_on_record)
        return queries.state_view(history, self.release)  # by the gate that the next decision will pass

    async def decision(self, tenant: str, decision: str) -> DecisionView:
        async with self._reading() as connection:
            decisions = await queries.list_decisions(connection, tenant, ids=[decision])
        if not decisions:
            raise Missing(f"there is no decision {decision}")
        return decisions[0]

    async def decision_reported_by(self, tenant: str, statement: str) -> str | None:
        """The id of the decision whose outcome an xAPI statement has reported, if it has."""
        async with self._reading() as connection:
            decisions = await rows.decisions_by_statement(connection, [(tenant, statement)])
        return decisions[0].id if decisions else None

    async def decisions(
        self, tenant: str, *, learner: str | None = None, after: int = 0, limit: int = 100
    ) -> list[DecisionView]:
        """Decisions in the order of the record, from the one after number `after`, of one learner or of all."""
        async with self._reading() as connection:
            if learner is not None:
                await queries.check_learner(connection, tenant, learner)
            return await queries.list_decisions(connection, tenant, learner=learner, after=after, limit=limit)

    async def latest_decisions(
        self, tenant: str, *, learner: str | None = None, after: int = 0, before: int | None = None, limit: int = 50
    ) -> list[DecisionView]:
        """The newest decisions between two numbers of the record, the newest first."""
        async with self._reading() as connection:
            return await queries.list_decisions(
                connection, tenant, learner=learner, after=after, before=before, limit=limit, newest=True
            )

    async def deferred_decisions(self, tenant: str, *, after: int = 0, limit: int = 100) -> list[DecisionView]:
        """Decisions that wait for a teacher: they were deferred, and the learner has not answered yet."""
        async with self._reading() as connection:
            return await queries.list_deferred(connection, tenant, after=after, limit=limit)

    async def decisions_by_id(self, tenant: str, ids: Collection[str]) -> list[DecisionView]:
        """Those of a tenant's decisions that have one of the ids."""
        async with self._reading() as connection:
            return await queries.list_decisions(connection, tenant, ids=ids, limit=len(ids))

    async def export(self, tenant: str, *, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """One row per decision: the columns of a log, and what off-policy evaluation needs."""
        while True:  # a connection for each chunk: a slow reader must not block one
            async with self._reading() as connection:
                decisions = await queries.list_decisions(connection, tenant, after=after, limit=rows.CHUNK)
                chunk = await queries.export_rows(connection, decisions)
            for row in chunk:
                yield row
            if len(decisions) < rows.CHUNK:
                return
            after = decisions[-1].number

    async def export_columns(self, tenant: str) -> list[str]:
        """The columns of an export: those that all rows have, and one for each label that learners have now."""
        async with self._reading() as connection:
            return [*queries.EXPORTED, *(f"group_{name}" for name in await queries.label_names(connection, tenant))]

    async def export_learner(self, tenant: str, learner: str) -> dict[str, Any]:
        """All that is stored about one learner."""
        state = await self.state(tenant, learner)
        async with self._reading() as connection:
            return await queries.export_learner(connection, tenant, learner, state)

    def _reading(self) -> Reading:
        return Reading(self.store)
