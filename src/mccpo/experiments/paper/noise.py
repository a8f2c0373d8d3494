"""What errors in the estimated mastery do: policies trained without them, evaluated under noise, bias and delay.

The paper adds noise to K at inference and reports the return and the satisfaction of MC-CPO. Here the gate opens by the
same estimate, and the environment counts what it lets through. Then the gate calibrates itself: see
`mccpo.experiments.calibration`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from mccpo.env import Constraints, Estimated, make
from mccpo.env.tutor import Tutoring
from mccpo.errors import InputError
from mccpo.evaluation import Curves, Difference, paired
from mccpo.evaluation.policy import TOLERANCE
from mccpo.experiments import measuring
from mccpo.experiments.options import Options, Session, kappa_text
from mccpo.experiments.paper import calibrated_gates as calibrating
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.paper.tutor import PAPER_KAPPA
from mccpo.experiments.problem import Problem, pose_neural
from mccpo.experiments.table import NOTE_EVALUATED, Produced, met, neural_protocol
from mccpo.experiments.tables import register_table
from mccpo.experiments.training import Trained
from mccpo.runs.results import (
    CalibratedGate,
    NoiseClaim,
    NoiseKinds,
    NoiseLevel,
    Results,
    Row,
    Rows,
    Setting,
    means_of,
)

ENVIRONMENTS = ("tutor-15", "tutor-15-bkt")
KAPPAS = (0.9, 0.5)
METHODS = ("unconstrained", "mc-cpo")
OURS = "mc-cpo"
WORST = 0.2  # the largest σ of the paper, to which its claim refers

ENVIRONMENT = (
    "Tutors that see an estimate of mastery in place of K: K of some steps ago, plus a bias, plus normal noise of its "
    "own in every step and concept, held to [0, 1]. The gate opens by the estimate; lessons, rewards and costs are the "
    "true learner's. In tutor-15-bkt, K is itself the tutor's estimate from the learner's answers, and the errors come "
    "on top of it."
)
NOTE_COUNTS = (
    "A lesson is unready by the gate where K itself says so, and unready in truth where the learner has not in truth "
    "mastered every prerequisite. Both are the same in tutor-15, where K is the truth. They differ in tutor-15-bkt, "
    "where the gate lets some unready lessons through even without errors."
)
NOTE_PAIRED = (
    "The policies were trained without errors, and all levels are judged with the same random numbers, so that rows "
    "differ by the level alone. There are several κ because it is the budgets that make a tutor depend on the gate."
)


class Level(NamedTuple):
    """How wrong the estimate is, and what is done about it: see `Estimated`."""

    sigma: float = 0.0
    bias: float = 0.0
    delay: int = 0
    caution: float = 0.0
    memory: float = 0.0


KINDS: dict[str, dict[float, Level]] = {
    "sigma": {at: Level(sigma=at) for at in (0.0, 0.05, 0.1, WORST)},
    "bias": {at: Level(bias=at) for at in (-0.2, -0.1, 0.0, 0.1, 0.2)},
    "delay": {at: Level(delay=at) for at in (0, 1, 2, 5, 10)},
    "caution": {at: Level(sigma=WORST, caution=at) for at in (0.0, 0.1, 0.2, 0.3)},
    "memory": {at: Level(sigma=WORST, memory=at) for at in (0.0, 0.5, 0.8, 0.9)},
}

ERRORS: dict[str, tuple[float, Level]] = {
    kind: (at, KINDS[kind][at]) for kind, at in (("sigma", WORST), ("bias", 0.1), ("delay", 10))
}
"""The errors under which the gate calibrates itself."""


class Part(NamedTuple):
    """What the table says of one environment at one κ; there is a claim where MC-CPO is among the methods."""

    name: str
    label: str
    settings: tuple[Setting, ...]
    kinds: NoiseKinds
    curves: Curves
    gates: tuple[CalibratedGate, ...]
    claim: NoiseClaim | None
    tests: dict[str, Difference]
    answers: tuple[str, ...]


@register_table("noise")
def produce(options: Options, session: Session) -> Produced:
    """Trains on each environment at each κ, and evaluates the policies at every level."""
    if options.budgets:
        raise InputError("reproduce noise sets budgets by κ", fix="run it with --kappa")
    parts: list[Part] = []
    for environment in ENVIRONMENTS:
        problem = pose_neural(make(environment, **options.parameters), options, session)
        parts += [
            _part(problem, environment, kappa, options.methods_or(METHODS), session)
            for kappa in options.kappa or KAPPAS
        ]
    claims = tuple(part.claim for part in parts if part.claim is not None)
    results = Results(
        table="noise",
        title="Noise: when the estimated mastery is wrong",
        settings=tuple(setting for part in parts for setting in part.settings),
        protocol=neural_protocol(problem.training, kappa=list(options.kappa or KAPPAS)),
        environment=ENVIRONMENT,
        tests={name: test for part in parts for name, test in part.tests.items()},
        notes=(
            *(NOTE_EVALUATED, NOTE_COUNTS, NOTE_PAIRED, calibrating.NOTE),
            *(sentence for part in parts for sentence in part.answers),
        ),
        finding=finding(claims) if claims else "",
        parts={part.label: part.settings[0].name for part in parts},
        noise={part.name: part.kinds for part in parts},
        claims=claims,
        calibrated=tuple(gate for part in parts for gate in part.gates),
    )
    return Produced(results, {part.name: part.curves for part in parts})


def _part(problem: Problem, environment: str, kappa: float, methods: Sequence[str], session: Session) -> Part:
    name, held = f"{environment} {kappa_text(kappa)}", Constraints(problem.budgets(kappa, {}))
    label = f"{name} noise"
    trained = measuring.train(problem, methods, held, label, session)
    measuring.keep(problem, trained, held, label, session)
    rows = _evaluated(problem, trained, held)
    gates = _calibrated(problem, trained, held, name, rows, session)
    claim, tests, said = None, {}, []
    if OURS in rows[Level()]:
        ours = {level: row[OURS] for level, row in rows.items()}
        claim, tests = claimed(name, ours), paired_tests(name, ours)
        slack = met(ours[Level(WORST)], problem.budgets(PAPER_KAPPA, {}), TOLERANCE)
        said = [answer(claim, ours, slack), remedies(ours), others(ours)]
    said += [calibrating.kept_sentence(gates)] if gates else []
    return Part(
        name=name,
        label=label,
        settings=tuple(
            Setting(f"{name} σ={at:g}", dict(held.budgets), rows[level]) for at, level in KINDS["sigma"].items()
        ),
        kinds=_kinds(rows),
        curves=measuring.curves(problem, trained),
        gates=gates,
        claim=claim,
        tests=tests,
        answers=tuple(f"{name}: {sentence}" for sentence in said),
    )


def _evaluated(problem: Problem, trained: Mapping[str, Trained], constraints: Constraints) -> dict[Level, Rows]:
    """The rows of every level."""
    levels = [level for levels in KINDS.values() for level in levels.values()]
    rows: dict[Level, Rows] = {}
    for level in dict.fromkeys([*levels, *(level for _, level in ERRORS.values())]):
        env = _estimated(problem, level)
        rows[level] = {name: measuring.measured(problem, one, constraints, env) for name, one in trained.items()}
    return rows


def _calibrated(
    problem: Problem,
    trained: Mapping[str, Trained],
    constraints: Constraints,
    part: str,
    rows: Mapping[Level, Rows],
    session: Session,
) -> tuple[CalibratedGate, ...]:
    """What a gate that calibrates itself does under each error, for the methods that a gate confines."""
    gates: list[CalibratedGate] = []
    for name, method in trained.items():
        if not method.spec.masked and method.spec.filter == "none":
            continue
        for kind, (at, level) in ERRORS.items():
            env, without = _estimated(problem, level), rows[level][name]
            case = calibrating.Case(part, kind, at, env, uncalibrated=without, exact=rows[Level()][name])
            gates += calibrating.calibrated_gates(problem, method, constraints, case, session)
    return tuple(gates)


def _estimated(problem: Problem, level: Level) -> Estimated[Any]:
    assert isinstance(problem.env, Tutoring)
    return Estimated(problem.env, **level._asdict())


def _kinds(rows: Mapping[Level, Rows]) -> NoiseKinds:
    """The means over seeds of every method, level by level, for each kind of error and each remedy."""
    return {
        kind: tuple(
            NoiseLevel(float(at), {name: means_of(row) for name, row in rows[level].items()})
            for at, level in levels.items()
        )
        for kind, levels in KINDS.items()
    }


def paired_tests(part: str, ours: Mapping[Level, Row]) -> dict[str, Difference]:
    """Whether noise changes the return, policy by policy: all levels judge the same ones by the same random numbers."""
    noisy, exact = (ours[level]["return"].per_seed for level in (Level(WORST), Level()))
    return {f"{part}: mc-cpo, σ = {WORST:g} vs none, return": paired(noisy, exact)} if len(exact) > 1 else {}


def claimed(part: str, ours: Mapping[Level, Row]) -> NoiseClaim:
    """Holds the rows of MC-CPO against the paper's claim."""
    reported = paper.tables()["noise"]
    drop = 1 - ours[Level(WORST)]["return"].mean / ours[Level()]["return"].mean
    satisfaction = min(ours[level]["satisfaction"].mean for level in KINDS["sigma"].values())
    holds = drop < reported["return_drop_at_0.2_below"] and satisfaction >= reported["satisfaction"]
    return NoiseClaim(part, drop, satisfaction, _violations(ours[Level(WORST)]), holds)


