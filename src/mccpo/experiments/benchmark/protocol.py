"""What is the same for every method of a benchmark."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from mccpo.errors import InputError
from mccpo.experiments.asked.floors import Floor
from mccpo.methods import EVALUATION_EPISODES, NeuralPlan, Sizes, check_plan

KAPPAS = (0.5, 0.7, 0.9)
UNSEEN = (0.45, 0.55, 0.65, 0.75, 0.85, 0.95)


@dataclass(frozen=True)
class Protocol:
    """How methods are searched, trained and judged.

    **Fields:**

    - `kappa`: the budgets, as shares of the unconstrained costs.
    - `seeds`, `steps`, `seed`: test seeds, the steps of each run, the root of all random numbers.
    - `search`: whether the settings of a method are searched, for every κ, by `search_seeds` validation seeds.
    - `limit`: the seconds that one method may take to search and train on one environment, a rule to play, a solver to
      solve; None for any. It is looked at after every point of training, every seed of a rule and every κ of a solver,
      none of which is cut short.
    - `episodes`: by how many fresh ones a policy is judged where it cannot be judged exactly.
    - `unseen`: budgets that nobody was trained for.
    - `floors`: what must be reached at least, at every κ.
    """

    kappa: tuple[float, ...] = KAPPAS
    seeds: int = 10
    steps: int = 1_000_000
    seed: int = 0
    search: bool = True
    limit: float | None = None
    episodes: int = EVALUATION_EPISODES
    search_seeds: int = 2
    unseen: tuple[float, ...] = UNSEEN
    floors: tuple[Floor, ...] = ()
    sizes: Sizes = field(default_factory=Sizes)
    validation: int = NeuralPlan.validation

    def __post_init__(self) -> None:
        check_plan(self.seed, seeds=self.seeds, steps=self.steps, episodes=self.episodes)
        if not self.kappa:
            raise InputError("no kappa is named", fix="give one or more, such as 0.9,0.7,0.5")
        for kappa in self.kappa:
            if self.kappa.count(kappa) > 1:
                raise InputError(f"kappa {kappa} is named twice", fix="name each level once")
            if not 0 < kappa < float("inf"):
                raise InputError(f"kappa is {kappa}", fix="give a share of the unconstrained cost, such as 0.9")
        names = [floor.name for floor in self.floors]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"the floor of {name} is given twice", fix="give it once")
        if self.limit is not None and not self.limit > 0:
            raise InputError(f"the limit is {self.limit} seconds", fix="give more than 0, or leave it out")

    @property
    def plan(self) -> NeuralPlan:
        """How the test seeds are trained."""
        return self._plan(self.seeds, self.seed)

    @property
    def search_plan(self) -> NeuralPlan:
        """How the validation seeds are trained: as long, from another root, so that no test seed is among them."""
        return self._plan(self.search_seeds, (self.seed + 2**31) % 2**32)

    def as_json(self) -> dict[str, Any]:
        """What a manifest and the results say of it."""
        trained = self.plan.iterations * self.sizes.steps
        told = {name: value for name, value in asdict(self).items() if name != "floors"}
        asked = {"floors": sorted(floor.exact for floor in self.floors)} if self.floors else {}
        return {**told, "kappa": list(self.kappa), "unseen": list(self.unseen), "steps_trained": trained, **asked}

    def _plan(self, seeds: int, seed: int) -> NeuralPlan:
        return NeuralPlan(self.steps, seeds, seed, sizes=self.sizes, validation=self.validation)
