"""One table of methods and metrics; most results have one, a sweep has several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mccpo.errors import InputError
from mccpo.evaluation import Summary
from mccpo.runs.checks import Json, as_mapping, as_numbers, as_texts
from mccpo.runs.results.cells import Reported, Verdict, cells_as_json, parse_cells, parse_summary
from mccpo.runs.results.supplement import Supplement
from mccpo.runs.results.tradeoff import TradeOff


@dataclass(frozen=True, eq=False)
class Setting:
    """One table of methods and metrics.

    - `name`: empty for the only setting of a table.
    - `floors`: what learning and engagement must reach at least.
    - `optimum`: the metrics of the exact optimum under the budgets; empty where it is not known.
    - `paper`, `verdicts`: the paper's numbers, and how ours stand to them. `fitted`: those of them, by method, that
      the environment's own numbers were worked out from; the others it predicts.
    - `supplement`: what there is beyond the rows.
    - `tradeoff`: fronts of the setting's own.
    """

    name: str
    budgets: Mapping[str, float]
    rows: Mapping[str, Mapping[str, Summary]]
    optimum: Mapping[str, float] = field(default_factory=dict)
    paper: Mapping[str, Mapping[str, Reported]] = field(default_factory=dict)
    verdicts: Mapping[str, Mapping[str, Verdict]] = field(default_factory=dict)
    supplement: Supplement = field(default_factory=Supplement)
    tradeoff: TradeOff | None = None
    floors: Mapping[str, float] = field(default_factory=dict)
    fitted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        """Those that were run, then those that only the paper has."""
        return list(dict.fromkeys([*self.rows, *self.paper]))

    def budget(self, metric: str) -> float | None:
        """The budget on a cost's metric: `J_c4` has that of `c4`."""
        return self.budgets.get(metric.removeprefix("J_")) if metric.startswith("J_") else None

    def verdict_words(self, method: str, metric: str) -> str:
        """The verdict on a number of the paper, and whether that number was fitted; empty where there is none."""
        verdict = self.verdicts.get(method, {}).get(metric)
        if verdict is None:
            return ""
        return f"{verdict.kind}, fitted" if metric in self.fitted.get(method, ()) else verdict.kind

    def as_json(self) -> Json:
        """The setting as JSON values; its name is that of the entry it goes under."""
        return {
            "budgets": dict(self.budgets),
            **({"floors": dict(self.floors)} if self.floors else {}),
            "rows": cells_as_json(self.rows),
            "optimum": dict(self.optimum) or None,
            "paper": cells_as_json(self.paper),
            "verdicts": cells_as_json(self.verdicts),
            **({"fitted": {method: list(metrics) for method, metrics in self.fitted.items()}} if self.fitted else {}),
            **self.supplement.as_json(),
            **({} if self.tradeoff is None else self.tradeoff.as_json()),
        }

    @classmethod
    def parse(cls, name: str, raw: object, where: str, *, alone: bool = False) -> Setting:
        """Reads a setting; the fronts of the only one (`alone`) are the table's."""
        entries = as_mapping(raw, where)
        setting = cls(
            name=name,
            budgets=as_numbers(entries.get("budgets"), f"{where}: budgets"),
            rows=parse_cells(entries.get("rows"), f"{where}: rows", parse_summary),
            optimum=as_numbers(entries.get("optimum"), f"{where}: optimum"),
            paper=parse_cells(entries.get("paper"), f"{where}: paper", Reported.parse),
            verdicts=parse_cells(entries.get("verdicts"), f"{where}: verdicts", Verdict.parse),
            supplement=Supplement.parse(entries, where),
            tradeoff=None if alone else TradeOff.parse(entries, where),
            floors=as_numbers(entries.get("floors"), f"{where}: floors"),
            fitted=_fitted(entries.get("fitted"), f"{where}: fitted"),
        )
        if not setting.rows and setting.supplement.unmet is None:  # where nothing can be met, there is nothing to train
            raise InputError(f"{where} has no rows", fix="give the results of at least one method")
        if setting.rows and not any(setting.rows.values()):
            raise InputError(f"{where} has rows without numbers", fix="give at least one metric of one method")
        return setting


def _fitted(raw: object, where: str) -> dict[str, tuple[str, ...]]:
    entries = as_mapping(raw, where)
    return {method: as_texts(metrics, f"{where}, {method}") for method, metrics in entries.items()}
