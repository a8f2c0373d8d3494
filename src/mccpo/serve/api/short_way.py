"""The short way to the two routes that nearly all requests take: the next activity, and an outcome.

The framework spends more time on finding a route, its parameters and its dependencies than a decision takes. A request
that is plain, in form and in right, is answered here, with what the route itself would answer. Whatever is not plain
goes on to the framework as it came, and is refused or answered there.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mccpo.serve.access.keys import Caller
from mccpo.serve.api.answers import dumps, refuse
from mccpo.serve.api.forms import OutcomeForm
from mccpo.serve.api.strict import loads
from mccpo.serve.problems import Problem
from mccpo.serve.service.messages import DecisionView, Next, Outcome, OutcomeView
from mccpo.serve.service.service import Service

NEXT, OUTCOME = "/v1/learners/{learner}/next", "/v1/decisions/{decision}/outcome"
_PATH = re.compile(r"/v1/(?:learners/([A-Za-z0-9_-]{1,64})/(next)|decisions/([A-Za-z0-9_-]{1,64})/(outcome))")
_KEY = re.compile(rb"[\x21-\x7e]{1,200}")


class ShortRoute(NamedTuple):
    """What the count of requests reads of a route."""

    path: str


_ROUTES = {"next": ShortRoute(NEXT), "outcome": ShortRoute(OUTCOME)}


class ShortWay:
    """Answers plain requests for the next activity and plain outcomes; leaves all else to the app."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        caller: Caller | None = scope.get("state", {}).get("caller")
        if path is None or caller is None or scope["query_string"] or not caller.may("teach"):
            await self.app(scope, receive, send)
            return
        plain, key = _key(scope)
        try:
            body, messages = await _read(receive)
        except HTTPException as error:  # too long, or too slow: refusing is the framework's business, too
            await self.app(scope, _failing(error), send)
            return
        form = _outcome(scope, body) if path[4] else None
        if not plain or not messages or (form is None if path[4] else body):
            await self.app(scope, _again(messages, receive), send)
            return
        scope["route"] = _ROUTES[path[2] or path[4]]
        try:
            answer: DecisionView | OutcomeView
            if form is None:
                answer = await self.service.next(caller.tenant, Next(path[1], caller.signature), key)
            else:
                given = Outcome(path[3], form.correct, form.hints, form.seconds, key=caller.signature)
                answer = await self.service.outcome(caller.tenant, given, key)
        except Problem as problem:
            await refuse(problem)(scope, receive, send)
            return
        content = dumps(answer)
        headers = [(b"content-length", str(len(content)).encode()), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def _key(scope: Scope) -> tuple[bool, str | None]:
    """Whether the request has at most one idempotency key, of the form that is asked for; and that key."""
    keys = [value for name, value in scope["headers"] if name == b"idempotency-key"]
    if not keys:
        return True, None
    return len(keys) == 1 and _KEY.fullmatch(keys[0]) is not None, keys[0].decode("latin-1")


async def _read(receive: Receive) -> tuple[bytes, list[Message]]:
    """The body, and the messages it came by; no messages where the client has gone."""
    messages: list[Message] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"", []
        messages.append(message)
        if not message.get("more_body", False):
            return b"".join(part.get("body", b"") for part in messages), messages


def _again(messages: list[Message], receive: Receive) -> Receive:
    """Receives what was read already, and then what comes."""
    waiting = iter(messages)

    async def received() -> Message:
        for message in waiting:
            return message
        return await receive()

    return received


def _failing(error: Exception) -> Receive:
    async def received() -> Message:
        raise error

    return received


def _outcome(scope: Scope, body: bytes) -> OutcomeForm | None:
    """The outcome in a body of JSON; None where it is not plain."""
    if (b"content-type", b"application/json") not in scope["headers"]:
        return None
    try:
        return OutcomeForm.model_validate(loads(body))
    except (ValidationError, json.JSONDecodeError):
        return None
