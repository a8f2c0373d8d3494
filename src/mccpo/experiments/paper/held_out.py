"""What the pretrained policy reaches on curricula that had no part in its training, beside rules and mixtures of them.

Each case is an environment: `tutor-15` and `tutor-25`, drawn graphs of many shapes and sizes, and data sets where they
are at hand. `--set cases=NAME,NAME` takes some of them. `--set graphs=FILE,FILE` adds graphs of one's own, made into a
tutor as `mccpo tutor` does without logs. Floors are shares of the most that a rule, or the policy that is told to
teach, is known to reach; budgets are shares of what the policy costs that is told that engagement alone counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import scipy

from mccpo.curriculum import Curriculum
from mccpo.env import Constraints, Environment, Tutoring, make
from mccpo.errors import InputError
from mccpo.evaluation import summarise
from mccpo.experiments import measuring
from mccpo.experiments.asked.floors import Floor
from mccpo.experiments.options import Options, Session
from mccpo.experiments.prepare.environments import NoData, judges_for
from mccpo.experiments.problem import Problem, pose
from mccpo.experiments.table import NOTE_EVALUATED, Produced, neural_protocol
from mccpo.experiments.tables import register_table
from mccpo.runs.results import Results, Row, Rows, Setting

HELD_OUT = "held-out"
RULES = ("random-ready", "mastery-learning", "zpdes", "greedy-gain")
COMPARED = ("pretrained", *RULES)
FLOORS, KAPPAS = (0.5, 0.8, 0.95), (0.9, 0.7, 0.5)
READY, UNREADY = 0.95, 0.05
SIZES = (5, 8, 12, 16, 20, 24, 30, 36, 40, 50, 60, 70, 80, 100, 120, 160, 200, 300, 400, 500)
"""Of the drawn graphs, one each; shapes take turns."""
SEED = 77  # of the drawn graphs and their learners, and of nothing else
NAMED = ("tutor-15", "tutor-25")
DATA = ("assistments-2009", "junyi-2015-14", "junyi-2015-100", "junyi-2015-835")
NOTE_MIXTURE = (
    "'mixture' is the most that drawing one of the rules at the start of each episode returns within the same floors "
    "and budgets, by the rules' own rows. Of rows without it, no mixture meets them."
)


@dataclass(frozen=True)
class Case:
    """A curriculum that is held out: what makes its environment, and the kinds of learners who judge it, if any."""

    name: str
    build: Callable[[], tuple[Environment[Any], tuple[Environment[Any], ...]]]


@register_table(HELD_OUT)
def produce(options: Options, session: Session) -> Produced:
    """The pretrained policy and rules on curricula that had no part in its training, at every floor and every κ."""
    unknown = set(options.parameters) - {"cases", "graphs"}
    if options.budgets or options.kappa or unknown:
        raise InputError(
            "held-out has environments, floors and budgets of its own",
            fix="give --set cases=NAME,NAME or --set graphs=FILE,FILE alone",
        )
    plan, methods = options.neural_plan("held-out"), options.methods_or(COMPARED)
    settings, absent = [], []
    for case in chosen(options.parameters):
        try:
            env, judges = case.build()
        except NoData as error:
            absent.append(f"{case.name}: {error.what}")
            continue
        floors = tuple(Floor("learning", share) for share in FLOORS)
        problem = pose(env, plan, session, name=case.name, floors=floors[:1], anchors="pretrained")
        settings += [*_levels(case.name, problem, judges, methods, session)]
        # Another case is other programs. Kept all, they exhaust the memory maps that the system grants a process.
        jax.clear_caches()
    if not settings:
        raise InputError("no case can be made: " + "; ".join(absent), fix="name others with --set cases=NAME")
    results = Results(
        table="held-out",
        title="The pretrained policy on curricula that had no part in its training",
        settings=tuple(settings),
        protocol=neural_protocol(plan, floors=list(FLOORS), kappas=list(KAPPAS), ready=READY),
        environment="Every setting names its case: a tutor, a drawn graph with its shape and size, or a data set.",
        notes=(NOTE_EVALUATED, NOTE_MIXTURE, *absent),
        finding=finding(settings),
    )
    return Produced(results, {})


def chosen(parameters: Mapping[str, Any]) -> Iterator[Case]:
    """The cases that are asked for, all of them where none is named, and graphs of one's own."""
    known = {case.name: case for case in cases()}
    names = _names(parameters.get("cases")) or ([] if "graphs" in parameters else [*known])
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"there is no case '{unknown[0]}'", fix=f"choose from {', '.join(known)}")
    yield from (known[name] for name in names)
    yield from (Case(Path(path).stem, partial(_of_graph, Path(path))) for path in _names(parameters.get("graphs")))


