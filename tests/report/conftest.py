"""Made-up results of every shape that a report may meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mccpo.evaluation.curves import Curves
from mccpo.evaluation.statistics import summarise, welch

METHODS = ("unconstrained", "reward-shaped", "post-hoc", "mc-cpo", "mc-cpo-no-frontier")
CENTRES = {
    "return": 3.67,
    "rhsi": 0.37,
    "rhsi_ratio_discounted": 2.4e6,
    "J_c4": 2.44,
    "pi_hack": 0.0004,
    "lambda_c4": 0.5,
}


def rows(seeds: int = 10, methods: tuple[str, ...] = METHODS) -> dict[str, Any]:
    """Rows of `methods` whose values lie around `CENTRES`."""
    rng = np.random.default_rng(0)
    table: dict[str, Any] = {}
    for method in methods:
        cells = {metric: summarise(rng.normal(1.0, 0.05, seeds) * centre) for metric, centre in CENTRES.items()}
        table[method] = {**cells, "satisfaction_strict": summarise([1.0] * seeds)}
    if "post-hoc" in table:
        table["post-hoc"]["pi_hack_trained"] = summarise(rng.uniform(0.9, 1.0, seeds))
    return table


def chain(seeds: int = 10) -> dict[str, Any]:
    """A table beside the paper's and beside the exact optimum, with fronts and tests."""
    measured = rows(seeds)
    return {
        "table": "chain",
        "title": "Chain of five concepts",
        "protocol": {"seeds": seeds, "episodes": 200_000, "hidden": [64, 64], "shaping": {"c2": 0.5}},
        "environment": "Five concepts in a row.",
        "budgets": {"c4": 2.4505},
        "kappa": 0.5,
        "rows": measured,
        "optimum": {"return": 3.6758, "J_c4": 2.4505, "lambda_c4": 0.5},
        "paper": {"mc-cpo": {"return": [3.538, 0.553], "J_c4": 2.592}, "unconstrained": {"return": [4.768, 0.215]}},
        "verdicts": {
            "mc-cpo": {
                "return": {"verdict": "better", "reason": "nearer to the optimum"},
                "J_c4": {"verdict": "differs", "reason": "the budget is another"},
            },
            "unconstrained": {"return": {"verdict": "agrees", "reason": ""}},
        },
        "tests": {
            "mc-cpo vs post-hoc, return": welch(*(measured[m]["return"]["per_seed"] for m in ("mc-cpo", "post-hoc"))),
            "without spread": welch([1.0, 1.0], [2.0, 2.0]),
        },
        "fronts": {"mc-cpo": [{"kappa": k, "return": 2.45 + 2.4 * k, "J_c4": 4.9 * k} for k in (0.9, 0.7, 0.5)]},
        "front_optimum": [{"budget": b, "return": 2.45 + 0.5 * b} for b in (0.98, 4.9)],
        "notes": ["The averaged policy is reported."],
    }


def compared() -> dict[str, Any]:
    """What `compare` gives on an environment that has no exact optimum and that the paper does not treat."""
    return {
        "table": "compare",
        "title": "My curriculum",
        "protocol": {"seeds": 3},
        "environment": "",
        "budgets": {"c2": 0.9, "c3": 19.0, "c4": 27.0},
        "kappa": None,
        "rows": rows(3),
        "optimum": None,
        "paper": {},
        "verdicts": {},
        "tests": {},
        "notes": [],
    }


def reward_gap() -> dict[str, Any]:
    """A sweep, with a table per setting."""
    methods = ("unconstrained", "post-hoc", "mc-cpo")
    setting = {"optimum": {"return": 3.7}, "paper": {"mc-cpo": {"pi_hack": 0.0005}}, "budgets": {"c": 0.0}}
    verdicts = {"mc-cpo": {"pi_hack": {"verdict": "agrees", "reason": "as small"}}}
    return {
        **compared(),
        "table": "reward-gap",
        "title": "Reward gap",
        "budgets": {"c": 0.0},
        "settings": {f"R={r}": {"rows": rows(4, methods), "verdicts": verdicts, **setting} for r in (0.5, 0.6, 0.7)},
    }


def training(points: int = 40, seeds: int = 3) -> Curves:
    """Curves of two methods, one of which has no multiplier."""
    x = np.arange(1, points + 1) * 100
    rng = np.random.default_rng(1)

    def curve(scale: float) -> np.ndarray:
        return scale * rng.uniform(0.9, 1.1, (seeds, points))

    shared = {"return": 3.6, "pi_hack": 0.4, "violation_rate": 0.9, "J_c4": 2.4}
    values = {method: {metric: curve(scale) for metric, scale in shared.items()} for method in ("post-hoc", "mc-cpo")}
    values["post-hoc"] |= {"lambda_c4": np.zeros((seeds, points)), "rhsi_ratio_discounted": curve(4.9e6)}
    values["mc-cpo"] |= {"lambda_c4": curve(0.5), "rhsi_ratio_discounted": curve(1.5)}
    return Curves(x, values)


EXAMPLES: dict[str, tuple[dict[str, Any], Curves | None]] = {
    "beside the paper": (chain(), training()),
    "one seed": (chain(1), training(seeds=1)),
    "without paper and optimum": (compared(), None),
    "settings": (reward_gap(), None),
    "many points": (compared(), training(points=600)),
}


@pytest.fixture(params=EXAMPLES.values(), ids=EXAMPLES.keys())
def example(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Curves | None]:
    """Each of the examples in turn."""
    pair: tuple[dict[str, Any], Curves | None] = request.param
    return pair


@pytest.fixture
def examples() -> list[tuple[dict[str, Any], Curves | None]]:
    """All of the examples."""
    return list(EXAMPLES.values())


@pytest.fixture
def beside_paper() -> dict[str, Any]:
    """A fresh copy of the fullest example, for tests that change it."""
    return chain()
