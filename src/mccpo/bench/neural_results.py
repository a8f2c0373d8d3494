"""What the neural bench measures, as types; `as_json` is what `mccpo bench neural --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Protocol

from mccpo.bench.rounds import Speed
from mccpo.methods import Sizes

OURS = "mccpo"
SHARED = "mccpo, shared weights"


class Part(Protocol):
    """What one part of the bench measured."""

    def as_json(self) -> dict[str, object]: ...


@dataclass(frozen=True)
class PeerState:
    """The versions of the peer's packages, or why it is missing."""

    versions: Mapping[str, str] | None
    missing: str | None

    def as_json(self) -> dict[str, object]:
        versions = None if self.versions is None else dict(self.versions)
        return {"peer_versions": versions, "peer_missing": self.missing}


@dataclass(frozen=True)
class Ratios:
    """How many times each peer's speed ours is."""

    by_peer: Mapping[str, float]

    @staticmethod
    def of(speeds: Mapping[str, Speed], network: str = OURS) -> Ratios:
        ours = speeds[network].per_second
        peers = {name: speed for name, speed in speeds.items() if name not in (OURS, SHARED)}
        return Ratios({name: ours / speed.per_second for name, speed in peers.items()})

    def as_json(self) -> dict[str, object]:
        """The ratio that counts is against the fastest."""
        return {"ratios": dict(self.by_peer), "ratio": min(self.by_peer.values(), default=None)}


@dataclass(frozen=True)
class IdenticalSettings:
    """Steps per second of ours and of the peer's variants, all at the same settings."""

    sizes: Sizes
    speeds: Mapping[str, Speed]
    peer: PeerState

    @property
    def ratios(self) -> Ratios:
        return Ratios.of(self.speeds)

    @property
    def shared_ratios(self) -> Ratios:
        """Those of the network whose weights concepts share."""
        return Ratios.of(self.speeds, SHARED)

    def as_json(self) -> dict[str, object]:
        speeds = {name: speed.as_json() for name, speed in self.speeds.items()}
        ratios = {**self.ratios.as_json(), "shared_ratios": dict(self.shared_ratios.by_peer)}
        return {"sizes": asdict(self.sizes), "speeds": speeds, **ratios, **self.peer.as_json()}


@dataclass(frozen=True)
class SpeedAt:
    """A speed, and the settings that it was measured at."""

    sizes: Sizes
    speed: Speed

    def as_json(self) -> dict[str, object]:
        return {"sizes": asdict(self.sizes), **self.speed.as_json()}


@dataclass(frozen=True)
class FastestSettings:
    """Steps per second of each library at every setting that was tried."""

    tried: Mapping[str, tuple[SpeedAt, ...]]
    peer: PeerState

    @property
    def fastest(self) -> dict[str, SpeedAt]:
        """The setting at which each library is fastest."""
        return {name: max(speeds, key=lambda at: at.speed.per_second) for name, speeds in self.tried.items()}

    @property
    def ratios(self) -> Ratios:
        return Ratios.of({name: at.speed for name, at in self.fastest.items()})

    def as_json(self) -> dict[str, object]:
        return {
            "tried": {name: [at.as_json() for at in speeds] for name, speeds in self.tried.items()},
            "speeds": {name: at.as_json() for name, at in self.fastest.items()},
            **self.ratios.as_json(),
            **self.peer.as_json(),
        }


@dataclass(frozen=True)
class BelowRoofline:
    """The speed of learning with one network beside the machine's own rate for this network's products."""

    flops_per_step: int
    steps_per_second: float
    products_flops_per_second: float

    @property
    def flops_per_second(self) -> float:
        return self.flops_per_step * self.steps_per_second

    @property
    def share(self) -> float:
        return self.flops_per_second / self.products_flops_per_second

    def as_json(self) -> dict[str, object]:
        return {
            "flops_per_step": self.flops_per_step,
            "steps_per_second": self.steps_per_second,
            "flops_per_second": self.flops_per_second,
            "products_flops_per_second": self.products_flops_per_second,
            "share": self.share,
        }


@dataclass(frozen=True)
class Roofline:
    """Both networks beside what the machine could do at most: the plain one, and the one with shared weights."""

    plain: BelowRoofline
    shared: BelowRoofline

    def as_json(self) -> dict[str, object]:
        return {**self.plain.as_json(), "shared": self.shared.as_json()}


@dataclass(frozen=True)
class Start:
    """Seconds of compiling without a cache, and from the start of `mccpo compare` to its first trained point, twice."""

    compile_seconds: float
    first_compare_seconds: float
    second_compare_seconds: float

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class GrowthStep:
    """The speed on a curriculum of one size."""

    concepts: int
    curriculum: str
    flops_per_step: int
    speed: Speed

    def as_json(self) -> dict[str, object]:
        return {
            "concepts": self.concepts,
            "curriculum": self.curriculum,
            "flops_per_step": self.flops_per_step,
            **self.speed.as_json(),
        }


@dataclass(frozen=True)
class Growth:
    """The speed as the curriculum grows, the smallest first."""

    steps: tuple[GrowthStep, ...]

    @property
    def falls_no_faster_than_linearly(self) -> bool:
        """Whether from each size to the next, n times the concepts leave at least one n-th of the speed."""
        products = [step.concepts * step.speed.per_second for step in self.steps]
        return products == sorted(products)

    def as_json(self) -> dict[str, object]:
        return {
            "sizes": [step.as_json() for step in self.steps],
            "falls_no_faster_than_linearly": self.falls_no_faster_than_linearly,
        }


@dataclass(frozen=True)
class NeuralBench:
    """All parts that were asked for, by name, and the machine that they were measured on."""

    cores: int
    device: str
    seeds: int
    parts: Mapping[str, Part]

    def as_json(self) -> dict[str, object]:
        head: dict[str, object] = {"cores": self.cores, "device": self.device, "seeds": self.seeds}
        return head | {name: part.as_json() for name, part in self.parts.items()}
