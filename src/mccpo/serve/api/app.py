"""The service as a web application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from mccpo._version import __version__
from mccpo.errors import InputError
from mccpo.serve.api import decisions, keys, learners, operation, releases, xapi
from mccpo.serve.api.anchors import AnchorKeeper
from mccpo.serve.api.answers import ProblemForm, add_handlers
from mccpo.serve.api.guard import OPEN, Guard
from mccpo.serve.api.settings import Settings
from mccpo.serve.api.short_way import ShortWay
from mccpo.serve.monitor.prometheus import Metrics
from mccpo.serve.monitor.watch import Watch
from mccpo.serve.problems import Problem
from mccpo.serve.service.background import background, pause
from mccpo.serve.service.service import Service
from mccpo.serve.service.writer import BatchReport

log = logging.getLogger("mccpo.serve")

TIDY = 60.0
"""Seconds between two runs of `Service.tidy`."""
_ABOUT = """Decisions of a tutoring policy, each behind a gate of readiness and on record.

Errors are `application/problem+json`. A write may bear an `Idempotency-Key`."""


def create_app(service: Service, settings: Settings) -> FastAPI:
    """The API over a service, which stays open for as long as the application runs; `add_pages` adds the pages."""
    watch = Watch(service, settings.bounds)
    metrics = Metrics(watch.reports)
    metrics.watch_process(lambda: service.feed.waiting, lambda: watch.lag)
    service.feed.listen_to_batches(partial(_count_batch, metrics))
    anchors = AnchorKeeper(service, settings.anchor_seconds, settings.anchor_file, settings.signer)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with watch, background(partial(_tidy, service, settings), anchors.run):
            yield
        await anchors.write()
        await _note_use(settings)

    # No pages of documentation: those of the framework load scripts from elsewhere. No redirection from a path with a
    # slash at its end: it would lead, with the key, to whatever host and protocol the request names.
    app = FastAPI(
        title="mccpo", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.service, app.state.settings, app.state.watch, app.state.metrics = service, settings, watch, metrics
    app.state.draining = False
    for routes in (learners, decisions, releases, keys, xapi, operation):
        app.include_router(routes.router)
    add_handlers(app)
    app.add_middleware(ShortWay, service=service)
    app.add_middleware(Guard, settings=settings, metrics=metrics)  # added last, it comes first
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def _count_batch(metrics: Metrics, batch: BatchReport) -> None:
    metrics.committed(batch.requests, batch.seconds, batch.kinds, batch.head, failed=batch.failed)


async def _note_use(settings: Settings) -> None:
    """Writes when keys were last used."""
    if settings.keys is not None:
        try:
            await asyncio.to_thread(settings.keys.note_use)
        except (OSError, InputError) as error:
            log.warning("when keys were last used cannot be written: %s", error)


async def _tidy(service: Service, settings: Settings, stop: asyncio.Event) -> None:
    """Runs `Service.tidy` every now and then, and writes when keys were last used."""
    while True:
        await pause(stop, TIDY)
        if stop.is_set():
            return
        await _note_use(settings)
        try:
            await service.tidy()
        except Problem as error:  # requests get the same answer; the next run may succeed
            log.warning("cannot tidy: %s", error.detail)
        except Exception:  # whatever it is, it must not end the tidying for good
            log.exception("cannot tidy")


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document: refusals are problems, and all but a few routes need a key."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        parts = document.setdefault("components", {})
        parts.setdefault("schemas", {})["ProblemForm"] = ProblemForm.model_json_schema()
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
        for path, operations in document["paths"].items():
            for operation_ in operations.values():
                operation_["responses"].pop("422", None)  # the framework's own form, which is not ours; 4XX covers it
                if path in OPEN:
                    operation_["security"] = []
        for name in ("HTTPValidationError", "ValidationError"):
            parts["schemas"].pop(name, None)
        app.openapi_schema = document
    return app.openapi_schema
