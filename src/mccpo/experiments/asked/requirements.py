"""Budgets in a teacher's words: a small grammar of sentences, each a budget on one of a tutor's costs.

A cost's budget bounds J = E Σ γ^t c_t, and D(T) = Σ γ^t over an episode, so J/D(T) is the cost of a step *on average*:
over learners, and over steps that weigh γ^t. Shares of steps and windows are averages of the same kind, a window
weighing what its steps weigh. With g = `c2_gain`, the sentences become

    progress in at least P of steps, or of windows      c2 ≤ (1 − P)·g·D(T)
    progress of at least X a step in ... windows of N   c2 ≤ (1 − P)·(g − X)·N·γ^(N−1)/D(N)·D(T)
    demand of at least X in at least P of steps         c3 ≤ (1 − P)·δ·D(T), δ the least c3 of a demand below X
    shortfall, engagement, of at most X a step          c ≤ X·D(T)
    at most P of the unconstrained tutor's              c ≤ P·J_c of the unconstrained policies

The first: a step without any gain costs at least g, so a window without any costs at least g times its weight, and
J ≥ g·D(T) times the share of such windows. Windows are cut one after the other; the last may be shorter. The second: in
a window of n ≤ N steps from step k on, whose gain is below X a step, the shortfalls g − ΔK sum to more than n(g − X).
Each weighs at least γ^(k+n−1), and the window weighs γ^k·D(n); n·γ^(n−1)/D(n) falls with n. The third is the first with
another cost. So these three are sufficient, not necessary: a step that gains something, but less than g, still pays for
the rest, and a demand far below X pays more than δ. The last two say no more and no less than their sentence. All take
it that something is taught in every step, as every policy does that no filter blocks. ΔK is the gain that the
environment prices a lesson by: where mastery is estimated, what the estimate expects of it, not the luck of its answer.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from mccpo.env import Environment
from mccpo.env.tutor import TutorBKT, Tutoring
from mccpo.errors import InputError
from mccpo.experiments.asked.floor_sentences import FLOOR_FORMS

FORMS = (
    "mastery progress in at least 60 % of steps",
    "mastery progress in at least 60 % of windows of 10 steps",
    "mastery progress of at least 0.01 a step in at least 60 % of windows of 10 steps",
    "demand of at least 0.5 in at least 80 % of steps",
    "demand shortfall of at most 0.1 a step on average",
    "engagement without learning of at most 70 % of the unconstrained tutor's",
)
"""One sentence of every form. The last two forms take any phrase of `AMOUNTS`."""

AMOUNTS = {"progress shortfall": "c2", "demand shortfall": "c3", "engagement without learning": "c4"}

# Below this a demand counts as the one asked for: the environment's own arithmetic is no finer.
_ROUNDING = 1e-6
_WEIGHED = "on average over learners, a step weighing its discount"


@dataclass(frozen=True)
class Rule(abc.ABC):
    """A sentence that was understood. `text` is how it was said."""

    text: str
    relative: ClassVar[bool] = False
    """Whether the budget is known only once the unconstrained policies are."""

    @property
    @abc.abstractmethod
    def cost(self) -> str:
        """The cost that the rule puts a budget on."""

    @abc.abstractmethod
    def derive(self, env: Tutoring[Any], anchor_costs: Mapping[str, float] | None) -> tuple[float, str]:
        """The budget, and what it guarantees, in words."""

    def budget(self, env: Environment[Any], anchor_costs: Mapping[str, float] | None = None) -> tuple[str, float]:
        """The cost and its budget; `anchor_costs` are those of the unconstrained policies."""
        return self.cost, self.derive(_tutor(self, env), anchor_costs)[0]

    def explain(self, env: Environment[Any], anchor_costs: Mapping[str, float] | None = None) -> str:
        """The budget and what it guarantees, as it is shown back to the user."""
        budget, why = self.derive(_tutor(self, env), anchor_costs)
        return f"{self.cost} ≤ {budget:.4g} ({self.text}): {why}"


@dataclass(frozen=True)
class Progress(Rule):
    """Mastery progress, of any size or of `least` a step, in a share of the steps (`window` 1) or of the windows."""

    share: float
    window: int = 1
    least: float | None = None
    cost: ClassVar[str] = "c2"

    def derive(self, env: Tutoring[Any], anchor_costs: Mapping[str, float] | None) -> tuple[float, str]:
        if env.c2_gain == 0:
            raise InputError(f"'{self.text}': c2 is always 0, as c2_gain is", fix="give a c2_gain above 0")
        if self.window > env.horizon:
            raise InputError(
                f"'{self.text}': an episode has {env.horizon} steps", fix=f"ask for windows of at most {env.horizon}"
            )
        if self.least is not None and self.least >= env.c2_gain:
            raise InputError(
                f"'{self.text}': c2 does not tell gains apart from {env.c2_gain:g} on",
                fix=f"ask for less than that, or set c2_gain above {self.least:g}",
            )
        missing = (1 - self.share) * self._unit(env)
        return missing * env.discounted_horizon, (
            f"a step's {_gain(env)} falls short of {env.c2_gain:g} by at most {missing:.4g} on average, so that "
            f"at most {_percent(1 - self.share)} of {self._what}, {_WEIGHED}; sufficient, not necessary"
        )

    def _unit(self, env: Tutoring[Any]) -> float:
        """The least c2 of a step in a window that fails, on average over the window."""
        if self.least is None:
            return env.c2_gain
        weight = sum(env.gamma**step for step in range(self.window))
        return (env.c2_gain - self.least) * self.window * env.gamma ** (self.window - 1) / weight

    @property
    def _what(self) -> str:
        where = "steps" if self.window == 1 else f"windows of {self.window} steps"
        return f"{where} bring " + ("no progress" if self.least is None else f"less than {self.least:g} a step")


@dataclass(frozen=True)
class Demand(Rule):
    """A demand of at least `least` in a share of the steps."""

    least: float
    share: float
    cost: ClassVar[str] = "c3"

    def derive(self, env: Tutoring[Any], anchor_costs: Mapping[str, float] | None) -> tuple[float, str]:
        if self.least > env.c3_demand + _ROUNDING:
            raise InputError(
                f"'{self.text}': c3 does not tell demands apart from {env.c3_demand:g} on",
                fix=f"ask for at most that, or set c3_demand to {self.least:g}",
            )
        below = env.demand[env.demand < self.least - _ROUNDING]
        if not below.size:
            raise InputError(f"'{self.text}': every lesson demands that much", fix="leave the rule out")
        unit = float(env.c3_demand - below.max())
        return (1 - self.share) * unit * env.discounted_horizon, (
            f"a step that demands less than {self.least:g} costs at least {unit:.4g}, so that at most "
            f"{_percent(1 - self.share)} of steps do, {_WEIGHED}; sufficient, not necessary"
        )


@dataclass(frozen=True)
class Mean(Rule):
    """A cost of at most `most` a step on average."""

    amount: str
    most: float

    @property
    def cost(self) -> str:
        return AMOUNTS[self.amount]

    def derive(self, env: Tutoring[Any], anchor_costs: Mapping[str, float] | None) -> tuple[float, str]:
        why = f"{self.most:g} times the discounted length {env.discounted_horizon:.4g} of an episode, {_WEIGHED}"
        return self.most * env.discounted_horizon, why


@dataclass(frozen=True)
class Share(Rule):
    """A cost of at most a share of what the unconstrained policies have: κ for one cost."""

    amount: str
    share: float
    relative: ClassVar[bool] = True

    @property
    def cost(self) -> str:
        return AMOUNTS[self.amount]

    def derive(self, env: Tutoring[Any], anchor_costs: Mapping[str, float] | None) -> tuple[float, str]:
        if anchor_costs is None:
            raise InputError(f"'{self.text}': the unconstrained tutor is not known", fix="train it first")
        whole = anchor_costs[self.cost]
        return self.share * whole, f"{_percent(self.share)} of the {whole:.4g} that the unconstrained policies have"


@dataclass(frozen=True)
class Requirements:
    """What rules come to on an environment: budgets by cost, and a sentence on each rule to show back to the user."""

    budgets: dict[str, float]
    explanations: tuple[str, ...]


def parse(text: str) -> Rule:
    """The rule that a sentence states.

    >>> parse("Mastery progress in at least 60% of windows of 10 steps.").window
    10
    """
    sentence = " ".join(text.lower().replace("’", "'").split()).removesuffix(".")
    for form, rule in _GRAMMAR:
        if said := form.fullmatch(sentence):
            return rule(sentence, said)
    forms = "; ".join(f"'{form}'" for form in (*FORMS, *FLOOR_FORMS))
    raise InputError(f"the rule '{text}' is not understood", fix=f"say it like one of these: {forms}")


def check(texts: Iterable[str], env: Environment[Any]) -> tuple[Rule, ...]:
    """The rules, refused where they say nothing about this environment. Needs no training, so it can come before it."""
    rules = tuple(parse(text) for text in texts)
    for rule in rules:
        if rule.relative:
            _tutor(rule, env)
        else:
            rule.budget(env)
    return rules


def translate(
    texts: Iterable[str],
    env: Environment[Any],
    anchor_costs: Mapping[str, float] | None,
    asked: Mapping[str, float] = MappingProxyType({}),
    usual: Mapping[str, float] = MappingProxyType({}),
) -> Requirements:
    """Budgets for all rules. Of several on one cost the tightest holds, among them those `asked` for in numbers.

    `usual` are the budgets of costs that nobody says anything about. A rule may be looser than these, and then says so.
    """
    rules = check(texts, env)
    budgets: dict[str, float] = {}
    derived = [(rule, *rule.budget(env, anchor_costs)) for rule in rules]
    for _, cost, budget in derived:
        budgets[cost] = min(budget, budgets.get(cost, budget), asked.get(cost, budget))
    explanations = (
        rule.explain(env, anchor_costs) + _beside(cost, budget, budgets[cost], asked, usual)
        for rule, cost, budget in derived
    )
    return Requirements(budgets, tuple(explanations))


def _beside(cost: str, budget: float, held: float, asked: Mapping[str, float], usual: Mapping[str, float]) -> str:
    """How a rule's budget stands to others on the same cost, where it is not the tightest."""
    if budget > held:
        other = "what --kappa or --budget asks for" if asked.get(cost) == held else "another rule"
        return f"; {other} is tighter, and holds: {cost} ≤ {held:.4g}"
    if cost not in asked and budget > usual.get(cost, budget):
        return f"; this is looser than without the rule, where it would be {cost} ≤ {usual[cost]:.4g}"
    return ""


