"""What `prepared.json` says: where an environment comes from, and every number that was chosen or found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from mccpo.env import Group
from mccpo.experiments.prepare.agreement import NOT_COMPARED, Agreement
from mccpo.experiments.prepare.calibration import GateCalibration
from mccpo.experiments.prepare.engagement import Engagement
from mccpo.experiments.prepare.held_out import HeldOutLosses
from mccpo.experiments.prepare.judges import JudgeReport
from mccpo.experiments.prepare.learners import ModelsReport
from mccpo.experiments.prepare.options import PrepareOptions
from mccpo.experiments.prepare.training_learners import EnsembleKind, ModelChoice
from mccpo.logs import RowAccount

FORMAT = "mccpo-prepared/1"


class LogOrigin(NamedTuple):
    """Where the logs come from, as far as it is known: their name, their format, and what became of their rows."""

    logs: str | None = None
    format: str | None = None
    account: RowAccount | None = None

    def as_json(self) -> dict[str, Any]:
        """What is known, as plain values, for JSON."""
        account = None if self.account is None else self.account.as_json()
        origin = {"logs": self.logs, "format": self.format, "account": account}
        return {name: value for name, value in origin.items() if value is not None}


class GraphSummary(NamedTuple):
    """The size of the graph, where how many of its edges come from, and how it was derived, if it was."""

    concepts: int
    edges: int
    provenance: Mapping[str, int]
    derived: str | None

    def as_json(self) -> dict[str, Any]:
        """The summary as plain values, for JSON."""
        size = {"concepts": self.concepts, "edges": self.edges, "provenance": dict(self.provenance)}
        return size if self.derived is None else size | {"derived": self.derived}


class EventCounts(NamedTuple):
    """How many events there are in the table, of these on the graph, and of these in the retained episodes."""

    in_table: int
    on_graph: int
    in_episodes: int

    def as_json(self) -> dict[str, int]:
        """The counts by what they are, for JSON and for people."""
        return {"in the table": self.in_table, "on the graph": self.on_graph, "in episodes": self.in_episodes}


@dataclass(frozen=True)
class EpisodeSummary:
    """The retained episodes; `sha256` is of who answered what, and how."""

    episodes: int
    mean_length: float
    horizon: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        """The summary without the digest, as plain values, for JSON."""
        return {"count": self.episodes, "mean length": self.mean_length, "horizon": self.horizon}


class DemandSummary(NamedTuple):
    """Which shares the demands are the mean of, and between what they lie."""

    mean_of: list[str]
    least: float
    most: float

    def as_json(self) -> dict[str, Any]:
        """The summary as plain values, for JSON."""
        return {"mean of": self.mean_of, "least": self.least, "most": self.most}


@dataclass(frozen=True)
class PreparedDocument:
    """All that `prepared.json` says.

    **Fields:**

    - `tutor_learners`, `judge_learners`: how many learners each environment is made of.
    - `tutor_engagement`, `judge_engagement`: the fits of engagement to their events.
    - `models`: how the fits of the models of learners went.
    - `held_out`: how each of them predicts the learners of the other.
    - `choice`: which model the learners to train with are of.
    - `ensemble`: where they are drawn from several kinds, how many of them are of each.
    - `agreement`: how far the kinds of learners agree on what simple rules bring about, where that was tried.
    - `judges`: the kinds of learners to judge by, and which of them are refused.
    - `calibration`: what held-out learners say of the gate; None where θ opens it, or the logs do not tell.
    - `warnings`: what is doubtful, a line each: what, then what to do.
    """

    origin: LogOrigin
    options: PrepareOptions
    graph: GraphSummary
    groups: tuple[Group, ...]
    events: EventCounts
    episodes: EpisodeSummary
    tutor_learners: int
    judge_learners: int
    tutor_engagement: Engagement
    judge_engagement: Engagement
    demand: DemandSummary
    models: ModelsReport
    held_out: HeldOutLosses
    choice: ModelChoice
    judges: tuple[JudgeReport, ...]
    ensemble: Mapping[str, EnsembleKind] = field(default_factory=dict)
    agreement: Agreement = NOT_COMPARED
    calibration: GateCalibration | None = None
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The document as plain values, for JSON."""
        engagement = {"tutor": self.tutor_engagement._asdict(), "judge": self.judge_engagement._asdict()}
        return {
            "format": FORMAT,
            "from": self.origin.as_json(),
            "choices": asdict(self.options),
            "graph": self.graph.as_json(),
            "groups": [group._asdict() for group in self.groups],
            "events": self.events.as_json(),
            "episodes": self.episodes.as_json(),
            "sha256 of the episodes": self.episodes.sha256,
            "learners": {"tutor": self.tutor_learners, "judge": self.judge_learners},
            "engagement": engagement,
            "demand": self.demand.as_json(),
            "fits": self.models.as_json(),
            "held out": self.held_out.as_json(),
            "model": self.choice.as_json(),
            "ensemble": {name: kind.as_json() for name, kind in self.ensemble.items()},
            "agreement": self.agreement.as_json(),
            "judges": [judge.as_json() for judge in self.judges],
            "gate": None if self.calibration is None else self.calibration.as_json(),
            "warnings": list(self.warnings),
        }
