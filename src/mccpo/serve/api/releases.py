"""Releases: which policy decides, which one looks on, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from mccpo.errors import InputError
from mccpo.serve.api.access import Call, Changing, Managing
from mccpo.serve.api.answers import REFUSALS, answer
from mccpo.serve.api.forms import ReleaseForm, RollBackForm
from mccpo.serve.api.settings import Settings
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.policy.release import load_release
from mccpo.serve.policy.releases import Releases
from mccpo.serve.problems import Unprocessable
from mccpo.serve.service.replies import IdempotentRequest, idempotent_request

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
    return answer(call.service.releases.told())


@router.post("", response_model=LiveView)
async def load(form: ReleaseForm, request: Request, call: Changing) -> Response:
    """Lets the policy of another run decide from now on, or with `shadow` look on for a share of the learners.

    It stays so after a restart, unless the service is then started with another run than the last time.
    """
    repeatable = idempotent_request(call.tenant, call.key, ["load", form.model_dump()])
    stored = await call.service.replies.stored_answer(repeatable)  # before the run is read, which may have changed
    return answer(stored) if stored is not None else await _change(call, repeatable, await _loading(form, request))


@router.post("/roll-back", response_model=LiveView)
async def roll_back(call: Changing, form: RollBackForm | None = None) -> Response:
    """Lets the release before decide again; `to` names it, so that asking twice does not lead back."""
    to = None if form is None else form.to
    repeatable = idempotent_request(call.tenant, call.key, ["roll back", to])
    return await _change(call, repeatable, lambda live: live.roll_back(to))


@router.delete("/shadow", response_model=LiveView)
async def end_shadow(call: Changing) -> Response:
    """Lets nothing look on any more."""
    repeatable = idempotent_request(call.tenant, call.key, ["end shadow"])
    return await _change(call, repeatable, lambda live: live.watch(None))


async def _loading(form: ReleaseForm, request: Request) -> Callable[[Releases], Releases]:
    """The change that lets the policy of a run decide or look on."""
    settings: Settings = request.app.state.settings
    if settings.runs is None:
        raise Unprocessable("the service was started without a folder of runs to load from")
    try:
        release = await asyncio.to_thread(
            load_release,
            settings.runs / form.run,
            part=form.part,
            method=form.method,
            seed=form.seed,
            ready=settings.ready,
            deferral=settings.deferral,
        )
    except InputError as error:
        raise Unprocessable(str(error)) from error
    share = form.shadow
    return (lambda live: live.load(release)) if share is None else (lambda live: live.watch(release, share))


async def _change(call: Call, request: IdempotentRequest | None, change: Callable[[Releases], Releases]) -> Response:
    try:
        return answer(await call.service.change_releases(change, request))
    except InputError as error:
        raise Unprocessable(str(error)) from error
