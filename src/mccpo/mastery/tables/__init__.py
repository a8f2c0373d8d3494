"""Responses from the canonical table of logs: the part of this room that needs polars."""

from mccpo.mastery.tables.gains import gains_by_model
from mccpo.mastery.tables.responses import responses_of

__all__ = ["gains_by_model", "responses_of"]
