"""Bodies that are strict JSON: no NaN or infinity, no name twice in an object, no text that no database holds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

DEEPEST = 100
"""Objects and lists within each other. Those who read the value later may get less far than the decoder does."""


def loads(content: bytes) -> Any:
    """The value that `content` writes in strict JSON; JSONDecodeError, whatever is wrong with it."""
    try:
        value = _DECODER.decode(content.decode("utf-8"))
        if content.count(b"{") + content.count(b"[") > DEEPEST:
            _check_depth(value)
        if b"\\u" in content:  # what is no character can only be written so
            _check_texts(value)
        return value
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError("nested too deeply", "", 0) from None
    except ValueError as error:  # not UTF-8, a number of thousands of digits, or what the hooks below refuse
        raise json.JSONDecodeError(str(error)[:200], "", 0) from None


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST + 1):
        held = (entry.values() if isinstance(entry, dict) else entry for entry in level)
        level = [inner for entries in held for inner in entries if isinstance(inner, dict | list)]
        if not level:
            return
    raise ValueError("nested too deeply")


def _check_texts(value: Any) -> None:
    if isinstance(value, str):
        value.encode()  # which fails for half of a pair of surrogates
        if "\0" in value:
            raise ValueError("a text has a NUL")
    elif isinstance(value, dict | list):
        for entry in value:
            _check_texts(entry)
        for entry in value.values() if isinstance(value, dict) else ():
            _check_texts(entry)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("an object has a name twice")
    return entries


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique_names)


class StrictRequest(Request):
    """A request whose body is read as strict JSON."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = loads(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route that takes strict JSON only; one that asks for nothing takes no body, or an object without fields."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        takes_nothing = self.body_field is None and not set(self.methods or ()) <= {"GET", "HEAD"}

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if takes_nothing:
                await _check_nothing(strict)
            return await handle(strict)

        return strictly


async def _check_nothing(request: StrictRequest) -> None:
    """Refuses what would be left unread: whoever sent it means something by it."""
    if not await request.body():
        return
    try:
        value = await request.json()
    except json.JSONDecodeError as error:
        raise _wrong("json_invalid", (), error.msg, error=error.msg) from error
    if not isinstance(value, dict):
        raise _wrong("model_attributes_type", (), "Input should be an object without fields, or nothing")
    for name in value:
        raise _wrong("extra_forbidden", (name,), "Extra inputs are not permitted")


def _wrong(kind: str, where: tuple[str, ...], what: str, **context: str) -> RequestValidationError:
    return RequestValidationError([{"type": kind, "loc": ("body", *where), "msg": what, "ctx": context}])
