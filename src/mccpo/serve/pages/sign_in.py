"""Signing in with a key, and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from mccpo.serve.access.security_log import record
from mccpo.serve.api.guard import PAGES, check_origin
from mccpo.serve.pages.access import SIGN_IN, View, page_router, sending, visitors_of
from mccpo.serve.pages.rendering import render
from mccpo.serve.pages.visitors import COOKIE, LASTS
from mccpo.serve.problems import Problem, Unauthorised

router = page_router()


@router.get("/sign-in")
async def sign_in(request: Request, next: Annotated[str, Query(max_length=1000)] = "") -> Response:
    """The form that asks for a key; who is signed in goes on."""
    try:
        await visitors_of(request).visit(request.cookies.get(COOKIE))
    except Unauthorised:
        return render(request, "sign_in.html", visit=None, next=_within(next), problem=None)
    return RedirectResponse(_within(next), 303)


@router.post("/sign-in")
async def signed_in(
    request: Request,
    key: Annotated[str, Form(max_length=200)] = "",
    next: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Begins a visit, if the key opens the pages."""
    check_origin(request.headers)
    source = request.client.host if request.client else "unknown"
    try:
        cookie, caller = await visitors_of(request).sign_in(key.strip())
        record("signed in", caller, source=source)
    except Unauthorised as problem:
        record("sign-in refused", source=source)
        return _refuse(request, next, problem)
    except Problem as problem:
        return _refuse(request, next, problem)
    response = RedirectResponse(_within(next), 303)
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, LASTS, path=PAGES, secure=secure, httponly=True, samesite="strict")
    return response


def _refuse(request: Request, next: str, problem: Problem) -> Response:
    """The form again, with what was wrong; who has had too many keys refused has to wait."""
    try:
        if isinstance(problem, Unauthorised):
            request.state.guard.check_failed(request.client.host if request.client else "unknown")
    except Problem as wait:
        problem = wait
    return render(request, "sign_in.html", problem.status, visit=None, next=_within(next), problem=problem)


@router.post("/sign-out")
async def signed_out(view: Annotated[View, Depends(sending("audit"))]) -> Response:
    """Ends the visit."""
    await visitors_of(view.request).sign_out(view.request.cookies.get(COOKIE))
    record("signed out", view.visit.caller)
    response = RedirectResponse(SIGN_IN, 303)
    response.delete_cookie(COOKIE, path=PAGES, httponly=True, samesite="strict")
    return response


def _within(address: str) -> str:
    """An address to go on to, if it is one of these pages: nobody is sent elsewhere.

    >>> _within("/pages/monitor?span=day"), _within("//evil.example/pages/")
    ('/pages/monitor?span=day', '/pages/learners')
    """
    ours = address.startswith(f"{PAGES}/") and address.isprintable() and "\\" not in address
    return address if ours else f"{PAGES}/learners"
