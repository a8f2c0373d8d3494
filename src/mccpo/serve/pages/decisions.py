"""The stream of decisions, as they are taken, and each with its certificate."""

from __future__ import annotations

import json
from typing import Annotated, Any

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
    found = await view.service.latest(view.tenant, before=before, limit=ON_A_PAGE)
    return view.show(
        "decisions.html",
        decisions=found,
        names=await _names(view, found),
        after=found[0].number if found else 0,
        live=before is None,
        earlier=found[-1].number if len(found) == ON_A_PAGE else None,
    )


@router.get("/decisions/new")
async def new(view: Viewing, after: Number = 0, open: OpenIds = []) -> Response:  # noqa: B006 - read only
    """What has happened since number `after`: new decisions, and outcomes of those that were `open`."""
    found = await view.service.latest(view.tenant, after=after, limit=ON_A_PAGE)
    answered = [one for one in await view.service.among(view.tenant, open) if one.outcome] if open else []
    if not found and not answered:
        return Response(status_code=204)
    return view.show(
        "new_decisions.html",
        decisions=found,
        answered=answered,
        names=await _names(view, found),
        after=found[0].number if found else after,
        skipped=len(found) == ON_A_PAGE,
    )


@router.get("/decisions/{decision}")
async def certificate(decision: Id, view: Viewing) -> Response:
    """A decision, and what it rests on."""
    found = await view.service.decision(view.tenant, decision)
    names = await _names(view, [found])
    return view.show(
        "decision.html", one=found, name=names.get(found.learner), raw=json.dumps(found.certificate, indent=2)
    )


async def _names(view: View, found: list[DecisionView]) -> dict[str, Any]:
    return await view.service.names(view.tenant, {one.learner for one in found})
