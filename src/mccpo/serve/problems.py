"""The ways in which a request can be refused, each with the HTTP status that the web gives it."""

from __future__ import annotations


class Problem(Exception):  # noqa: N818 - an answer to a request, not a fault of the program
    """A request that is not carried out; nothing of it is on record.

    **Fields** (those of `application/problem+json`):

    - `status`: the HTTP status.
    - `title`: what kind of problem it is, the same text for the same kind.
    - `detail`: what happened here, and what to do about it.
    - `retry_after`: the seconds after which the same request may succeed, where that is known.
    """

    status = 500
    title = "the service failed"

    def __init__(self, detail: str, *, retry_after: int | None = None) -> None:
        self.detail = detail
        self.retry_after = retry_after
        super().__init__(detail)


class Malformed(Problem):
    """The request cannot be read."""

    status = 400
    title = "the request cannot be read"


class Unauthorised(Problem):
    """No key, or one that is not known."""

    status = 401
    title = "a key is needed"


class Forbidden(Problem):
    """The key is known, and its role does not allow this."""

    status = 403
    title = "the key does not allow this"


class Missing(Problem):
    """There is nothing of that id, or it belongs to another tenant: callers cannot distinguish the two."""

    status = 404
    title = "not found"


class Conflict(Problem):
    """The request contradicts what is on record, or a request with the same key is under way."""

    status = 409
    title = "in conflict with what is on record"


class Gone(Problem):
    """The learner was erased."""

    status = 410
    title = "erased"


class TooLarge(Problem):
    """The request is larger than what is read."""

    status = 413
    title = "the request is too large"


class Unprocessable(Problem):
    """The request can be read and cannot be done: an unready concept, or a key used for another body."""

    status = 422
    title = "cannot be done"


class TooMany(Problem):
    """More requests than the limit."""

    status = 429
    title = "too many requests"


class Unavailable(Problem):
    """No decision can be taken or stored now: the database is gone or full, or too many wait. Nothing was done."""

    status = 503
    title = "unavailable"
