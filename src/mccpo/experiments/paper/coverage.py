"""How often our statistics are right, by simulation: what they were before, and what they are now.

Every number is the share of made-up experiments in which something holds. What is true of each is known, because it is
made up: an interval should cover it in 95 % of them, and a test should raise a false alarm in at most 5 %. Data are as
ours are: a handful of seeds, each a mean over episodes, often skewed because a few seeds fall short of a ceiling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy  # whose parts load when they are used
from jaxtyping import Float

from mccpo.evaluation import holm, iqm, paired, relative_to_best, summarise, welch
from mccpo.experiments.options import Options, Session
from mccpo.experiments.paper.verdicts import MARGIN, verdict_on
from mccpo.experiments.table import Produced
from mccpo.experiments.tables import register_table
from mccpo.runs.results import Reported, Results, Setting

BATCHES = 10
"""The simulated experiments are counted in so many batches, whose spread shows how exact a share is."""
SAMPLES = 400
"""Experiments of a batch."""
SIZES = (3, 4, 10, 30)
RESAMPLES = 999
METHODS, ENVIRONMENTS = (1.0, 0.98, 0.95, 0.9, 0.8), 3
"""What the methods of a made-up benchmark score on average, on each of so many environments."""

BEFORE, NOW = "before", "now"

NOTE_BEFORE = (
    "Before: the bias-corrected and accelerated bootstrap (BCa); Welch's test, whether seeds are shared or not; each "
    "test at 5 %; agreement where the 95 % interval of the difference contains 0; percentiles of a bootstrap that "
    "takes the best method's mean as known."
)
NOTE_NOW = (
    "Now: Student's t; a test seed by seed; Holm's correction; agreement where the difference is shown to be within a "
    "margin of 2 %; Student's interval with the deviation of a bootstrap that finds the best method anew."
)
NOTE_DATA = (
    "Normal: mean 1, deviation 0.1. Skewed: 1 less a gamma variable of shape 2 and scale 0.1, as seeds fall short of "
    "an optimum. One seed in ten fails: 1, or 0.5 by a chance of 10 %, and noise of 0.02. No interval from the spread "
    "of three seeds covers the last: in 73 % of experiments none of them fails. Steady seeds have a deviation of 1 % "
    "of the mean, varying ones of 15 %; the paper is off by so much of its own number."
)

Samples = Float[np.ndarray, "experiments seeds"]
Shares = dict[str, dict[str, float]]
"""In what share of the experiments of a batch something holds, by procedure and metric."""
Study = Callable[[np.random.Generator, int], Shares]
"""Makes up a batch of so many experiments."""


class Kind(NamedTuple):
    """Data of one kind, and their true mean."""

    draw: Callable[[np.random.Generator, tuple[int, int]], Samples]
    mean: float


def _failing(random: np.random.Generator, shape: tuple[int, int]) -> Samples:
    failed = random.random(shape) < 0.1
    return np.where(failed, 0.5, 1.0) + random.normal(0.0, 0.02, shape)


KINDS = {
    "normal": Kind(lambda random, shape: random.normal(1.0, 0.1, shape), 1.0),
    "skewed": Kind(lambda random, shape: 1.0 - random.gamma(2.0, 0.1, shape), 0.8),
    "one in ten fails": Kind(_failing, 0.95),
}


@register_table("coverage")
def produce(options: Options, session: Session) -> Produced:
    """Simulates every statistic that our tables and verdicts rest on."""
    del session  # nothing is trained
    settings = tuple(_setting(name, study, options.seed) for name, study in studies().items())
    results = Results(
        table="coverage",
        title="Coverage: how often our statistics are right",
        settings=settings,
        protocol={"experiments": BATCHES * SAMPLES, "batches": BATCHES, "seed": options.seed},
        finding=_finding(settings),
        notes=(NOTE_BEFORE, NOTE_NOW, NOTE_DATA),
    )
    return Produced(results, {})


def studies() -> Mapping[str, Study]:
    """Every study by its name."""
    return {
        "95 % interval of a mean": _intervals,
        "tests at 5 %, ten seeds": _tests,
        "said to agree with a paper, ten seeds of each": _verdicts,
        "95 % interval of a share of the best of five methods, 4 seeds": _normalised,
    }


def _setting(name: str, study: Study, seed: int) -> Setting:
    """The shares of a study over batches."""
    roots = np.random.SeedSequence([seed, *name.encode()]).spawn(BATCHES)
    batches = [study(np.random.default_rng(root), SAMPLES) for root in roots]
    rows = {
        procedure: {metric: summarise([batch[procedure][metric] for batch in batches]) for metric in metrics}
        for procedure, metrics in batches[0].items()
    }
    return Setting(name, {}, rows)


def _intervals(random: np.random.Generator, samples: int) -> Shares:
    """How often the 95 % interval of a mean covers it."""
    covered: Shares = {BEFORE: {}, NOW: {}}
    for (name, kind), size in product(KINDS.items(), SIZES):
        drawn = kind.draw(random, (samples, size))
        for procedure, (low, high) in ((BEFORE, _bca(drawn, random)), (NOW, _t(drawn))):
            covered[procedure][_metric(name, size)] = float(np.mean((low <= kind.mean) & (kind.mean <= high)))
    return covered


def _metric(kind: str, size: int) -> str:
    return f"covered, {kind}, {size} seeds"


def _t(drawn: Samples) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.array([summarise(sample).ci for sample in drawn]).T
    return low, high


def _bca(drawn: Samples, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    found = scipy.stats.bootstrap(
        (drawn,), np.mean, axis=1, n_resamples=RESAMPLES, confidence_level=0.95, method="BCa", rng=random
    ).confidence_interval
    return found.low, found.high


def _tests(random: np.random.Generator, samples: int) -> Shares:
    """Two methods on the same ten seeds, and ten tests where there is nothing to be found."""
    pairs, many = _pairs(random, samples), _many_tests(random, samples)
    return {procedure: pairs[procedure] | many[procedure] for procedure in pairs}


def _pairs(random: np.random.Generator, samples: int) -> Shares:
    """How often a test finds a difference: where there is none, and one of a tenth of the deviation between seeds."""
    found: Shares = {BEFORE: {}, NOW: {}}
    for name, apart in (("false alarms", 0.0), ("differences found", 0.1)):
        shared = random.normal(0.0, 1.0, (samples, 10))
        first, second = (shared + random.normal(0.0, 0.1, shared.shape) for _ in range(2))
        for procedure, test in ((BEFORE, welch), (NOW, paired)):
            p = [test(a + apart, b).p for a, b in zip(first, second, strict=True)]
            found[procedure][name] = float(np.mean([value is not None and value <= 0.05 for value in p]))
    return found


def _many_tests(random: np.random.Generator, samples: int) -> Shares:
    """How often any of ten tests finds a difference where there is none."""
    families = random.normal(0.0, 1.0, (samples, 10, 10))
    p = scipy.stats.ttest_1samp(families, 0.0, axis=2).pvalue
    return {
        BEFORE: {"any false alarm of ten": float((p.min(axis=1) <= 0.05).mean())},
        NOW: {"any false alarm of ten": float(np.mean([min(holm(family.tolist())) <= 0.05 for family in p]))},
    }


def _verdicts(random: np.random.Generator, samples: int) -> Shares:
    """How often a number is said to agree with a paper's, which is right or off by just the margin or twice as much."""
    agrees: Shares = {BEFORE: {}, NOW: {}}
    spreads, margins = {"steady": 0.01, "varying": 0.15}, {"right": 0, "off by the margin": 1, "off by twice it": 2}
    for (far, times), (steadiness, spread) in product(margins.items(), spreads.items()):
        ours, theirs = random.normal(1.0, spread, (2, samples, 10))
        before, now = [], []
        for mine, paper in zip(ours, theirs - 1 + 1 / (1 - times * MARGIN), strict=True):
            p = welch(mine, paper).p
            before.append(p is not None and p > 0.05)
            reported = Reported(float(paper.mean()), float(paper.std(ddof=1)), 1e-6)
            now.append(verdict_on("return", summarise(mine), reported, None, paper_seeds=10).kind == "agrees")
        agrees[BEFORE][f"paper {far}, {steadiness}"] = float(np.mean(before))
        agrees[NOW][f"paper {far}, {steadiness}"] = float(np.mean(now))
    return agrees


