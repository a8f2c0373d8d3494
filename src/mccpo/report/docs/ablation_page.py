"""The page of what each addition of MC-CPO brings, from the published results of `mccpo reproduce ablation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from mccpo.evaluation import holm
from mccpo.experiments.paper import ablation
from mccpo.report import numbers
from mccpo.report.docs.ablation_remarks import remarks
from mccpo.report.docs.docstrings import table
from mccpo.report.docs.published import Measured, Published
from mccpo.report.vocabulary import method_label

Ablations: TypeAlias = Mapping[str, Published]
"""The published tables, by environment."""
Rows: TypeAlias = Mapping[str, Mapping[str, Measured]]

ENOUGH = 20
"""Seeds, of fewer than which the page says so."""
SIGNIFICANT = 0.05
PARTS = {
    "mc-cpo-no-selection": "without selection",
    "mc-cpo-counted": "with validation counted",
    "mc-cpo-plain-network": "without the shared network",
    "mc-cpo-no-proportional": "without the proportional part",
    "mc-cpo-no-foresight": "without foresight",
    "mc-cpo-no-averaging": "without averaging",
    "mc-cpo-no-margin": "without the margin",
    "mc-cpo-no-mask": "without the mask",
    "mc-cpo-frontier": "with the frontier",
}
_TOLD = {"mc-cpo-paper": "The paper's MC-CPO", **{name: f"MC-CPO {words}" for name, words in PARTS.items()}}
_METRICS = {"return": "return", "dK": "ΔK", "excess_last": "excess of the last policy"}
_MET = ("satisfaction_strict", "satisfaction_strict_last")
_STEPS = ("training_steps", "validation_steps")

_INTRO = """What becomes of MC-CPO where one part of it is taken away, and what the paper's own has, which lacks all of
our additions. Everything on this page is read from `docs/results`. One command makes it anew:

```console
$ mccpo reproduce ablation --seeds 20 --out runs/ablation
$ make paper RUN=runs/ablation
```

MC-CPO mixes in no frontier where a network learns, so that the row *with the frontier* adds one. *With
validation counted* is MC-CPO trained for so few steps that these and those of validation together are no
more than the other rows have for training alone. Rules and the unconstrained policy stand beside for
reference. The runs are short: what a part brings in longer ones may be more or less."""

_COLUMNS = """*Met* is the number of seeds whose costs all stay within their budgets (τ = 0): by the policy that was
selected, and by the one that training ended with, from the same training. A method without selection has
only the latter. *Unready* is the share of steps on concepts that the learner is in truth not ready for.
*Excess* is the largest relative excess of the last policy over a budget; below 0, all are met. Steps of
training and of validation are those of one run: validation plays episodes that training does not use."""

_TESTED = """MC-CPO less each variant, seed by seed, by paired t tests: each difference with its p. Seeds and evaluation
episodes are shared. p is
Holm's, over all {count} tests on this page; bold is below {level:g}. Where all seeds agree there is no
test. A variant that returns more but misses the budgets has not done better: read the tables above with
this one."""


def ablation_page(tables: Mapping[str, Published]) -> str:
    """The text of the page, from all published tables."""
    published = ablations_of(tables)
    adjusted = adjusted_p(published)
    parts = ["# What each addition of MC-CPO brings", _INTRO, *_missed(published), "## What it shows"]
    parts += [_listed(remarks(published)), "## Part by part", _listed(sentences(published, adjusted))]
    parts += ["## The tables", _COLUMNS]
    for name, one in published.items():
        rows = one.settings[name].rows
        parts += [f"### {name}", _made(one), table(_HEAD, list(_rows(rows)))]
        parts += [table(_BUDGETS_HEAD, list(_budget_rows(rows)))]
    tested = _TESTED.format(count=len(adjusted), level=SIGNIFICANT)
    parts += ["## The tests", tested]
    for name, one in published.items():
        parts += [f"On {name}:", table(_TEST_HEAD, list(_tests(name, one, adjusted)))]
    return "\n\n".join(parts) + "\n"


def _listed(points: Iterator[str]) -> str:
    return "\n".join(f"- {point}" for point in points)


def ablations_of(tables: Mapping[str, Published]) -> dict[str, Published]:
    """The ablations among published tables, by environment."""
    named = {name: ablation.table_of(name) for name in ablation.STEPS}
    return {name: tables[own] for name, own in named.items() if own in tables}


def adjusted_p(published: Ablations) -> dict[tuple[str, str], float]:
    """Holm's p of every test of the page that has one, by environment and name."""
    known = {
        (name, test): float(content["p"])
        for name, one in published.items()
        for test, content in one.tests.items()
        if content.get("p") is not None
    }
    return dict(zip(known, holm(list(known.values())), strict=True))


