"""The page of the paper's claims, from the data of the claims and the results that are published with the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mccpo.evaluation import SHARES_OF_SEEDS
from mccpo.experiments.paper import claims as paper
from mccpo.report import numbers
from mccpo.report.docs.docstrings import table
from mccpo.report.docs.published import Measured, Published, PublishedSetting
from mccpo.report.vocabulary import method_label, metric_label, split_variant

Tables = Mapping[str, Published]

_INTRO = """Every theorem, table and sentence with a number in *MC-CPO: Mastery-Conditioned Constrained Policy
Optimization for Pedagogically Safe Intelligent Tutoring Systems* (Olukola and Rahimi), with what came of it here.

- *reproduced*: our numbers agree, or come nearer to the exact value where one is known; a theorem holds.
- *differs*: our numbers do not agree, or the claim holds only in another form.
- *refuted*: there is a counterexample, or a number that cannot be as the paper says.
- *open*: the runs and data at hand do not decide it; the command does, where its data are.

The verdict on a table is the least favourable of those on its cells, which stand below. *Fitted* marks a number of the
paper that our environment's numbers were worked out from: that it agrees is no evidence. All others are predictions.
[Statistics](statistics.md) has the rule by which a number agrees, differs, or cannot be told."""

_FILL = """Everything measured on this page is read from `docs/results`. To make it anew:

```console
$ mccpo reproduce all --out runs/paper
$ make paper RUN=runs/paper
```

