"""Where an environment that was made from logs comes from, and how often right answers taught nothing in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from mccpo.runs.checks import (
    Json,
    as_counts,
    as_list,
    as_mapping,
    as_number,
    as_numbers,
    as_optional_number,
    as_whole,
    stated,
)


@dataclass(frozen=True)
class Decoupling:
    """How often an answer was right and brought no gain: by which measure, among what, and as a share of what."""

    measure: str
    population: str
    of: str
    events: int
    analysed: int
    learners: int | None
    rate: float | None
    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the rate, where there is one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def as_json(self) -> Json:
        """The rate as JSON values."""
        return dict(vars(self))

    @classmethod
    def parse(cls, raw: object, where: str) -> Decoupling:
        """Reads a rate."""
        entries = as_mapping(raw, where)
        return cls(
            measure=str(entries.get("measure")),
            population=str(entries.get("population")),
            of=str(entries.get("of")),
            events=round(as_number(entries.get("events"), f"{where}, events")),
            analysed=round(as_number(entries.get("analysed"), f"{where}, analysed")),
            learners=as_whole(entries.get("learners"), f"{where}, learners"),
            rate=as_optional_number(entries.get("rate"), f"{where}, rate"),
            low=as_optional_number(entries.get("low"), f"{where}, low"),
            high=as_optional_number(entries.get("high"), f"{where}, high"),
        )


@dataclass(frozen=True)
class FromLogs:
    """Where an environment that was made from logs comes from.

    `graph`, `engagement` and `account` are what the prepared folder and the reading of the logs say, kept as they are.
    """

    graph: Json = field(default_factory=dict)
    events: dict[str, float] = field(default_factory=dict)
    episodes: dict[str, float] = field(default_factory=dict)
    learners: dict[str, float] = field(default_factory=dict)
    engagement: Json = field(default_factory=dict)
    account: Json | None = None
    decoupling: tuple[Decoupling, ...] = ()
    in_paper: dict[str, float] | None = None

    @property
    def size(self) -> dict[str, float]:
        """How many concepts and edges the graph has."""
        return {name: float(self.graph[name]) for name in ("concepts", "edges") if self.graph.get(name) is not None}

    @property
    def derived(self) -> str:
        """How the graph was derived, in words; empty where it was given."""
        return str(self.graph.get("derived") or "")

    @property
    def explained(self) -> dict[str, float]:
        """The share of engagement's variance that its model explains, by environment."""
        shares = {name: fitted.get("r_squared") for name, fitted in self.engagement.items()}
        return {name: float(share) for name, share in shares.items() if share is not None}

    def as_json(self) -> Json:
        """What results say under `data`."""
        return {
            "graph": self.graph,
            "events": self.events,
            "episodes": self.episodes,
            "learners": self.learners,
            "engagement": self.engagement,
            **stated(account=self.account),
            "decoupling": [rate.as_json() for rate in self.decoupling],
            "decoupling in the paper": self.in_paper,
        }

    @classmethod
    def parse(cls, raw: object, where: str) -> FromLogs | None:
        """Reads what results say under `data`, where they do."""
        if raw is None:
            return None
        entries = as_mapping(raw, where)
        graph = as_mapping(entries.get("graph"), f"{where}, graph")
        as_numbers({name: graph.get(name) for name in ("concepts", "edges")}, f"{where}, graph")
        engagement = as_mapping(entries.get("engagement"), f"{where}, engagement")
        explained = {
            name: as_mapping(fitted, f"{where}, {name}").get("r_squared") for name, fitted in engagement.items()
        }
        as_numbers(explained, f"{where}, engagement")
        account, in_paper = entries.get("account"), entries.get("decoupling in the paper")
        rates = as_list(entries.get("decoupling"), f"{where}, decoupling")
        return cls(
            graph=graph,
            events=as_counts(entries.get("events"), f"{where}, events"),
            episodes=as_counts(entries.get("episodes"), f"{where}, episodes"),
            learners=as_counts(entries.get("learners"), f"{where}, learners"),
            engagement=engagement,
            account=None if account is None else as_mapping(account, f"{where}, account"),
            decoupling=tuple(Decoupling.parse(rate, f"{where}, decoupling") for rate in rates),
            in_paper=None if in_paper is None else as_numbers(in_paper, f"{where}, decoupling in the paper"),
        )
