"""The results of a run as types: made once by an experiment, kept as JSON, and read back from it.

`as_json()` of each gives what `results.json` and `--json` have; `parse()` reads it back, and what it cannot use is an
error that says where. Nothing here needs jax, and polars only where a table is turned into one of its frames.
"""

from mccpo.runs.results.cells import VERDICTS, Reported, Row, Rows, Verdict, means_of, parse_summary
from mccpo.runs.results.certificate import (
    CERTIFICATE_FORMAT,
    Bound,
    Certificate,
    Correction,
    Family,
    PolicyBounds,
    Readiness,
    Seal,
)
from mccpo.runs.results.evaluation import EVALUATION_FORMAT, Evaluation
from mccpo.runs.results.from_logs import Decoupling, FromLogs
from mccpo.runs.results.setting import Setting
from mccpo.runs.results.studies import CalibratedGate, Instance, Noise, NoiseClaim, NoiseKinds, NoiseLevel, Search
from mccpo.runs.results.supplement import Behaviour, Groups, Supplement, UnmetBudgets
from mccpo.runs.results.table import BudgetLevel, Facts, Results, as_document, parse_document
from mccpo.runs.results.tradeoff import FrontPoint, Fronts, PaperPoint, TradeOff

__all__ = [
    "CERTIFICATE_FORMAT",
    "EVALUATION_FORMAT",
    "VERDICTS",
    "Behaviour",
    "Bound",
    "BudgetLevel",
    "CalibratedGate",
    "Certificate",
    "Correction",
    "Decoupling",
    "Evaluation",
    "Facts",
    "Family",
    "FromLogs",
    "FrontPoint",
    "Fronts",
    "Groups",
    "Instance",
    "Noise",
    "NoiseClaim",
    "NoiseKinds",
    "NoiseLevel",
    "PaperPoint",
    "PolicyBounds",
    "Readiness",
    "Reported",
    "Results",
    "Row",
    "Rows",
    "Seal",
    "Search",
    "Setting",
    "Supplement",
    "TradeOff",
    "UnmetBudgets",
    "Verdict",
    "as_document",
    "means_of",
    "parse_document",
    "parse_summary",
]
