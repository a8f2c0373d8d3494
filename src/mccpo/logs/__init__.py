"""What learners did: one canonical table from the logs of many platforms, what it shows, and the episodes in it.

`mccpo.logs.audit` shows what is in the table, `mccpo.logs.synthetic` makes logs up, and `mccpo.logs.reading` has what a
source of logs is made of.

>>> from mccpo.logs import SOURCES
>>> "junyi-2020" in SOURCES
True
"""

from mccpo.logs.episodes import MINIMUM, MOST, episodes
from mccpo.logs.loading import load, read
from mccpo.logs.moving_average import ema, shards
from mccpo.logs.reading import MOST_REJECTED, Logs, ReadOptions, RowAccount, Source, write_rejects
from mccpo.logs.responses_by_concept import responses_by_concept
from mccpo.logs.sources import SOURCES, LogFormat, register_source
from mccpo.logs.table import BETWEEN_CONCEPTS, COLUMNS, GROUP, NAMES, SplitConcepts, encode, split_concepts
from mccpo.logs.table_files import read_table, write_table, writing_table

__all__ = [
    "BETWEEN_CONCEPTS",
    "COLUMNS",
    "GROUP",
    "MINIMUM",
    "MOST",
    "MOST_REJECTED",
    "NAMES",
    "SOURCES",
    "LogFormat",
    "Logs",
    "ReadOptions",
    "RowAccount",
    "Source",
    "SplitConcepts",
    "ema",
    "encode",
    "episodes",
    "load",
    "read",
    "read_table",
    "register_source",
    "responses_by_concept",
    "shards",
    "split_concepts",
    "write_rejects",
    "write_table",
    "writing_table",
]
