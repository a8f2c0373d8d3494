"""Where kinds of learners disagree: simple rules teach each kind, and what they bring about is compared.

ΔK is no common measure: knowledge tracing counts concepts mastered, the other kinds the chance of a right answer. So
learners of every kind take the same test before and after, a question on each concept, and what counts is how many more
answers are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env import Environment, Observation, PreparedJudge, PreparedTutor, Tutoring
from mccpo.methods import METHODS, Moment, Policy, RuleEntry, perform

RULES = ("random-ready", "mastery-learning")
EPISODES = 64
FACTOR = 3.0
"""From how many times as much on, one kind gains so much more than another that it is said."""
LEAST_GAIN = 0.01
"""A gain below this share of the questions is as good as none, and one of it is compared."""
_KNOWN, _AT_ONCE, _NOTHING = 0.95, 0.45, 0.05


class KindGain(NamedTuple):
    """What a rule brings learners of one kind: the share of questions right before, and how much more after."""

    rule: str
    file: str
    before: float
    gain: float


class Agreement(NamedTuple):
    """What rules bring each kind of learners, and where kinds disagree."""

    gains: tuple[KindGain, ...] = ()
    disagreements: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain values, for JSON."""
        return {"gains": [gain._asdict() for gain in self.gains], "disagreements": list(self.disagreements)}


NOT_COMPARED = Agreement()


class _OneOf(Policy):
    """One of several rules, which remember nothing: a number says which, so that all of them are one program."""

    rules: tuple[Policy, ...]
    which: Int[Array, ""]

    def probabilities(self, env: Environment[Any], memory: Any, obs: Observation) -> Float[Array, "actions+1 episodes"]:
        return jnp.stack([rule.probabilities(env, memory, obs) for rule in self.rules])[self.which]


def compare_kinds(kinds: Mapping[str, Tutoring[Any]], seed: int = 0, episodes: int = EPISODES) -> Agreement:
    """Plays the rules with every kind of learners."""
    gains = []
    for at, (file, env) in enumerate(kinds.items()):
        for number, rule in enumerate(RULES):
            before, after = tested(env, number, jax.random.key(seed + len(RULES) * at + number), episodes)
            gains.append(KindGain(rule, file, before, after - before))
    return Agreement(tuple(gains), tuple(_disagreements(gains, kinds)))


def tested(env: Tutoring[Any], rule: int, key: PRNGKeyArray, episodes: int) -> tuple[float, float]:
    """The share of right answers on a test of all concepts, before and after episodes of a rule."""
    before, after = jax.device_get(_tests(env, _OneOf(_rules(), jnp.asarray(rule)), key, episodes))
    return float(before), float(after)


def _rules() -> tuple[Policy, ...]:
    entries = [METHODS[name] for name in RULES]
    return tuple(entry.build() for entry in entries if isinstance(entry, RuleEntry))


@eqx.filter_jit
def _tests(env: Tutoring[Any], rule: Policy, key: PRNGKeyArray, episodes: int) -> Float[Array, " two"]:
    over_episodes: Any = jax.vmap(lambda state: env.right_chances(state).mean(), in_axes=-1)

    def look(moment: Moment) -> Float[Array, " two"]:
        return jnp.stack([over_episodes(state).mean() for state in (moment.state, moment.step.state)])

    shares = perform(env, rule, key, episodes, look)
    return jnp.stack([shares[0, 0], shares[-1, 1]])


def _disagreements(gains: list[KindGain], kinds: Mapping[str, Tutoring[Any]]) -> Iterator[str]:
    for rule in RULES:
        own = sorted((gain for gain in gains if gain.rule == rule), key=lambda gain: gain.gain)
        least, most = own[0], own[-1]
        if most.gain < LEAST_GAIN or most.gain < FACTOR * max(least.gain, LEAST_GAIN):
            continue
        why = "; ".join(filter(None, (cause(one, kinds[one.file]) for one in (least, most))))
        yield (
            f"with {rule}, learners of {most.file} gain {most.gain:.1%} right answers and those of {least.file} "
            f"{least.gain:.1%}, so that what holds for one kind may not hold for the other; {why or 'no cause is seen'}"
        )


def cause(gain: KindGain, env: Tutoring[Any]) -> str:
    """What in the fit of a kind may be why its learners gain much or little, as far as its numbers tell."""
    told = list(_traced(env)) if isinstance(env, PreparedTutor) else []
    if isinstance(env, PreparedJudge):
        most = np.maximum(np.broadcast_to(env.success, len(env.curriculum)), env.failure) / (1 - env.decay)
        little = (most < _NOTHING).mean()
        told += [f"practice adds next to nothing on {little:.0%} of concepts"] if little > 0.1 else []
    if gain.gain < -LEAST_GAIN:
        told.append("a wrong answer lowers the chance of right ones elsewhere, though no lesson does")
    return f"in {gain.file}, {' and '.join(told)}" if told else ""


def _traced(env: PreparedTutor) -> Iterator[str]:
    """What is extreme in learners by knowledge tracing."""
    K0, eta = _held(env)
    if (known := (K0 >= _KNOWN).mean()) > 0.25:
        yield f"{known:.0%} of concepts are taken as known from the start"
    if (at_once := (eta >= _AT_ONCE).mean()) > 0.1:
        yield f"{at_once:.0%} of concepts are learnt in two lessons or fewer"


def _held(env: PreparedTutor) -> tuple[Float[np.ndarray, " concepts"], Float[np.ndarray, " concepts"]]:
    """The start and the pace that are true of learners, the mean over members of a population."""
    size = len(env.curriculum)
    if env.population is None:
        return np.broadcast_to(env.K0, size), np.broadcast_to(env.eta, size)
    return np.asarray(env.population.K0).mean(axis=0), np.asarray(env.population.eta).mean(axis=0)