def _normalised(random: np.random.Generator, samples: int) -> Shares:
    """How often the interval of an interquartile mean, of scores relative to the best method's mean, covers the truth.

    It is of the fourth method, whose scores are symmetric about 0.9 of the best's mean, so that this is the truth.
    """
    truth, before, now = METHODS[3] / METHODS[0], [], []
    for _ in range(max(2, samples // 4)):  # each is a bootstrap of its own
        drawn = np.array(METHODS)[:, None, None] + random.normal(0.0, 0.1, (len(METHODS), ENVIRONMENTS, 4))
        scores = {f"{at}": {f"{place}": runs for place, runs in enumerate(one)} for at, one in enumerate(drawn)}
        found = relative_to_best(scores, key=int(random.integers(2**32)), resamples=200)["3"]
        _, low, high = iqm(found)
        now.append(low <= truth <= high)
        low, high = np.quantile(_iqms(found.scores, random), [0.025, 0.975])
        before.append(low <= truth <= high)
    return {BEFORE: {"covered": float(np.mean(before))}, NOW: {"covered": float(np.mean(now))}}


def _iqms(scores: Float[np.ndarray, "runs environments"], random: np.random.Generator) -> Float[np.ndarray, " draws"]:
    """Interquartile means of stratified resamples of relative scores, as they were taken before."""
    chosen = random.integers(len(scores), size=(200, *scores.shape))
    drawn = np.sort(scores[chosen, np.arange(scores.shape[1])].reshape(200, -1), axis=1)
    cut = drawn.shape[1] // 4
    middle: Float[np.ndarray, " draws"] = drawn[:, cut : drawn.shape[1] - cut].mean(axis=1)
    return middle


def _finding(settings: tuple[Setting, ...]) -> str:
    before, now = (settings[0].rows[procedure][_metric("normal", SIZES[0])].mean for procedure in (BEFORE, NOW))
    return (
        f"With {SIZES[0]} seeds of normal data, an interval that says 95 % covered the mean in {100 * before:.0f} % of "
        f"experiments before, and does in {100 * now:.0f} % now."
    )
