"""What a reader takes from the ablation: sentences of ours, each with the published numbers that it rests on.

A sentence stands on the page only while the comparisons that it makes hold in the published results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mccpo.experiments.paper import claims as paper
from mccpo.report import numbers
from mccpo.report.docs.published import Published

MET, LAST = "satisfaction_strict", "satisfaction_strict_last"
TUTOR, CURRICULA = "tutor-15", "random-curricula"


class Remark(NamedTuple):
    """A sentence with names of `values` in braces, and what must hold between them.

    A value is a metric of a method on an environment: the mean over seeds, of budgets met the number of seeds.
    """

    text: str
    values: Mapping[str, tuple[str, str, str]]
    holds: tuple[paper.Comparison, ...]


REMARKS = (
    Remark(
        "Selection does much of the work: the last policy of MC-CPO meets all budgets in {last} seeds on tutor-15 and "
        "in {last_curricula} on random-curricula, the selected one in {met} and {met_curricula}.",
        {
            "last": (TUTOR, "mc-cpo", LAST),
            "met": (TUTOR, "mc-cpo", MET),
            "last_curricula": (CURRICULA, "mc-cpo", LAST),
            "met_curricula": (CURRICULA, "mc-cpo", MET),
        },
        (paper.Comparison("last", "<", "met"), paper.Comparison("last_curricula", "<", "met_curricula")),
    ),
    Remark(
        "It is not free: validation takes {validation} steps beside {training} of training on tutor-15. Where both "
        "count, MC-CPO has {left} steps to train by, and meets the budgets in {counted} seeds, not in {met}.",
        {
            "validation": (TUTOR, "mc-cpo", "validation_steps"),
            "training": (TUTOR, "mc-cpo", "training_steps"),
            "left": (TUTOR, "mc-cpo-counted", "training_steps"),
            "met": (TUTOR, "mc-cpo", MET),
            "counted": (TUTOR, "mc-cpo-counted", MET),
        },
        (paper.Comparison("validation", ">", "training"), paper.Comparison("counted", "<", "met")),
    ),
    Remark(
        "The paper's MC-CPO, without any of our additions, meets the budgets of tutor-15 in {met} seeds and those of "
        "random-curricula in {other}; ours does in {ours} and {others}.",
        {
            "met": (TUTOR, "mc-cpo-paper", MET),
            "ours": (TUTOR, "mc-cpo", MET),
            "other": (CURRICULA, "mc-cpo-paper", MET),
            "others": (CURRICULA, "mc-cpo", MET),
        },
        (paper.Comparison("met", "<", "ours"), paper.Comparison("other", "<", "others")),
    ),
    Remark(
        "The margin keeps policies within the budgets: without it {met} seeds are on random-curricula, not {ours}, and "
        "{last} of the last policies, not {ours_last}.",
        {
            "met": (CURRICULA, "mc-cpo-no-margin", MET),
            "ours": (CURRICULA, "mc-cpo", MET),
            "last": (CURRICULA, "mc-cpo-no-margin", LAST),
            "ours_last": (CURRICULA, "mc-cpo", LAST),
        },
        (paper.Comparison("met", "<", "ours"), paper.Comparison("last", "<", "ours_last")),
    ),
    Remark(
        "The proportional part steadies the end of training: without it {last} of the last policies meet the budgets "
        "of random-curricula, with it {ours}.",
        {"last": (CURRICULA, "mc-cpo-no-proportional", LAST), "ours": (CURRICULA, "mc-cpo", LAST)},
        (paper.Comparison("last", "<", "ours"),),
    ),
    Remark(
        "Without the mask {tutor} of the steps on tutor-15 and {curricula} on random-curricula teach what the learner "
        "is not ready for. That budgets are met there says little: unready lessons change what is spent.",
        {
            "tutor": (TUTOR, "mc-cpo-no-mask", "prerequisite_violation_rate"),
            "curricula": (CURRICULA, "mc-cpo-no-mask", "prerequisite_violation_rate"),
        },
        (paper.Comparison("tutor", ">", 0.01), paper.Comparison("curricula", ">", 0.01)),
    ),
)


def remarks(published: Mapping[str, Published]) -> Iterator[str]:
    """The sentences whose numbers are published and whose comparisons hold."""
    for remark in REMARKS:
        if all(_has(published, *path) for path in remark.values.values()):
            values = {name: _value(published, *path) for name, path in remark.values.items()}
            if all(comparison.holds(values) for comparison in remark.holds):
                shown = {name: _shown(values[name], path[2]) for name, path in remark.values.items()}
                yield remark.text.format_map(shown)


def _has(published: Mapping[str, Published], environment: str, method: str, metric: str) -> bool:
    return environment in published and metric in published[environment].settings[environment].rows.get(method, {})


def _value(published: Mapping[str, Published], environment: str, method: str, metric: str) -> float:
    measured = published[environment].settings[environment].rows[method][metric]
    return sum(measured.per_seed) if metric in (MET, LAST) else measured.mean


def _shown(value: float, metric: str) -> str:
    if metric in (MET, LAST) or metric.endswith("_steps"):
        return f"{round(value):,}"
    return numbers.share(value) if metric.endswith("_rate") else numbers.number(value)
