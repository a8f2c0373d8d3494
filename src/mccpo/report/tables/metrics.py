"""Which metrics a table shows, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mccpo.report.vocabulary import in_order, split_variant
from mccpo.runs.results import Setting


def executed_metrics(setting: Setting) -> list[str]:
    """The metrics as executed, in the order of the tables."""
    return [metric for metric in _all_metrics(setting) if not split_variant(metric)[1]]


def variant_metrics(setting: Setting) -> list[str]:
    """The same metrics at another point: before the filter, or of the last iterate."""
    return [metric for metric in _all_metrics(setting) if split_variant(metric)[1]]


def _all_metrics(setting: Setting) -> list[str]:
    tables: list[Mapping[str, Mapping[str, object]]] = [setting.rows, setting.paper]
    known = [metric for table in tables for metrics in table.values() for metric in metrics]
    return in_order([*known, *_beside_rhsi(known)])


def _beside_rhsi(metrics: Iterable[str]) -> list[str]:
    """What must stand beside RHSI, which says nothing of learning: a row without numbers where they are not known."""
    shown = (split_variant(metric) for metric in metrics)
    return [f"{metric}{variant}" for base, variant in shown if base.startswith("rhsi") for metric in ("dK", "mastered")]
