"""Decisions: asked for, answered, overridden, listed and exported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from mccpo.serve.api.access import Auditing, Overriding, Teaching
from mccpo.serve.api.answers import REFUSALS, answer, dumps
from mccpo.serve.api.forms import Extent, Id, OutcomeForm, OverrideForm, Page
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.messages import DecisionView, Next, Outcome, OutcomeView, Override

NDJSON = "application/x-ndjson"

router = APIRouter(prefix="/v1", tags=["decisions"], route_class=StrictRoute, responses=REFUSALS)


class DecisionPage(BaseModel):
    """Decisions in the order of the record; `next` is the `after` of the page that follows, null at the end."""

    decisions: list[DecisionView]
    next: int | None


@router.post("/learners/{learner}/next", response_model=DecisionView)
async def next_activity(learner: Id, call: Teaching) -> Response:
    """The next activity. While a decision waits for its outcome, it is the answer again (`again` is true)."""
    return answer(await call.service.next(call.tenant, Next(learner), call.key))


@router.post("/decisions/{decision}/outcome", response_model=OutcomeView)
async def outcome(decision: Id, form: OutcomeForm, call: Teaching) -> Response:
    """How the activity of a decision went, which updates mastery once."""
    given = Outcome(decision, form.correct, form.hints, form.seconds)
    return answer(await call.service.outcome(call.tenant, given, call.key))


@router.post("/learners/{learner}/overrides", response_model=DecisionView)
async def override(learner: Id, form: OverrideForm, call: Overriding) -> Response:
    """A teacher's decision in the place of the policy's. A concept that is not ready is refused: 422."""
    given = Override(learner, form.concept, form.reason, form.teacher, form.activity)
    return answer(await call.service.override(call.tenant, given, call.key))


@router.get("/decisions", response_model=DecisionPage)
async def listed(page: Annotated[Page, Query()], call: Auditing) -> Response:
    """Decisions in the order of the record, a page at a time."""
    found = await call.service.decisions(call.tenant, learner=page.learner, after=page.after, limit=page.limit)
    more = found[-1].number if len(found) == page.limit else None
    return answer({"decisions": found, "next": more})


@router.get("/decisions/export", response_class=Response, responses={200: {"content": {NDJSON: {}}}})
async def exported(extent: Annotated[Extent, Query()], call: Auditing) -> Response:
    """All decisions, one JSON object a line, with propensities and outcomes: what off-policy evaluation needs."""
    rows = call.service.export(call.tenant, after=extent.after)
    first = await anext(rows, None)  # before the answer begins, after which no refusal can be told
    return StreamingResponse(_lines(first, rows), media_type=NDJSON)


async def _lines(first: dict[str, Any] | None, rows: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    if first is not None:
        yield dumps(first) + b"\n"
    async for row in rows:
        yield dumps(row) + b"\n"


@router.get("/decisions/{decision}", response_model=DecisionView)
async def read(decision: Id, call: Auditing) -> Response:
    """A decision with its certificate."""
    return answer(await call.service.decision(call.tenant, decision))
