"""How fast and how well knowledge tracing is fitted: ours beside pyBKT, on ASSISTments 2009, in one run.

Both fit the same sequences, one for each learner and skill, from the same starts, to the same tolerance, with the same
threads; both results are judged by the same functions. pyBKT lives in an environment of its own, in the cache folder.
It gets what lets it win: its C++ extension, which `pip install` leaves out, and threads that sleep while they wait.

The extension cuts off the fraction of a log-likelihood, so as it comes pyBKT stops once a step gains less than about
one, whatever its tolerance. It is measured like this, and beside it with that one line mended: then it stops where ours
does, and only then is the tolerance the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from mccpo import files
from mccpo.bench.mastery_results import FitComparison, FitContest, FitQuality, MasteryBench, OurFit, PeerFit
from mccpo.bench.neural import Bench
from mccpo.bench.peer import PeerMissing, call
from mccpo.errors import InputError
from mccpo.experiments import Stage
from mccpo.mastery import BKT, Responses, split_learners, with_unseen
from mccpo.mastery.fitting import (
    EPSILON,
    FitSettings,
    Stop,
    TracingReport,
    bkt_tiles,
    diagnose,
    fit,
    log_likelihood,
    starts,
)
from mccpo.methods import workers

DATA = Path("assist2009", "skill_builder_data_corrected.parquet")
SCRIPT = Path(__file__).with_name("peers") / "pybkt.py"
LIBRARIES = ("numpy==2.3.*", "pandas==2.3.*", "scikit-learn==1.5.*", "requests", "setuptools", "wheel")
PEER = "pyBKT==1.4.3"
CUT_OFF, MENDED = "PyLong_FromLong(*total_loglike)", "PyFloat_FromDouble(*total_loglike)"
VARIANTS = ("pyBKT as it comes", "pyBKT at the tolerance")
RESTARTS = 5
STOP = Stop(tolerance=1e-3, steps=100)
ROUNDS = 3
ALLOWED = 1e-3
"""The share by which a skill's log-likelihood may be worse."""


def measure(bench: Bench) -> MasteryBench:
    """Fits ASSISTments 2009 with both, on one thread and on all cores; 20 % of learners are held out."""
    training, held = split_learners(assistments(), 0.2, seed=0)
    present = np.unique(training.concept)
    training = training._replace(
        concept=np.searchsorted(present, training.concept).astype(np.int32),
        concepts=tuple(training.concepts[code] for code in present),
    )
    threads = sorted({1, workers()})
    stage = Stage("learner", (1 + len(VARIANTS)) * len(threads), steps_per_point=0)
    bench.session.begin(stage)
    contests: dict[int, FitContest] = {}
    home, missing = _peer(bench)
    for turn, count in enumerate(threads):
        contest = contests[count] = FitContest(_ours(training, held, count))
        for number, variant in enumerate(VARIANTS if home is not None else ()):
            _tell(bench, stage, turn * (1 + len(VARIANTS)) + number + 1)
            assert home is not None
            theirs = _theirs(home, variant, training, held, count)
            contest.peers[variant] = theirs, compare(training.concepts, contest.ours, theirs)
    _tell(bench, stage, stage.points)
    bounded = fit("bkt", training, _settings(workers(), bound=0.5))
    assert isinstance(bounded.report, TracingReport)
    return MasteryBench(
        rows=training.rows,
        learners=len(np.unique(training.learner)),
        concepts=len(training.concepts),
        restarts=RESTARTS,
        tolerance=STOP.tolerance,
        limit=STOP.steps,
        contests=contests,
        bounded_log_likelihood=bounded.report.log_likelihood,
        bounded_auc=diagnose(bounded.model, held).auc,
        peer_missing=missing,
    )


