"""The release certificate as a type: what fresh episodes prove of policies, as a file of the run keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mccpo.runs.checks import (
    Json,
    as_list,
    as_mapping,
    as_number,
    as_optional_number,
    as_texts,
    as_truth,
    as_whole,
    stated,
)

CERTIFICATE_FORMAT = "mccpo-certificate/1"


@dataclass(frozen=True)
class Bound:
    """What a mean is with confidence at most, and what it may be; what a file does not state is None.

    Of a floor, `bound` is what the mean is with confidence at least, and `budget` the floor.

    `normal` is what a normal bound would say, `episodes_needed` how many episodes would bring the bound down to the
    budget. `passed` is None where there is no budget. `policy`: of several, the one with the highest bound.
    """

    mean: float | None
    bound: float | None
    normal: float | None
    budget: float | None
    episodes_needed: int | None
    passed: bool | None
    policy: int | None = None

    def as_json(self) -> Json:
        """The bound as JSON values."""
        return {**self._numbers(), **stated(policy=self.policy)}

    @classmethod
    def parse(cls, raw: object, where: str) -> Bound:
        """Reads a bound."""
        return cls(**_bound(as_mapping(raw, where), where))

    def _numbers(self) -> Json:
        return {
            "mean": self.mean,
            "bound": self.bound,
            "normal": self.normal,
            "budget": self.budget,
            "episodes_needed": self.episodes_needed,
            "passed": self.passed,
        }


@dataclass(frozen=True)
class Readiness(Bound):
    """The bound on the share of steps that teach what the learner is not ready for.

    - `violations`, `steps`: what was counted.
    - `structural`, `reason`: whether no such step can occur, and why; a policy on its own does not say.
    """

    violations: int | None = None
    steps: int | None = None
    structural: bool | None = None
    reason: str = ""

    def as_json(self) -> Json:
        """The bound and what was counted, as JSON values."""
        counted = {**self._numbers(), "violations": self.violations, "steps": self.steps}
        why = {} if self.structural is None else {"structural": self.structural, "reason": self.reason}
        return {**counted, **stated(policy=self.policy), **why}

    @classmethod
    def parse(cls, raw: object, where: str) -> Readiness:
        """Reads a bound, what was counted and why."""
        entries = as_mapping(raw, where)
        structural = entries.get("structural")
        return cls(
            **_bound(entries, where),
            violations=as_whole(entries.get("violations"), f"{where}, violations"),
            steps=as_whole(entries.get("steps"), f"{where}, steps"),
            structural=None if structural is None else as_truth(structural, f"{where}, structural"),
            reason=str(entries.get("reason") or ""),
        )


@dataclass(frozen=True)
class PolicyBounds:
    """The bounds of one policy, and whether all of them are within their budgets."""

    policy: int
    passed: bool
    budgets: dict[str, Bound]
    prerequisite: Readiness
    floors: dict[str, Bound] = field(default_factory=dict)

    def as_json(self) -> Json:
        """The bounds as JSON values."""
        return {
            "policy": self.policy,
            "passed": self.passed,
            "budgets": {name: bound.as_json() for name, bound in self.budgets.items()},
            **_floors_as_json(self.floors),
            "prerequisite": self.prerequisite.as_json(),
        }

    @classmethod
    def parse(cls, raw: object, where: str) -> PolicyBounds:
        """Reads the bounds of one policy."""
        entries = as_mapping(raw, where)
        return cls(
            policy=round(as_number(entries.get("policy"), f"{where}, policy")),
            passed=as_truth(entries.get("passed"), f"{where}, passed"),
            budgets=_bounds(entries.get("budgets"), where),
            prerequisite=Readiness.parse(entries.get("prerequisite"), f"{where}, prerequisite"),
            floors=_bounds(entries.get("floors"), where),
        )


@dataclass(frozen=True)
class Family:
    """All that could be chosen from when a certificate was made.

    - `methods`, `parts`, `policies`: what the run has of each.
    - `environments`: those that policies of the run had been looked at in, in turn; this certificate's is the one at
      `place`. `certificates`: how many there were before it.
    """

    methods: tuple[str, ...]
    parts: tuple[str, ...]
    policies: int
    environments: tuple[str, ...]
    place: int = 0
    certificates: int = 0

    @property
    def share(self) -> float:
        """The part of the chance of error that this environment has: 1/2, 1/6, 1/12 …, which never sum to more than 1.

        So there may always be one more environment, and none that was looked at before loses its certificate.
        """
        return 1 / ((self.place + 1) * (self.place + 2))

    def as_json(self) -> Json:
        """The family as JSON values."""
        return {
            "methods": list(self.methods),
            "parts": list(self.parts),
            "policies": self.policies,
            "environments": list(self.environments),
            "place": self.place,
            "share": self.share,
            "certificates_before": self.certificates,
        }

    @classmethod
    def parse(cls, raw: object, where: str) -> Family:
        """Reads a family."""
        entries = as_mapping(raw, where)
        return cls(
            methods=as_texts(entries.get("methods"), f"{where}, methods"),
            parts=as_texts(entries.get("parts"), f"{where}, parts"),
            policies=round(as_number(entries.get("policies"), f"{where}, policies")),
            environments=as_texts(entries.get("environments"), f"{where}, environments"),
            place=round(as_number(entries.get("place"), f"{where}, place")),
            certificates=round(as_number(entries.get("certificates_before"), f"{where}, certificates_before")),
        )


@dataclass(frozen=True)
class Correction:
    """How the confidence of the whole is shared out: by a union bound over so many claims in each environment.

    The claims are those of all policies in the `family`; earlier versions counted one method's, and have none.
    """

    claims: int
    confidence_of_each: float
    kind: str = "union bound"
    family: Family | None = None

    def as_json(self) -> Json:
        """The correction as JSON values."""
        return {
            "kind": self.kind,
            "claims": self.claims,
            "confidence_of_each": self.confidence_of_each,
            **stated(family=None if self.family is None else self.family.as_json()),
        }

    @classmethod
    def parse(cls, raw: object, where: str) -> Correction:
        """Reads a correction."""
        entries = as_mapping(raw, where)
        return cls(
            claims=round(as_number(entries.get("claims"), f"{where}, claims")),
            confidence_of_each=as_number(entries.get("confidence_of_each"), f"{where}, confidence_of_each"),
            kind=str(entries.get("kind") or cls.kind),
            family=None if entries.get("family") is None else Family.parse(entries["family"], f"{where}, family"),
        )


@dataclass(frozen=True)
class Seal:
    """What ties a certificate in a file to policies: the version that wrote it, and the digest of the policies."""

    mccpo: str
    policies_sha256: str

    def as_json(self) -> Json:
        """The head of the file."""
        return {"format": CERTIFICATE_FORMAT, "mccpo": self.mccpo, "policies_sha256": self.policies_sha256}


@dataclass(frozen=True)
class Certificate:
    """Whether policies may be released: a bound on every budgeted cost, on every floor, and on unready steps.

    - `part`, `environment`, `method`: what was certified, by so many `episodes` of each policy, in which the policies
      saw mastery with a deviation of `estimation_error`.
    - `budgets`, `prerequisite`: of all policies, the highest bound of each kind; `floors`: the lowest.
    - `on`: the environment, where it is another than that of training.
    - `seal`: where it is, or was, in a file.
    """

    confidence: float
    passed: bool
    budgets: dict[str, Bound]
    prerequisite: Readiness | None = None
    policies: tuple[PolicyBounds, ...] = ()
    part: str = ""
    environment: str = ""
    method: str = ""
    episodes: int | None = None
    estimation_error: float = 0.0
    correction: Correction | None = None
    seal: Seal | None = None
    floors: dict[str, Bound] = field(default_factory=dict)
    on: str = ""

    def as_json(self) -> Json:
        """The certificate as its file and `--json` have it."""
        return {
            **({} if self.seal is None else self.seal.as_json()),
            "part": self.part,
            "environment": self.environment,
            **({"on": self.on} if self.on else {}),
            "method": self.method,
            "confidence": self.confidence,
            "episodes": self.episodes,
            "estimation_error": self.estimation_error,
            "correction": None if self.correction is None else self.correction.as_json(),
            "passed": self.passed,
            "budgets": {name: bound.as_json() for name, bound in self.budgets.items()},
            **_floors_as_json(self.floors),
            "prerequisite": None if self.prerequisite is None else self.prerequisite.as_json(),
            "policies": [policy.as_json() for policy in self.policies],
        }

    def says_the_same(self, other: Certificate) -> bool:
        """Whether two certificates say the same of the same policies, whatever was looked at between them."""
        return self._said() == other._said()

    def _said(self) -> Json:
        return {name: value for name, value in self.as_json().items() if name not in ("correction", "mccpo")}

    @classmethod
    def parse(cls, raw: object, where: str) -> Certificate:
        """Reads a certificate; only its confidence and its verdict must be there."""
        entries = as_mapping(raw, where)
        prerequisite, correction = entries.get("prerequisite"), entries.get("correction")
        sealed = entries.get("policies_sha256")
        return cls(
            confidence=as_number(entries.get("confidence"), f"{where}, confidence"),
            passed=as_truth(entries.get("passed"), f"{where}, passed"),
            budgets=_bounds(entries.get("budgets"), where),
            prerequisite=None if prerequisite is None else Readiness.parse(prerequisite, f"{where}, prerequisite"),
            policies=tuple(
                PolicyBounds.parse(policy, f"{where}, policies")
                for policy in as_list(entries.get("policies"), f"{where}, policies")
            ),
            part=str(entries.get("part") or ""),
            environment=str(entries.get("environment") or ""),
            method=str(entries.get("method") or ""),
            episodes=as_whole(entries.get("episodes"), f"{where}, episodes"),
            estimation_error=as_number(entries.get("estimation_error") or 0.0, f"{where}, estimation_error"),
            correction=None if correction is None else Correction.parse(correction, f"{where}, correction"),
            seal=None if sealed is None else Seal(str(entries.get("mccpo")), str(sealed)),
            floors=_bounds(entries.get("floors"), where),
            on=str(entries.get("on") or ""),
        )


def _floors_as_json(floors: dict[str, Bound]) -> Json:
    return {"floors": {name: bound.as_json() for name, bound in floors.items()}} if floors else {}


def _bounds(raw: object, where: str) -> dict[str, Bound]:
    named = as_mapping(raw, f"{where}, budgets")
    return {cost: Bound.parse(bound, f"{where}, {cost}") for cost, bound in named.items()}


def _bound(entries: Json, where: str) -> dict[str, Any]:
    numbers = {name: as_optional_number(entries.get(name), f"{where}, {name}") for name in ("budget", "bound", "mean")}
    passed = entries.get("passed")
    return {
        **numbers,
        "normal": as_optional_number(entries.get("normal"), f"{where}, normal"),
        "episodes_needed": as_whole(entries.get("episodes_needed"), f"{where}, episodes_needed"),
        "passed": None if passed is None else as_truth(passed, f"{where}, passed"),
        "policy": as_whole(entries.get("policy"), f"{where}, policy"),
    }
