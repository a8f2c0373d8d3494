"""Who did what that matters for security: one line each, in a log of its own.

Lines name keys by their public ids and learners by their opaque ones, never a secret and never a person's name.
"""

from __future__ import annotations

import json
import logging
import time
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias

from mccpo.serve.access.keys import Caller

log = logging.getLogger("mccpo.serve.security")

What: TypeAlias = Literal[
    "key refused",
    "signed in",
    "sign-in refused",
    "signed out",
    "exported",
    "erased",
    "released",
    "anchor",
    "key created",
    "key revoked",
]
LogFormat: TypeAlias = Literal["text", "json"]

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is being answered, which all of its lines have."""


def record(what: What, caller: Caller | None = None, **details: Any) -> None:
    """Writes a line: what happened, on whose behalf, from which address, to what."""
    who = {} if caller is None else {"tenant": caller.tenant, "key": caller.key, "role": caller.role}
    level = (
        logging.WARNING
        if what in ("key refused", "sign-in refused", "released", "key created", "key revoked")
        else logging.INFO
    )
    told = {name: value for name, value in (who | details).items() if value is not None}
    log.log(level, "%s %s", what, " ".join(f"{name}={value}" for name, value in told.items()), extra={"told": told})


class Formatter(logging.Formatter):
    """A line for each record: time in UTC, level, logger, the request's id, and the message; as text or as JSON."""

    def __init__(self, form: LogFormat) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.form = form
        self.converter = time.gmtime

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - theirs
        return f"{super().formatTime(record, datefmt)}.{int(record.msecs):03d}Z"

    def format(self, record: logging.LogRecord) -> str:
        request = request_id.get()
        if self.form == "text":
            return super().format(record) + ("" if request is None else f" request={request}")
        told: dict[str, Any] = {"time": self.formatTime(record, self.datefmt), "level": record.levelname}
        told |= {"logger": record.name, "message": record.getMessage(), "request": request}
        told |= getattr(record, "told", {})
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str)


def write_logs(form: LogFormat) -> None:
    """Writes the service's log to stderr, the security log's harmless lines too."""
    handler = logging.StreamHandler()
    handler.setFormatter(Formatter(form))
    logging.getLogger("mccpo.serve").handlers = [handler]
    log.setLevel(logging.INFO)