def finding(claims: Sequence[NoiseClaim]) -> str:
    """Where the paper's claim holds and where it does not."""
    reported = paper.tables()["noise"]
    parts = [
        f"it {'holds' if claim.holds else 'does not hold'} for {claim.part} (drop {_percent(claim.drop)}, satisfaction "
        f"{_percent(claim.satisfaction)}, and {_percent(claim.true_violation_rate)} of the steps not ready)"
        for claim in claims
    ]
    return (
        f"The paper claims that at σ = {WORST:g} the return of MC-CPO drops by less than "
        f"{_percent(reported['return_drop_at_0.2_below'])}, and that satisfaction is "
        f"{_percent(reported['satisfaction'])} at all σ: {'; '.join(parts)}."
    )


def answer(claim: NoiseClaim, ours: Mapping[Level, Row], slack: float) -> str:
    """Whether the paper's claim holds, with what was measured; `slack` is the share of seeds that meet its budgets."""
    exact, noisy = ours[Level()], ours[Level(WORST)]
    return (
        f"the claim {'holds' if claim.holds else 'does not hold'}. At σ = {WORST:g} the return of MC-CPO "
        f"goes from {exact['return'].mean:.2f} to {noisy['return'].mean:.2f}. The budgets are met in "
        f"{_seeds(noisy, 'satisfaction')} seeds with τ = 0.1 and in {_seeds(noisy, 'satisfaction_strict')} with τ = 0; "
        f"without noise, in {_seeds(exact, 'satisfaction')} and {_seeds(exact, 'satisfaction_strict')}. (At the "
        f"paper's κ = {PAPER_KAPPA:g}, which is slack, and τ = 0.1, in {_percent(slack)}.) The paper does not say how "
        f"many steps then teach what the learner is not ready for: here {_percent(_violations(noisy))}, and "
        f"{_percent(_violations(exact))} without noise."
    )


