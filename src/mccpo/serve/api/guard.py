"""What every request passes before any route sees it: the key, the rate and the size; and the count of requests."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mccpo.serve.access.keys import EVERYONE, Caller, KeyFile
from mccpo.serve.access.loopback import is_loopback
from mccpo.serve.api.answers import refuse
from mccpo.serve.api.rate_limits import RateLimit
from mccpo.serve.api.settings import Settings
from mccpo.serve.monitor.prometheus import Metrics
from mccpo.serve.problems import Forbidden, Problem, TooLarge, TooMany, Unauthorised

OPEN = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""What needs no key, and is not limited: it says nothing about anybody."""
PAGES = "/pages"
"""Where the pages are. A browser shows no key with each request: they ask for their visitors themselves."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_PASSED_ON = frozenset({"forwarded", "via", "x-real-ip"})
"""Headers that a proxy adds, beside those that begin with `x-forwarded-`."""


class Guard:
    """Lets requests through to the app, with their caller in `request.state.caller`.

    It works on the protocol itself, since a middleware that wraps requests and answers would cost as much as a route.
    """

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self.limit = RateLimit(settings.rate, settings.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                sent = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(header for header in _HEADERS if header[0] not in sent)]
            await send(message)

        try:
            await self._guarded(scope, receive, counted)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self.metrics.answered(scope["method"], route, status, time.perf_counter() - began)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        host = scope["client"][0] if scope.get("client") else "unknown"
        try:
            if _is_page(scope["path"]):
                self._check_local(scope, headers, host)
                self._limit(host)
            elif scope["path"] not in OPEN:
                caller = self._caller(scope, headers, host)
                self._limit(caller.key or host)
                scope.setdefault("state", {})["caller"] = caller
            self._check_length(headers)
        except Problem as problem:
            await refuse(problem)(scope, receive, send)
            return
        await self.app(scope, _bounded(receive, self.settings.most_bytes), send)

    def _caller(self, scope: Scope, headers: Headers, host: str) -> Caller:
        keys = self._check_local(scope, headers, host)
        if keys is None:
            return EVERYONE
        scheme, _, key = headers.get("authorization", "").partition(" ")
        caller = keys.caller(key.strip()) if scheme.lower() == "bearer" else None
        if caller is None:
            self._limit(host)
            raise Unauthorised("send Authorization: Bearer KEY, with a key of `mccpo keys create` that is not revoked")
        return caller

    def _check_local(self, scope: Scope, headers: Headers, host: str) -> KeyFile | None:
        """The keys that are asked for; without any, refuses whoever is not on this machine."""
        keys = self.settings.asking
        if keys is not None:
            return keys
        # A page of another site can make a browser call the loopback, but not under a name that is ours.
        # A request that a proxy on this machine passes on does not come from this machine either.
        passed_on = any(name in _PASSED_ON or name.startswith("x-forwarded-") for name in headers)
        if passed_on or not is_loopback(host) or not is_loopback(_name(headers.get("host", ""))):
            raise Forbidden("there are no keys, so that only the loopback is answered; `mccpo keys create` makes one")
        if scope["method"] not in _READS:
            check_origin(headers)  # nothing else distinguishes what a browser sends by itself from what its user means
        return None

    def _limit(self, who: str) -> None:
        if wait := self.limit.wait(who):
            raise TooMany(f"at most {self.limit.rate:g} requests a second", retry_after=math.ceil(wait))

    def _check_length(self, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self.settings.most_bytes:
            raise TooLarge(_too_large(self.settings.most_bytes))


def check_origin(headers: Headers) -> None:
    """Refuses what a page of another site, or of another port, makes a browser send."""
    site = headers.get("sec-fetch-site")
    if site is None:  # an old browser, or none
        origin = headers.get("origin")
        site = "same-origin" if origin is None or urlsplit(origin).netloc == headers.get("host") else "cross-site"
    if site not in ("same-origin", "none"):
        raise Forbidden("a page of another site sent this")


def _bounded(receive: Receive, most: int) -> Callable[[], Awaitable[Message]]:
    """Reads a body that does not say its length, as far as the limit."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > most:
                raise HTTPException(TooLarge.status, _too_large(most))
        return message

    return bounded


def _is_page(path: str) -> bool:
    return path in ("/", PAGES) or path.startswith(f"{PAGES}/")


def _name(host: str) -> str:
    """A host without its port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _too_large(most: int) -> str:
    return f"the body has more than {most:,} bytes"


_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
