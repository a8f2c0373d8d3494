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
from mccpo.serve.problems import Conflict, Gone, Problem, Unavailable, Unprocessable
from mccpo.serve.service.messages import DecisionView, Outcome, OutcomeView
from mccpo.serve.service.replies import Completed, IdempotentRequest, idempotent_request
from mccpo.serve.service.xapi import (
    URN,
    VERSION,
    DecisionDetails,
    OutcomeDetails,
    ReportedOutcome,
    outcomes_of,
    statement_of,
)

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
    repeatable = idempotent_request(call.tenant, call.key, ["statements", body])

    async def act() -> Completed:
        results = [await _take_outcome(call, outcome) for outcome in _with_ids(reported, repeatable)]
        content = {"results": results, "passed_over": len(statements) - len(reported)}
        return Completed(json.loads(dumps(content)), finished=not any(map(_unavailable, results)))

    return answer(await call.service.replies.run_once(repeatable, act), headers=_HEADERS)


@router.get("/statements", response_model=Statements)
async def tell(page: Annotated[Page, Query()], call: Auditing) -> Response:
    """Decisions and their outcomes as statements, in the order of the decisions."""
    decisions = await call.service.decisions(call.tenant, learner=page.learner, after=page.after, limit=page.limit)
    learners = dict.fromkeys(decision.learner for decision in decisions)
    names = {learner: await _name(call, learner) for learner in learners}
    statements = [statement for decision in decisions for statement in _statements(decision, names[decision.learner])]
    chosen = f"&learner={page.learner}" if page.learner else ""
    full = len(decisions) == page.limit
    more = f"/v1/xapi/statements?after={decisions[-1].number}&limit={page.limit}{chosen}" if full else ""
    return answer({"statements": statements, "more": more}, headers=_HEADERS)


def _with_ids(reported: list[ReportedOutcome], request: IdempotentRequest | None) -> list[ReportedOutcome]:
    """Under an idempotency key every statement has an id, so that it counts once even if the service stops midway."""
    if request is None:
        return reported
    ids = (str(uuid5(NAMESPACE_URL, f"{URN}statement:{request.digest}:{index}")) for index in range(len(reported)))
    return [outcome._replace(statement=outcome.statement or id) for outcome, id in zip(reported, ids, strict=True)]


def _unavailable(result: Mapping[str, Any]) -> bool:
    return "problem" in result and result["problem"]["status"] == Unavailable.status


async def _take_outcome(call: Call, reported: ReportedOutcome) -> dict[str, Any]:
    try:
        decision = await _decision_of(call, reported)
        given = Outcome(
            decision,
            reported.correct,
            reported.hints,
            reported.seconds,
            reported.statement,
            call.caller.signature,
        )
        outcome = await call.service.outcome(call.tenant, given)
    except Problem as problem:
        content = {"title": problem.title, "status": problem.status, "detail": problem.detail}
        return {"statement": reported.statement, "problem": content}
    return {"statement": reported.statement, "outcome": outcome}


async def _decision_of(call: Call, reported: ReportedOutcome) -> str:
    """The decision of an outcome: the one its statement names, the one it reported before, or else the open one."""
    if reported.decision is not None:
        return await _check_decision(call, reported.decision, reported)
    before = None
    if reported.statement is not None:
        before = await call.service.decision_reported_by(call.tenant, reported.statement)
    return await _open_decision(call, reported) if before is None else await _check_decision(call, before, reported)


async def _check_decision(call: Call, decision: str, reported: ReportedOutcome) -> str:
    """The decision, if it is the actor's and about the concept of the statement."""
    recorded = await call.service.decision(call.tenant, decision)
    if (await call.service.learner(call.tenant, recorded.learner)).name != reported.learner:
        raise Conflict(f"the decision {decision} is about another learner than the actor")
    if reported.concept not in (None, recorded.concept):
        raise Conflict(f"the decision {decision} is about {recorded.concept!r}, not {reported.concept!r}")
    return decision


async def _open_decision(call: Call, reported: ReportedOutcome) -> str:
    """The decision of the actor that waits for its outcome."""
    learner = await call.service.learner_named(call.tenant, reported.learner)
    state = await call.service.state(call.tenant, learner.id)
    if state.decision is None:
        raise Conflict(f"no decision of {learner.id} waits for an outcome")
    waiting = await call.service.decision(call.tenant, state.decision)
    if reported.concept not in (None, waiting.concept):
        raise Conflict(f"the decision that waits is about {waiting.concept!r}, not {reported.concept!r}")
    return state.decision


async def _name(call: Call, learner: str) -> str:
    """The tenant's name of a learner; an erased learner has the opaque id only."""
    try:
        return (await call.service.learner(call.tenant, learner)).name
    except Gone:
        return learner


def _statements(view: DecisionView, name: str) -> Iterator[dict[str, Any]]:
    decision = DecisionDetails(view.id, name, view.session, view.at, view.concept, view.activity, view.certificate)
    yield statement_of(decision)
    if view.outcome is not None:
        outcome = OutcomeDetails(*(view.outcome[field] for field in OutcomeDetails._fields))
        yield statement_of(decision, outcome)