def _missed(published: Ablations) -> Iterator[str]:
    """What the published runs have less of than they are meant to."""
    absent = [name for name in ablation.STEPS if name not in published]
    if absent:
        yield f"Not run yet: {', '.join(absent)}."
    uncounted = [name for name, one in published.items() if ablation.COUNTED not in one.settings[name].rows]
    if uncounted:
        yield f"With validation counted, no run is short enough on {', '.join(uncounted)}: that row is missing there."
    short = [name for name, one in published.items() if one.protocol["seeds"] < ENOUGH]
    if short:
        yield f"Fewer than {ENOUGH} seeds were run on {', '.join(short)}."


def _made(one: Published) -> str:
    protocol = one.protocol
    return (
        f"κ = {protocol['kappa']:g}, {protocol['seeds']} seeds of {protocol['steps']:,} steps, "
        f"{protocol['evaluation episodes']:,} fresh evaluation episodes a seed: `{one.command}`."
    )


_HEAD = ("method", "return", "ΔK", "mastered", "unready")
_BUDGETS_HEAD = ("method", "met, selected", "met, last", "excess, last", "training steps", "validation steps")


def _rows(rows: Rows) -> Iterator[list[str]]:
    for method, row in rows.items():
        unready = row.get("true_violation_rate", row["prerequisite_violation_rate"])
        yield [
            label(method),
            *(_value(row[metric]) for metric in ("return", "dK", "mastered")),
            numbers.share(unready.mean),
        ]


def _budget_rows(rows: Rows) -> Iterator[list[str]]:
    for method, row in rows.items():
        yield [
            label(method),
            *(_met(row, metric) for metric in _MET),
            "–" if "excess_last" not in row else _value(row["excess_last"]),
            *(f"{round(row[metric].mean):,}" if metric in row else "–" for metric in _STEPS),
        ]


def label(method: str) -> str:
    """What a row is called: MC-CPO and what is changed of it, or a method by its own label."""
    return f"MC-CPO {PARTS[method]}" if method in PARTS else method_label(method)


def _value(measured: Measured) -> str:
    return numbers.with_spread(measured.mean, measured.std if len(measured.per_seed) > 1 else None)


def _met(row: Mapping[str, Measured], metric: str) -> str:
    return numbers.of_seeds(row[metric].per_seed) or "–" if metric in row else "–"


_TEST_HEAD = ["variant", *(head for word in _METRICS.values() for head in (word, "p"))]


def _tests(name: str, one: Published, adjusted: Mapping[tuple[str, str], float]) -> Iterator[list[str]]:
    """The differences of one environment, each with its p."""
    for method in one.settings[name].rows:
        tests = [ablation.test_name(method, metric) for metric in _METRICS]
        if any(test in one.tests for test in tests):
            cells = [_cell(one, test, adjusted.get((name, test))) for test in tests]
            yield [label(method), *(part for cell in cells for part in cell)]


def _cell(one: Published, test: str, p: float | None) -> tuple[str, str]:
    if test not in one.tests:
        return "–", "–"
    shown = "–" if p is None else numbers.p_value(p)
    bold = p is not None and p < SIGNIFICANT
    return numbers.number(float(one.tests[test]["difference"])), f"**{shown}**" if bold else shown


def sentences(published: Ablations, adjusted: Mapping[tuple[str, str], float]) -> Iterator[str]:
    """What each variant has beside MC-CPO, environment by environment, from the numbers."""
    for method, words in _TOLD.items():
        told = [
            _told(name, one.settings[name].rows, method, adjusted)
            for name, one in published.items()
            if method in one.settings[name].rows
        ]
        if told:
            yield f"*{words}.* {' '.join(told)}"


def _told(name: str, rows: Rows, method: str, adjusted: Mapping[tuple[str, str], float]) -> str:
    """What a variant has beside MC-CPO on one environment; a difference is told where its test shows one."""
    ours, theirs = rows[ablation.OURS], rows[method]
    shown = []
    for metric in ("return", "dK"):
        p = adjusted.get((name, ablation.test_name(method, metric)))
        change = theirs[metric].mean - ours[metric].mean
        if p is not None and p < SIGNIFICANT:
            way = "higher" if change > 0 else "lower"
            shown.append(f"{_METRICS[metric]} is {way} by {numbers.number(abs(change))}")
    changed = " and ".join(shown) or "no difference in return or ΔK is shown"
    met, last = (f"{_met(theirs, metric)} seeds (MC-CPO {_met(ours, metric)})" for metric in _MET)
    return f"On {name}, {changed}. The budgets are met by its result in {met}, by its last policy in {last}."
