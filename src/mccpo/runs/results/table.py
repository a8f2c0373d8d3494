"""The results of one table: made once by an experiment, kept as JSON, and read back from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mccpo.errors import InputError
from mccpo.evaluation import Difference, adjusted
from mccpo.runs.checks import Json, as_list, as_mapping, as_optional_number, as_texts, stated
from mccpo.runs.results.cells import parse_difference
from mccpo.runs.results.certificate import Certificate
from mccpo.runs.results.from_logs import FromLogs
from mccpo.runs.results.setting import Setting
from mccpo.runs.results.studies import (
    CalibratedGate,
    Instance,
    Noise,
    NoiseClaim,
    Search,
    noise_as_json,
    parse_noise,
)
from mccpo.runs.results.supplement import Supplement, UnmetBudgets
from mccpo.runs.results.tradeoff import TradeOff

if TYPE_CHECKING:
    import polars as pl

Study = TypeVar("Study")

Facts = Mapping[str, object]
"""How numbers came about, such as seeds and steps: names and plain values, to be shown."""


@dataclass(frozen=True)
class BudgetLevel:
    """The κ that the budgets of a table are a share by; None where they are the environment's own."""

    kappa: float | None


@dataclass(frozen=True, eq=False)
class Results:
    """One table of results. What a table does not speak of is None.

    - `table`, `title`, `finding`, `environment`, `notes`: its name, and what it says in words.
    - `protocol`: how the numbers came about. `level`: the κ of a comparison.
    - `settings`: its tables of methods and metrics; the only one goes by no name.
    - `parts`: the parts of the run, and the setting that shows each, "" for those that the table shows as a whole.
    - `requirements`: what was asked for in words, and how it was understood.
    - `tests`: between methods. `tradeoff`: fronts over budgets.
    - `data`, `noise`, `claims`, `calibrated`, `searches`, `instances`: what single tables of the paper find out.
    - `supplement`: of the table as a whole; where there is one setting, all is that setting's.
    """

    table: str
    title: str
    settings: tuple[Setting, ...]
    protocol: Facts = field(default_factory=dict)
    environment: str = ""
    tests: Mapping[str, Difference] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    finding: str | None = None
    level: BudgetLevel | None = None
    requirements: tuple[str, ...] | None = None
    parts: Mapping[str, str] | None = None
    tradeoff: TradeOff | None = None
    data: FromLogs | None = None
    noise: Noise | None = None
    claims: tuple[NoiseClaim, ...] | None = None
    calibrated: tuple[CalibratedGate, ...] | None = None
    searches: tuple[Search, ...] | None = None
    instances: Mapping[str, Instance] | None = None
    supplement: Supplement = field(default_factory=Supplement)

    @property
    def kappa(self) -> float | None:
        """The κ of a comparison, where its budgets are a share by one."""
        return None if self.level is None else self.level.kappa

    @property
    def p_holm(self) -> dict[str, float]:
        """The p of every test, adjusted by Holm for all tests of the table."""
        return adjusted(self.tests)

    @property
    def unmet(self) -> list[tuple[str, UnmetBudgets]]:
        """All budgets that were not met, each with where that is: a setting, a κ, or nowhere in particular."""
        named = [("", self.supplement), *((setting.name, setting.supplement) for setting in self.settings)]
        by_setting = [(where, supplement.unmet) for where, supplement in named if supplement.unmet is not None]
        return [*by_setting, *(self.tradeoff.unmet if self.tradeoff is not None else ())]

    def with_certificate(self, certificate: Certificate) -> Results | None:
        """The table with a certificate more of one of its parts, where that is shown; None for any other part."""
        name = (self.parts or {}).get(certificate.part)
        if name is None:
            return None
        if name == "" and not self._alone:
            return replace(self, supplement=self.supplement.with_certificate(certificate))
        if name not in [setting.name for setting in self.settings]:
            return None
        return replace(self, settings=tuple(_certified(setting, name, certificate) for setting in self.settings))

    def to_polars(self) -> pl.DataFrame:
        """One row per setting, method, metric and seed."""
        import polars as pl  # noqa: PLC0415 - results are read without it

        rows = [
            (self.table, setting.name, method, metric, seed, value)
            for setting in self.settings
            for method, row in setting.rows.items()
            for metric, summary in row.items()
            for seed, value in enumerate(summary.per_seed)
        ]
        text = dict.fromkeys(("table", "setting", "method", "metric"), pl.String)
        return pl.DataFrame(rows, schema={**text, "seed": pl.Int64, "value": pl.Float64}, orient="row")

    def as_json(self) -> Json:
        """The table as `results.json` and `--json` have it."""
        tradeoff: Json = {} if self.tradeoff is None else self.tradeoff.as_json()
        searched = self.searches is not None  # a search is over the points of the fronts, and stands by them
        return {
            "table": self.table,
            "title": self.title,
            **stated(finding=self.finding),
            "protocol": self.protocol,
            "environment": self.environment,
            **stated(data=None if self.data is None else self.data.as_json()),
            **({} if self.level is None else {"kappa": self.level.kappa}),
            **self._settings_as_json(),
            **self._studies_as_json(),
            **(tradeoff if searched else {}),
            **stated(searches=_listed(self.searches)),
            "tests": {name: self._test_as_json(name) for name in self.tests},
            **({} if searched else tradeoff),
            "notes": list(self.notes),
            **self.supplement.as_json(),
        }

    @classmethod
    def parse(cls, raw: object) -> Results:
        """Reads the JSON of `compare` or `reproduce`; what it cannot use is an error that says where."""
        entries = as_mapping(raw, "a table of results")
        table = str(entries.get("table", "results"))
        named = as_mapping(entries.get("settings") or {}, f"{table}: settings")
        tests = as_mapping(entries.get("tests"), f"{table}: tests")
        finding, requirements, parts = (entries.get(name) for name in ("finding", "requirements", "parts"))
        return cls(
            table=table,
            title=str(entries.get("title") or table),
            settings=tuple(Setting.parse(name, entry, f"{table} {name}".strip()) for name, entry in named.items())
            or (Setting.parse("", entries, table, alone=True),),
            protocol=as_mapping(entries.get("protocol"), f"{table}: protocol"),
            environment=str(entries.get("environment") or ""),
            tests={name: parse_difference(test, f"{table}: tests, {name}") for name, test in tests.items()},
            notes=as_texts(entries.get("notes"), f"{table}: notes"),
            finding=None if finding is None else str(finding),
            level=_level(entries, table),
            requirements=None if requirements is None else as_texts(requirements, f"{table}: requirements"),
            parts=_parts(parts),
            tradeoff=TradeOff.parse(entries, table),
            data=FromLogs.parse(entries.get("data"), f"{table}: data"),
            noise=parse_noise(entries.get("noise"), f"{table}: noise"),
            claims=_each(entries.get("claims"), f"{table}: claims", NoiseClaim.parse),
            calibrated=_each(entries.get("calibrated"), f"{table}: calibrated", CalibratedGate.parse),
            searches=_each(entries.get("searches"), f"{table}: searches", Search.parse),
            instances=_instances(entries.get("instances"), f"{table}: instances"),
            supplement=Supplement.parse(entries, table) if named else Supplement(),
        )

    def _test_as_json(self, name: str) -> Json:
        return {**self.tests[name].as_json(), "p_holm": self.p_holm.get(name)}

    @property
    def _alone(self) -> bool:
        """Whether the only setting goes by no name, so that the table and it are one."""
        return [setting.name for setting in self.settings] == [""]

    def _settings_as_json(self) -> Json:
        asked = stated(
            requirements=None if self.requirements is None else list(self.requirements),
            parts=None if self.parts is None else dict(self.parts),
        )
        if not self._alone:
            return {"settings": {setting.name: setting.as_json() for setting in self.settings}, **asked}
        only = dict(self.settings[0].as_json())
        if self.instances is not None:  # which have an optimum each
            del only["optimum"]
        return {"budgets": only.pop("budgets"), **asked, **only}

    def _studies_as_json(self) -> Json:
        instances = self.instances
        return stated(
            noise=None if self.noise is None else noise_as_json(self.noise),
            claims=_listed(self.claims),
            calibrated=_listed(self.calibrated),
            instances=None if instances is None else {name: instance.as_json() for name, instance in instances.items()},
        )


