"""Answers as responses: dataclasses as JSON, refusals as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import is_dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from mccpo.serve.problems import Problem, Unprocessable

log = logging.getLogger("mccpo.serve")

PROBLEM = "application/problem+json"
MOST_ERRORS = 20
"""The most errors of one request that are listed."""


class ProblemForm(BaseModel):
    """Why a request was refused."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] | None = None


_FORM = {PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemForm"}}}
REFUSALS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is refused.", "content": _FORM},
    "503": {"description": "No decision can be taken or kept now; nothing was done.", "content": _FORM},
}
"""The refusals that every route may answer with."""


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer of plain values and dataclasses."""
    return Response(dumps(content), status, headers, media_type="application/json")


def dumps(content: Any) -> bytes:
    """Compact JSON; a number that is not finite is a fault of ours, and fails here."""
    return _ENCODER.encode(content).encode()


def problem(
    status: int, title: str, detail: str, *, retry_after: int | None = None, errors: list[dict[str, str]] | None = None
) -> Response:
    """A refusal."""
    content: dict[str, Any] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    if errors:
        content["errors"] = errors
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(dumps(content), status, headers, media_type=PROBLEM)


def refuse(error: Problem) -> Response:
    """A problem as a response."""
    return problem(error.status, error.title, error.detail, retry_after=error.retry_after)


def add_handlers(app: FastAPI) -> None:
    """Answers every error with a problem: our own, wrong forms, the framework's, and the unforeseen."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_form)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_fault)


async def _on_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return refuse(error)


async def _on_form(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # The input is not sent back: it may be secret, and need not be JSON.
    errors = [
        {"where": ".".join(str(part) for part in entry["loc"])[:200], "what": _message(entry)}
        for entry in error.errors()[:MOST_ERRORS]
    ]
    detail = "; ".join(f"{entry['where']}: {entry['what']}" for entry in errors[:3])
    return problem(Unprocessable.status, "the request is not of the form that is asked for", detail, errors=errors)


def _message(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return f"not JSON: {error['ctx']['error']}"
    return str(error["msg"])


async def _on_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = problem(error.status_code, HTTPStatus(error.status_code).phrase.lower(), str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def _on_fault(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "the service failed", "an error of the service itself; its log says more")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
