"""The release certificate: what fresh episodes prove of trained policies, at a stated confidence.

For each policy and budget there is an upper confidence bound on the discounted cost (`mccpo.evaluation.bounds`: valid
for any distribution of costs between 0 and the most that an episode can cost), and one on the share of steps that teach
what the learner is not ready for. A union bound over all of them makes the confidence that of the certificate as a
whole.

Three things keep it honest. The union counts every policy of the method, even when one is asked about, so that whoever
picks the policy that passed is covered. The n-th episode of a policy is always the same one, drawn from keys that its
own parameters give, so that there is no luck to try again for. And the bounds hold for all numbers of episodes at once,
so that whoever falls short may add episodes.

It is a statement about the environment as it is modelled, and about policies as they are executed: without frontier
mixing, and with their filter.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from mccpo import files
from mccpo._version import __version__
from mccpo.env import Environment
from mccpo.env.tutor.estimation import Estimated
from mccpo.errors import InputError, MccpoError
from mccpo.evaluation.bounds import episodes_needed, normal_bound, upper_bound
from mccpo.experiments.options import Stage
from mccpo.files import dump_json, read_json
from mccpo.methods import evaluate_neural
from mccpo.methods.episodes import Episodes
from mccpo.runs.policies import Policies, digest

FORMAT = "mccpo-certificate/1"
DOCUMENT = "certificate.json"
EPISODES = 10_000
MOST_VIOLATIONS = 0.01
_BLOCK = 500  # episodes that are played together
_ROUNDING = 1e-4  # single precision may take a sum of costs a little beyond the most that it can be


@dataclass(frozen=True)
class Terms:
    """What is to be certified.

    - `episodes`: of each policy. `policy`: which one is asked about; all of them by default.
    - `estimation_error`: the standard deviation σ of the mastery that the policies see around the true one.
    - `most_violations`: the share of steps that may teach what the learner is not ready for. By default there is a
      limit, `MOST_VIOLATIONS`, where such steps can occur, else none.
    """

    confidence: float = 0.95
    episodes: int = EPISODES
    policy: int | None = None
    estimation_error: float = 0.0
    most_violations: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InputError(f"the confidence is {self.confidence}", fix="give a number between 0 and 1, such as 0.95")
        if not 1 <= self.episodes <= 10**7:
            raise InputError(f"episodes is {self.episodes}", fix="give a whole number from 1 to 10000000")
        if not 0 <= self.estimation_error < math.inf:
            raise InputError(f"the estimation error is {self.estimation_error}", fix="give a deviation of at least 0")
        if self.most_violations is not None and not 0 <= self.most_violations <= 1:
            raise InputError(f"the most violations are {self.most_violations}", fix="give a share from 0 to 1")


@dataclass(frozen=True)
class Bounded:
    """A mean, what it is with confidence at most, and what it may be; `normal` is what a normal bound would say."""

    mean: float
    bound: float
    normal: float
    budget: float | None
    episodes_needed: int | None

    @property
    def passed(self) -> bool | None:
        """Whether the bound is within the budget, where there is one."""
        return None if self.budget is None else self.bound <= self.budget

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "passed": self.passed}


def certify(policies: Policies, terms: Terms, progress: Callable[[Stage, int], None] | None = None) -> dict[str, Any]:
    """Plays fresh episodes with a method's policies, and says what they prove, as JSON has it."""
    seeds = len(policies.parameters)
    if terms.policy is not None and not 0 <= terms.policy < seeds:
        raise InputError(f"there is no policy {terms.policy}", fix=f"choose from 0 to {seeds - 1}")
    env = _seen_through(policies.env, terms.estimation_error)
    structural, reason = _readiness(policies, env, terms.estimation_error)
    limit = MOST_VIOLATIONS if terms.most_violations is None and not structural else terms.most_violations
    claims = seeds * (len(policies.budgets) + (not structural))
    if not claims:
        raise InputError(f"{policies.part} has no budgets to certify", fix="train it under budgets")
    alpha = (1 - terms.confidence) / claims
    chosen = range(seeds) if terms.policy is None else [terms.policy]
    blocks = -(-terms.episodes // _BLOCK)
    stage = Stage(f"certifying {policies.part} {policies.method.name}", len(chosen) * blocks, _BLOCK * env.horizon)
    found = []
    for place, policy in enumerate(chosen):
        if progress is not None:
            progress(stage, place * blocks)
        seen = _play(env, policies, policy, terms.episodes)
        found.append(_judge(env, policies, policy, seen, alpha, limit, structural=structural))
    if progress is not None:
        progress(stage, stage.points)
    return {
        **_head(policies, terms, claims, alpha),
        "passed": all(one["passed"] for one in found),
        "budgets": {name: _worst({one["policy"]: one["budgets"][name] for one in found}) for name in policies.budgets},
        "prerequisite": {**_prerequisite(found), "structural": structural, "reason": reason},
        "policies": found,
    }


def shortfall(certificate: Mapping[str, Any]) -> str | None:
    """What stands in the way of a certificate that did not pass: the claim that is furthest from its verdict."""
    claims = [
        (f"{what} of policy {one['policy']}", claim)
        for one in certificate["policies"]
        for what, claim in [*one["budgets"].items(), ("the prerequisite violation rate", one["prerequisite"])]
        if claim["passed"] is False
    ]
    if not claims:
        return None
    what, worst = max(claims, key=lambda claim: claim[1]["episodes_needed"] or math.inf)
    more = f" ({len(claims) - 1} more fail)" if len(claims) > 1 else ""
    where = f"{what} is {worst['bound']:.5g} at most, above its limit {worst['budget']:.5g}{more}; "
    if worst["episodes_needed"] is None:
        return f"{where}its mean {worst['mean']:.5g} is not below the limit: no number of episodes will do"
    return f"{where}its mean is {worst['mean']:.5g}: a verdict takes about {worst['episodes_needed']:,} episodes"


def write_certificate(run: Path, certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Keeps a certificate, passed or not, in the folder of the run that it is about; gives it as it is kept."""
    whole = {"format": FORMAT, "mccpo": __version__, "policies_sha256": digest(run), **certificate}
    files.write_text(run / DOCUMENT, dump_json(whole, indent=2) + "\n")
    return whole


def read_certificate(run: Path) -> dict[str, Any] | None:
    """The certificate of a run, if there is one; one of other policies than the run's is refused."""
    path = run / DOCUMENT
    if not path.exists():
        return None
    fix = "run `mccpo certify` again"
    found = read_json(path, fix=fix)
    if found.get("format") != FORMAT or not isinstance(found.get("passed"), bool):
        raise InputError(f"{path} is not a certificate", fix=fix)
    if found.get("policies_sha256") != digest(run):
        raise InputError(f"{path} is about other policies than those of the run", fix=fix)
    return found


def show_in(table: Mapping[str, Any], certificate: Mapping[str, Any]) -> dict[str, Any] | None:
    """The results of a table with the certificate of one of its parts, where that is shown; None for any other part.

    A table says of each part which setting shows it, with "" for those that it shows as a whole.
    """
    parts, settings = (table.get(key) or {} for key in ("parts", "settings"))
    name = parts.get(str(certificate.get("part"))) if isinstance(parts, Mapping) else None
    if name == "":
        return {**table, "certificate": certificate}
    if name not in settings:
        return None
    return {**table, "settings": {**settings, name: {**settings[name], "certificate": certificate}}}


def _seen_through(env: Environment[Any], sigma: float) -> Environment[Any]:
    return Estimated(env, sigma=sigma) if sigma > 0 else env


def _readiness(policies: Policies, env: Environment[Any], sigma: float) -> tuple[bool, str]:
    """Whether no step can teach what is not ready, and why that is so or not."""
    if not policies.method.masked and policies.method.filter == "none":
        return False, "nothing confines the policy to what is ready"
    if sigma > 0:
        return False, f"the gate goes by mastery estimated with an error of σ = {sigma:g}, the count by the truth"
    if type(env).truly_ready is not Environment.truly_ready:
        return False, "the gate goes by the environment's estimate of mastery, the count by what is mastered in truth"
    how = "mask gives no probability to" if policies.method.masked else "filter removes"
    return True, f"the {how} what is not ready, and the gate goes by the truth"


def _play(env: Environment[Any], policies: Policies, policy: int, episodes: int) -> Episodes:
    """The first so many of a policy's episodes, which are the same whenever they are played."""
    parameters = policies.parameters[None, policy : policy + 1]
    first = int.from_bytes(hashlib.sha256(b"certify" + parameters.tobytes()).digest()[:4], "big")
    blocks = [
        evaluate_neural(env, [policies.method], parameters, episodes=_BLOCK, seed=(first + block) % 2**32)
        for block in range(-(-episodes // _BLOCK))
    ]
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=-1)[0, 0, ..., :episodes].astype(float), *blocks)


def _judge(
    env: Environment[Any],
    policies: Policies,
    policy: int,
    seen: Episodes,
    alpha: float,
    most_violations: float | None,
    *,
    structural: bool,
) -> dict[str, Any]:
    violations, steps = int(seen.untrue.sum()), int(seen.length.sum())
    if structural and violations:
        raise MccpoError(f"policy {policy} taught what was not ready {violations} times, through its mask or filter")
    budgets = {
        name: _bounded(np.asarray(seen.costs[at]), float(most), limit, alpha).as_json()
        for at, (name, most) in enumerate(zip(env.cost_names, env.cost_bounds * env.discounted_horizon, strict=True))
        if (limit := _reachable(policies.budgets.get(name), float(most))) is not None
    }
    rate = _bounded(np.asarray(seen.untrue / seen.length), 1.0, most_violations, alpha)
    if structural:
        rate = Bounded(0.0, 0.0, 0.0, most_violations, None)
    verdicts = [*(claim["passed"] for claim in budgets.values()), rate.passed]
    return {
        "policy": policy,
        "passed": False not in verdicts,
        "budgets": budgets,
        "prerequisite": {**rate.as_json(), "violations": violations, "steps": steps},
    }


def _bounded(values: Float[np.ndarray, " episodes"], most: float, budget: float | None, alpha: float) -> Bounded:
    widest = most * (1 + _ROUNDING)
    return Bounded(
        mean=float(values.mean()),
        bound=upper_bound(values, widest, alpha),
        normal=normal_bound(values, alpha),
        budget=budget,
        episodes_needed=None if budget is None else episodes_needed(values, widest, budget, alpha),
    )


def _reachable(budget: float | None, most: float) -> float | None:
    """A budget as it is judged everywhere: one of 0 up to a thousandth of the most, since 0 is never reached."""
    return 1e-3 * most if budget == 0 else budget


def _worst(claims: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Of the same claim about several policies, the one with the highest bound."""
    policy = max(claims, key=lambda policy: claims[policy]["bound"])
    return {**claims[policy], "policy": policy}


def _prerequisite(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    claims = {one["policy"]: one["prerequisite"] for one in found}
    counted = {what: sum(claim[what] for claim in claims.values()) for what in ("violations", "steps")}
    return {**_worst(claims), **counted}


def _head(policies: Policies, terms: Terms, claims: int, alpha: float) -> dict[str, Any]:
    return {
        "part": policies.part,
        "environment": policies.env.name,
        "method": policies.method.name,
        "confidence": terms.confidence,
        "episodes": terms.episodes,
        "estimation_error": terms.estimation_error,
        "correction": {"kind": "union bound", "claims": claims, "confidence_of_each": 1 - alpha},
    }
