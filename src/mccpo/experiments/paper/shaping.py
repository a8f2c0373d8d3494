"""Prices in the reward against budgets: both forms of reward shaping over a range of weights, beside MC-CPO.

The paper shapes by r − 0.5·c2 − 1.0·c4, and in its larger tutor by r + λ·ΔK. A weight is a price that someone must set;
a budget is what they want. So every weight is held against the budgets, and the table says what a search over weights
would have found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mccpo.env import Constraints, make
from mccpo.errors import InputError
from mccpo.evaluation import Curves
from mccpo.experiments import measuring
from mccpo.experiments.finite import tests
from mccpo.experiments.options import Options, Session, kappa_text
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.problem import ANCHOR, Problem, pose_neural
from mccpo.experiments.table import (
    NOTE_EVALUATED,
    NOTE_FITTED,
    Produced,
    beside_paper,
    description,
    met,
    neural_protocol,
)
from mccpo.experiments.tables import register_table
from mccpo.experiments.training import Trained
from mccpo.methods import MethodSpec, method_spec
from mccpo.runs.results import FrontPoint, Fronts, Results, Row, Rows, Search, Setting, TradeOff, means_of

ENVIRONMENTS = ("tutor-15", "tutor-15-bkt")
KAPPAS = (0.9, 0.7, 0.5)
METHODS = ("unconstrained", "reward-shaped", "reward-shaped-gain", "post-hoc", "mc-cpo")

# Multiples of the paper's prices, and λ. Both are dense where the tutor's behaviour turns over, which is a narrow
# range; the λ below that are the paper's.
WEIGHTS = {
    "reward-shaped": (0.1, 0.3, 0.35, 0.4, 0.5, 1.0, 2.0, 4.0),
    "reward-shaped-gain": (0.05, 0.5, 3.0, 4.0, 4.5, 5.0, 10.0, 30.0),
}

# The paper's own sweep: with 25 concepts, by + λ·ΔK alone.
PAPER_SWEEP = "tutor-25"
PAPER_WEIGHTS = {
    "reward-shaped": (1.0,),
    "reward-shaped-gain": tuple(float(weight) for weight in paper.tables()["tutor-25"]["protocol"]["shaping_sweep"]),
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
NOTE_SWEEP = (
    "The λ are those that the paper tries, beside its one row for all of them. r + λ·ΔK adds λ times what "
    "one step gains, at most λ·η: small λ change nothing, as the paper says, and its largest does."
)
WITHOUT_TUNING = (
    "What a weight gives is known once it is trained, for these budgets and this tutor only; MC-CPO takes the budgets "
    "themselves, and its mask leaves no unready concept to choose."
)


@dataclass(frozen=True, eq=False)
class Study:
    """One environment: rows of the methods, and of each form by weight, at the first κ; rows of MC-CPO at every κ."""

    environment: str
    problem: Problem
    budgets: dict[float, dict[str, float]]
    rows: Rows
    swept: Mapping[str, Mapping[float, Row]]
    ours: dict[float, Row]
    curves: Curves

    @property
    def first_budgets(self) -> dict[str, float]:
        """The budgets of the first κ."""
        return next(iter(self.budgets.values()))

    @property
    def title(self) -> str:
        return f"{self.environment} {kappa_text(next(iter(self.budgets)))}"

    @property
    def parts(self) -> dict[str, str]:
        """The parts of the run, and the setting that shows each: further κ are points of a front, not a setting."""
        first = next(iter(self.budgets))
        return {_label(self.environment, kappa): self.title if kappa == first else "" for kappa in self.budgets}


@register_table("shaping")
def produce(options: Options, session: Session) -> Produced:
    """Trains every method and weight on each environment, and MC-CPO at every κ."""
    return _produce("shaping", ENVIRONMENTS, options, session)


@register_table("shaping-25")
def produce_paper_sweep(options: Options, session: Session) -> Produced:
    """Trains every method, and shaping at the paper's own λ, with 25 concepts."""
    own = replace(options, kappa=options.kappa or KAPPAS[:1])
    return _produce("shaping-25", (PAPER_SWEEP,), own, session)


