"""Bodies that are strict JSON: no NaN or infinity, no name twice in an object, no text that no database holds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute


def loads(content: bytes) -> Any:
    """The value that `content` writes in strict JSON; JSONDecodeError, whatever is wrong with it."""
    try:
        value = _DECODER.decode(content.decode("utf-8"))
        if b"\\u" in content:  # what is no character can only be written so
            _check_texts(value)
        return value
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError("nested too deeply", "", 0) from None
    except ValueError as error:  # not UTF-8, a number of thousands of digits, or what the hooks below refuse
        raise json.JSONDecodeError(str(error)[:200], "", 0) from None


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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a name twice")
    return found


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once)


class StrictRequest(Request):
    """A request whose body is read as strict JSON."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = loads(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route that takes strict JSON only."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly
