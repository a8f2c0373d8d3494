"""Results that are published with the docs: a small file for each table, made from run folders.

    python -m mccpo.report.docs.published docs runs/paper …

writes `docs/results/TABLE.json` for every table of the runs that are named, `compare-ENVIRONMENT.json` for a
comparison. Of a table, rows, verdicts, tests and the command are kept; what policies do, curves and fronts stay in the
run folder. Verdicts are worked out anew when a file is read, unless they refer to exact values.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from mccpo import files
from mccpo.errors import InputError
from mccpo.evaluation import summarise_metric
from mccpo.experiments.paper import verdicts as beside_paper
from mccpo.methods import PAPER_METHODS
from mccpo.runs.results import Reported

FOLDER = "results"
_DIGITS = 6
_FIX = "publish it again: python -m mccpo.report.docs.published docs RUN"
_KEPT = ("table", "title", "finding", "protocol", "budgets", "rows", "paper", "verdicts", "fitted", "tests")


class Measured(NamedTuple):
    """One metric over seeds."""

    mean: float
    std: float
    per_seed: tuple[float, ...]


class PublishedSetting(NamedTuple):
    """One table of methods and metrics: ours, the paper's, the verdicts, and which of the paper's were fitted."""

    rows: Mapping[str, Mapping[str, Measured]]
    paper: Mapping[str, Mapping[str, Sequence[float | None]]]
    verdicts: Mapping[str, Mapping[str, str]]
    fitted: Mapping[str, Sequence[str]]


class Published(NamedTuple):
    """A published table: its settings by name, the tests between its methods, and how it was made."""

    settings: Mapping[str, PublishedSetting]
    tests: Mapping[str, Mapping[str, Any]]
    protocol: Mapping[str, Any]
    finding: str
    command: str

    def has(self, path: Sequence[str]) -> bool:
        """Whether there is a number at a path."""
        if path[0] == "tests":
            return self.tests.get(path[1], {}).get(path[2]) is not None  # two equal rows have no test
        setting, method, metric, _ = path
        return setting in self.settings and metric in self.settings[setting].rows.get(method, {})

    def value(self, path: Sequence[str]) -> float:
        """The number at setting, method, metric and statistic, or at `tests`, a test's name and what of it."""
        if path[0] == "tests":
            return float(self.tests[path[1]][path[2]])
        setting, method, metric, statistic = path
        measured = self.settings[setting].rows[method][metric]
        return {"mean": measured.mean, "max": max(measured.per_seed), "min": min(measured.per_seed)}[statistic]


def read_published(docs: str | Path) -> dict[str, Published]:
    """Every table that is published below the docs, by name."""
    paths = sorted((Path(docs) / FOLDER).glob("*.json"))
    return {path.stem: _published(files.read_json(path, fix=_FIX)) for path in paths}


def publish(docs: str | Path, runs: Sequence[str | Path]) -> list[Path]:
    """Publishes the tables of run folders; a later run replaces what an earlier one has of the same table."""
    written = {}
    for run in runs:
        document, manifest = (
            files.read_json(Path(run) / name, fix="name a run folder of `mccpo reproduce`")
            for name in ("results.json", "manifest.json")
        )
        made = manifest["configuration"]
        for table in document.get("tables", {"": document}).values():
            name = table["table"] if str(made["run"]).startswith("reproduce") else str(made["run"])
            written[name] = {"command": command_of(name, made), **_slim(table)}
    if not written:
        raise InputError("no run is named", fix="name run folders of `mccpo reproduce`")
    paths = []
    for name, table in written.items():
        path = Path(docs) / FOLDER / f"{name}.json"
        files.write_text(path, files.dump_json(table, indent=1) + "\n")
        paths.append(path)
    return paths