def remedies(ours: Mapping[Level, Row]) -> str:
    """What a cautious gate and a running mean of the estimate prevent and cost at the worst σ."""

    def levels(kind: str) -> str:
        return "; ".join(f"{at:g}: {_outcome(ours[level])}" for at, level in KINDS[kind].items() if at)

    return (
        f"against noise of σ = {WORST:g} ({_outcome(ours[Level(WORST)])}), the gate's threshold can be raised by "
        f"{levels('caution')}. Or the tutor can go by a running mean of the estimate, with a memory of "
        f"{levels('memory')}."
    )


def others(ours: Mapping[Level, Row]) -> str:
    """What bias and delay do at their largest."""
    low, high, late = min(KINDS["bias"]), max(KINDS["bias"]), max(KINDS["delay"])
    return (
        f"an estimate too low by {-low:g}: {_outcome(ours[Level(bias=low)])}; too high by {high:g}: "
        f"{_outcome(ours[Level(bias=high)])}; {late:g} steps late: {_outcome(ours[KINDS['delay'][late]])}."
    )


def _outcome(row: Row) -> str:
    unready = f"{_percent(_violations(row))} of the steps not ready"
    return f"return {row['return'].mean:.2f}, {_seeds(row, 'satisfaction_strict')} seeds within budget, {unready}"


def _violations(row: Row) -> float:
    return row["true_violation_rate"].mean


def _seeds(row: Row, metric: str) -> str:
    seeds = row[metric].per_seed
    return f"{round(sum(seeds))} of {len(seeds)}"


def _percent(share: float | Decimal) -> str:
    return f"{100 * float(share):.3g} %"
