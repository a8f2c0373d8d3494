"""Made-up logs of a named format and size, with learners who learn, and faults in stated numbers."""

from mccpo.logs.synthetic.generate import PLATFORMS, SyntheticLog, generate
from mccpo.logs.synthetic.item_bank import ItemBank
from mccpo.logs.synthetic.line_logs import Contents
from mccpo.logs.synthetic.simulation import NOT_JUDGED, Answers, simulate

__all__ = ["NOT_JUDGED", "PLATFORMS", "Answers", "Contents", "ItemBank", "SyntheticLog", "generate", "simulate"]