def _produce(table: str, environments: tuple[str, ...], options: Options, session: Session) -> Produced:
    if options.budgets:
        raise InputError(f"reproduce {table} sets budgets by κ", fix="run `mccpo compare ENVIRONMENT --budget …`")
    studies = [_study(environment, options, session) for environment in environments]
    searches = [search(study) for study in studies]
    all_searches = tuple(one for by_kappa in searches for one in by_kappa)
    answers = [answer(study, by_kappa) for study, by_kappa in zip(studies, searches, strict=True) if by_kappa]
    differences = [note for study in studies for note in apart(study)]
    swept = [setting for study in studies for setting in _swept(study, options)]
    plan, env = studies[0].problem.training, studies[0].problem.env
    sweep = (NOTE_SWEEP,) if PAPER_SWEEP in environments else ()
    results = Results(
        table=table,
        title="Shaping: prices in the reward against budgets",
        settings=(*(_named(study, options) for study in studies), *swept),
        protocol=neural_protocol(plan, kappa=list(studies[0].budgets), gamma=env.gamma, horizon=env.horizon),
        environment=description(env),
        tests={f"{study.environment}: {pair}": test for study in studies for pair, test in tests(study.rows).items()},
        notes=(NOTE_EVALUATED, NOTE_FITTED, NOTE_FORMS, NOTE_PAPER, *sweep, *differences, *answers),
        finding=finding(all_searches, plan.seeds) if answers else "",
        parts={part: shown for study in studies for part, shown in study.parts.items()},
        tradeoff=TradeOff(fronts(studies[0])),
        searches=all_searches,
    )
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
    problem = pose_neural(make(environment, **options.parameters), options, session)
    budgets = {kappa: problem.budgets(kappa, {}) for kappa in options.kappa or KAPPAS}
    names = options.methods_or(METHODS)
    weights = PAPER_WEIGHTS if environment == PAPER_SWEEP else WEIGHTS
    forms = {form: {weight: weigh(form, weight) for weight in weights[form]} for form in weights if form in names}
    learners = [method_spec(name) for name in names if name not in forms]
    learners += [spec for weights in forms.values() for spec in weights.values()]
    first, *further = budgets
    trained = _train(problem, learners, first, session)
    rows = {name: measuring.row(problem, one, Constraints(budgets[first])) for name, one in trained.items()}
    swept = {form: {weight: rows[spec.name] for weight, spec in forms[form].items()} for form in forms}
    named = {name: swept[name][OWN[name]] if name in forms else rows[name] for name in names}
    ours: dict[float, Row] = {}
    if OURS in named:
        ours = {first: named[OURS]}
        for kappa in further:
            one = _train(problem, [method_spec(OURS)], kappa, session)[OURS]
            ours[kappa] = measuring.row(problem, one, Constraints(budgets[kappa]))
    return Study(environment, problem, budgets, named, swept, ours, measuring.curves(problem, trained))


def _train(problem: Problem, learners: list[MethodSpec], kappa: float, session: Session) -> dict[str, Trained]:
    constraints, label = problem.constraints(kappa, {}), _label(problem.env.name, kappa)
    trained = measuring.train(problem, learners, constraints, label, session)
    measuring.keep(problem, trained, constraints, label, session)
    return trained


def _named(study: Study, options: Options) -> Setting:
    """The methods side by side."""
    # The paper's baselines see no budget, so that its κ = 1.02 is no obstacle; its MC-CPO does.
    known = paper.rows(study.environment) if study.environment in paper.tables() and not options.parameters else {}
    known = {method: cells for method, cells in known.items() if not method_spec(method).constrained}
    fitted = paper.fitted(study.environment) if known else {}
    setting = beside_paper(study.title, study.first_budgets, study.rows, known, fitted=fitted)
    return replace(setting, tradeoff=TradeOff(fronts(study)))


def _swept(study: Study, options: Options) -> list[Setting]:
    """Each form by weight, beside MC-CPO; the paper has one row for all λ of its own sweep."""
    ours = {name: row for name, row in study.rows.items() if name == OURS}
    by_form = {
        form: {_name(form, weight): row for weight, row in rows.items()} | ours for form, rows in study.swept.items()
    }
    papers = study.environment == PAPER_SWEEP and not options.parameters and next(iter(study.budgets)) == KAPPAS[0]
    stated = paper.rows(PAPER_SWEEP)["reward-shaped"] if papers else {}
    known = {_name("reward-shaped-gain", weight): stated for weight in PAPER_WEIGHTS["reward-shaped-gain"] if stated}
    return [
        beside_paper(
            f"{study.title}, {form}", study.first_budgets, rows, {name: known[name] for name in rows if name in known}
        )
        for form, rows in by_form.items()
    ]


