"""What the policies of a run were worth when they were judged again, as the run's folder keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mccpo.errors import InputError
from mccpo.runs.checks import Json
from mccpo.runs.results.table import Results, as_document, parse_document

EVALUATION_FORMAT = "mccpo-evaluation-1"
_AGAIN = "run `mccpo evaluate` again"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One evaluation of a run's policies.

    **Fields:**

    - `on`: the environment, such as `judge`; empty where it is that of training.
    - `policies`: the digest of the policies that were judged.
    - `tables`: the tables, as `mccpo evaluate` prints them.
    """

    on: str
    policies: str
    tables: tuple[Results, ...]

    def as_json(self) -> Json:
        """The evaluation as its file holds it."""
        return {
            "format": EVALUATION_FORMAT,
            "on": self.on,
            "policies_sha256": self.policies,
            "results": as_document(self.tables),
        }

    @classmethod
    def parse(cls, raw: Json, path: Path) -> Evaluation:
        """The evaluation that a file holds."""
        if raw.get("format") != EVALUATION_FORMAT or not isinstance(raw.get("results"), Mapping):
            raise InputError(f"{path} is not an evaluation", fix=_AGAIN)
        tables = tuple(parse_document(raw["results"], path))
        return cls(str(raw.get("on") or ""), str(raw.get("policies_sha256")), tables)