def assistments() -> Responses:
    """The answers of ASSISTments 2009 from the folder of real data."""
    import polars as pl  # noqa: PLC0415 - only this bench reads a table

    from mccpo.logs import BETWEEN_CONCEPTS  # noqa: PLC0415
    from mccpo.mastery.tables import responses_of  # noqa: PLC0415

    folder = os.environ.get("MCCPO_DATA")
    if folder is None or not (path := Path(folder) / DATA).exists():
        raise InputError(f"there is no {DATA} to fit", fix="let MCCPO_DATA name the folder of real data that holds it")
    concept = pl.col("skill_name").drop_nulls().unique().sort().str.join(BETWEEN_CONCEPTS)
    table = (
        pl.read_parquet(path, columns=["order_id", "user_id", "skill_name", "correct"])
        .group_by("order_id")
        .agg(pl.col("user_id").first().cast(pl.String).alias("learner"), pl.col("correct").first() > 0, concept=concept)
        .with_columns(concept=pl.when(pl.col("concept") != "").then(pl.col("concept")))
        .sort("learner", "order_id")
    )
    return responses_of(table)


def compare(concepts: Sequence[str], ours: OurFit, peer: PeerFit) -> FitComparison:
    """Skills whose log-likelihood is worse by more than is allowed, and how many times as fast ours is.

    Where a skill has hardly any likelihood to lose, what is allowed is the tolerance.
    """
    likelihood = peer.quality.by_concept
    lead = ours.quality.by_concept - likelihood
    allowed = np.maximum(ALLOWED * np.abs(likelihood), STOP.tolerance)
    return FitComparison(
        worse=[name for name, behind in zip(concepts, lead < -allowed, strict=True) if behind],
        better=[name for name, ahead in zip(concepts, lead > allowed, strict=True) if ahead],
        least_lead=float((lead / np.maximum(np.abs(likelihood), 1.0)).min()),
        ratio=peer.seconds / ours.seconds,
        em_ratio=peer.em_seconds / ours.seconds,
    )


def _settings(threads: int, bound: float = 1.0) -> FitSettings:
    return FitSettings(restarts=RESTARTS, bound=bound, stop=STOP, workers=threads)


def _ours(training: Responses, held: Responses, threads: int) -> OurFit:
    """Ours, without bounds, as pyBKT is. The first call compiles."""
    seconds: list[float] = []
    for _ in range(ROUNDS + 1):
        begun = time.perf_counter()
        fitted = fit("bkt", training, _settings(threads))
        seconds.append(time.perf_counter() - begun)
    assert isinstance(fitted.model, BKT)
    assert isinstance(fitted.report, TracingReport)
    steps = round(fitted.report.mean_steps * RESTARTS * len(training.concepts))
    return OurFit(seconds[1:], seconds[0], steps, _quality(fitted.model, training, held))


def _theirs(home: Path, variant: str, training: Responses, held: Responses, threads: int) -> PeerFit:
    """pyBKT's: the seconds of its `fit` from a table in memory, and of expectation maximisation alone."""
    begin = starts(BKT._fields[:4], len(training.concepts), _settings(threads))
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        _write(training, table)
        request = {
            "table": str(table),
            "starts": {str(code): restarts.tolist() for code, restarts in enumerate(begin)},
            "tolerance": STOP.tolerance,
            "limit": STOP.steps,
            "rounds": ROUNDS,
        }
        done = subprocess.run(
            [_python(home), str(SCRIPT)], input=json.dumps(request), capture_output=True, text=True, check=False,
            env=os.environ | {
                "OMP_NUM_THREADS": str(threads),
                "OMP_WAIT_POLICY": "passive",
                "PYTHONPATH": str(home / "mended") if variant == VARIANTS[1] else "",
            },
        )  # fmt: skip
    if done.returncode:
        raise PeerMissing(f"it stopped: {_last(done.stderr)}")
    answer = json.loads(done.stdout.splitlines()[-1])
    values = np.array([answer["parameters"][str(code)] for code in range(len(training.concepts))])
    rows = np.bincount(training.concept, minlength=len(training.concepts)).astype(float)
    prior, learn, guess, slip = (with_unseen(column, rows) for column in values.T)
    quality = _quality(BKT(prior, learn, guess, slip, training.concepts), training, held)
    built = answer["compiled"], answer["versions"]
    return PeerFit(answer["rounds"], answer["em_rounds"], answer["steps"], *built, quality)


