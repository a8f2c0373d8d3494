"""Operating the service: whether it lives, whether it can decide, its metrics and its monitor."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from mccpo.serve.api.access import Auditing, Looking, Managing
from mccpo.serve.api.answers import REFUSALS, answer
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.monitor.prometheus import CONTENT_TYPE

router = APIRouter(tags=["operation"], route_class=StrictRoute, responses=REFUSALS)


@router.get("/healthz")
@router.head("/healthz", include_in_schema=False)
async def alive() -> Response:
    """200 while the service runs."""
    return answer({"status": "alive"})


@router.get("/readyz")
@router.head("/readyz", include_in_schema=False)
async def ready(request: Request) -> Response:
    """200 while decisions can be taken and kept, 503 otherwise."""
    await request.app.state.service.check_ready()
    return answer({"status": "ready"})


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, _: Managing) -> Response:
    """What Prometheus reads."""
    return Response(request.app.state.metrics.text(), headers={"content-type": CONTENT_TYPE})


@router.get("/v1/monitor", response_model=dict[str, Any])
async def monitor(call: Auditing) -> Response:
    """Decoupling, costs against budgets, fallbacks and overrides, and how groups of learners are treated."""
    return answer(call.watch.report(call.tenant))


@router.get("/v1/curriculum", response_model=dict[str, Any])
async def curriculum(call: Looking) -> Response:
    """The concepts that are taught now, with the prerequisites of each, in an order in which they can be taught."""
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
