"""Made-up results of every shape that a report may meet, as JSON has them."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import pytest
from matplotlib.figure import Figure

from mccpo.evaluation import Curves, summarise, welch

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
        cells = {
            metric: summarise(rng.normal(1.0, 0.05, seeds) * centre).as_json() for metric, centre in CENTRES.items()
        }
        table[method] = {**cells, "satisfaction_strict": summarise([1.0] * seeds).as_json()}
    if "post-hoc" in table:
        table["post-hoc"]["pi_hack_trained"] = summarise(rng.uniform(0.9, 1.0, seeds)).as_json()
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
            "mc-cpo vs post-hoc, return": welch(
                *(measured[method]["return"]["per_seed"] for method in ("mc-cpo", "post-hoc"))
            ).as_json(),
            "without spread": welch([1.0, 1.0], [2.0, 2.0]).as_json(),
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


def taught(order: list[int], concepts: int = 6, steps: int = 20) -> dict[str, Any]:
    """The behaviour of a tutor that teaches the concepts of a chain in turn, as often as they stand in `order`."""
    mastery = np.full((steps + 1, concepts), 0.2)
    ready, chosen = np.zeros((steps, concepts)), np.zeros((steps, concepts))
    for step in range(steps):
        concept = order[step % len(order)]
        ready[step] = [1.0, *(mastery[step, :-1] >= 0.7)]
        chosen[step, concept] = 1.0
        mastery[step + 1] = mastery[step]
        mastery[step + 1, concept] += 0.3 * (1.0 - mastery[step, concept])
    names = [f"v{concept}" for concept in range(concepts)]
    return {"concepts": names, "mastery": mastery.tolist(), "ready": ready.tolist(), "chosen": chosen.tolist()}


INFEASIBLE = {
    "feasible": False,
    "what": "no policy meets c3 ≤ 5.71",
    "fix": "raise all budgets by a factor of at least 1.26",
    "conflict": ["c3"],
    "least": {"c3": 7.2},
    "scale": 1.26,
}


def tutored() -> dict[str, Any]:
    """A table of the neural learner with everything that it may say beyond its rows."""
    groups = ("fast", "slow")
    return {
        **compared(),
        "table": "tutor-15",
        "requirements": ["progress in 60 % of all windows: c2 ≤ 0.55"],
        "conduct": {"unconstrained": taught([0]), "mc-cpo": taught([0, 1])},
        "groups": {"mc-cpo": {name: {"dK": 2.0 - at, "time_to_unlock": 30.0 + at} for at, name in enumerate(groups)}},
        "certificate": {
            "confidence": 0.95,
            "passed": False,
            "method": "mc-cpo",
            "episodes": 2000,
            "budgets": {"c3": {"budget": 17.1, "bound": 17.2, "mean": 17.0, "passed": False, "normal": 17.1}},
            "prerequisite": {
                "bound": 0.0,
                "mean": 0.0,
                "budget": None,
                "passed": None,
                "reason": "the mask forbids it",
            },
        },
        "fronts": {
            "unconstrained": [{"kappa": 0.9, "return": 34.6, "rhsi_ratio": 69.9, "satisfaction_strict": 0.0}],
            "mc-cpo": [
                {"kappa": 0.9, "return": 33.4, "rhsi_ratio": 44.0, "satisfaction_strict": 1.0},
                {"kappa": 0.5, "return": 28.8, "rhsi_ratio": 19.0, "satisfaction_strict": 0.9},
                {"kappa": 0.3, "infeasible": INFEASIBLE},
            ],
        },
        "paper_points": [
            {"label": "theirs", "return": 32.3, "rhsi_ratio": 45.0},
            {"label": "theirs too", "return": 32.3, "rhsi_ratio": 40.0},
        ],
        "noise": {
            "kinds": {
                kind: [
                    {"level": 0.1, "mc-cpo": {"return": 33.0, "true_violation_rate": 0.02, "satisfaction_strict": 0.9}},
                    {"level": 0.0, "mc-cpo": {"return": 33.4, "true_violation_rate": 0.0, "satisfaction_strict": 1.0}},
                ]
                for kind in ("sigma", "delay")
            }
        },
        "calibrated": [
            calibrated_gate(),
            calibrated_gate()
            | {"error": "sigma", "level": 0.2, "delta": 0.01, "caution": 1.0, "shut": True}
            | {"true_violation_rate": 0.002, "upper": 0.012},
        ],
    }


def calibrated_gate() -> dict[str, Any]:
    """A gate that calibrated itself under bias, as results have it."""
    return {
        "part": "tutor-15 κ=0.9",
        "method": "mc-cpo",
        "error": "bias",
        "level": 0.1,
        "delta": 0.05,
        "caution": 0.2,
        "memory": 0.0,
        "shut": False,
        "held_out_bound": 0.04,
        "true_violation_rate": 0.01,
        "upper": 0.03,
        "uncalibrated_rate": 0.7,
        "mean_return": 30.0,
        "uncalibrated_return": 25.0,
        "exact_return": 33.3333333,
        "mean_gain": 1.25,
        "uncalibrated_gain": 1.5,
        "exact_gain": 2.0,
        "satisfaction_strict": 0.5,
        "uncalibrated_satisfaction": 0.0,
        "exact_satisfaction": 1.0,
    }


def by_kappa() -> tuple[dict[str, Any], dict[str, Curves]]:
    """Two settings with budgets and curves of their own, and curves of a part that is no setting."""
    parts = {"κ=0.9": 17.1, "κ=1.02": 19.4}
    settings = {name: {"rows": rows(3), "budgets": {"c3": budget}} for name, budget in parts.items()}
    raw = {"table": "tutor-15", "title": "Two levels", "settings": settings}
    return raw, {name: neural_training(seed) for seed, name in enumerate([*parts, "κ=7"])}


def neural_training(seed: int = 0, points: int = 12, seeds: int = 3) -> Curves:
    """Curves over steps, in which the post-hoc policy is trained as the unconstrained one is."""
    rng = np.random.default_rng(seed)
    values: dict[str, dict[str, np.ndarray]] = {}
    for method in METHODS:
        centres = {"return": 33.0, "rhsi_ratio_discounted": 20.0, "J_c3": 17.0, "frontier_events": 0.5}
        values[method] = {name: centre * rng.uniform(0.9, 1.1, (seeds, points)) for name, centre in centres.items()}
        price = rng.uniform(0.2, 0.4, (seeds, points)) if method.startswith("mc-cpo") else np.zeros((seeds, points))
        values[method] |= {"lambda_c3": price, "lambda_c2": np.zeros((seeds, points))}
    values["post-hoc"] = {name: value.copy() for name, value in values["unconstrained"].items()}
    return Curves(8192 * np.arange(1, points + 1), values, unit="steps")


Trained = Curves | dict[str, Curves] | None

EXAMPLES: dict[str, tuple[dict[str, Any], Trained]] = {
    "beside the paper": (chain(), training()),
    "one seed": (chain(1), training(seeds=1)),
    "without paper and optimum": (compared(), None),
    "settings": (reward_gap(), None),
    "many points": (compared(), training(points=600)),
    "tutor": (tutored(), neural_training()),
    "settings with curves": by_kappa(),
}


@pytest.fixture(scope="session", params=EXAMPLES.values(), ids=EXAMPLES.keys())
def example(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Trained]:
    """Each of the examples in turn."""
    pair: tuple[dict[str, Any], Trained] = request.param
    return pair


@pytest.fixture
def examples() -> list[tuple[dict[str, Any], Trained]]:
    """All of the examples."""
    return list(EXAMPLES.values())


@pytest.fixture
def beside_paper() -> dict[str, Any]:
    """A fresh copy of the fullest example, for tests that change it."""
    return chain()


@pytest.fixture
def tutor() -> dict[str, Any]:
    """A fresh copy of the table of the neural learner."""
    return tutored()


@pytest.fixture
def two_levels() -> tuple[dict[str, Any], dict[str, Curves]]:
    """A table of two settings, with the curves of its parts."""
    return by_kappa()


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by a test of what stands beside the figures: they are set up as ever, and left empty."""

    def empty(figure: Figure, buffer: BinaryIO, **_: Any) -> None:
        buffer.write(b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>')

    monkeypatch.setattr(Figure, "savefig", empty)
