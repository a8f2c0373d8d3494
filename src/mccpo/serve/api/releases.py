"""Releases: which policy decides, which one looks on, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from mccpo.errors import InputError
from mccpo.serve.api.access import Managing
from mccpo.serve.api.answers import REFUSALS, answer
from mccpo.serve.api.forms import ReleaseForm
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.problems import Unprocessable
from mccpo.serve.release import Release, load_release
from mccpo.serve.releases import Releases

router = APIRouter(prefix="/v1/releases", tags=["releases"], route_class=StrictRoute, responses=REFUSALS)


class ReleaseView(BaseModel):
    """A policy version, with the hashes that certificates name."""

    version: str
    part: str
    method: str
    seed: int
    sha256: dict[str, str]


class LiveView(BaseModel):
    """The release that decides, the one before it, and the one that looks on for a share of the learners."""

    current: ReleaseView
    previous: ReleaseView | None
    shadow: ReleaseView | None
    share: float


@router.get("", response_model=LiveView)
async def live(call: Managing) -> Response:
    """Which releases are live."""
    return _told(call.service.releases)


@router.post("", response_model=LiveView)
async def load(form: ReleaseForm, request: Request, call: Managing) -> Response:
    """Lets the policy of another run decide from now on, or with `shadow` look on for a share of the learners.

    A restart serves the run that the service is started with.
    """
    folder: Path | None = request.app.state.settings.runs
    if folder is None:
        raise Unprocessable("the service was started without a folder of runs to load from")
    try:
        release = await asyncio.to_thread(
            load_release, folder / form.run, part=form.part, method=form.method, seed=form.seed
        )
    except InputError as error:
        raise Unprocessable(str(error)) from error
    if form.shadow is not None:
        share = form.shadow
        return _changed(call, lambda found: found.watch(release, share))
    return _changed(call, lambda found: found.load(release))


@router.post("/roll-back", response_model=LiveView)
async def roll_back(call: Managing) -> Response:
    """Lets the release before decide again."""
    return _changed(call, Releases.roll_back)


@router.delete("/shadow", response_model=LiveView)
async def end_shadow(call: Managing) -> Response:
    """Lets nothing look on any more."""
    return _changed(call, lambda found: found.watch(None))


def _changed(call: Managing, change: Callable[[Releases], Releases]) -> Response:
    try:
        call.service.releases = change(call.service.releases)
    except InputError as error:
        raise Unprocessable(str(error)) from error
    return _told(call.service.releases)


def _told(found: Releases) -> Response:
    return answer(
        {
            "current": _view(found.current),
            "previous": _view(found.previous),
            "shadow": _view(found.shadow),
            "share": found.share,
        }
    )


def _view(release: Release | None) -> dict[str, object] | None:
    if release is None:
        return None
    names = ("version", "part", "method", "seed")
    return {**{name: getattr(release, name) for name in names}, "sha256": release.sha256._asdict()}