def _quality(model: BKT, training: Responses, held: Responses) -> FitQuality:
    values: Float[np.ndarray, "concepts parameters"] = np.stack([field[:-1] for field in model[:4]], axis=1)
    by_concept = log_likelihood(bkt_tiles(training), values, workers())
    prior, learn, guess, slip = (np.clip(field, EPSILON, 1 - EPSILON) for field in model[:4])
    inside = BKT(prior, learn, guess, slip, model.concepts)  # where no answer is impossible
    return FitQuality(by_concept, diagnose(inside, held).auc)


def _write(responses: Responses, path: Path) -> None:
    """The rows as pyBKT takes them; skills and learners go by their codes, which need no quotes."""
    columns = (responses.learner, responses.concept, responses.correct, responses.event)
    table = np.stack([column.astype(np.int64) for column in columns], axis=1)
    np.savetxt(path, table, fmt="%d", delimiter=",", header="user_id,skill_name,correct,order_id", comments="")


def _peer(bench: Bench) -> tuple[Path | None, str | None]:
    """The folder of pyBKT's environment, or why there is none."""
    try:
        return prepare(bench), None
    except PeerMissing as reason:
        bench.note(f"pyBKT is not measured: {reason}")
        return None, str(reason)


def prepare(bench: Bench) -> Path:
    """The folder of pyBKT's environment, which is created where it is not there yet, or else PeerMissing raised."""
    if bench.cache is None:
        raise PeerMissing("there is no folder to create its environment in; name one with MCCPO_CACHE")
    home = bench.cache / f"pybkt-{sys.version_info.major}.{sys.version_info.minor}"
    written, recipe = home / "recipe.txt", "\n".join([*LIBRARIES, PEER, MENDED]) + "\n"
    if not _python(home).exists() or not written.exists() or written.read_text(encoding="utf-8") != recipe:
        bench.note(f"creating an environment for pyBKT in {home}")
        shutil.rmtree(home, ignore_errors=True)
        call(sys.executable, "-m", "venv", str(home))
        _install(home, *LIBRARIES)
        _build(home)
        files.write_text(written, recipe)
    return home


def _build(home: Path) -> None:
    """Builds pyBKT twice, as it comes and mended: its extension comes from source only, and needs NumPy at hand."""
    pip = (str(_python(home)), "-m", "pip", "--quiet")
    with tempfile.TemporaryDirectory() as folder:
        call(*pip, "download", "--no-deps", "--no-build-isolation", "--no-binary", "pyBKT", "-d", folder, PEER)
        with tarfile.open(next(Path(folder).glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        source = next(path for path in Path(folder).iterdir() if path.is_dir())
        _install(home, "--no-deps", "--no-build-isolation", str(source))
        step = source / "source-cpp" / "pyBKT" / "fit" / "E_step.cpp"
        code = step.read_text(encoding="utf-8")
        if CUT_OFF not in code:
            raise PeerMissing("its source is not the one that is to be mended")
        step.write_text(code.replace(CUT_OFF, MENDED), encoding="utf-8")
        shutil.rmtree(source / "build", ignore_errors=True)
        _install(home, "--no-deps", "--no-build-isolation", "--target", str(home / "mended"), str(source))


def _python(home: Path) -> Path:
    return home / "bin" / "python"


def _install(home: Path, *what: str) -> None:
    call(str(_python(home)), "-m", "pip", "--quiet", "install", "--no-cache-dir", "--retries", "1", *what)


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return (lines or ["it does not say why"])[-1]


def _tell(bench: Bench, stage: Stage, point: int) -> None:
    if bench.session.progress is not None:
        bench.session.progress(stage, point)
