"""Prices in the reward against budgets: both forms of reward shaping over a range of weights, beside MC-CPO.

The paper shapes by r − 0.5·c2 − 1.0·c4, and in its larger tutor by r + λ·ΔK. A weight is a price that someone must set;
a budget is what they want. So every weight is held against the budgets, and the table says what a search over weights
would have found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.evaluation import Curves, Summary
from mccpo.experiments import neural
from mccpo.experiments.finite import Outcome, tests
from mccpo.experiments.neural import ANCHOR
from mccpo.experiments.options import Options, Session, kappa_text
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.paper.verdicts import verdicts
from mccpo.experiments.table import NOTE_JUDGED, Produced, description, met, neural_protocol, reported
from mccpo.methods import MethodSpec, method_spec

ENVIRONMENTS = ("tutor-15", "tutor-15-bkt")
KAPPAS = (0.9, 0.7, 0.5)
METHODS = ("unconstrained", "reward-shaped", "reward-shaped-gain", "post-hoc", "mc-cpo", "mc-cpo-no-frontier")

# Multiples of the paper's prices, and λ. Both are dense where the tutor's behaviour turns over, which is a narrow
# range; the λ below that are the paper's.
WEIGHTS = {
    "reward-shaped": (0.1, 0.3, 0.35, 0.4, 0.5, 1.0, 2.0, 4.0),
    "reward-shaped-gain": (0.05, 0.5, 3.0, 4.0, 4.5, 5.0, 10.0, 30.0),
}

OURS = "mc-cpo"
NEAR = 0.01  # of the return: a method that hardly differs
OWN = {"reward-shaped": 1.0, "reward-shaped-gain": method_spec("reward-shaped-gain").progress}  # under the plain name

NOTE_FORMS = (
    "reward-shaped@w learns from r - w·(0.5·c2 + 1.0·c4), whose w = 1 is the paper's and stands under reward-shaped; "
    "reward-shaped-gain@λ learns from r + λ·ΔK, whose λ = 5, the largest that the paper tries, stands under "
    "reward-shaped-gain. Neither is masked or sees a budget."
)
NOTE_PAPER = (
    "In the paper, shaped and post-hoc policies agree with the unconstrained one to four digits, at every weight."
)
WITHOUT_TUNING = (
    "What a weight gives is known once it is trained, for these budgets and this tutor only; MC-CPO takes the budgets "
    "themselves, and its mask leaves no unready concept to choose."
)

Row = dict[str, Summary]


@dataclass(frozen=True, eq=False)
class Study:
    """One environment: rows of the methods, and of each form by weight, at the first κ; rows of MC-CPO at every κ."""

    environment: str
    anchored: neural.Anchored
    budgets: dict[float, dict[str, float]]
    rows: dict[str, Row]
    swept: dict[str, dict[float, Row]]
    ours: dict[float, Row]
    curves: Curves

    @property
    def title(self) -> str:
        return f"{self.environment} {kappa_text(next(iter(self.budgets)))}"

    @property
    def parts(self) -> dict[str, str]:
        """The parts of the run, and the setting that shows each: further κ are points of a front, not a setting."""
        first = next(iter(self.budgets))
        return {_label(self.environment, kappa): self.title if kappa == first else "" for kappa in self.budgets}


class Search(NamedTuple):
    """What a search over all weights finds under the budgets of a κ.

    `meeting` of the `tried` weights meet the budgets in every seed; `best` is the one of them with the highest return.
    It `matches` MC-CPO where its return is no lower.
    """

    environment: str
    kappa: float
    tried: int
    meeting: int
    best: str | None
    best_return: float | None
    mc_cpo_return: float
    mc_cpo_satisfaction: float
    matches: bool


def produce(options: Options, session: Session) -> Produced:
    """Trains every method and weight on each environment, and MC-CPO at every κ."""
    if options.budgets:
        raise InputError("reproduce shaping sets budgets by κ", fix="run `mccpo compare ENVIRONMENT --budget …`")
    studies = [_study(environment, options, session) for environment in ENVIRONMENTS]
    searches = [search(study) for study in studies]
    answers = [answer(study, found) for study, found in zip(studies, searches, strict=True) if found]
    named = {name: part for study in studies for name, part in _named(study, options).items()}
    swept = {name: part for study in studies for name, part in _swept(study).items()}
    plan, env = studies[0].anchored.plan, studies[0].anchored.env
    results = {
        "table": "shaping",
        "title": "Shaping: prices in the reward against budgets",
        "finding": finding([one for found in searches for one in found], plan.seeds) if answers else "",
        "protocol": neural_protocol(plan, kappa=list(studies[0].budgets), gamma=env.gamma, horizon=env.horizon),
        "environment": description(env),
        "settings": named | swept,
        "parts": {part: shown for study in studies for part, shown in study.parts.items()},
        "fronts": fronts(studies[0]),
        "searches": [one._asdict() for found in searches for one in found],
        "tests": {
            f"{study.environment}: {name}": found for study in studies for name, found in tests(study.rows).items()
        },
        "notes": [NOTE_JUDGED, NOTE_FORMS, NOTE_PAPER, *(note for study in studies for note in apart(study)), *answers],
    }
    return Produced(results, {study.environment: study.curves for study in studies})


def weigh(form: str, weight: float) -> MethodSpec:
    """A form of shaping at a weight: a multiple of the paper's prices, or λ."""
    spec = method_spec(form)
    scale = weight / OWN[form]
    prices = {cost: scale * price for cost, price in spec.shaping.items()}
    return replace(spec, name=_name(form, weight), shaping=prices, progress=scale * spec.progress)


