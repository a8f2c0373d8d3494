"""The pages, for teachers and auditors: who learns what, what was decided and why, and whether all fare alike."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

from mccpo.serve.api.guard import PAGES
from mccpo.serve.api.keys import KeyFile
from mccpo.serve.api.visitors import Visitors
from mccpo.serve.pages import decisions, learners, monitor, visits
from mccpo.serve.pages.access import page_router
from mccpo.serve.service.problems import Missing

STATIC = Path(__file__).parent / "static"


class Assets(StaticFiles):
    """Files that all may have. A browser keeps them, and asks each time whether they are still the same."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        return response


def add_pages(app: FastAPI, keys: KeyFile | None) -> None:
    """Adds the pages to the application."""
    app.state.visitors = Visitors(keys)
    app.mount(f"{PAGES}/static", Assets(directory=STATIC))
    for part in (visits, learners, decisions, monitor):
        app.include_router(part.router)
    app.include_router(_others)


_others = page_router(prefix="")


@_others.get("/")
@_others.get(PAGES)
async def first() -> Response:
    """To the first page."""
    return RedirectResponse(f"{PAGES}/learners", 303)


@_others.get(f"{PAGES}/{{rest:path}}")
async def nowhere() -> Response:
    """A page that is not there is told as a page."""
    raise Missing("there is no such page")
