"""The release certificate: what fresh episodes prove of trained policies, at a stated confidence.

For each policy and budget there is an upper confidence bound on the discounted cost (`mccpo.evaluation.upper_bound`:
valid for any distribution of costs between 0 and the most that an episode can cost), for each floor a lower one on what
it is about, and one on the share of steps that teach what the learner is not ready for. A union bound over all of them
makes the confidence that of the certificate as a whole.

Three things keep it honest. The union counts every policy that could be chosen from: of all methods and parts of the
run, even when one is asked about, and of all environments that they are looked at in. So whoever picks what passed is
covered. The n-th episode of a policy is always the same one, drawn from keys that its
own parameters give, so that there is no luck to try again for. And the bounds hold for all numbers of episodes at once,
so that whoever falls short may add episodes.

It is a statement about the environment as it is modelled, and about policies as they are executed: without frontier
mixing, and with their filter.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import Float

from mccpo.env import Environment, Estimated, Tutoring
from mccpo.errors import InputError, MccpoError
from mccpo.evaluation import episodes_needed, normal_bound, upper_bound
from mccpo.experiments.asked.floors import floor_range
from mccpo.experiments.options import Stage
from mccpo.experiments.saved_policies import Policies
from mccpo.methods import Episodes, one_ahead
from mccpo.runs.results import (
    Bound,
    Certificate,
    Correction,
    Family,
    PolicyBounds,
    Readiness,
)

EPISODES = 10_000
MOST_VIOLATIONS = 0.01
READY_REMEDY = "; train it behind a gate that asks for more confidence, such as --ready 0.95 or 0.99"
JUDGE_REMEDY = "; train behind a stricter gate (--ready), or ask for less: a larger share of the costs (--kappa)"
REMEDY = "; train for longer, or ask for less: a larger share of the costs (--kappa)"
FLOOR_REMEDY = "; train for longer, or ask for a lower floor"
_BLOCK = 500  # episodes that are played together
_UNREADY = "the prerequisite violation rate"
_ROUNDING = 1e-4  # single precision may take a sum of costs a little beyond the most that it can be


Progress = Callable[[Stage, int], None]


@dataclass(frozen=True)
class Terms:
    """What is to be certified.

    - `episodes`: of each policy. `policy`: which one is asked about; all of them by default.
    - `estimation_error`: the standard deviation σ of the mastery that the policies see around the true one.
    - `most_violations`: the share of steps that may teach what the learner is not ready for. By default there is a
      limit where such steps can occur: what the gate's confidence leaves, else `MOST_VIOLATIONS`.
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


def family_of(saved: Sequence[Policies], environments: Sequence[str] = (), place: int = 0, before: int = 0) -> Family:
    """All that could be chosen from: every policy of a run, and every environment that they were looked at in."""
    return Family(
        methods=tuple(dict.fromkeys(policies.method.name for policies in saved)),
        parts=tuple(dict.fromkeys(policies.part for policies in saved)),
        policies=sum(len(policies.parameters) for policies in saved),
        environments=tuple(environments) or (saved[0].env.name,),
        place=place,
        certificates=before,
    )


def claims_of(saved: Sequence[Policies], terms: Terms, env: Environment[Any]) -> int:
    """How many bounds there are of policies in an environment, or each in its own: on budgets, floors and readiness."""

    def readiness(policies: Policies) -> int:
        seen = [_seen_through(one, terms.estimation_error) for one in (env, policies.env)]
        return not all(_readiness(policies, one, terms.estimation_error)[0] for one in seen)

    return sum(len(one.parameters) * (len(one.constraints.amounts) + readiness(one)) for one in saved)


