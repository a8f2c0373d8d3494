"""May the policies of a run be released? Bounds on what they cost, the certificates that it keeps, and its judges."""

from mccpo.experiments.certification import certificates, certify
from mccpo.experiments.certification.judges import PREPARED, Judges, judges_of

__all__ = ["PREPARED", "Judges", "certificates", "certify", "judges_of"]
