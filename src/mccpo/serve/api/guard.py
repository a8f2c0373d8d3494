"""What every request passes before any route sees it: the key, the rate and the size; and the count of requests."""

from __future__ import annotations

import asyncio
import math
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mccpo.serve.access.keys import EVERYONE, Caller, KeyFile
from mccpo.serve.access.loopback import is_loopback
from mccpo.serve.access.security_log import record, request_id
from mccpo.serve.api.answers import refuse
from mccpo.serve.api.rate_limits import RateLimit
from mccpo.serve.api.settings import Settings
from mccpo.serve.monitor.prometheus import Metrics
from mccpo.serve.problems import Forbidden, Problem, TooLarge, TooMany, Unauthorised

OPEN = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""What needs no key: it says nothing about anybody. It has a limit of its own, so that nobody is kept from asking."""
PAGES = "/pages"
"""Where the pages are. A browser shows no key with each request: they ask for their visitors themselves."""
FAILED_AT_ONCE = 20
"""Refused keys of one address before it has to wait."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_PASSED_ON = re.compile(
    r"via|cdn-loop|max-forwards|(cf|fly|fastly|ngrok|tailscale|x-envoy|x-amzn?|x-azure|x-arr|x-appengine)-.*"
    r"|.*(forward|proxy|client-?ip|real-?ip|remote-?(ip|addr|user)|original-).*"
)
"""Headers that proxies add to what they pass on."""
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:@/]+))(?::\d{1,5})?")


class _Flood(TooMany):
    """More requests without a key that works than one address may send."""


class Guard:
    """Lets requests through to the app, with their caller in `request.state.caller`.

    It works on the protocol itself, since a middleware that wraps requests and answers would cost as much as a route.
    """

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self.limit = RateLimit(settings.rate, settings.burst)
        self.failed_limit = RateLimit(settings.failed_rate, FAILED_AT_ONCE)
        self.open_limit = RateLimit(settings.open_rate, max(1, int(2 * settings.open_rate)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        request = secrets.token_hex(8)
        request_id.set(request)
        scope.setdefault("state", {})["guard"] = self

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                sent = {name for name, _ in message["headers"]}
                added = [*_HEADERS, (b"x-request-id", request.encode())]
                if scope["app"].state.draining:
                    added.append(_CLOSING)
                message["headers"] = [*message["headers"], *(header for header in added if header[0] not in sent)]
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
            self._check_length(headers)
            if _is_page(scope["path"]):
                self._check_local(scope, headers, host)
                self._limit(host)
            elif scope["path"] not in OPEN:
                caller = self._caller(scope, headers, host)
                self._limit(caller.key or host)
                scope.setdefault("state", {})["caller"] = caller
            else:
                self._check_flood(host, self.open_limit, "too many requests without a key came from this address")
        except Problem as problem:
            if isinstance(problem, _Flood):  # refusing costs work as well: whoever asks on gets slow answers
                await asyncio.sleep(self.settings.slow_seconds)
            await refuse(problem)(scope, receive, send)
            return
        await self.app(scope, _bounded(receive, self.settings.most_bytes, self.settings.body_seconds), send)

    def _caller(self, scope: Scope, headers: Headers, host: str) -> Caller:
        keys = self._check_local(scope, headers, host)
        if keys is None:
            return EVERYONE
        scheme, _, key = headers.get("authorization", "").partition(" ")
        caller = keys.caller(key.strip()) if scheme.lower() == "bearer" else None
        if caller is None:
            self.check_failed(host)
            record("key refused", source=host, path=scope["path"])
            raise Unauthorised("send Authorization: Bearer KEY, with a key of `mccpo keys create` that is not revoked")
        return caller

    def check_failed(self, host: str) -> None:
        """Counts a key that was refused; refuses an address that has had too many."""
        self._check_flood(host, self.failed_limit, "too many keys from this address were refused")

    def _check_flood(self, host: str, limit: RateLimit, words: str) -> None:
        if wait := limit.wait(host):
            raise _Flood(words, retry_after=math.ceil(wait))

    def _check_local(self, scope: Scope, headers: Headers, host: str) -> KeyFile | None:
        """The keys that are asked for; without any, refuses whoever is not on this machine."""
        keys = self.settings.asking
        if keys is not None:
            return keys
        # A page of another site can make a browser call the loopback, but not under a name that is ours.
        # A request that a proxy on this machine passes on does not come from this machine either: many proxies
        # say so in a header, or speak HTTP/1.0, and a browser behind one names the site that it believes to be at.
        passed_on = scope["http_version"] == "1.0" or any(map(_PASSED_ON.fullmatch, headers))
        if passed_on or not is_loopback(host) or not is_loopback(_name(headers.getlist("host"))):
            raise Forbidden("there are no keys, so that only the loopback is answered; `mccpo keys create` makes one")
        for name in ("origin", "referer"):
            if name in headers and urlsplit(headers[name])[:2] != ("http", headers["host"]):
                raise Forbidden("a page of another site sent this")
        if scope["method"] not in _READS:
            check_origin(headers)  # nothing else distinguishes what a browser sends by itself from what its user means
        return None

    def _limit(self, who: str) -> None:
        if wait := self.limit.wait(who):
            raise TooMany(f"at most {self.limit.rate:g} requests a second", retry_after=math.ceil(wait))

    def _check_length(self, headers: Headers) -> None:
        if sum(len(name) + len(value) for name, value in headers.raw) > self.settings.most_header_bytes:
            raise TooLarge(f"the headers have more than {self.settings.most_header_bytes:,} bytes")
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


def _bounded(receive: Receive, most: int, seconds: float) -> Callable[[], Awaitable[Message]]:
    """Reads a body as far as the limit, and as long as it may take."""
    seen, until, whole = 0, time.monotonic() + seconds, False

    async def bounded() -> Message:
        nonlocal seen, whole
        if whole:  # what comes next is the end of the connection, whenever that is
            return await receive()
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"the body did not arrive within {seconds:g} seconds", _CLOSE) from None
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if seen > most:
                raise HTTPException(TooLarge.status, _too_large(most), _CLOSE)
        return message

    return bounded


def _is_page(path: str) -> bool:
    return path in ("/", PAGES) or path.startswith(f"{PAGES}/")


def _name(hosts: list[str]) -> str:
    """The host that a request names, without its port; nothing where it names several, or none in the right form."""
    named = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    return "" if named is None else named[1] or named[2]


def _too_large(most: int) -> str:
    return f"the body has more than {most:,} bytes"


_CLOSE = {"connection": "close"}
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
_CLOSING = (b"connection", b"close")
