"""Passwords are kept out of whatever is printed, logged or answered."""

from __future__ import annotations

import re

HIDDEN = "***"
# A password may hold anything, an @ or a slash among it: all up to the last @ of the line goes.
_IN_URL = re.compile(r"([A-Za-z][\w+.-]*://[^\s:/?#@]*):[^\n]*@")
_BY_NAME = re.compile(r"((?:ssl)?password=)[^&\s'\"]+", re.IGNORECASE)


def mask(text: str) -> str:
    """A text without the passwords of URLs in it.

    >>> mask("postgresql://me:s3cret@host/record?sslpassword=more&port=1")
    'postgresql://me:***@host/record?sslpassword=***&port=1'
    >>> mask("sqlite:///a:b@c.db")
    'sqlite:///a:b@c.db'
    """
    return _BY_NAME.sub(rf"\1{HIDDEN}", _IN_URL.sub(rf"\1:{HIDDEN}@", text))
