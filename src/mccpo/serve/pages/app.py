"""Adds the pages to the application of the API."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

from mccpo.serve.access.keys import KeyFile
from mccpo.serve.api.guard import PAGES
from mccpo.serve.pages import decisions, learners, monitor, sign_in
from mccpo.serve.pages.access import page_router
from mccpo.serve.pages.visitors import Visitors
from mccpo.serve.problems import Missing

STATIC = Path(__file__).parent / "static"


class Assets(StaticFiles):
    """Static files, public. A browser caches them, and asks each time whether they have changed."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        return response


def add_pages(app: FastAPI, keys: KeyFile | None) -> None:
    """Adds the pages to the application of `create_app`."""
    app.state.visitors = Visitors(app.state.service.store, keys)
    app.mount(f"{PAGES}/static", Assets(directory=STATIC))
    for routes in (sign_in, learners, decisions, monitor):
        app.include_router(routes.router)
    app.include_router(_others)


_others = page_router(prefix="")


@_others.get("/")
@_others.get(PAGES)
async def first() -> Response:
    """To the first page."""
    return RedirectResponse(f"{PAGES}/learners", 303)


@_others.get(f"{PAGES}/{{rest:path}}")
async def nowhere() -> Response:
    """A missing page is refused in the form of a page."""
    raise Missing("there is no such page")
