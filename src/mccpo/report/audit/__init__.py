"""The page of an audit, and the audit in sentences and as JSON."""

from mccpo.report.audit.page import render_audit
from mccpo.report.audit.sentences import (
    POPULATIONS,
    AuditSubject,
    PaperPrevalence,
    against_paper,
    audit_json,
    headline,
    interval,
    left_out,
    moved,
    percent,
)

__all__ = [
    "POPULATIONS",
    "AuditSubject",
    "PaperPrevalence",
    "against_paper",
    "audit_json",
    "headline",
    "interval",
    "left_out",
    "moved",
    "percent",
    "render_audit",
]