def _name(form: str, weight: float) -> str:
    return f"{form}@{weight:g}"


def _label(environment: str, kappa: float) -> str:
    return f"{environment} shaping {kappa_text(kappa)}"


def _study(environment: str, options: Options, session: Session) -> Study:
    anchored = neural.anchor(make(environment, **options.parameters), options, session)
    budgets = {kappa: anchored.budgets(kappa, {}) for kappa in options.kappa or KAPPAS}
    names = options.methods_or(METHODS)
    forms = {form: {weight: weigh(form, weight) for weight in WEIGHTS[form]} for form in WEIGHTS if form in names}
    learners = [method_spec(name) for name in names if name not in forms]
    learners += [spec for weights in forms.values() for spec in weights.values()]
    first, *further = budgets
    trained = _train(anchored, learners, first, session)
    rows = {name: neural.row(anchored, one, budgets[first]) for name, one in trained.items()}
    swept = {form: {weight: rows[spec.name] for weight, spec in forms[form].items()} for form in forms}
    named = {name: swept[name][OWN[name]] if name in forms else rows[name] for name in names}
    ours: dict[float, Row] = {}
    if OURS in named:
        ours = {first: named[OURS]}
        for kappa in further:
            one = _train(anchored, [method_spec(OURS)], kappa, session)[OURS]
            ours[kappa] = neural.row(anchored, one, budgets[kappa])
    return Study(environment, anchored, budgets, named, swept, ours, neural.curves(anchored, trained))


def _train(
    anchored: neural.Anchored, learners: list[MethodSpec], kappa: float, session: Session
) -> dict[str, neural.Trained]:
    budgets, label = anchored.budgets(kappa, {}), _label(anchored.env.name, kappa)
    trained = neural.train(anchored, learners, budgets, label, session)
    neural.keep(anchored, trained, budgets, label, session)
    return trained


def _named(study: Study, options: Options) -> dict[str, Any]:
    """The methods side by side."""
    # The paper's baselines see no budget, so that its κ = 1.02 is no obstacle; its MC-CPO does.
    known = paper.rows(study.environment) if study.environment in paper.tables() and not options.parameters else {}
    known = {method: cells for method, cells in known.items() if not method_spec(method).constrained}
    return {study.title: _setting(study, study.rows, known) | {"fronts": fronts(study)}}


def _swept(study: Study) -> dict[str, Any]:
    """Each form by weight, beside MC-CPO."""
    ours = {name: row for name, row in study.rows.items() if name == OURS}
    return {
        f"{study.title}, {form}": _setting(study, {_name(form, at): row for at, row in rows.items()} | ours, {})
        for form, rows in study.swept.items()
    }


def _setting(study: Study, rows: dict[str, Row], known: paper.Rows) -> dict[str, Any]:
    return {
        "budgets": next(iter(study.budgets.values())),
        "rows": rows,
        "optimum": None,
        "paper": reported(known, Outcome(rows, study.curves)),
        "verdicts": verdicts(rows, known, {}, paper_seeds=10),
    }


def fronts(study: Study) -> dict[str, list[dict[str, float]]]:
    """Where each form ended up at each weight, and MC-CPO at each κ."""
    found = {
        form: [{"weight": weight} | _means(row) for weight, row in rows.items()] for form, rows in study.swept.items()
    }
    if study.ours:
        found[OURS] = [{"kappa": kappa} | _means(row) for kappa, row in study.ours.items()]
    return found


