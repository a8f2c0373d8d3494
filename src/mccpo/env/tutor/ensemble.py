"""Learners of several kinds, of whom each episode meets one: what `mccpo prepare --robust` trains with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.contract import Ensemble
from mccpo.env.registry import class_entry, register
from mccpo.env.tutor.prepared import PreparedJudge, PreparedTutor
from mccpo.env.tutor.state import Lesson, Progress, TutorState
from mccpo.env.tutor.tutoring import Tutoring
from mccpo.errors import InputError
from mccpo.policy import Prices

SHARED = (
    "K0", "eta", "theta", "confidence", "doubt", "unready_gain", "novelty_span", "c3_demand", "guess", "slip", "sees",
    "horizon", "gamma", "concepts", "curriculum_seed", "curriculum", "activities",
)  # fmt: skip
"""The parameters that all kinds have from the environment around them: what the tutor believes, sees and may teach."""


class OneOf(NamedTuple):
    """What no tutor sees: which kind the learner is of, and a learner of every kind, of whom it is that one."""

    kind: Int[Array, ""]
    learners: tuple[Any, ...]


@register("prepared-ensemble")
class PreparedEnsemble(Tutoring[OneOf]):
    """Learners of several kinds, fitted to the same people: every episode meets a learner of one of them.

    The tutor believes the same of all of them, and sees none of it. The learner's kind (`prepared`, `prepared-judge`,
    `prepared-best-lr`) says what the learner knows, learns and feels, and what counts as mastered and ready in truth.
    It also has the prices of engagement and costs. Learning and costs of different kinds are not in the same units. So
    they come divided by `relative`: for each kind, a number for every cost and one for learning. `compare` finds them,
    such that the unconstrained policies cost as much with every kind, and the policy that teaches most teaches as much.
    The costs are c2 (too little gain), c3 (too little demand) and c4 (engagement without gain).

    **Parameters:**

    - `kinds`: an environment for each kind of learners. What all kinds share is the ensemble's.
    - `shares`: how many learners are of each kind; as many of each without it.
    - `relative`: what costs and learning of each kind are divided by.
    """

    name: ClassVar[str] = "prepared-ensemble"
    estimates: ClassVar[bool] = True

    kinds: tuple[Tutoring[Any], ...] = ()
    shares: tuple[float, ...] = eqx.field(static=True, default=(), converter=tuple)
    relative: Float[np.ndarray, "kinds signals"] = eqx.field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        shared = {name: getattr(self, name) for name in SHARED if name not in ("concepts", "curriculum_seed")}
        given = self.kinds or (PreparedTutor(**shared), PreparedJudge(**shared))
        self.kinds = tuple(_of(kind, shared) for kind in given)
        self.shares = self.shares or tuple(1 / len(self.kinds) for _ in self.kinds)
        ones = np.ones((len(self.kinds), len(self.cost_names) + 1), np.float32)
        self.relative = ones if self.relative is None else np.asarray(self.relative, np.float32)

    def __check_init__(self) -> None:
        if len(self.shares) != len(self.kinds) or min(self.shares) <= 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise InputError(f"shares is {self.shares}", fix="give one above 0 for each kind, and let them sum to 1")
        expected = (len(self.kinds), len(self.cost_names) + 1)
        if self.relative.shape != expected or not (np.asarray(self.relative) > 0).all():
            raise InputError("relative fits no kinds", fix=f"give numbers above 0 of the shape {expected}")

    @property
    def ensemble(self) -> Ensemble:
        of_kinds = [kind.ensemble for kind in self.kinds]
        kinds = [number for number, own in enumerate(of_kinds) for _ in own.kinds]
        shares = [share * part for share, own in zip(self.shares, of_kinds, strict=True) for part in own.shares]
        return Ensemble(tuple(kinds), tuple(shares))

    def member(self, state: TutorState[OneOf]) -> Int[Array, ...]:
        before = np.cumsum([0, *(kind.members for kind in self.kinds)])
        return self._chosen(
            state, [jnp.asarray(first) + one for first, one in zip(before, self._said(state, "member"), strict=False)]
        )

    def latent(self, key: PRNGKeyArray) -> OneOf:
        drawing, *keys = jax.random.split(key, 1 + len(self.kinds))
        bounds = jnp.cumsum(jnp.array(self.shares))
        kind = jnp.sum(jax.random.uniform(drawing) >= bounds[:-1]).astype(jnp.int32)
        return OneOf(kind, tuple(one.latent(own) for one, own in zip(self.kinds, keys, strict=True)))

    def teach(self, key: PRNGKeyArray, state: TutorState[OneOf], lesson: Lesson) -> Progress[OneOf]:
        brought = [
            kind.teach(key, own, lesson) for kind, own in zip(self.kinds, self._each_learner(state), strict=True)
        ]
        one = self._chosen(state, [progress._replace(latent=None) for progress in brought])
        # The learners of other kinds go on as well: nobody looks at them, and the choice is one of numbers only.
        after = OneOf(state.latent.kind, tuple(progress.latent for progress in brought))
        learnt = one.learnt / jnp.asarray(self.relative)[state.latent.kind, -1]
        return one._replace(latent=after, learnt=learnt)

    def prices_in(self, state: TutorState[OneOf]) -> Prices:
        stated = [jax.tree.map(jnp.asarray, kind.prices) for kind in self.kinds]
        prices: Prices = self._chosen(state, stated)
        return prices

    def costs_in(self, state: TutorState[OneOf], costs: Float[Array, " costs"]) -> Float[Array, " costs"]:
        return costs / jnp.asarray(self.relative)[state.latent.kind, :-1]

    def knows(self, state: TutorState[OneOf]) -> Bool[Array, "concepts ..."]:
        known: Bool[Array, "concepts ..."] = self._chosen(state, self._said(state, "knows"))
        return known

    def truly_ready(self, state: TutorState[OneOf]) -> Bool[Array, " actions"]:
        ready: Bool[Array, " actions"] = self._chosen(state, self._said(state, "truly_ready"))
        return ready

    def right_chances(self, state: TutorState[OneOf]) -> Float[Array, " concepts"]:
        chances: Float[Array, " concepts"] = self._chosen(state, self._said(state, "right_chances"))
        return chances

    @property
    def largest_fall(self) -> float:
        return max(kind.largest_fall for kind in self.kinds)

    @property
    def gain_bound(self) -> float:
        return max(kind.gain_bound / least for kind, least in zip(self.kinds, self._least(-1), strict=True))

    @property
    def loss_bound(self) -> float:
        return max(kind.loss_bound / least for kind, least in zip(self.kinds, self._least(-1), strict=True))

    @property
    def cost_bounds(self) -> Float[np.ndarray, " costs"]:
        return np.max([kind.cost_bounds for kind in self.kinds] / self._least(slice(-1)), axis=0)

    def relative_to(self, signals: Float[np.ndarray, "kinds signals"]) -> PreparedEnsemble:
        """The same, its costs and its learning divided by these in place of what they are divided by now."""
        return eqx.tree_at(lambda env: env.relative, self, np.asarray(signals, np.float32))

    def _least(self, at: int | slice) -> Float[np.ndarray, "kinds ..."]:
        return np.asarray(self.relative, float)[:, at]

    def _each_learner(self, state: TutorState[OneOf]) -> list[TutorState[Any]]:
        """The state as each kind would have it."""
        return [state._replace(latent=learner) for learner in state.latent.learners]

    def _said(self, state: TutorState[OneOf], what: str) -> list[Any]:
        """What each kind says of its learner."""
        return [getattr(kind, what)(own) for kind, own in zip(self.kinds, self._each_learner(state), strict=True)]

    def _chosen(self, state: TutorState[OneOf], of_kinds: list[Any]) -> Any:
        """Of something that every kind has, what the learner's own kind has."""
        return jax.tree.map(lambda *leaves: jnp.stack(leaves)[state.latent.kind], *of_kinds)


def _of(kind: Tutoring[Any] | Mapping[str, Any], shared: Mapping[str, Any]) -> Tutoring[Any]:
    """A kind of learners, as it is or from its JSON, with what all kinds share."""
    if isinstance(kind, Mapping):
        own = {name: value for name, value in kind.items() if name != "environment"}
        made = class_entry(kind["environment"]).build(**own, **shared)
    else:
        own = {name: value for name, value in kind.parameters.items() if name not in SHARED}
        made = type(kind)(**own, **shared)
    if not isinstance(made, Tutoring) or not made.estimates:
        raise InputError(f"{made.name} is no kind of learners", fix="give those that `mccpo prepare` makes")
    return made
