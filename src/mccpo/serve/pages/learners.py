"""Learners: the list, a learner's state in the curriculum, and a teacher's own choice for them."""

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
from mccpo.serve.problems import Unprocessable
from mccpo.serve.service.messages import ConceptState, Override, StateView

ON_A_PAGE = 50
LATEST = 10
"""Decisions that are shown beside a learner."""
MANY = 40
"""Concepts beyond which a page no longer shows all at once: what is ready is listed, the rest is folded away."""

Field: TypeAlias = Annotated[str, Form()]

router = page_router()


@router.get("/learners")
async def roll(
    view: Viewing,
    name: Annotated[str, Query(max_length=200)] = "",
    skip: Annotated[int, Query(ge=0, le=10**9)] = 0,
    of: Annotated[str, Query(max_length=64, alias="class")] = "",
) -> Response:
    """The learners, the most recently active first; all of them, or those of a class."""
    presences = await view.service.presences(
        view.tenant, name, skip=skip, limit=ON_A_PAGE + 1, classes=_asked_classes(view, of)
    )
    part = view.request.headers.get("hx-request") is not None
    return view.show(
        "roll.html" if part else "learners.html",
        present=presences[:ON_A_PAGE],
        more=skip + ON_A_PAGE if len(presences) > ON_A_PAGE else None,
        skip=skip,
        name=name,
        of=of,
        **({} if part else await _deferred(view)),
        classes=[] if part else await view.service.classes(view.tenant, view.classes),
    )


@router.get("/learners/deferred")
async def waiting(view: Viewing, seen: Annotated[str, Query(max_length=64)] = "") -> Response:
    """The decisions that wait for a teacher; nothing, while they are as they were `seen`."""
    content = await _deferred(view)
    if content["seen"] == seen:
        return Response(status_code=204)
    return view.show("deferred.html", **content)


@router.get("/learners/{learner}")
async def learner(learner: Id, view: Viewing, set: Annotated[str, Query(max_length=64)] = "") -> Response:
    """A learner in the curriculum; `set` is the decision that a teacher has just taken."""
    await view.check_learner(learner)
    return await _page(view, learner, just_set=set)


@router.get("/learners/{learner}/standing")
async def moving_part(learner: Id, view: Viewing, seen: Annotated[str, Query(max_length=64)] = "") -> Response:
    """The part of the page that moves; nothing, while it is as it was `seen`."""
    await view.check_learner(learner)
    content = await _state_content(view, learner)
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
    """A teacher's choice. The form shows again what was written, with what is missing or refused beside it."""
    await view.check_learner(learner)
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
    return RedirectResponse(f"{PAGES}/learners/{learner}?set={decision.id}#set", 303)


def _asked_classes(view: View, of: str) -> tuple[str, ...] | None:
    """The classes to list: the one that is asked for, if the visitor may see it."""
    if not of:
        return view.classes
    return (of,) if view.classes is None or of in view.classes else ()


async def _deferred(view: View) -> dict[str, Any]:
    """The decisions that wait for a teacher, the oldest first."""
    decisions = await view.service.deferred_decisions(view.tenant, limit=ON_A_PAGE + 1, classes=view.classes)
    names = await view.service.names(view.tenant, {decision.learner for decision in decisions})
    deferral = view.service.release.deferral
    return {
        "deferred": decisions[:ON_A_PAGE],
        "more_deferred": len(decisions) > ON_A_PAGE,
        "more_come": deferral is not None and deferral.to == "teacher",
        "names": names,
        "seen": f"{len(decisions)}-{decisions[-1].number if decisions else 0}",  # numbers only grow
    }


async def _page(
    view: View,
    learner: str,
    *,
    just_set: str = "",
    given: Mapping[str, str] | None = None,
    wrong: Mapping[str, str] | None = None,
) -> Response:
    release = view.service.release
    content = await _state_content(view, learner)
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


async def _state_content(view: View, learner: str) -> dict[str, Any]:
    """A learner's state, the latest decisions, and a hash that changes when these do."""
    state = await view.service.state(view.tenant, learner)
    latest = await view.service.latest_decisions(view.tenant, learner=learner, limit=LATEST)
    known = json.dumps([asdict(state), [(decision.id, decision.outcome is None) for decision in latest]])
    concepts = _concepts(state, view.service.release.prerequisites)
    return {
        "learner": learner,
        "state": state,
        "concepts": concepts,
        "many": len(concepts) > MANY,
        "groups": _groups(concepts),
        "latest": latest,
        "now": next((decision for decision in latest if decision.id == state.decision), None),
        "seen": hashlib.sha256(known.encode()).hexdigest()[:16],
    }


def _concepts(state: StateView, prerequisites: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    states = {concept.concept: concept for concept in state.concepts}
    return [
        {
            "of": concept,
            "at": position,
            "status": status(concept, state.mastered),
            "waits_for": [states[name] for name in concept.unmet],
            "prerequisites": list(prerequisites[concept.concept]),
        }
        for position, concept in enumerate(state.concepts, start=1)
    ]


def _groups(concepts: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The concepts as they are listed: all together, or if there are many by status, the ready ones first."""
    if len(concepts) <= MANY:
        return {"all": concepts}
    words = ("ready", "mastered", "locked")
    return {word: [concept for concept in concepts if concept["status"] == word] for word in words}


def status(concept: ConceptState, mastered: float) -> str:
    """A concept in one word: locked, mastered, or ready to be learnt."""
    if not concept.ready:
        return "locked"
    return "mastered" if concept.trusted >= mastered else "ready"


def _once(token: str) -> str | None:
    """The idempotency key of a form, which may be sent twice by a double click."""
    return f"page-{token}" if token.isascii() and token.isprintable() and 0 < len(token) <= 64 else None


def _wrong(error: ValidationError) -> dict[str, str]:
    """The message beside each field."""
    messages = {}
    for entry in error.errors():
        field = str(entry["loc"][0])
        if not str(entry["input"]).strip():
            messages[field] = _ASKED[field]
        elif entry["type"] == "string_pattern_mismatch":
            messages[field] = "There are characters in it that nobody sees: write it anew."
        else:
            messages[field] = str(entry["msg"])
    return messages


_ASKED = {
    "concept": "Choose a concept.",
    "activity": "Choose an activity.",
    "reason": "Say why: the reason goes on record.",
    "teacher": "Say who you are: the name goes on record.",
}