def cases() -> Iterator[Case]:
    """All cases, those of data sets last."""
    yield from (Case(name, partial(_named, name)) for name in NAMED)
    for at, size in enumerate(SIZES):
        shape = SHAPES[at % len(SHAPES)]
        yield Case(f"{shape.__name__.strip('_')}-{size}", partial(_drawn, at, size, shape))
    yield from (Case(name, partial(_named, name, confidence=READY)) for name in DATA)


def _levels(
    name: str, problem: Problem, judges: Sequence[Environment[Any]], methods: tuple[str, ...], session: Session
) -> Iterator[Setting]:
    """The rows of a case at every floor and at every κ."""
    asked: list[tuple[str, Problem, float | None]] = [
        (f"learning={share:g}", replace(problem, floors=(Floor("learning", share),)), None) for share in FLOORS
    ]
    asked += [(f"κ={kappa:g}", replace(problem, floors=()), kappa) for kappa in KAPPAS]
    for level, posed, kappa in asked:
        held, label = posed.constraints(kappa), f"{name}, {level}"
        trained = measuring.train(posed, methods, held, label, session, kappa)
        rows = {method: measuring.row(posed, one, held) for method, one in trained.items()}
        best = mixture([row for rule, row in rows.items() if rule in RULES], held)
        for method in rows:
            if method not in RULES:
                rows[method] |= {} if best is None else {"mixture": summarise([best])}
                there = [measuring.measured(posed, trained[method], held, judge) for judge in judges]
                unready = [row["true_violation_rate"] for row in there]
                rows[method] |= {"judged_violation_rate": max(unready, key=lambda rate: rate.mean)} if unready else {}
        yield Setting(label, dict(held.budgets), rows, floors=dict(held.floors))


def mixture(rules: Sequence[Row], held: Constraints) -> float | None:
    """The most that a mixture of rules returns within floors and budgets; None where no mixture meets them."""
    if not rules:
        return None
    returns = np.array([row["return"].mean for row in rules])
    above = [[-row[name].mean for row in rules] for name in held.floors]
    below = [[row[f"J_{name}"].mean for row in rules] for name in held.budgets]
    found = scipy.optimize.linprog(
        -returns,
        A_ub=np.array([*above, *below]),
        b_ub=[*(-floor for floor in held.floors.values()), *held.budgets.values()],
        A_eq=np.ones((1, len(rules))),
        b_eq=[1.0],
        method="highs",
    )
    return float(-found.fun) if found.status == 0 else None


def finding(settings: Sequence[Setting]) -> str:
    """How often the pretrained policy meets all, is above every mixture and every rule that does, and is unready."""
    rows = [(setting, setting.rows["pretrained"]) for setting in settings if "pretrained" in setting.rows]
    if not rows:
        return ""
    met = [(setting, row) for setting, row in rows if row["satisfaction_strict"].mean == 1]
    above = [row for setting, row in met if row["return"].mean >= _best(setting.rows)]
    unready = _most(rows, "true_violation_rate") or 0.0
    judged = _most(rows, "judged_violation_rate")
    by_judges = "" if judged is None else f", {judged:.1%} with the worst judge's learners"
    missed = ", ".join(setting.name for setting, row in rows if row["satisfaction_strict"].mean < 1)
    return (
        f"All that was asked for is met in {len(met)} of {len(rows)} settings, and in {len(above)} of these no "
        f"rule and no mixture of rules that meets it returns more. At most {unready:.1%} of lessons are unready in "
        f"truth{by_judges}. Missed: {missed or 'none'}."
    )


