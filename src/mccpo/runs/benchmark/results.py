"""The results of a benchmark, as `results.json` of its folder holds them and `mccpo benchmark --json` prints them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from mccpo import files
from mccpo.errors import InputError
from mccpo.evaluation import Summary
from mccpo.files import dump_json, read_json
from mccpo.runs.benchmark.cell import Cell
from mccpo.runs.benchmark.fields import Fields, JsonObject
from mccpo.runs.benchmark.findings import Findings
from mccpo.runs.benchmark.problem import NotRun, ProblemRecord, parse_environment
from mccpo.runs.benchmark.summary import parse_summary, summary_as_json

RESULTS = "results.json"
NOT_A_BENCHMARK = "name the folder of a benchmark"

ByKappa: TypeAlias = Mapping[str, tuple[Summary | None, ...]]
"""Metrics by name, each with a value for every κ, None where there is none."""


@dataclass(frozen=True)
class ProtocolRecord:
    """What was the same for every method: see `mccpo.experiments.benchmark.Protocol`."""

    kappa: tuple[float, ...]
    seeds: int
    steps: int
    seed: int
    search: bool
    limit: float | None
    episodes: int
    search_kappa: float | None  # of a version that searched at one κ for all
    search_seeds: int
    unseen: tuple[float, ...]
    sizes: Mapping[str, float]
    validation: int
    steps_trained: int
    floors: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        late = ("search_kappa", "floors")  # which not every version has
        told = {name: value for name, value in asdict(self).items() if name not in late or value}
        return {**told, "kappa": list(self.kappa), "unseen": list(self.unseen), "sizes": dict(self.sizes)}

    @staticmethod
    def parse(raw: object) -> ProtocolRecord:
        fields = Fields(raw)
        steps = fields.whole("steps")
        return ProtocolRecord(
            kappa=fields.numbers("kappa"),
            seeds=fields.whole("seeds"),
            steps=steps,
            seed=fields.whole("seed"),
            search=fields.flag("search", default=False),
            limit=fields.optional_number("limit"),
            episodes=fields.whole("episodes"),
            search_seeds=fields.whole("search_seeds"),
            unseen=fields.numbers("unseen"),
            sizes=fields.named_numbers("sizes"),
            validation=fields.whole("validation"),
            steps_trained=int(fields.number("steps_trained", default=steps)),
            search_kappa=fields.optional_number("search_kappa"),
            floors=fields.texts("floors") if "floors" in fields else (),
        )


@dataclass(frozen=True)
class Seconds:
    """How long a method took on an environment: one run, the search, and all of it, on which device."""

    run: float | None
    search: float | None
    all: float | None
    device: str | None

    def as_json(self) -> JsonObject:
        return asdict(self)

    @staticmethod
    def parse(raw: Fields) -> Seconds:
        return Seconds(
            run=raw.optional_number("run"),
            search=raw.optional_number("search"),
            all=raw.optional_number("all"),
            device=raw.text("device") or None if "device" in raw else None,
        )


@dataclass(frozen=True)
class MethodRecord:
    """A method: its kind, and by environment the settings that were chosen for it, by κ, and how long it took."""

    kind: str
    settings: Mapping[str, Mapping[str, object]]
    seconds: Mapping[str, Seconds]

    def as_json(self) -> JsonObject:
        return {
            "kind": self.kind,
            "settings": {environment: dict(setting) for environment, setting in self.settings.items()},
            "seconds": {environment: seconds.as_json() for environment, seconds in self.seconds.items()},
        }

    @staticmethod
    def parse(raw: Fields) -> MethodRecord:
        settings = raw.part("settings")
        seconds = raw.parts("seconds") if "seconds" in raw else {}
        return MethodRecord(
            kind=raw.text("kind"),
            settings={environment: dict(part.raw) for environment, part in settings.all_parts().items()},
            seconds={environment: Seconds.parse(fields) for environment, fields in seconds.items()},
        )


@dataclass(frozen=True)
class Unseen:
    """What methods do at κ that nobody trained for, by method and environment."""

    kappa: tuple[float, ...]
    methods: Mapping[str, Mapping[str, ByKappa]]

    def as_json(self) -> JsonObject:
        return {
            "kappa": list(self.kappa),
            **{
                method: {
                    environment: {metric: _listed(values) for metric, values in metrics.items()}
                    for environment, metrics in environments.items()
                }
                for method, environments in self.methods.items()
            },
        }

    @staticmethod
    def parse(raw: Fields) -> Unseen:
        return Unseen(
            kappa=raw.numbers("kappa"),
            methods={
                method: {name: _by_kappa(metrics) for name, metrics in raw.parts(method).items()}
                for method in raw.raw
                if method != "kappa"
            },
        )


@dataclass(frozen=True)
class BenchmarkResults:
    """All that a benchmark came to.

    `versions` names the versions of the code that its pairs are of; None while the benchmark still runs.
    """

    suite: str
    protocol: ProtocolRecord
    environments: Mapping[str, ProblemRecord | NotRun]
    methods: Mapping[str, MethodRecord]
    findings: Findings
    unseen: Unseen
    seconds: float | None
    versions: tuple[str, ...] | None = None

    def seeds(self, cell: Cell) -> int:
        """Of how many seeds a cell is, failed ones among them; an outside agent has a number of its own.

        Every seed of a method has a hypervolume, which is 0 where it failed. What does not apply has none.
        """
        volumes = self.findings.hypervolume.get(cell.environment, {}).get(cell.method)
        return len(volumes.per_seed) if volumes else self.protocol.seeds

    def as_json(self) -> JsonObject:
        versions: JsonObject = {} if self.versions is None else {"versions": list(self.versions)}
        return {
            "suite": self.suite,
            "protocol": self.protocol.as_json(),
            "environments": {name: environment.as_json() for name, environment in self.environments.items()},
            "methods": {name: method.as_json() for name, method in self.methods.items()},
            **self.findings.as_json(),
            "unseen": self.unseen.as_json(),
            "seconds": self.seconds,
            **versions,
        }

    @staticmethod
    def parse(raw: object) -> BenchmarkResults:
        """Reads what `as_json` gave, now or in an earlier version; raises KeyError, TypeError or ValueError."""
        fields = Fields(raw)
        return BenchmarkResults(
            suite=fields.text("suite"),
            protocol=ProtocolRecord.parse(fields.raw["protocol"]),
            environments={name: parse_environment(part) for name, part in fields.parts("environments").items()},
            methods={name: MethodRecord.parse(part) for name, part in fields.parts("methods").items()},
            findings=Findings.parse(fields),
            unseen=Unseen.parse(fields.part("unseen")),
            seconds=fields.optional_number("seconds"),
            versions=fields.texts("versions") if "versions" in fields else None,
        )


def write_results(folder: Path, results: BenchmarkResults) -> None:
    """Writes `results.json` into the folder of a benchmark."""
    files.write_text(folder / RESULTS, dump_json(results.as_json(), indent=2) + "\n")


def read_results(folder: Path) -> BenchmarkResults:
    """The results in the folder of a benchmark, or of one that is published."""
    raw = read_json(folder / RESULTS, fix=NOT_A_BENCHMARK)
    try:
        return BenchmarkResults.parse(raw)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder} is not a finished benchmark ({error!r})", fix=NOT_A_BENCHMARK) from error


def _listed(values: tuple[Summary | None, ...]) -> list[JsonObject | None]:
    return [None if summary is None else summary_as_json(summary) for summary in values]


def _by_kappa(raw: Fields) -> ByKappa:
    return {
        metric: tuple(None if value is None else parse_summary(value) for value in raw.items(metric))
        for metric in raw.raw
    }
