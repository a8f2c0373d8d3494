"""Fits pyBKT on request: run by its path, in an environment that has it.

Reads one JSON object: `table` (a CSV of user_id, skill_name, correct and order_id), `starts` (of each skill, where each
of its restarts begins: prior, learn, guess, slip), `tolerance`, `limit` (of steps) and `rounds`. Answers with the
seconds of each round and the parameters it ended with.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pyBKT.fit import EM_fit  # type: ignore[import-not-found]
from pyBKT.models import Model  # type: ignore[import-not-found]

LIBRARIES = ("pyBKT", "numpy", "pandas", "scikit-learn")
COMPILED = any(Path(EM_fit.__file__).parent.glob("E_step*.so"))


class Climb:
    """pyBKT's own expectation maximisation, from starts that are given, to a tolerance that is given."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._fit = EM_fit.EM_fit
        self._request = request
        self._starts: Iterator[list[float]] = iter(())
        self.seconds = 0.0
        self.steps = 0

    def begin(self, skill: str) -> None:
        """The restarts of a skill come next."""
        self._starts = iter(self._request["starts"][skill])

    def __call__(self, model: dict[str, Any], data: Any, **kwargs: Any) -> Any:
        model["prior"], *rest = next(self._starts)
        for name, value in zip(("learns", "guesses", "slips"), rest, strict=True):
            model[name] = np.array([value])
        begun = time.perf_counter()
        parameters, likelihoods = self._fit(
            model, data, tol=self._request["tolerance"], maxiter=self._request["limit"], **kwargs
        )
        self.seconds += time.perf_counter() - begun
        self.steps += len(likelihoods)
        return parameters, likelihoods


class Told(Model):  # type: ignore[misc]
    """Says which skill it comes to."""

    climb: Climb

    def _fit(self, data: Any, skill: str, forgets: bool, preload: bool = False) -> Any:
        self.climb.begin(skill)
        return super()._fit(data, skill, forgets, preload)


def main() -> None:
    request = json.load(sys.stdin)
    table = pd.read_csv(request["table"], dtype={"skill_name": str, "user_id": str}, keep_default_na=False)
    Told.climb = climb = EM_fit.EM_fit = Climb(request)
    restarts = len(next(iter(request["starts"].values())))
    rounds, climbs = [], []
    for _ in range(request["rounds"]):
        model = Told(seed=0, num_fits=restarts)
        climb.seconds, climb.steps = 0.0, 0
        begun = time.perf_counter()
        model.fit(data=table)
        rounds.append(time.perf_counter() - begun)
        climbs.append(climb.seconds)
    answer = {
        "versions": {name: version(name) for name in LIBRARIES},
        "compiled": COMPILED,
        "rounds": rounds,
        "em_rounds": climbs,
        "steps": climb.steps,
        "parameters": {
            skill: [float(np.ravel(coefficients[name])[0]) for name in ("prior", "learns", "guesses", "slips")]
            for skill, coefficients in model.coef_.items()
        },
    }
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
