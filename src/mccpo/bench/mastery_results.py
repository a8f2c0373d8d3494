"""What the bench of fitting knowledge tracing measures: see `mccpo.bench.mastery`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float


class FitQuality(NamedTuple):
    """How good a fit is: its log-likelihood by concept, and the AUC on learners who were held out."""

    by_concept: Float[np.ndarray, " concepts"]
    auc: float

    def as_json(self) -> dict[str, float]:
        """The quality as plain values, for JSON; concept by concept only a comparison needs it."""
        return {"log_likelihood": float(self.by_concept.sum()), "auc": self.auc}


@dataclass(frozen=True, eq=False)
class OurFit:
    """Our fit: the seconds of each round, those of a first call, which compiles, and the steps of all restarts."""

    rounds: list[float]
    first_seconds: float
    steps: int
    quality: FitQuality

    @property
    def seconds(self) -> float:
        """The seconds of the middle round."""
        return median(self.rounds)

    def as_json(self) -> dict[str, Any]:
        """The fit as plain values, for JSON."""
        times = {"seconds": self.seconds, "rounds": self.rounds, "first_seconds": self.first_seconds}
        return {**times, "steps": self.steps, **self.quality.as_json()}


@dataclass(frozen=True, eq=False)
class PeerFit:
    """pyBKT's fit: `em_rounds` are the seconds of expectation maximisation alone."""

    rounds: list[float]
    em_rounds: list[float]
    steps: int
    compiled: bool
    versions: Mapping[str, str]
    quality: FitQuality

    @property
    def seconds(self) -> float:
        """The seconds of the middle round."""
        return median(self.rounds)

    @property
    def em_seconds(self) -> float:
        """The seconds of expectation maximisation in the middle round."""
        return median(self.em_rounds)

    def as_json(self) -> dict[str, Any]:
        """The fit as plain values, for JSON."""
        times = {"seconds": self.seconds, "rounds": self.rounds, "em_seconds": self.em_seconds}
        built = {"compiled": self.compiled, "versions": dict(self.versions)}
        return {**times, "steps": self.steps, **built, **self.quality.as_json()}


@dataclass(frozen=True)
class FitComparison:
    """Ours beside the peer's: skills that are worse or better, the least lead, and how many times as fast ours is."""

    worse: list[str]
    better: list[str]
    least_lead: float
    ratio: float
    em_ratio: float


@dataclass(frozen=True, eq=False)
class FitContest:
    """Fits with the same number of threads: ours, and those of the peer's variants, each beside ours."""

    ours: OurFit
    peers: dict[str, tuple[PeerFit, FitComparison]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The contest as plain values, for JSON."""
        peers = {name: peer.as_json() | asdict(comparison) for name, (peer, comparison) in self.peers.items()}
        return {"ours": self.ours.as_json(), "peers": peers}


@dataclass(frozen=True, eq=False)
class MasteryBench:
    """All that is measured; `contests` are by the number of threads, `bounded` is a fit with bounded guess and slip."""

    rows: int
    learners: int
    concepts: int
    restarts: int
    tolerance: float
    limit: int
    contests: Mapping[int, FitContest]
    bounded_log_likelihood: float
    bounded_auc: float
    peer_missing: str | None

    @property
    def compile_seconds(self) -> float:
        """What the very first call took longer than the others."""
        first = self.contests[min(self.contests)].ours
        return first.first_seconds - first.seconds

    def as_json(self) -> dict[str, Any]:
        """The measurements as plain values, for JSON."""
        return {
            "rows": self.rows,
            "learners": self.learners,
            "concepts": self.concepts,
            "restarts": self.restarts,
            "tolerance": self.tolerance,
            "limit": self.limit,
            "compile_seconds": self.compile_seconds,
            "threads": {str(threads): contest.as_json() for threads, contest in self.contests.items()},
            "bounded": {"log_likelihood": self.bounded_log_likelihood, "auc": self.bounded_auc},
            "peer_missing": self.peer_missing,
        }
