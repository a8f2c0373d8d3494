"""From a log's files to the canonical table, with every row accounted for: what a source of logs is made of."""

from mccpo.logs.reading.delimited import Opened, Ragged, first_texts, header_of, open_table
from mccpo.logs.reading.fields import (
    Chance,
    Clock,
    Concepts,
    Epoch,
    Field,
    Given,
    Seconds,
    Signal,
    Text,
    Truth,
    Whole,
)
from mccpo.logs.reading.headers import FILE, LINE, check_columns
from mccpo.logs.reading.json_lines import json_lines
from mccpo.logs.reading.read import MOST_REJECTED, Logs, write_rejects
from mccpo.logs.reading.row_account import RowAccount
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.reading.text_files import check_file, open_text, reading

__all__ = [
    "FILE",
    "LINE",
    "MOST_REJECTED",
    "Chance",
    "Clock",
    "Concepts",
    "Epoch",
    "Field",
    "Given",
    "Logs",
    "Opened",
    "Ragged",
    "ReadOptions",
    "RowAccount",
    "Seconds",
    "Signal",
    "Source",
    "Text",
    "Truth",
    "Whole",
    "check_columns",
    "check_file",
    "first_texts",
    "header_of",
    "json_lines",
    "open_table",
    "open_text",
    "reading",
    "write_rejects",
]
