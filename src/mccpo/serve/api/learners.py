"""Learners and their sessions."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from mccpo.serve.access.security_log import record
from mccpo.serve.api.access import Erasing, Exporting, Looking, Teaching
from mccpo.serve.api.answers import REFUSALS, answer
from mccpo.serve.api.forms import Id, LearnerForm, LearnersForm, Roll
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.problems import Problem
from mccpo.serve.service.messages import (
    BeginSession,
    EndSession,
    Erase,
    ErasureView,
    LearnerView,
    Register,
    SessionView,
    StateView,
)


class RefusedEntry(BaseModel):
    """Why an entry was refused."""

    title: str
    status: int
    detail: str


router = APIRouter(prefix="/v1", tags=["learners"], route_class=StrictRoute, responses=REFUSALS)


@router.post("/learners", response_model=LearnerView, status_code=201, responses={200: {"model": LearnerView}})
async def register(form: LearnerForm, call: Teaching) -> Response:
    """Registers a learner: 201. A name that is known answers the learner there is, with the labels given now: 200."""
    learner = await call.service.register(
        call.tenant, Register(form.name, form.labels, call.caller.signature), call.key
    )
    return answer(learner, 201 if learner.new else 200)


class BulkResult(BaseModel):
    """What became of one learner: who it is, or why it was refused."""

    learner: LearnerView | None
    problem: RefusedEntry | None


class BulkResults(BaseModel):
    """A result for each learner of the request, in its order."""

    results: list[BulkResult]


@router.post("/learners/bulk", response_model=BulkResults)
async def register_many(form: LearnersForm, call: Teaching) -> Response:
    """Registers up to 500 learners, each for itself; a name that is known is the same learner, so it may be sent again.

    An idempotency key is not needed, and is not kept.
    """
    signature = call.caller.signature
    registering = (
        call.service.register(call.tenant, Register(one.name, one.labels, signature)) for one in form.learners
    )
    done = await asyncio.gather(*registering, return_exceptions=True)
    return answer({"results": [_bulk_result(one) for one in done]})


def _bulk_result(done: LearnerView | BaseException) -> dict[str, object]:
    if isinstance(done, Problem):
        return {"learner": None, "problem": {"title": done.title, "status": done.status, "detail": done.detail}}
    if isinstance(done, BaseException):
        raise done
    return {"learner": done, "problem": None}


class LearnerPage(BaseModel):
    """Learners in the order of their ids; `next` is the `after` of the page that follows, null at the end."""

    learners: list[LearnerView]
    next: str | None


@router.get("/learners", response_model=LearnerPage)
async def listed(roll: Annotated[Roll, Query()], call: Looking) -> Response:
    """The learners there are, a page at a time, or the one of a name, 404 where there is none."""
    if roll.name is not None:
        learner = await call.service.learner_named(call.tenant, roll.name)
        await call.check_learner(learner.id)
        return answer({"learners": [learner], "next": None})
    classes = call.caller.classes
    learners = await call.service.learners(call.tenant, after=roll.after, limit=roll.limit, classes=classes)
    return answer({"learners": learners, "next": learners[-1].id if len(learners) == roll.limit else None})


@router.get("/learners/{learner}", response_model=LearnerView)
async def read(learner: Id, call: Looking) -> Response:
    """A learner by id."""
    await call.check_learner(learner)
    return answer(await call.service.learner(call.tenant, learner))


@router.get("/learners/{learner}/state", response_model=StateView)
async def state(learner: Id, call: Looking) -> Response:
    """Mastery of every concept, which are ready, and which prerequisites the others wait for."""
    await call.check_learner(learner)
    return answer(await call.service.state(call.tenant, learner))


@router.post("/learners/{learner}/sessions", response_model=SessionView, status_code=201)
async def begin(learner: Id, call: Teaching) -> Response:
    """Begins a session, and ends the open one. Asking for the next activity begins one by itself where none is open."""
    return answer(
        await call.service.begin_session(call.tenant, BeginSession(learner, call.caller.signature), call.key), 201
    )


@router.post("/sessions/{session}/end", response_model=SessionView)
async def end(session: Id, call: Teaching) -> Response:
    """Ends a session; one that has ended stays as it is."""
    return answer(await call.service.end_session(call.tenant, EndSession(session, call.caller.signature), call.key))


@router.get("/learners/{learner}/export")
async def export(learner: Id, call: Exporting) -> Response:
    """All that is kept of a learner: who they are, and every event about them."""
    exported = await call.service.export_learner(call.tenant, learner)
    record("exported", call.caller, learner=learner)
    return answer(exported)


@router.delete("/learners/{learner}", response_model=ErasureView)
async def erase(learner: Id, call: Erasing) -> Response:
    """Erases who a learner is. What was decided stays on record, under an id that refers to nobody."""
    erased = await call.service.erase(call.tenant, Erase(learner, key=call.caller.signature), call.key)
    record("erased", call.caller, learner=learner)
    return answer(erased)
