"""xAPI: statements about outcomes come in, statements about decisions go out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from uuid import NAMESPACE_URL, uuid5

from fastapi import APIRouter, Body, Query, Response
from pydantic import BaseModel

from mccpo.errors import InputError
from mccpo.serve.api.access import Auditing, Call, Teaching
from mccpo.serve.api.answers import REFUSALS, answer, dumps
from mccpo.serve.api.forms import Page
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.service import replies
from mccpo.serve.service.messages import DecisionView, Outcome, OutcomeView
from mccpo.serve.service.problems import Conflict, Gone, Problem, Unavailable, Unprocessable
from mccpo.serve.service.replies import Done, Once
from mccpo.serve.service.xapi import URN, VERSION, Answered, Reported, Told, outcomes_of, statement_of

MOST = 100
"""Statements of one request."""
_HEADERS = {"X-Experience-API-Version": VERSION}

router = APIRouter(prefix="/v1/xapi", tags=["xapi"], route_class=StrictRoute, responses=REFUSALS)


class Refused(BaseModel):
    """Why an outcome was not taken."""

    title: str
    status: int
    detail: str


class Result(BaseModel):
    """What became of a statement that reports an outcome: the outcome, or why it was refused."""

    statement: str | None
    outcome: OutcomeView | None = None
    problem: Refused | None = None


class Results(BaseModel):
    """A result for each statement that reports an outcome, in their order; `passed_over` are those that report none."""

    results: list[Result]
    passed_over: int


class Statements(BaseModel):
    """A page of statements; `more` is where the next is, empty at the end."""

    statements: list[dict[str, Any]]
    more: str


@router.post("/statements", response_model=Results)
async def take(body: Annotated[dict[str, Any] | list[dict[str, Any]], Body()], call: Teaching) -> Response:
    """Takes the outcomes among one statement or up to 100: all are read before any is taken, then each for itself."""
    statements = body if isinstance(body, list) else [body]
    if len(statements) > MOST:
        raise Unprocessable(f"{len(statements)} statements are too many at once; send at most {MOST}")
    try:
        reported = outcomes_of(statements)
    except InputError as error:
        raise Unprocessable(str(error)) from error
    once = replies.once(call.tenant, call.key, ["statements", body])

    async def act() -> Done:
        results = [await _taken(call, one) for one in _identified(reported, once)]
        found = {"results": results, "passed_over": len(statements) - len(reported)}
        return Done(json.loads(dumps(found)), finished=not any(map(_unavailable, results)))

    return answer(await call.service.replies.carry_out(once, act), headers=_HEADERS)


@router.get("/statements", response_model=Statements)
async def tell(page: Annotated[Page, Query()], call: Auditing) -> Response:
    """Decisions and their outcomes as statements, in the order of the decisions."""
    found = await call.service.decisions(call.tenant, learner=page.learner, after=page.after, limit=page.limit)
    names = {learner: await _name(call, learner) for learner in dict.fromkeys(one.learner for one in found)}
    statements = [statement for one in found for statement in _told(one, names[one.learner])]
    chosen = f"&learner={page.learner}" if page.learner else ""
    full = len(found) == page.limit
    more = f"/v1/xapi/statements?after={found[-1].number}&limit={page.limit}{chosen}" if full else ""
    return answer({"statements": statements, "more": more}, headers=_HEADERS)


def _identified(reported: list[Reported], once: Once | None) -> list[Reported]:
    """Under an idempotency key every statement has an id, so that it counts once even if the service stops midway."""
    if once is None:
        return reported
    ids = (str(uuid5(NAMESPACE_URL, f"{URN}statement:{once.digest}:{place}")) for place in range(len(reported)))
    return [one._replace(statement=one.statement or id) for one, id in zip(reported, ids, strict=True)]


def _unavailable(result: Mapping[str, Any]) -> bool:
    return "problem" in result and result["problem"]["status"] == Unavailable.status


async def _taken(call: Call, one: Reported) -> dict[str, Any]:
    try:
        decision = await _meant(call, one) if one.decision is None else await _named(call, one.decision, one)
        given = Outcome(decision, one.correct, one.hints, one.seconds, one.statement, call.caller.signature)
        outcome = await call.service.outcome(call.tenant, given)
    except Problem as found:
        told = {"title": found.title, "status": found.status, "detail": found.detail}
        return {"statement": one.statement, "problem": told}
    return {"statement": one.statement, "outcome": outcome}


async def _named(call: Call, decision: str, one: Reported) -> str:
    """The decision that a statement names, if it is the actor's and about the concept that the statement is about."""
    found = await call.service.decision(call.tenant, decision)
    if (await call.service.learner(call.tenant, found.learner)).name != one.learner:
        raise Conflict(f"the decision {decision} is about another learner than the actor")
    if one.concept not in (None, found.concept):
        raise Conflict(f"the decision {decision} is about {found.concept!r}, not {one.concept!r}")
    return decision


async def _meant(call: Call, one: Reported) -> str:
    """The decision of an outcome whose statement names none: the one that it told of before, or else the open one."""
    before = None if one.statement is None else await call.service.told_by(call.tenant, one.statement)
    return await _open_decision(call, one) if before is None else await _named(call, before, one)


async def _open_decision(call: Call, one: Reported) -> str:
    """The decision that an outcome must be of, where its statement names none."""
    learner = await call.service.named(call.tenant, one.learner)
    state = await call.service.state(call.tenant, learner.id)
    if state.decision is None:
        raise Conflict(f"no decision of {learner.id} waits for an outcome")
    waiting = await call.service.decision(call.tenant, state.decision)
    if one.concept not in (None, waiting.concept):
        raise Conflict(f"the decision that waits is about {waiting.concept!r}, not {one.concept!r}")
    return state.decision


async def _name(call: Call, learner: str) -> str:
    """What the tenant calls a learner; who was erased has the opaque id only."""
    try:
        return (await call.service.learner(call.tenant, learner)).name
    except Gone:
        return learner


def _told(one: DecisionView, name: str) -> Iterator[dict[str, Any]]:
    told = Told(one.id, name, one.session, one.at, one.concept, one.activity, one.certificate)
    yield statement_of(told)
    if one.outcome is not None:
        reported = Answered(*(one.outcome[field] for field in Answered._fields))
        yield statement_of(told, reported)
