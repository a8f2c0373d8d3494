"""A folder as `mccpo benchmark` leaves it, of made-up numbers: every kind of row that a report may meet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mccpo import files
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.results import summed_up, unseen_of
from mccpo.experiments.benchmark.rows import folder_of, write_rows
from mccpo.files import dump_json

KAPPAS, SEEDS = (0.5, 0.7, 0.9), 3
COSTS = {"gate": ("c",), "chain": ("c4",), "tutor-15": ("c2", "c3", "c4")}
ANCHORS = {
    "gate": (1.0, {"c": 1.0}),
    "chain": (4.901, {"c4": 4.901}),
    "tutor-15": (34.2, {"c2": 0.912, "c3": 15.85, "c4": 27.6}),
}
STRENGTHS = {  # the share of what can be had within the budgets
    "unconstrained": 1.0, "reward-shaped": 0.86, "mc-cpo": 0.995, "mc-cpo-no-frontier": 0.985, "cpo": 0.97,
    "pid-lagrangian": 0.99, "rcpo": 0.93, "focops": 0.96, "ccpo": 0.95, "mastery-learning": 0.62, "random-ready": 0.5,
    "planning": 0.55, "lyapunov-lp": 0.999, "maskable-ppo": 0.98,
}  # fmt: skip
KINDS = {"mastery-learning": "tutor", "random-ready": "tutor", "planning": "tutor", "lyapunov-lp": "solver"}
FREE = {"unconstrained": 1.0, "maskable-ppo": 0.97, "reward-shaped": 0.6}  # what they spend, whatever the budgets
ABSENT = "no data: it is made of logs"
FAULTS = {
    ("tutor-15", "focops"): ("crashed", "FloatingPointError: the divergence is <nan> & not a number"),
    ("tutor-15", "rcpo"): ("timed out", "after 60 seconds"),
    ("tutor-15", "lyapunov-lp"): ("does not apply", "tutor-15 is not finite"),
    ("gate", "ccpo"): ("diverged", "seed 1 has parameters that are not finite"),
}


def made_up(folder: Path) -> Path:
    """Writes the folder; with the folders of its pairs, but for the outside agent, which has none."""
    rows = [row for environment in COSTS for method in STRENGTHS for row in _pair(environment, method)]
    rows += [row for method in STRENGTHS for row in _absent("junyi-2015-14", method)]
    unseen = [row for method in ("cpo", "ccpo", "mc-cpo") for row in _unseen("tutor-15", method)]
    for place in {row["folder"] for row in rows if row["folder"]}:
        (folder / place).mkdir(parents=True)
    protocol = Protocol(kappa=KAPPAS, seeds=SEEDS, steps=100_000)
    environments = {name: _environment(name) for name in COSTS}
    results = {
        "suite": "quick",
        "protocol": protocol.as_json(),
        "environments": environments | {"junyi-2015-14": {"why": ABSENT}},
        "methods": {name: _method(name) for name in STRENGTHS},
        **summed_up(rows),
        "unseen": unseen_of(unseen, protocol.unseen),
        "seconds": 4211.5,
    }
    write_rows(folder / "rows.parquet", rows)
    files.write_text(folder / "results.json", dump_json(results, indent=2) + "\n")
    return folder


def _environment(name: str) -> dict[str, Any]:
    ret, costs = ANCHORS[name]
    finite = name != "tutor-15"
    budgets = {str(kappa): {cost: kappa * value for cost, value in costs.items()} for kappa in KAPPAS}
    best = {str(kappa): {"return": ret * _best(kappa), **_spent(name, kappa)} for kappa in KAPPAS}
    return {
        "anchor": {"ret": ret, "costs": costs, "gain": 0.4, "violation_rate": 1.0, "prerequisite_violation_rate": 0.0},
        "budgets": budgets,
        "optimum": best if finite else None,
        "finite": finite,
        "costs": list(costs),
        "constrained": list(COSTS[name]),
        "actions": 16,
        "horizon": 50,
        "gamma": 0.99,
    }


def _method(name: str) -> dict[str, Any]:
    spent = {"run": 2.5, "search": 31.0}
    if _kind(name) != "outside":  # which was trained elsewhere
        spent |= {"all": 100.0, "device": "cpu" if _kind(name) == "tutor" else "NVIDIA H200"}
    seconds = dict.fromkeys(COSTS, spent)
    return {"kind": _kind(name), "settings": {name: {} for name in COSTS}, "seconds": seconds}


def _best(kappa: float) -> float:
    return 0.5 + 0.5 * kappa


def _spent(environment: str, kappa: float) -> dict[str, float]:
    return {f"J_{cost}": kappa * value for cost, value in ANCHORS[environment][1].items()}


def _kind(method: str) -> str:
    return "outside" if method == "maskable-ppo" else KINDS.get(method, "learner")


def _pair(environment: str, method: str) -> Iterator[dict[str, Any]]:
    draw = np.random.default_rng([len(environment), sum(map(ord, method))])
    if environment == "chain" and method == "maskable-ppo":
        return
    for kappa in KAPPAS:
        for seed in range(SEEDS):
            yield _row(environment, method, kappa, seed, draw)


def _row(environment: str, method: str, kappa: float, seed: int, draw: np.random.Generator) -> dict[str, Any]:
    ret, costs = ANCHORS[environment]
    status, why = FAULTS.get((environment, method), ("done", ""))
    if status == "diverged" and seed != 1:
        status, why = "done", ""
    row = {
        "environment": environment, "method": method, "kind": _kind(method), "kappa": kappa, "seed": seed,
        "status": status, "why": why, "settings": "{}", "seconds": 2.5 + draw.uniform(),
        "folder": "" if method == "maskable-ppo" else folder_of(environment, method),
        **{f"budget_{cost}": kappa * value for cost, value in costs.items()},
    }  # fmt: skip
    if status != "done":
        return row
    level = FREE.get(method, 0.2 if KINDS.get(method) == "tutor" else kappa)
    over = 1.02 if (environment, method, seed) == ("tutor-15", "cpo", 2) else draw.uniform(0.97, 1.0)
    better = 1.008 if (environment, method) == ("tutor-15", "pid-lagrangian") else 1.0
    share = STRENGTHS[method] * better * (0.5 + 0.5 * level) * draw.uniform(0.998, 1.0)
    spent = {f"J_{cost}": level * over * value for cost, value in costs.items()}
    met = float(level * over <= kappa)
    return row | spent | {
        "return": share * ret, "share": share, "cost_share": level * over,
        "optimum_share": share / _best(kappa) if environment != "tutor-15" else None,
        "satisfaction": met, "satisfaction_strict": met, "prerequisite_violation_rate": 0.0 if met else 0.031,
        "violation_rate": 0.4, "dK": 5.2 * share, "rhsi": share * level * over,
    }  # fmt: skip


def _absent(environment: str, method: str) -> Iterator[dict[str, Any]]:
    for kappa in KAPPAS:
        for seed in range(SEEDS):
            head = {"environment": environment, "method": method, "kind": _kind(method), "kappa": kappa, "seed": seed}
            yield head | {"status": "does not apply", "why": ABSENT, "settings": "{}", "folder": "", "seconds": None}


def _unseen(environment: str, method: str) -> Iterator[dict[str, Any]]:
    draw = np.random.default_rng(len(method))
    for kappa in Protocol(kappa=KAPPAS).unseen:
        trained = max((one for one in KAPPAS if one <= kappa), default=None)
        if method != "ccpo" and trained is None:
            continue
        for seed in range(SEEDS):
            row = _row(environment, method, trained if method != "ccpo" and trained else kappa, seed, draw)
            met = float(row["cost_share"] <= kappa)
            yield row | {"kappa": kappa, "satisfaction": met, "satisfaction_strict": met}
