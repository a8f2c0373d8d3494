"""Environments made from logs: `prepare`, and the data sets that the tables from logs are made of."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mccpo.experiments.prepare.build import prepare
    from mccpo.experiments.prepare.calibration import ConceptCalibration
    from mccpo.experiments.prepare.checks import refuse_no_edges
    from mccpo.experiments.prepare.datasets import DATASETS, Dataset, retained
    from mccpo.experiments.prepare.document import LogOrigin, PreparedDocument
    from mccpo.experiments.prepare.options import PrepareOptions
    from mccpo.experiments.prepare.prepared import DOCUMENT, Prepared, check_folder

__all__ = [
    "DATASETS",
    "DOCUMENT",
    "ConceptCalibration",
    "Dataset",
    "LogOrigin",
    "PrepareOptions",
    "Prepared",
    "PreparedDocument",
    "check_folder",
    "prepare",
    "refuse_no_edges",
    "retained",
]

# Looked up on first use: all of it needs polars, which experiments without logs do without.
_HOMES = {
    "ConceptCalibration": "calibration",
    "DATASETS": "datasets",
    "DOCUMENT": "prepared",
    "Dataset": "datasets",
    "LogOrigin": "document",
    "PrepareOptions": "options",
    "Prepared": "prepared",
    "PreparedDocument": "document",
    "check_folder": "prepared",
    "prepare": "build",
    "refuse_no_edges": "checks",
    "retained": "datasets",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
