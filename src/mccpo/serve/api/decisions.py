"""Decisions: asked for, answered, overridden, listed and exported."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from mccpo.serve.access.security_log import record
from mccpo.serve.api.access import Auditing, Overriding, Teaching
from mccpo.serve.api.answers import REFUSALS, answer, dumps
from mccpo.serve.api.forms import Extent, Id, OutcomeForm, OverrideForm, Page, Waiting
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.service.messages import DecisionView, Next, Outcome, OutcomeView, Override

NDJSON, CSV = "application/x-ndjson", "text/csv"
Row: TypeAlias = dict[str, Any]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

router = APIRouter(prefix="/v1", tags=["decisions"], route_class=StrictRoute, responses=REFUSALS)


class DecisionPage(BaseModel):
    """Decisions in the order of the record; `next` is the `after` of the page that follows, null at the end."""

    decisions: list[DecisionView]
    next: int | None


@router.post("/learners/{learner}/next", response_model=DecisionView)
async def next_activity(learner: Id, call: Teaching) -> Response:
    """The next activity. While a decision waits for its outcome, it is the answer again (`again` is true)."""
    return answer(await call.service.next(call.tenant, Next(learner, call.caller.signature), call.key))


@router.post("/decisions/{decision}/outcome", response_model=OutcomeView)
async def outcome(decision: Id, form: OutcomeForm, call: Teaching) -> Response:
    """How the activity of a decision went, which updates mastery once."""
    given = Outcome(decision, form.correct, form.hints, form.seconds, key=call.caller.signature)
    return answer(await call.service.outcome(call.tenant, given, call.key))


@router.post("/learners/{learner}/overrides", response_model=DecisionView)
async def override(learner: Id, form: OverrideForm, call: Overriding) -> Response:
    """A teacher's decision in the place of the policy's. A concept that is not ready is refused: 422."""
    await call.check_learner(learner)
    given = Override(learner, form.concept, form.reason, form.teacher, form.activity, call.caller.signature)
    return answer(await call.service.override(call.tenant, given, call.key))


@router.get("/decisions", response_model=DecisionPage)
async def listed(page: Annotated[Page, Query()], call: Auditing) -> Response:
    """Decisions in the order of the record, a page at a time."""
    if page.learner is not None:
        await call.check_learner(page.learner)
    decisions = await call.service.decisions(
        call.tenant, learner=page.learner, after=page.after, limit=page.limit, classes=call.caller.classes
    )
    return answer(_page(decisions, page.limit))


def _page(decisions: list[DecisionView], limit: int) -> Row:
    return {"decisions": decisions, "next": decisions[-1].number if len(decisions) == limit else None}


@router.get("/decisions/deferred", response_model=DecisionPage)
async def deferred(page: Annotated[Waiting, Query()], call: Auditing) -> Response:
    """Decisions that wait for a teacher: a safe choice was served, and the learner has not answered yet.

    An override takes the place of such a decision. `certificate` has what the policy `wanted`, its chance of being
    ready, and the `bound` that the chance lies below.
    """
    classes = call.caller.classes
    decisions = await call.service.deferred_decisions(call.tenant, after=page.after, limit=page.limit, classes=classes)
    return answer(_page(decisions, page.limit))


@router.get("/decisions/export", response_class=Response, responses={200: {"content": {NDJSON: {}, CSV: {}}}})
async def exported(extent: Annotated[Extent, Query()], call: Auditing) -> Response:
    """All decisions, one JSON object or one row of CSV each, with propensities and outcomes.

    It is what off-policy evaluation needs, and a log that `mccpo logs check --format decisions` reads.
    """
    call.check_whole()
    columns = await call.service.export_columns(call.tenant) if extent.format == "csv" else None
    rows = call.service.export(call.tenant, after=extent.after)
    first = await anext(rows, None)  # once the response has begun, nothing can be refused
    record("exported", call.caller, decisions=f"after {extent.after}")
    if columns is None:
        return StreamingResponse(_lines(_from(first, rows)), media_type=NDJSON)
    return StreamingResponse(_table(columns, _from(first, rows)), media_type=CSV)


async def _from(first: Row | None, rows: AsyncIterator[Row]) -> AsyncIterator[Row]:
    if first is not None:
        yield first
    async for row in rows:
        yield row


async def _lines(rows: AsyncIterator[Row]) -> AsyncIterator[bytes]:
    async for row in rows:
        yield dumps(row) + b"\n"


async def _table(columns: list[str], rows: AsyncIterator[Row]) -> AsyncIterator[bytes]:
    """CSV. What has no column, a label that came up while this was written, is left out."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    async for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()  # the header, where there are no rows


def _cell(value: Any) -> Any:
    """A value as it stands in a cell: yes and no, numbers and what is nested as in JSON, texts as they are.

    A text that a spreadsheet would take for a formula has an apostrophe before it: names of labels and concepts are not
    ours, and whoever opens the file would run them.
    """
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return None if value is None else dumps(value).decode()


@router.get("/decisions/{decision}", response_model=DecisionView)
async def read(decision: Id, call: Auditing) -> Response:
    """A decision with its certificate."""
    taken = await call.service.decision(call.tenant, decision)
    await call.check_learner(taken.learner)
    return answer(taken)
