"""Renders pages: all content is escaped, and a page runs no script but those of its own origin."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from mccpo._version import __version__
from mccpo.serve.api.guard import PAGES
from mccpo.serve.pages.visitors import Visit

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def render(request: Request, template: str, status: int = 200, *, visit: Visit | None, **content: Any) -> Response:
    """A template as an answer; `visit` is None where nobody is signed in."""
    text = _TEMPLATES.get_template(template).render(visit=visit, path=request.url.path, **content)
    return HTMLResponse(text, status, HEADERS)


def percent(value: float | None, digits: int = 0) -> str:
    """A share as a percentage.

    >>> percent(0.625), percent(None)
    ('62\xa0%', '–')
    """
    return "–" if value is None else f"{100 * value:.{digits}f}\N{NO-BREAK SPACE}%"


def plain(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits; a dash for None.

    >>> plain(0.0123456), plain(1234.5), plain(None)
    ('0.0123', '1,234', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}g}"


def many(count: int, what: str) -> str:
    """A count with its noun, in the plural where needed.

    >>> many(1, "learner"), many(1200, "learner")
    ('1 learner', '1,200 learners')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def sentence(text: str, stop: bool = True) -> str:
    """A text as a sentence: capitalised, with a full stop.

    >>> sentence("sign in with a key")
    'Sign in with a key.'
    """
    return text[:1].upper() + text[1:] + ("." if stop and not text.endswith((".", "!", "?")) else "")


def minute(at: str) -> str:
    """A time of the record to the second, in UTC; the browser shows it in its own zone.

    >>> minute("2026-01-07T10:12:00.123Z")
    '2026-01-07 10:12:00'
    """
    return at[:19].replace("T", " ")


_TEMPLATES = Environment(
    loader=PackageLoader("mccpo.serve.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(percent=percent, plain=plain, many=many, minute=minute, sentence=sentence)
_TEMPLATES.globals.update(pages=PAGES, version=__version__)