def as_document(tables: Sequence[Results]) -> Json:
    """The tables of a run as one JSON object: a single one as it is, several by name."""
    if len(tables) == 1:
        return tables[0].as_json()
    return {"tables": {results.table: results.as_json() for results in tables}}


def parse_document(raw: Json, path: Path) -> list[Results]:
    """The tables of a run that a file holds; it may have been changed by hand, or be of another version."""
    tables = raw.get("tables", {"": raw})
    if not isinstance(tables, Mapping) or not tables:
        raise InputError(f"{path} has no tables", fix="run it again")
    try:
        return [Results.parse(table) for table in tables.values()]
    except InputError as error:
        raise InputError(f"{path}: {error.what}", fix="run it again") from error


def _certified(setting: Setting, name: str, certificate: Certificate) -> Setting:
    if setting.name != name:
        return setting
    return replace(setting, supplement=setting.supplement.with_certificate(certificate))


def _level(entries: Json, table: str) -> BudgetLevel | None:
    if "kappa" not in entries:
        return None
    return BudgetLevel(as_optional_number(entries["kappa"], f"{table}: kappa"))


def _parts(raw: object) -> dict[str, str] | None:
    return {str(part): str(setting) for part, setting in raw.items()} if isinstance(raw, Mapping) else None


def _instances(raw: object, where: str) -> dict[str, Instance] | None:
    if raw is None:
        return None
    return {name: Instance.parse(entry, f"{where}, {name}") for name, entry in as_mapping(raw, where).items()}


def _each(raw: object, where: str, parse: Callable[[object, str], Study]) -> tuple[Study, ...] | None:
    return None if raw is None else tuple(parse(entry, where) for entry in as_list(raw, where))


def _listed(studies: Sequence[NoiseClaim | CalibratedGate | Search] | None) -> list[Json] | None:
    return None if studies is None else [study.as_json() for study in studies]
