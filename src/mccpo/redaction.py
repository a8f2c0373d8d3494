"""Removes passwords from texts before they are printed, logged or sent."""

from __future__ import annotations

import re

HIDDEN = "***"
# A password may hold anything, an @ or a slash among it: all up to the last @ of the line goes.
_IN_URL = re.compile(r"([A-Za-z][\w+.-]*://[^\s:/?#@]*):[^\n]*@")
_BY_NAME = re.compile(r"((?:ssl)?password=)[^&\s'\"]+", re.IGNORECASE)


def redact(text: str) -> str:
    """The text with every password in a URL replaced by `***`.

    >>> redact("postgresql://me:s3cret@host/record?sslpassword=more&port=1")
    'postgresql://me:***@host/record?sslpassword=***&port=1'
    >>> redact("sqlite:///a:b@c.db")
    'sqlite:///a:b@c.db'
    """
    return _BY_NAME.sub(rf"\1{HIDDEN}", _IN_URL.sub(rf"\1:{HIDDEN}@", text))