def _means(row: Row) -> dict[str, float]:
    return {metric: cell["mean"] for metric, cell in row.items()}


def search(study: Study) -> list[Search]:
    """What a search over the weights finds at every κ; shaping sees no budget, so that one training serves them all."""
    swept = {_name(form, weight): row for form, rows in study.swept.items() for weight, row in rows.items()}
    found = []
    for kappa, ours in study.ours.items() if swept else ():
        meeting = {name: row["return"]["mean"] for name, row in swept.items() if met(row, study.budgets[kappa]) == 1}
        best = max(meeting, key=lambda name: meeting[name], default=None)
        reached = None if best is None else meeting[best]
        returned, share = ours["return"]["mean"], met(ours, study.budgets[kappa])
        matches = reached is not None and reached >= returned
        found.append(
            Search(study.environment, kappa, len(swept), len(meeting), best, reached, returned, share, matches)
        )
    return found


def apart(study: Study) -> list[str]:
    """How far each baseline is from the unconstrained policy, which the paper says they all equal."""
    if ANCHOR not in study.rows:
        return []
    free = study.rows[ANCHOR]["return"]["mean"]
    notes = []
    for form, rows in study.swept.items():
        near = [f"{weight:g}" for weight, row in rows.items() if abs(row["return"]["mean"] / free - 1) <= NEAR]
        last, row = list(rows.items())[-1]
        notes.append(
            f"{study.environment}, {form}: the return is within {100 * NEAR:g} % of the unconstrained {free:.2f} at "
            f"{len(near)} of {len(rows)} weights ({', '.join(near) or 'none'}); at {last:g} it is "
            f"{row['return']['mean']:.2f}, with {100 * row['prerequisite_violation_rate']['mean']:.3g} % of the steps "
            "not ready."
        )
    if "post-hoc" in study.rows:
        filtered = study.rows["post-hoc"]["return"]["mean"]
        notes.append(f"{study.environment}, post-hoc: the filter takes the return from {free:.2f} to {filtered:.2f}.")
    return notes


def finding(searches: Sequence[Search], seeds: int) -> str:
    """What a search over the weights would have found, in one sentence."""
    parts = [
        f"{'none' if found.best is None else f'{found.best_return:.2f} ({found.best})'} against "
        f"{found.mc_cpo_return:.2f} ({found.mc_cpo_satisfaction * seeds:.0f} of {seeds}) for {found.environment} "
        f"{kappa_text(found.kappa)}"
        for found in searches
    ]
    return (
        f"The best of {searches[0].tried} shaping weights that meets the budgets in every seed matches MC-CPO in "
        f"{sum(found.matches for found in searches)} of {len(searches)} cases. Its return against that of MC-CPO (and "
        f"the seeds that meet the budgets there): {'; '.join(parts)}."
    )


def answer(study: Study, searches: list[Search]) -> str:
    """Where shaping matches MC-CPO and where it does not, and what the one gives that the other does not."""
    seeds = study.anchored.plan.seeds
    shaped = min(_unready(row) for rows in study.swept.values() for row in rows.values())
    gate = (
        f"In training, MC-CPO taught what was not ready in {_unready(study.rows[OURS]):.0f} steps a seed, the shaped "
        f"methods in {shaped:.0f} or more."
    )
    return " ".join([*(_at(found, seeds) for found in searches), gate, WITHOUT_TUNING])


def _unready(row: Row) -> float:
    return row["prerequisite_violations_training"]["mean"]


def _at(found: Search, seeds: int) -> str:
    ours = (
        f"On {found.environment} at κ = {found.kappa}, one training of MC-CPO returns {found.mc_cpo_return:.2f} and "
        f"meets the budgets in {found.mc_cpo_satisfaction * seeds:.0f} of {seeds} seeds; of {found.tried} weights of "
        f"shaping, each trained with as many seeds, {found.meeting or 'none'} "
        f"{'meet' if found.meeting > 1 else 'meets'} them in every seed"
    )
    if found.best is None:
        return f"{ours}."
    if found.matches:
        verdict = "no less: here a search over weights finds a match for MC-CPO"
    elif found.mc_cpo_satisfaction < 1:
        verdict = "less, but within the budgets in every seed, which MC-CPO is not"
    else:
        verdict = "less"
    return f"{ours}. The best of these, {found.best}, returns {found.best_return:.2f}, {verdict}."
