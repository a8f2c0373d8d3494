"""Learners: who there is, where one stands in the curriculum, and a teacher's own choice for them."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, TypeAlias

from fastapi import Form, Query, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from mccpo.serve.api.forms import Id, OverrideForm
from mccpo.serve.api.guard import PAGES
from mccpo.serve.pages.access import Overriding, View, Viewing, page_router
from mccpo.serve.service.messages import ConceptState, Override, StateView
from mccpo.serve.service.problems import Unprocessable

ON_A_PAGE = 50
LATEST = 10
"""Decisions that are shown beside a learner."""
MANY = 40
"""Concepts beyond which a page no longer shows all at once: what is ready is listed, the rest is folded away."""

Field: TypeAlias = Annotated[str, Form()]

router = page_router()


@router.get("/learners")
async def roll(
    view: Viewing, name: Annotated[str, Query(max_length=200)] = "", skip: Annotated[int, Query(ge=0, le=10**9)] = 0
) -> Response:
    """The learners, those heard of last first."""
    found = await view.service.present(view.tenant, name, skip=skip, limit=ON_A_PAGE + 1)
    part = view.request.headers.get("hx-request") is not None
    return view.show(
        "roll.html" if part else "learners.html",
        present=found[:ON_A_PAGE],
        more=skip + ON_A_PAGE if len(found) > ON_A_PAGE else None,
        skip=skip,
        name=name,
    )


@router.get("/learners/{learner}")
async def learner(learner: Id, view: Viewing, set: Annotated[str, Query(max_length=64)] = "") -> Response:
    """A learner in the curriculum; `set` is the decision that a teacher has just taken."""
    return await _page(view, learner, just_set=set)


@router.get("/learners/{learner}/standing")
async def standing(learner: Id, view: Viewing, seen: Annotated[str, Query(max_length=64)] = "") -> Response:
    """The part of the page that moves; nothing, while it is as it was `seen`."""
    content = await _standing(view, learner)
    if content["seen"] == seen:
        return Response(status_code=204)
    return view.show("moved.html", **content, moved=True)


@router.post("/learners/{learner}/override")
async def override(
    learner: Id,
    view: Overriding,
    concept: Field = "",
    activity: Field = "",
    reason: Field = "",
    teacher: Field = "",
    once: Field = "",
) -> Response:
    """A teacher's choice. What is missing or refused is told beside the form, which keeps what was written."""
    words = reason.replace("\r\n", "\n").strip()
    given = {"concept": concept, "activity": activity, "reason": words, "teacher": teacher.strip()}
    try:
        form = OverrideForm.model_validate(given | {"activity": activity or None})
    except ValidationError as error:
        return await _page(view, learner, given=given, wrong=_wrong(error))
    signature = view.visit.caller.signature
    request = Override(learner, form.concept, form.reason, form.teacher, form.activity, signature)
    try:
        decision = await view.service.override(view.tenant, request, _once(once))
    except Unprocessable as problem:
        return await _page(view, learner, given=given, wrong={"concept": problem.detail})
    return RedirectResponse(f"{PAGES}/learners/{learner}?set={decision.id}#now", 303)


async def _page(
    view: View,
    learner: str,
    *,
    just_set: str = "",
    given: Mapping[str, str] | None = None,
    wrong: Mapping[str, str] | None = None,
) -> Response:
    release = view.service.release
    content = await _standing(view, learner)
    nothing = {"concept": "", "activity": "", "reason": "", "teacher": view.visit.caller.label}
    return view.show(
        "learner.html",
        422 if wrong else 200,
        **content,
        moved=False,
        who=await view.service.learner(view.tenant, learner),
        just_set=bool(just_set) and just_set == content["state"].decision,
        activities=[activity.name for activity in release.activities],
        given=given or nothing,
        wrong=wrong or {},
        once=secrets.token_urlsafe(16),
    )


async def _standing(view: View, learner: str) -> dict[str, Any]:
    """A learner's standing, the latest decisions, and a hash that changes when these do."""
    state = await view.service.state(view.tenant, learner)
    latest = await view.service.latest(view.tenant, learner=learner, limit=LATEST)
    known = json.dumps([asdict(state), [(one.id, one.outcome is None) for one in latest]])
    concepts = _concepts(state, view.service.release.prerequisites)
    return {
        "learner": learner,
        "state": state,
        "concepts": concepts,
        "many": len(concepts) > MANY,
        "groups": _groups(concepts),
        "latest": latest,
        "now": next((one for one in latest if one.id == state.decision), None),
        "seen": hashlib.sha256(known.encode()).hexdigest()[:16],
    }


def _concepts(state: StateView, prerequisites: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    return [
        {"of": one, "at": at, "status": status(one, state.theta), "prerequisites": list(prerequisites[one.concept])}
        for at, one in enumerate(state.concepts, start=1)
    ]


def _groups(concepts: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The concepts as they are listed: in one go, or where there are many by status, what can be learnt now first."""
    if len(concepts) <= MANY:
        return {"all": concepts}
    return {word: [one for one in concepts if one["status"] == word] for word in ("ready", "mastered", "locked")}


def status(one: ConceptState, theta: float) -> str:
    """A concept in one word: locked, or mastered, or ready to be learnt."""
    if not one.ready:
        return "locked"
    return "mastered" if one.mastery >= theta else "ready"


def _once(token: str) -> str | None:
    """The idempotency key of a form that is sent twice by a hasty hand."""
    return f"page-{token}" if token.isascii() and token.isprintable() and 0 < len(token) <= 64 else None


def _wrong(error: ValidationError) -> dict[str, str]:
    """What to tell beside each field."""
    found = {}
    for one in error.errors():
        field = str(one["loc"][0])
        if not str(one["input"]).strip():
            found[field] = _ASKED[field]
        elif one["type"] == "string_pattern_mismatch":
            found[field] = "There are characters in it that nobody sees: write it anew."
        else:
            found[field] = str(one["msg"])
    return found


_ASKED = {
    "concept": "Choose a concept.",
    "activity": "Choose an activity.",
    "reason": "Say why: the reason goes on record.",
    "teacher": "Say who you are: the name goes on record.",
}
