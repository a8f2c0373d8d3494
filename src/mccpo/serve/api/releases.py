"""Releases: which policy decides, which one looks on, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from mccpo.errors import InputError
from mccpo.serve.access.security_log import record
from mccpo.serve.api.access import Call, Changing, Releasing
from mccpo.serve.api.answers import REFUSALS, answer
from mccpo.serve.api.forms import ReleaseForm, RollBackForm
from mccpo.serve.api.settings import Settings
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.policy.release import load_release
from mccpo.serve.policy.releases import Releases
from mccpo.serve.problems import Unprocessable
from mccpo.serve.record.live_releases import ReleaseChange
from mccpo.serve.service.replies import IdempotentRequest

router = APIRouter(prefix="/v1/releases", tags=["releases"], route_class=StrictRoute, responses=REFUSALS)


class ReleaseView(BaseModel):
    """A policy version, with what opens its gate, the hashes that certificates name, and that of all of it (`digest`).

    `mccpo verify --release` takes the digest.
    """

    version: str
    part: str
    method: str
    seed: int
    theta: float
    confidence: float | None
    sha256: dict[str, str]
    digest: str


class LiveView(BaseModel):
    """The release that decides, the one before it, and the one that looks on for a share of the learners."""

    current: ReleaseView
    previous: ReleaseView | None
    shadow: ReleaseView | None
    share: float


@router.get("", response_model=LiveView)
async def live(call: Releasing) -> Response:
    """Which releases are live."""
    await call.service.refresh()
    return answer(call.service.releases.told())


@router.post("", response_model=LiveView)
async def load(form: ReleaseForm, request: Request, call: Changing) -> Response:
    """Lets the policy of another run decide from now on, or with `shadow` look on for a share of the learners.

    It stays so after a restart, unless the service is then started with another run than the last time.
    """
    repeatable = call.service.replies.request(call.tenant, call.key, ["load", form.model_dump()])
    stored = await call.service.replies.stored_answer(repeatable)  # before the run is read, which may have changed
    if stored is not None:
        return answer(stored)
    what: ReleaseChange = "loaded" if form.shadow is None else "shadowed"
    return await _change(call, repeatable, await _loading(form, request), what, form.lower_gate)


@router.post("/roll-back", response_model=LiveView)
async def roll_back(call: Changing, form: RollBackForm | None = None) -> Response:
    """Lets the release before decide again; `to` names it, so that asking twice does not lead back."""
    asked = RollBackForm() if form is None else form
    repeatable = call.service.replies.request(call.tenant, call.key, ["roll back", asked.model_dump()])
    return await _change(call, repeatable, lambda live: live.roll_back(asked.to), "rolled back", asked.lower_gate)


@router.delete("/shadow", response_model=LiveView)
async def end_shadow(call: Changing) -> Response:
    """Lets nothing look on any more."""
    repeatable = call.service.replies.request(call.tenant, call.key, ["end shadow"])
    return await _change(call, repeatable, lambda live: live.watch(None), "shadow ended")


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


async def _change(
    call: Call,
    request: IdempotentRequest | None,
    change: Callable[[Releases], Releases],
    what: ReleaseChange,
    lower_gate: bool = False,
) -> Response:
    key = call.caller.signature
    try:
        live = await call.service.change_releases(change, request, what=what, key=key, lower_gate=lower_gate)
    except InputError as error:
        raise Unprocessable(str(error)) from error
    record("released", call.caller, change=what, release=live["current"]["version"])
    return answer(live)
