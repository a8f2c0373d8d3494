"""Prerequisite graphs in files: JSON, CSV, TSV and GraphML, and what a file states before anybody judges it."""

from mccpo.curriculum.formats.csv_format import parse_csv, render_csv
from mccpo.curriculum.formats.fields import shorten, unrepeated
from mccpo.curriculum.formats.files import read_raw, write_raw
from mccpo.curriculum.formats.graphml_format import parse_graphml, render_graphml
from mccpo.curriculum.formats.json_format import parse_json, render_json
from mccpo.curriculum.formats.raw import Derivation, Edge, Evidence, Fact, RawConcept, RawGraph
from mccpo.curriculum.formats.registry import FORMATS, GraphFormat, format_of, register_format

__all__ = [
    "FORMATS",
    "Derivation",
    "Edge",
    "Evidence",
    "Fact",
    "GraphFormat",
    "RawConcept",
    "RawGraph",
    "format_of",
    "parse_csv",
    "parse_graphml",
    "parse_json",
    "read_raw",
    "register_format",
    "render_csv",
    "render_graphml",
    "render_json",
    "shorten",
    "unrepeated",
    "write_raw",
]