def certify(
    policies: Policies,
    terms: Terms,
    progress: Progress | None = None,
    *,
    among: Sequence[Policies] = (),
    family: Family | None = None,
) -> Certificate:
    """Plays fresh episodes with a method's policies, and says what they prove.

    `among` are all policies that these could have been chosen from, by default they alone; `family` says in how many
    environments.
    """
    check_policy(policies, terms)
    env = _seen_through(policies.env, terms.estimation_error)
    structural, reason = _readiness(policies, env, terms.estimation_error)
    limit = _promised(env) if terms.most_violations is None and not structural else terms.most_violations
    if not len(policies.constraints.amounts) + (not structural):
        raise InputError(f"{policies.part} has no budgets or floors to certify", fix="train it under some")
    claims = claims_of(among or [policies], terms, policies.env)
    family = family or family_of(among or [policies])
    alpha = (1 - terms.confidence) * family.share / claims
    chosen = range(len(policies.parameters)) if terms.policy is None else [terms.policy]
    blocks = -(-terms.episodes // _BLOCK)
    stage = Stage(f"certifying {policies.part} {policies.method.name}", len(chosen) * blocks, _BLOCK * env.horizon)
    bounds = []
    for done, policy in enumerate(chosen):
        if progress is not None:
            progress(stage, done * blocks)
        episodes = _play(env, policies, policy, terms.episodes)
        bounds.append(_bounds(env, policies, policy, episodes, alpha, limit, structural=structural))
    if progress is not None:
        progress(stage, stage.points)
    return Certificate(
        confidence=terms.confidence,
        passed=all(policy.passed for policy in bounds),
        budgets={name: _worst([(one.policy, one.budgets[name]) for one in bounds]) for name in policies.budgets},
        floors={name: _lowest([(one.policy, one.floors[name]) for one in bounds]) for name in policies.floors},
        prerequisite=replace(_all_readiness(bounds), structural=structural, reason=reason),
        policies=tuple(bounds),
        part=policies.part,
        environment=policies.env.name,
        method=policies.method.name,
        episodes=terms.episodes,
        estimation_error=terms.estimation_error,
        correction=Correction(claims, confidence_of_each=1 - alpha, family=family),
    )


def prepare(policies: Policies, terms: Terms) -> None:
    """Compiles what plays the policies: in another thread, while something else is under way."""
    env = _seen_through(policies.env, terms.estimation_error)
    policies.policies.only(terms.policy or 0).prepare(env, episodes=_BLOCK)


def check_policy(policies: Policies, terms: Terms) -> None:
    """Refuses to certify a policy that is not there."""
    seeds = len(policies.parameters)
    if terms.policy is not None and not 0 <= terms.policy < seeds:
        raise InputError(f"there is no policy {terms.policy}", fix=f"choose from 0 to {seeds - 1}")


def _promised(env: Environment[Any]) -> float:
    """The share of lessons that may be unready in truth: what the confidence of the gate leaves, where it has one."""
    inner = env.unwrapped
    confidence = inner.confidence if isinstance(inner, Tutoring) else None
    return MOST_VIOLATIONS if confidence is None else 1 - float(confidence)


def shortfall(certificate: Certificate) -> str | None:
    """What stands in the way of a certificate that did not pass: the claim that is furthest from its verdict."""
    claims = [
        (f"{what} of policy {one.policy}", bound)
        for one in certificate.policies
        for what, bound in [*one.budgets.items(), *one.floors.items(), (_UNREADY, one.prerequisite)]
        if bound.passed is False
    ]
    if not claims:
        return None
    what, worst = max(claims, key=lambda claim: claim[1].episodes_needed or math.inf)
    more = f" ({len(claims) - 1} more fail)" if len(claims) > 1 else ""
    is_floor = any(what.startswith(f"{name} of") for name in certificate.floors)
    sides = (
        ("at least, below its floor", "above the floor")
        if is_floor
        else ("at most, above its limit", "below the limit")
    )
    where = f"{what} is {worst.bound:.5g} {sides[0]} {worst.budget:.5g}{more}; "
    if worst.episodes_needed is None:
        on_budget = JUDGE_REMEDY if certificate.on else REMEDY
        remedy = READY_REMEDY if what.startswith(_UNREADY) else FLOOR_REMEDY if is_floor else on_budget
        return f"{where}its mean {worst.mean:.5g} is not {sides[1]}, so that more episodes do not help{remedy}"
    return f"{where}its mean is {worst.mean:.5g}: a verdict takes about {worst.episodes_needed:,} episodes"


def _seen_through(env: Environment[Any], sigma: float) -> Environment[Any]:
    return Estimated(env, sigma=sigma) if sigma > 0 else env


def _readiness(policies: Policies, env: Environment[Any], sigma: float) -> tuple[bool, str]:
    """Whether no step can teach what is not ready, and why that is so or not."""
    if not policies.method.masked and policies.method.filter == "none":
        return False, "nothing confines the policy to what is ready"
    if sigma > 0:
        return False, f"the gate goes by mastery estimated with an error of σ = {sigma:g}, the count by the truth"
    if env.estimates_readiness:
        return False, "the gate goes by the environment's estimate of mastery, the count by what is mastered in truth"
    how = "mask gives no probability to" if policies.method.masked else "filter removes"
    return True, f"the {how} what is not ready, and the gate goes by the truth"


def _play(env: Environment[Any], policies: Policies, policy: int, episodes: int) -> Episodes:
    """The first so many of a policy's episodes, which are the same whenever they are played."""
    own = policies.parameters[policy].tobytes() or f"{policies.method.name} {policy}".encode()  # a rule has no numbers
    first = int.from_bytes(hashlib.sha256(b"certify" + own).digest()[:4], "big")
    alone = policies.policies.only(policy)

    def play(block: int) -> Episodes:
        return alone.play(env, episodes=_BLOCK, seed=(first + block) % 2**32)

    blocks = one_ahead(play, range(-(-episodes // _BLOCK)))
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=-1)[0, ..., :episodes].astype(float), *blocks)


def _bounds(
    env: Environment[Any],
    policies: Policies,
    policy: int,
    episodes: Episodes,
    alpha: float,
    most_violations: float | None,
    *,
    structural: bool,
) -> PolicyBounds:
    violations, steps = int(episodes.untrue.sum()), int(episodes.length.sum())
    if structural and violations:
        raise MccpoError(f"policy {policy} taught what was not ready {violations} times, through its mask or filter")
    most_of = zip(env.cost_names, env.cost_bounds * env.discounted_horizon, strict=True)
    budgets = {
        name: _bound(np.asarray(episodes.costs[at]), float(most), budget, alpha)
        for at, (name, most) in enumerate(most_of)
        if (budget := _reachable(policies.budgets.get(name), float(most))) is not None
    }
    if structural:
        rate = Bound(0.0, 0.0, 0.0, most_violations, None, _within(0.0, most_violations))
    else:
        rate = _bound(np.asarray(episodes.untrue / episodes.length), 1.0, most_violations, alpha)
    floors = {name: _floor_bound(env, episodes, name, floor, alpha) for name, floor in policies.floors.items()}
    verdicts = [*(bound.passed for bound in [*budgets.values(), *floors.values()]), rate.passed]
    readiness = Readiness(**vars(rate), violations=violations, steps=steps)
    return PolicyBounds(policy, False not in verdicts, budgets, readiness, floors)


def _floor_bound(env: Environment[Any], episodes: Episodes, name: str, floor: float, alpha: float) -> Bound:
    """The lower bound on what a floor is about: how far an episode may fall short of the most there is, bounded above.

    Whatever the environment, an episode lies between the least and the most that its steps can add up to.
    """
    values, (least, most) = _reached(episodes, name), floor_range(env, name)
    short = _bound(most - values, most - least, most - floor, alpha)
    assert short.mean is not None
    assert short.bound is not None
    assert short.normal is not None
    return replace(short, mean=most - short.mean, bound=most - short.bound, normal=most - short.normal, budget=floor)


def _reached(episodes: Episodes, name: str) -> Float[np.ndarray, " episodes"]:
    """What each episode has of what a floor is about."""
    by_name = {"mastered": episodes.mastered, "engagement": episodes.ret, "learning": episodes.learning}
    return np.asarray(by_name.get(name, episodes.gain))


def _bound(values: Float[np.ndarray, " episodes"], most: float, budget: float | None, alpha: float) -> Bound:
    widest = most * (1 + _ROUNDING)
    bound = upper_bound(values, widest, alpha)
    return Bound(
        mean=float(values.mean()),
        bound=bound,
        normal=normal_bound(values, alpha),
        budget=budget,
        episodes_needed=None if budget is None else episodes_needed(values, widest, budget, alpha),
        passed=_within(bound, budget),
    )


def _within(bound: float, budget: float | None) -> bool | None:
    """Whether a bound is within its budget, where there is one."""
    return None if budget is None else bound <= budget


def _reachable(budget: float | None, most: float) -> float | None:
    """A budget as every evaluation takes it: one of 0 up to a thousandth of the most, since 0 is never reached."""
    return 1e-3 * most if budget == 0 else budget


AnyBound = TypeVar("AnyBound", bound=Bound)


def _worst(bounds: Sequence[tuple[int, AnyBound]]) -> AnyBound:
    """The highest of several policies' bounds on the same thing."""
    policy, worst = max(bounds, key=lambda pair: pair[1].bound or 0.0)
    return replace(worst, policy=policy)


def _lowest(bounds: Sequence[tuple[int, Bound]]) -> Bound:
    """The lowest of several policies' bounds on the same floor."""
    policy, worst = min(bounds, key=lambda pair: pair[1].bound or 0.0)
    return replace(worst, policy=policy)


def _all_readiness(bounds: Sequence[PolicyBounds]) -> Readiness:
    counted = [one.prerequisite for one in bounds]
    return replace(
        _worst([(one.policy, one.prerequisite) for one in bounds]),
        violations=sum(one.violations or 0 for one in counted),
        steps=sum(one.steps or 0 for one in counted),
    )
