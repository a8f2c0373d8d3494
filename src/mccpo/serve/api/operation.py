"""Operating the service: whether it lives, whether it can decide, its metrics and its monitor."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from mccpo.serve.api.access import Auditing, Looking, Operating
from mccpo.serve.api.anchors import signed_anchor
from mccpo.serve.api.answers import REFUSALS, answer
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.monitor.prometheus import CONTENT_TYPE
from mccpo.serve.problems import Unavailable
from mccpo.serve.service.messages import AnchorView

router = APIRouter(tags=["operation"], route_class=StrictRoute, responses=REFUSALS)


@router.get("/healthz")
@router.head("/healthz", include_in_schema=False)
async def alive() -> Response:
    """200 while the service runs."""
    return answer({"status": "alive"})


@router.get("/readyz")
@router.head("/readyz", include_in_schema=False)
async def ready(request: Request) -> Response:
    """200 while decisions can be taken and kept, 503 otherwise, and once the service is about to stop."""
    if request.app.state.draining:
        raise Unavailable("the service is about to stop")
    await request.app.state.service.check_ready()
    return answer({"status": "ready"})


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, _: Operating) -> Response:
    """What Prometheus reads."""
    return Response(request.app.state.metrics.text(), headers={"content-type": CONTENT_TYPE})


@router.get("/v1/anchor", response_model=AnchorView)
async def anchor(request: Request, call: Looking) -> Response:
    """The end of the record now. Kept elsewhere, it shows later whether the record was cut off or rewritten."""
    return answer(await signed_anchor(call.service, request.app.state.settings.signer))


@router.get("/v1/monitor", response_model=dict[str, Any])
async def monitor(call: Auditing) -> Response:
    """Decoupling, costs against budgets, fallbacks and overrides, and how groups of learners are treated."""
    call.check_whole()
    return answer(call.watch.report(call.tenant))


@router.get("/v1/curriculum", response_model=dict[str, Any])
async def curriculum(call: Looking) -> Response:
    """The concepts that are taught now, with the prerequisites of each, in an order in which they can be taught."""
    await call.service.refresh()
    release = call.service.release
    concepts = [{"concept": name, "prerequisites": release.prerequisites[name]} for name in release.concepts]
    activities = [activity.name for activity in release.activities]
    return answer(
        {
            "release": release.version,
            "theta": release.theta,
            "confidence": release.opening.confidence,
            "activities": activities,
            "concepts": concepts,
        }
    )