def _most(rows: Sequence[tuple[Setting, Row]], name: str) -> float | None:
    """The largest mean of a metric; None where nobody measured it, which is not the same as 0."""
    return max((row[name].mean for _, row in rows if name in row), default=None)


def _best(rows: Rows) -> float:
    """The return of the best rule, or mixture of rules, that meets everything."""
    own = rows["pretrained"]
    mixed = [own["mixture"].mean] if "mixture" in own else []
    alone = [row["return"].mean for name, row in rows.items() if name in RULES and row["satisfaction_strict"].mean == 1]
    return max([*mixed, *alone], default=-np.inf)


def _named(name: str, **parameters: Any) -> tuple[Environment[Any], tuple[Environment[Any], ...]]:
    env = make(name, **parameters)
    assert isinstance(env, Tutoring)  # all that are named are
    return env, judges_for(name, env)


def _of_graph(path: Path) -> tuple[Environment[Any], tuple[Environment[Any], ...]]:
    from mccpo.experiments.from_graph import learners_of_prior, read_graph  # noqa: PLC0415 - polars

    made = learners_of_prior(read_graph(path), confidence=READY)
    return made.tutor, (made.others,)


def _drawn(
    at: int, size: int, shape: Callable[[np.random.Generator, int], Curriculum]
) -> tuple[Environment[Any], tuple[Environment[Any], ...]]:
    """A tutor on a drawn graph: mastery known or, every second time, estimated behind a gate that asks for 0.95."""
    random = np.random.default_rng([SEED, at])
    numbers: dict[str, Any] = {
        "curriculum": shape(random, size),
        "eta": float(random.uniform(0.04, 0.2)),
        "K0": float(random.uniform(0.1, 0.5)),
        "horizon": int(random.integers(40, 161)),
    }
    return (make("tutor-15-bkt", confidence=READY, **numbers) if at % 2 else make("tutor-15", **numbers)), ()


def _of_parents(random: np.random.Generator, parents: Sequence[Sequence[int]]) -> Curriculum:
    """A curriculum of prerequisites by number; demands rise with the order, with noise."""
    size = len(parents)
    names = [f"v{at:03}" for at in range(size)]
    demand = np.clip(np.linspace(0.2, 0.8, size) + 0.1 * random.normal(size=size), 0.05, 0.95)
    edges = [(names[before], names[at]) for at, needed in enumerate(parents) for before in sorted(set(needed))]
    return Curriculum.from_edges(edges, concepts=names, demand=dict(zip(names, demand.tolist(), strict=True)))


def _strands(random: np.random.Generator, size: int) -> Curriculum:
    width = int(random.integers(2, 5))
    return _of_parents(random, [[at - width] if at >= width else [] for at in range(size)])


def _tree(random: np.random.Generator, size: int) -> Curriculum:
    return _of_parents(random, [[int(random.integers(at))] if at else [] for at in range(size)])


def _layers(random: np.random.Generator, size: int) -> Curriculum:
    def needed(at: int) -> list[int]:
        first = (at // 5 - 1) * 5
        return [] if first < 0 else random.choice(np.arange(first, first + 5), int(random.integers(1, 4))).tolist()

    return _of_parents(random, [needed(at) for at in range(size)])


def _hubs(random: np.random.Generator, size: int) -> Curriculum:
    def needed(at: int) -> list[int]:
        return [int(at * random.random() ** 3) for _ in range(int(random.integers(1, 3)))] if at else []

    return _of_parents(random, [needed(at) for at in range(size)])


def _random(random: np.random.Generator, size: int) -> Curriculum:
    env = make("tutor-15", concepts=size, curriculum_seed=int(random.integers(2**31)))
    assert isinstance(env, Tutoring)
    return env.curriculum


SHAPES = (_strands, _tree, _layers, _hubs, _random)


def _names(given: Any) -> list[str]:
    return [] if given is None else [name.strip() for name in str(given).split(",") if name.strip()]
