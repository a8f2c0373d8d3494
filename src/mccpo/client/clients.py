"""The two clients: one that waits, and one to be awaited. They send the same requests and read the same answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from mccpo.client import calls
from mccpo.client.answers import Anchor, Decision, Learner, Outcome, Registered, Session, State
from mccpo.client.calls import Call, Retries, UnansweredError

T = TypeVar("T")


def _settings(url: str, key: str | None, seconds: float, options: Mapping[str, Any]) -> dict[str, Any]:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return {"base_url": url, "headers": headers, "timeout": seconds, **options}


def _seen(call: Call[T], answer: httpx.Response) -> tuple[bool, str | None, str]:
    """Whether to try again, when the service says to, and why."""
    after = answer.headers.get("retry-after")
    return calls.should_retry(answer.status_code, after), after, f"{call.path} was answered {answer.status_code}"


def _read(call: Call[T], answer: httpx.Response) -> T:
    if answer.is_error or answer.is_redirect:
        raise calls.refusal(answer.status_code, answer.content)
    return call.read(answer.json())


class Client:
    """A client that waits for its answers. Used as `with Client(url, key) as tutor`.

    `seconds` is how long one try may take. `options` go to `httpx.Client`.

    >>> answer = {"anchor": "12:ab34", "number": 12, "hash": "ab34", "at": "2026-03-02T09:00:00Z"}
    >>> service = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))  # in place of a real one
    >>> with Client("https://tutor.example", "a key", transport=service) as tutor:
    ...     tutor.anchor().number
    12
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        retries: Retries | None = None,
        seconds: float = 10.0,
        **options: Any,
    ) -> None:
        self._http = httpx.Client(**_settings(url, key, seconds, options))
        self._retries = retries or Retries()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def register(self, name: str, labels: Mapping[str, str] | None = None, *, key: str | None = None) -> Learner:
        """Registers a learner; one whose name is known is the same learner, with the labels given now."""
        return self.send(calls.register(name, labels, key))

    def register_many(self, learners: Sequence[tuple[str, Mapping[str, str]]]) -> list[Registered]:
        """Registers learners, each with labels, by the hundred; one that is refused does not keep out the others."""
        return [one for call in calls.register_many(learners) for one in self.send(call)]

    def learner_named(self, name: str) -> Learner:
        """The learner of a name; `RefusedError` with the status 404 where there is none."""
        return self.send(calls.learner_named(name))

    def state(self, learner: str) -> State:
        """What is known of a learner, and what they are ready for."""
        return self.send(calls.state(learner))

    def begin_session(self, learner: str, *, key: str | None = None) -> Session:
        """Begins a session, and ends the open one; asking for the next activity begins one by itself."""
        return self.send(calls.begin_session(learner, key))

    def end_session(self, session: str, *, key: str | None = None) -> Session:
        """Ends a session."""
        return self.send(calls.end_session(session, key))

    def next(self, learner: str, *, key: str | None = None) -> Decision:
        """The next activity, or again the one that waits for its outcome."""
        return self.send(calls.next_activity(learner, key))

    def outcome(
        self,
        decision: str,
        *,
        correct: bool,
        hints: int | None = None,
        seconds: float | None = None,
        key: str | None = None,
    ) -> Outcome:
        """Reports how an activity went."""
        return self.send(calls.outcome(decision, correct, hints, seconds, key))

    def anchor(self) -> Anchor:
        """The end of the record now, to be kept elsewhere."""
        return self.send(calls.anchor())

    def send(self, call: Call[T]) -> T:
        """Sends a request, again and again with the same idempotency key, until it is answered or refused for good."""
        waits = self._retries.waits()
        while True:
            after = None
            try:
                answer = self._http.request(call.method, call.path, content=call.content, headers=call.headers)
                again, after, why = _seen(call, answer)
                if not again:
                    return _read(call, answer)
            except httpx.TransportError as error:
                why = f"{type(error).__name__}: {error}"
            wait = next(waits, None)
            if wait is None:
                raise UnansweredError(why, call.key)
            time.sleep(calls.wait_for(wait, after))


class AsyncClient:
    """A client to be awaited. Used as `async with AsyncClient(url, key) as tutor`; otherwise as `Client`.

    >>> import asyncio
    >>> answer = {"anchor": "12:ab34", "number": 12, "hash": "ab34", "at": "2026-03-02T09:00:00Z"}
    >>> service = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))  # in place of a real one
    >>> async def look():
    ...     async with AsyncClient("https://tutor.example", "a key", transport=service) as tutor:
    ...         return (await tutor.anchor()).number
    >>> asyncio.run(look())
    12
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        retries: Retries | None = None,
        seconds: float = 10.0,
        **options: Any,
    ) -> None:
        self._http = httpx.AsyncClient(**_settings(url, key, seconds, options))
        self._retries = retries or Retries()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def register(self, name: str, labels: Mapping[str, str] | None = None, *, key: str | None = None) -> Learner:
        """As `Client.register`."""
        return await self.send(calls.register(name, labels, key))

    async def register_many(self, learners: Sequence[tuple[str, Mapping[str, str]]]) -> list[Registered]:
        """As `Client.register_many`."""
        return [one for call in calls.register_many(learners) for one in await self.send(call)]

    async def learner_named(self, name: str) -> Learner:
        """As `Client.learner_named`."""
        return await self.send(calls.learner_named(name))

    async def state(self, learner: str) -> State:
        """As `Client.state`."""
        return await self.send(calls.state(learner))

    async def begin_session(self, learner: str, *, key: str | None = None) -> Session:
        """As `Client.begin_session`."""
        return await self.send(calls.begin_session(learner, key))

    async def end_session(self, session: str, *, key: str | None = None) -> Session:
        """As `Client.end_session`."""
        return await self.send(calls.end_session(session, key))

    async def next(self, learner: str, *, key: str | None = None) -> Decision:
        """As `Client.next`."""
        return await self.send(calls.next_activity(learner, key))

    async def outcome(
        self,
        decision: str,
        *,
        correct: bool,
        hints: int | None = None,
        seconds: float | None = None,
        key: str | None = None,
    ) -> Outcome:
        """As `Client.outcome`."""
        return await self.send(calls.outcome(decision, correct, hints, seconds, key))

    async def anchor(self) -> Anchor:
        """As `Client.anchor`."""
        return await self.send(calls.anchor())

    async def send(self, call: Call[T]) -> T:
        """As `Client.send`."""
        waits = self._retries.waits()
        while True:
            after = None
            try:
                answer = await self._http.request(call.method, call.path, content=call.content, headers=call.headers)
                again, after, why = _seen(call, answer)
                if not again:
                    return _read(call, answer)
            except httpx.TransportError as error:
                why = f"{type(error).__name__}: {error}"
            wait = next(waits, None)
            if wait is None:
                raise UnansweredError(why, call.key)
            await asyncio.sleep(calls.wait_for(wait, after))
