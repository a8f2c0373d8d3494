"""xAPI: statements about outcomes come in, statements about decisions go out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from fastapi import APIRouter, Body, Depends, Header, HTTPException, Query, Response
from pydantic import BaseModel

from mccpo.errors import InputError
from mccpo.serve.access.security_log import record
from mccpo.serve.api.access import Auditing, Call, Teaching
from mccpo.serve.api.answers import REFUSALS, answer, dumps
from mccpo.serve.api.forms import Page
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.problems import Conflict, Problem, Unavailable, Unprocessable
from mccpo.serve.record.rows import normal_name
from mccpo.serve.service.messages import DecisionView, Outcome, OutcomeView
from mccpo.serve.service.replies import Completed, IdempotentRequest
from mccpo.serve.service.xapi import (
    URN,
    VERSION,
    VERSIONS,
    DecisionDetails,
    OutcomeDetails,
    ReportedOutcome,
    outcomes_of,
    statement_of,
)

MOST = 100
"""Statements of one request."""
_VERSION = "X-Experience-API-Version"
"""The header of xAPI itself, which is no part of our document: another version is refused as xAPI has it, with 400."""


async def spoken_version(asked: Annotated[str | None, Header(alias=_VERSION, include_in_schema=False)] = None) -> str:
    """The version of xAPI to answer in: the one that is asked for, or else 1.0.3."""
    if asked is None:
        return VERSION
    for begins, version in VERSIONS.items():
        if asked == begins or re.fullmatch(rf"{re.escape(begins)}\.\d{{1,3}}", asked):
            return version
    raise HTTPException(400, f"the version {asked[:20]!r} of xAPI is not spoken; ask for 1.0.3 or 2.0.0")


Spoken: TypeAlias = Annotated[str, Depends(spoken_version)]

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
async def take(
    body: Annotated[dict[str, Any] | list[dict[str, Any]], Body()], call: Teaching, spoken: Spoken
) -> Response:
    """Takes the outcomes among one statement or up to 100: all are read before any is taken, then each for itself."""
    statements = body if isinstance(body, list) else [body]
    if len(statements) > MOST:
        raise Unprocessable(f"{len(statements)} statements are too many at once; send at most {MOST}")
    try:
        reported = outcomes_of(statements)
    except InputError as error:
        raise Unprocessable(str(error)) from error
    repeatable = call.service.replies.request(call.tenant, call.key, ["statements", body])

    async def act() -> Completed:
        results = [await _take_outcome(call, outcome) for outcome in _with_ids(reported, repeatable)]
        content = {"results": results, "passed_over": len(statements) - len(reported)}
        return Completed(json.loads(dumps(content)), finished=not any(map(_unavailable, results)))

    return answer(await call.service.replies.run_once(repeatable, act), headers={_VERSION: spoken})


@router.get("/statements", response_model=Statements)
async def tell(page: Annotated[Page, Query()], call: Auditing, spoken: Spoken) -> Response:
    """Decisions and their outcomes as statements, in the order of the decisions."""
    call.check_whole()
    decisions = await call.service.decisions(call.tenant, learner=page.learner, after=page.after, limit=page.limit)
    record("exported", call.caller, statements=f"after {page.after}")
    names = await call.service.names(call.tenant, {decision.learner for decision in decisions})
    statements = [  # an erased learner has the opaque id only
        statement
        for decision in decisions
        for statement in _statements(decision, names.get(decision.learner, decision.learner), spoken)
    ]
    chosen = f"&learner={page.learner}" if page.learner else ""
    full = len(decisions) == page.limit
    more = f"/v1/xapi/statements?after={decisions[-1].number}&limit={page.limit}{chosen}" if full else ""
    return answer({"statements": statements, "more": more}, headers={_VERSION: spoken})


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
    actor = (await call.service.learner(call.tenant, recorded.learner)).name
    if normal_name(actor) != normal_name(reported.learner):
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


def _statements(view: DecisionView, name: str, version: str) -> Iterator[dict[str, Any]]:
    decision = DecisionDetails(view.id, name, view.session, view.at, view.concept, view.activity, view.certificate)
    yield statement_of(decision, version=version)
    if view.outcome is not None:
        outcome = OutcomeDetails(*(view.outcome[field] for field in OutcomeDetails._fields))
        yield statement_of(decision, outcome, version=version)