def fronts(study: Study) -> Fronts:
    """Where each form ended up at each weight, and MC-CPO at each κ."""
    points: Fronts = {
        form: tuple(FrontPoint(means_of(row), weight=weight) for weight, row in rows.items())
        for form, rows in study.swept.items()
    }
    if study.ours:
        points[OURS] = tuple(FrontPoint(means_of(row), kappa=kappa) for kappa, row in study.ours.items())
    return points


def search(study: Study) -> list[Search]:
    """What a search over the weights finds at every κ; shaping sees no budget, so that one training serves them all."""
    swept = {_name(form, weight): row for form, rows in study.swept.items() for weight, row in rows.items()}
    searches = []
    for kappa, ours in study.ours.items() if swept else ():
        meeting = {name: row["return"].mean for name, row in swept.items() if met(row, study.budgets[kappa]) == 1}
        best = max(meeting, key=lambda name: meeting[name], default=None)
        reached = None if best is None else meeting[best]
        returned, share = ours["return"].mean, met(ours, study.budgets[kappa])
        matches = reached is not None and reached >= returned
        searches.append(
            Search(study.environment, kappa, len(swept), len(meeting), best, reached, returned, share, matches)
        )
    return searches


def apart(study: Study) -> list[str]:
    """How far each baseline is from the unconstrained policy, which the paper says they all equal."""
    if ANCHOR not in study.rows:
        return []
    free = study.rows[ANCHOR]["return"].mean
    notes = []
    for form, rows in study.swept.items():
        near = [f"{weight:g}" for weight, row in rows.items() if abs(row["return"].mean / free - 1) <= NEAR]
        last, row = list(rows.items())[-1]
        notes.append(
            f"{study.environment}, {form}: the return is within {100 * NEAR:g} % of the unconstrained {free:.2f} at "
            f"{len(near)} of {len(rows)} weights ({', '.join(near) or 'none'}); at {last:g} it is "
            f"{row['return'].mean:.2f}, with {100 * row['prerequisite_violation_rate'].mean:.3g} % of the steps "
            "not ready."
        )
    if "post-hoc" in study.rows:
        filtered = study.rows["post-hoc"]["return"].mean
        notes.append(f"{study.environment}, post-hoc: the filter takes the return from {free:.2f} to {filtered:.2f}.")
    return notes


def finding(searches: Sequence[Search], seeds: int) -> str:
    """What a search over the weights would have found, in one sentence."""
    parts = [
        f"{'none' if one.best is None else f'{one.best_return:.2f} ({one.best})'} against "
        f"{one.mc_cpo_return:.2f} ({one.mc_cpo_satisfaction * seeds:.0f} of {seeds}) for {one.environment} "
        f"{kappa_text(one.kappa)}"
        for one in searches
    ]
    return (
        f"The best of {searches[0].tried} shaping weights that meets the budgets in every seed matches MC-CPO in "
        f"{sum(one.matches for one in searches)} of {len(searches)} cases. Its return against that of MC-CPO (and "
        f"the seeds that meet the budgets there): {'; '.join(parts)}."
    )


def answer(study: Study, searches: list[Search]) -> str:
    """Where shaping matches MC-CPO and where it does not, and what the one gives that the other does not."""
    seeds = study.problem.training.seeds
    shaped = min(_unready(row) for rows in study.swept.values() for row in rows.values())
    gate = (
        f"In training, MC-CPO taught what was not ready in {_unready(study.rows[OURS]):.0f} steps a seed, the shaped "
        f"methods in {shaped:.0f} or more."
    )
    return " ".join([*(_at(one, seeds) for one in searches), gate, WITHOUT_TUNING])


def _unready(row: Row) -> float:
    return row["prerequisite_violations_training"].mean


def _at(search: Search, seeds: int) -> str:
    ours = (
        f"On {search.environment} at κ = {search.kappa}, one training of MC-CPO returns {search.mc_cpo_return:.2f} and "
        f"meets the budgets in {search.mc_cpo_satisfaction * seeds:.0f} of {seeds} seeds; of {search.tried} weights of "
        f"shaping, each trained with as many seeds, {search.meeting or 'none'} "
        f"{'meet' if search.meeting > 1 else 'meets'} them in every seed"
    )
    if search.best is None:
        return f"{ours}."
    if search.matches:
        verdict = "no less: here a search over weights finds a match for MC-CPO"
    elif search.mc_cpo_satisfaction < 1:
        verdict = "less, but within the budgets in every seed, which MC-CPO is not"
    else:
        verdict = "less"
    return f"{ours}. The best of these, {search.best}, returns {search.best_return:.2f}, {verdict}."