def command_of(name: str, made: Mapping[str, Any]) -> str:
    """The call that made a table, with what was asked for."""
    call = f"compare {name.removeprefix('compare-')}" if name.startswith("compare-") else f"reproduce {name}"
    own = () if call.startswith("compare") else PAPER_METHODS
    asked = {
        "methods": "" if tuple(made.get("methods", own)) == own else ",".join(made["methods"]),
        "kappa": ",".join(f"{kappa:g}" for kappa in made.get("kappa", ())),
        "seeds": made.get("seeds", ""),
        "steps": made.get("steps") or "",
        "episodes": made.get("episodes") or "",
        "seed": made.get("seed") or "",
    }
    return " ".join(["mccpo", call, *(f"--{key} {value}" for key, value in asked.items() if value != "")])


def _slim(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table with what is cited, its numbers to six digits."""
    kept = {name: table[name] for name in _KEPT if table.get(name)}
    if "settings" in table:
        kept["settings"] = {
            name: {key: setting[key] for key in _KEPT if setting.get(key)}
            for name, setting in table["settings"].items()
        }
    slim: dict[str, Any] = _rounded(kept)
    return slim


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.{_DIGITS}g}")
        case Mapping():
            return {key: _rounded(part) for key, part in value.items() if key not in ("ci", "iqm")}
        case list() | tuple():
            return [_rounded(part) for part in value]
        case _:
            return value


def _published(raw: Mapping[str, Any]) -> Published:
    settings = raw.get("settings") or {"": raw}
    # Where exact values are known the run alone has them, and with them its verdicts. All others are by today's rule.
    anew = not any("exact" in cell["reason"] for setting in settings.values() for cell in _reasons(setting))
    return Published(
        settings={name: _setting(setting, anew=anew) for name, setting in settings.items()},
        tests=raw.get("tests", {}),
        protocol=raw.get("protocol", {}),
        finding=str(raw.get("finding") or ""),
        command=str(raw.get("command") or ""),
    )


def _reasons(raw: Mapping[str, Any]) -> list[Mapping[str, str]]:
    return [cell for cells in raw.get("verdicts", {}).values() for cell in cells.values()]


def _setting(raw: Mapping[str, Any], *, anew: bool) -> PublishedSetting:
    rows = {
        method: {metric: Measured(cell["mean"], cell["std"], tuple(cell["per_seed"])) for metric, cell in row.items()}
        for method, row in raw["rows"].items()
    }
    verdicts = {
        method: {metric: str(cell["verdict"]) for metric, cell in cells.items()}
        for method, cells in raw.get("verdicts", {}).items()
    }
    if anew and verdicts:
        verdicts = _judged(rows, raw["paper"])
    return PublishedSetting(rows, raw.get("paper", {}), verdicts, raw.get("fitted", {}))


def _judged(
    rows: Mapping[str, Mapping[str, Measured]], paper: Mapping[str, Mapping[str, Sequence[float | None]]]
) -> dict[str, dict[str, str]]:
    """The verdicts beside the paper's numbers by today's rule, whatever the rule was when the table was made."""
    ours = {
        method: {metric: summarise_metric(metric, cell.per_seed) for metric, cell in row.items()}
        for method, row in rows.items()
    }
    stated = {method: {metric: _stated(cell) for metric, cell in cells.items()} for method, cells in paper.items()}
    found = beside_paper.verdicts(ours, stated, {}, paper_seeds=beside_paper.PAPER_SEEDS)
    return {method: {metric: verdict.kind for metric, verdict in cells.items()} for method, cells in found.items()}


def _stated(cell: Sequence[float | None]) -> Reported:
    """What the paper prints, its last digit told by the number itself."""
    mean, std = cell
    assert mean is not None
    return Reported(mean, std, 10.0 ** int(Decimal(repr(mean)).as_tuple().exponent))


def main(arguments: Sequence[str]) -> int:
    """Publishes the run folders that are named after the folder of the docs."""
    docs, *runs = arguments
    for path in publish(docs, runs):
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