def _tutor(rule: Rule, env: Environment[Any]) -> Tutoring[Any]:
    if not isinstance(env, Tutoring) or rule.cost not in env.cost_names:
        raise InputError(
            f"'{rule.text}' speaks of a tutor's lessons, which {env.name} does not have",
            fix=f"give a --budget on one of {', '.join(env.cost_names)}",
        )
    return env


def _gain(env: Tutoring[Any]) -> str:
    return "expected gain" if isinstance(env, TutorBKT) and env.costs_on == "expected" else "gain"


def _progress(text: str, said: re.Match[str]) -> Rule:
    window = 1 if said["window"] is None else int(said["window"])
    if window == 0:
        raise InputError(f"'{text}': a window has no steps", fix="ask for windows of at least 1 step")
    least = None if said["least"] is None else float(said["least"])
    return Progress(text, _share_of_steps(text, said), window, least)


def _demand(text: str, said: re.Match[str]) -> Rule:
    return Demand(text, float(said["least"]), _share_of_steps(text, said))


def _share_of_steps(text: str, said: re.Match[str]) -> float:
    percent = float(said["percent"])
    if not 0 < percent <= 100:
        raise InputError(f"'{text}': {percent:g} % is no share to ask for", fix="ask for more than 0 %, at most 100 %")
    return percent / 100


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


_NUMBER = r"\d+(?:\.\d+)?"
_AT_LEAST = rf"in at least (?P<percent>{_NUMBER}) ?% of"
_AMOUNT = rf"(?P<amount>{'|'.join(AMOUNTS)})(?: of)? at most"
_GRAMMAR: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], Rule]], ...] = (
    (
        re.compile(
            rf"mastery progress(?: of at least (?P<least>{_NUMBER}) a step)? {_AT_LEAST} "
            r"(?:windows of (?P<window>\d+) )?steps"
        ),
        _progress,
    ),
    (re.compile(rf"demand of at least (?P<least>{_NUMBER}) {_AT_LEAST} steps"), _demand),
    (
        re.compile(rf"{_AMOUNT} (?P<most>{_NUMBER}) a step on average"),
        lambda text, said: Mean(text, said["amount"], float(said["most"])),
    ),
    (
        re.compile(rf"{_AMOUNT} (?P<percent>{_NUMBER}) ?% of the unconstrained tutor's"),
        lambda text, said: Share(text, said["amount"], float(said["percent"]) / 100),
    ),
)
