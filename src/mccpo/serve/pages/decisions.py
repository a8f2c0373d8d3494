"""The stream of decisions, as they are taken, and each with its certificate."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import Query, Response

from mccpo.serve.api.forms import MOST, Id
from mccpo.serve.pages.access import View, Viewing, page_router
from mccpo.serve.service.messages import DecisionView

ON_A_PAGE = 50

router = page_router()

Number = Annotated[int, Query(ge=0, le=MOST)]
OpenIds = Annotated[list[Annotated[str, Query(pattern=r"^[A-Za-z0-9_-]{1,64}$")]], Query(max_length=4 * ON_A_PAGE)]


@router.get("/decisions")
async def stream(view: Viewing, before: Annotated[int | None, Query(ge=0, le=MOST)] = None) -> Response:
    """The newest decisions, or those before a number; the newest go on by themselves."""
    decisions = await view.service.latest_decisions(view.tenant, before=before, limit=ON_A_PAGE, classes=view.classes)
    return view.show(
        "decisions.html",
        decisions=decisions,
        names=await _names(view, decisions),
        after=decisions[0].number if decisions else 0,
        live=before is None,
        earlier=decisions[-1].number if len(decisions) == ON_A_PAGE else None,
    )


@router.get("/decisions/new")
async def new(view: Viewing, after: Number = 0, open: OpenIds = []) -> Response:  # noqa: B006 - read only
    """What has happened since number `after`: new decisions, and outcomes of those that were `open`."""
    decisions = await view.service.latest_decisions(view.tenant, after=after, limit=ON_A_PAGE, classes=view.classes)
    shown = await view.service.decisions_by_id(view.tenant, open, view.classes) if open else []
    answered = [decision for decision in shown if decision.outcome]
    if not decisions and not answered:
        return Response(status_code=204)
    return view.show(
        "new_decisions.html",
        decisions=decisions,
        answered=answered,
        names=await _names(view, decisions),
        after=decisions[0].number if decisions else after,
        skipped=len(decisions) == ON_A_PAGE,
    )


@router.get("/decisions/{decision}")
async def certificate(decision: Id, view: Viewing) -> Response:
    """A decision, and what it rests on."""
    taken = await view.service.decision(view.tenant, decision)
    await view.check_learner(taken.learner)
    names = await _names(view, [taken])
    return view.show(
        "decision.html", one=taken, name=names.get(taken.learner), raw=json.dumps(taken.certificate, indent=2)
    )


async def _names(view: View, decisions: list[DecisionView]) -> dict[str, str]:
    return await view.service.names(view.tenant, {decision.learner for decision in decisions})
