"""The dependencies of pages: whose visit it is, and refusals in the form of a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from mccpo.serve.access.keys import Right
from mccpo.serve.api.guard import PAGES, check_origin
from mccpo.serve.pages.rendering import render
from mccpo.serve.pages.visitors import COOKIE, Visit, Visitors
from mccpo.serve.problems import Forbidden, Problem, Unauthorised, Unprocessable

if TYPE_CHECKING:
    from mccpo.serve.monitor.watch import Watch
    from mccpo.serve.service.service import Service

SIGN_IN = f"{PAGES}/sign-in"


class View(NamedTuple):
    """A request for a page by a visitor who may see it."""

    request: Request
    visit: Visit
    service: Service
    watch: Watch

    @property
    def tenant(self) -> str:
        return self.visit.caller.tenant

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The classes that the visitor may see; None for all."""
        return self.visit.caller.classes

    async def check_learner(self, learner: str) -> None:
        """Refuses a learner of another class than the visitor's, as if there were none."""
        await self.service.check_class(self.tenant, learner, self.classes)

    def show(self, template: str, status: int = 200, **content: Any) -> Response:
        """A page for this visitor."""
        return render(self.request, template, status, visit=self.visit, **content)


def viewing(right: Right) -> Callable[[Request], Awaitable[View]]:
    """The dependency of a page that needs a right."""

    async def view(request: Request) -> View:
        state = request.app.state
        visit = await visitors_of(request).visit(request.cookies.get(COOKIE))
        if not visit.caller.may(right):
            raise Forbidden(f"a key with the role {visit.caller.role} has no right to {right}")
        return View(request, visit, state.service, state.watch)

    return view


def sending(right: Right) -> Callable[..., Awaitable[View]]:
    """The dependency of a form that needs a right: it also comes from a page of this very visit."""
    look = viewing(right)

    async def view(request: Request, token: Annotated[str, Form(max_length=100)] = "") -> View:
        check_origin(request.headers)
        looked = await look(request)
        looked.visit.check(token)
        return looked

    return view


def visitors_of(request: Request) -> Visitors:
    return request.app.state.visitors


class PageRoute(APIRoute):
    """A route whose refusals are pages; who must sign in is sent to do so, and then back."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handle(request)
            except Unauthorised:
                return _to_sign_in(request)
            except Problem as problem:
                return await _refusal(request, problem)
            except RequestValidationError:
                return await _refusal(request, Unprocessable("the address or the form is not one of these pages"))

        return shown


def page_router(prefix: str = PAGES) -> APIRouter:
    """A router for pages, which are no part of the API's description."""
    return APIRouter(prefix=prefix, route_class=PageRoute, include_in_schema=False)


def _to_sign_in(request: Request) -> Response:
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if request.headers.get("hx-request"):  # a part of a page that stands open, whose visit is over
        return Response(status_code=401, headers={"HX-Redirect": SIGN_IN})
    where = SIGN_IN if request.method != "GET" else f"{SIGN_IN}?next={quote(asked, safe='')}"
    return RedirectResponse(where, 303)


async def _refusal(request: Request, problem: Problem) -> Response:
    try:
        visit = await visitors_of(request).visit(request.cookies.get(COOKIE))
    except Problem:  # nobody is signed in, or it cannot be known now
        visit = None
    return render(request, "problem.html", problem.status, visit=visit, problem=problem)


Viewing: TypeAlias = Annotated[View, Depends(viewing("audit"))]
Overriding: TypeAlias = Annotated[View, Depends(sending("override"))]
