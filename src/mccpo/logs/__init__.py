"""What learners did: one canonical table from the logs of many platforms, what it shows, and the episodes in it.

>>> from mccpo.logs import SOURCES
>>> "junyi-2020" in SOURCES
True
"""

from mccpo.logs.reading.account import Account
from mccpo.logs.reading.read import MOST_REJECTED, Logs, write_rejects
from mccpo.logs.sources.registry import SOURCES, load, read
from mccpo.logs.sources.source import Opening, Source, SourceOf

__all__ = [
    "MOST_REJECTED",
    "SOURCES",
    "Account",
    "Logs",
    "Opening",
    "Source",
    "SourceOf",
    "load",
    "read",
    "write_rejects",
]