`reproduce all` runs every table in full, which takes hours on two cores; the page shows what the published runs had.
Several runs of single tables can be named instead: `make paper RUN="runs/gate runs/tutor-15"`. In the published runs
of `compare tutor-15`, `shaping-25` and `parameterisations`, `mc-cpo` mixed in the frontier for half of training, as
`mc-cpo-frontier` does today."""


_SHOWN = "Claims are in our words, after the verdict. Then comes what was found, and by which command or test."


def paper_page(published: Tables) -> str:
    """The text of the page."""
    decided = [(claim, verdict_on(claim, published)) for claim in paper.claims()]
    counts = Counter(verdict for _, verdict in decided)
    counted = ", ".join(f"{verdict} {counts[verdict]}" for verdict in paper.CLAIM_VERDICTS)
    parts = ["# The paper's claims", _INTRO, f"Of {len(decided)} claims: {counted}.", _FILL]
    parts += ["## The claims", _SHOWN, "\n".join(_claim(*each, published) for each in decided)]
    parts += ["## The cells of the paper's tables", *_cell_tables(published)]
    if "parameterisations" in published:
        parts += ["## Other tutors that fit as well", *_parameterisations(published["parameterisations"])]
    parts += ["## How the published results were made", "\n".join(_made(published))]
    return "\n\n".join(parts) + "\n"


def verdict_on(claim: paper.Claim, published: Tables) -> str:
    """The verdict on a claim by the published results; open where these have nothing on it."""
    if claim.verdict:
        return claim.verdict
    if claim.cells:
        kinds = [kind for cells in claim.cells for kind in _kinds(cells, published)]
        if not kinds:
            return "open"
        if "differs" in kinds:
            return "differs"
        return "reproduced" if set(kinds) <= {"agrees", "better"} else "open"
    values = _values(claim, published)
    if values is None:
        return "open"
    return "reproduced" if all(comparison.holds(values) for comparison in claim.holds) else claim.otherwise


def evidence_of(claim: paper.Claim, published: Tables) -> str:
    """What was found, with the numbers of the published results."""
    if claim.cells and not claim.verdict:
        kinds = Counter(kind for cells in claim.cells for kind in _kinds(cells, published))
        told = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
        return " ".join([f"Cells: {told}." if told else "Not run.", *([claim.note] if claim.note else [])])
    values = _values(claim, published)
    if values is None:
        return "Not run."
    shown = {name: numbers.number(value) for name, value in values.items()}
    return claim.evidence.format_map(shown)


def _paths(claim: paper.Claim, published: Tables) -> Mapping[str, Sequence[str]] | None:
    """Where the published results have every value of a claim; None where they lack one."""
    given = [claim.values, *([claim.instead] if claim.instead else [])]
    for paths in given:
        if all(path[0] in published and published[path[0]].has(path[1:]) for path in paths.values()):
            return paths
    return None


def _values(claim: paper.Claim, published: Tables) -> dict[str, float] | None:
    """The numbers that a claim cites; None where the published results lack one."""
    paths = _paths(claim, published)
    return None if paths is None else {name: published[path[0]].value(path[1:]) for name, path in paths.items()}


def _claim(claim: paper.Claim, verdict: str, published: Tables) -> str:
    """A claim, its verdict, what was found, and the command that finds it."""
    commands = ", ".join(f"`{command}`" for command in claim.command.split("; "))
    told = f"*Found:* {evidence_of(claim, published)}\\\n  *By:* {commands}"
    return f"- **{claim.where}: {verdict}.** {claim.says}\\\n  {told}"


def _found(cells: paper.Cells, published: Tables) -> Iterator[tuple[str, str, PublishedSetting]]:
    """The cells that the paper has and that were measured."""
    if cells.table not in published or cells.setting not in published[cells.table].settings:
        return
    setting = published[cells.table].settings[cells.setting]
    for method in cells.methods:
        for metric in cells.metrics:
            if metric in setting.verdicts.get(method, {}):
                yield method, metric, setting


def _kinds(cells: paper.Cells, published: Tables) -> list[str]:
    return [setting.verdicts[method][metric] for method, metric, setting in _found(cells, published)]


def _cell_tables(published: Tables) -> Iterator[str]:
    for claim in paper.claims():
        rows = [
            [
                method_label(method),
                metric_label(metric),
                _paper(metric, setting.paper[method][metric]),
                _ours(metric, setting.rows[method][metric]),
                setting.verdicts[method][metric],
                "fitted" if metric in setting.fitted.get(method, ()) else "prediction",
            ]
            for cells in claim.cells
            for method, metric, setting in _found(cells, published)
        ]
        rows += [row for cells in claim.cells for row in _beside_rhsi(cells, published)]
        if rows:
            head = ["method", "metric", "paper", "ours", "verdict", "fitted or prediction"]
            topic = claim.says.split(":")[0].removesuffix(".")
            yield f"### {claim.where}: {topic}\n\n{claim.says}\n\n{table(head, rows)}"


def _beside_rhsi(cells: paper.Cells, published: Tables) -> Iterator[list[str]]:
    """What was learnt, of methods whose RHSI is shown: it hides that, and the paper does not print it."""
    found = list(_found(cells, published))
    setting_of = {method: setting for method, metric, setting in found if metric.startswith("rhsi")}
    printed = {(method, metric) for method, metric, _ in found}
    for method, setting in setting_of.items():
        for metric in ("dK", "mastered"):
            if metric in setting.rows[method] and (method, metric) not in printed:
                yield [
                    method_label(method),
                    metric_label(metric),
                    "–",
                    _ours(metric, setting.rows[method][metric]),
                    "–",
                    "–",
                ]


def _ours(metric: str, measured: Measured) -> str:
    if split_variant(metric)[0] in SHARES_OF_SEEDS:
        return numbers.of_seeds(measured.per_seed) or numbers.share(measured.mean)
    return numbers.with_spread(measured.mean, measured.std if len(measured.per_seed) > 1 else None)


def _paper(metric: str, stated: Sequence[float | None]) -> str:
    mean, std = stated
    assert mean is not None
    if split_variant(metric)[0] in SHARES_OF_SEEDS:
        return numbers.share(mean)
    return numbers.with_spread(mean, std or None)


def _parameterisations(published: Published) -> Iterator[str]:
    protocol = published.protocol
    yield (
        f"`mccpo reproduce parameterisations`: {protocol['draws']} tutors whose graph, demands, K₀, r_E, c2 and c4 are "
        "drawn at random and kept where the policy that repeats the first concept has the paper's unconstrained row. "
        f"The paper's methods at κ = {protocol['kappa']:g}, {protocol['seeds']} seeds of {protocol['steps']:,} "
        "steps a draw, which is a fifth of the seeds asked for. *Kept*: draws in which all budgets are met in every "
        "seed (τ = 0). *First*: draws in which the method "
        "returns the most among those that keep them. The other columns are over all runs."
    )
    stated = [
        [metric_label(metric), numbers.number(value), numbers.number(within)]
        for metric, (value, within) in protocol["facts"].items()
    ]
    yield "What must hold of a draw:\n\n" + table(["figure of the unconstrained row", "paper", "within"], stated)
    metrics = ("kept", "first", "satisfaction_strict", "satisfaction", "return_share", "dK_share", "mastered")
    rows = [
        [method_label(method), *(_ours(metric, row[metric]) for metric in metrics)]
        for method, row in published.settings[""].rows.items()
    ]
    yield table(["method", *(metric_label(metric) for metric in metrics)], rows)
    yield published.finding


def _made(published: Tables) -> Iterator[str]:
    for name, results in published.items():
        protocol = results.protocol
        length = f"{protocol['episodes']:,} episodes" if "episodes" in protocol else f"{protocol['steps']:,} steps"
        yield f"- {name}: {protocol['seeds']} seeds of {length}, by `{results.command}`"
