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
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from jaxtyping import Float

from mccpo import files
from mccpo.bench.neural import Bench
from mccpo.bench.peer import PeerMissing, call
from mccpo.errors import InputError
from mccpo.experiments import Stage
from mccpo.mastery import BKT, Responses, split_learners
from mccpo.mastery.fitting.diagnostics import diagnose
from mccpo.mastery.fitting.em import EPSILON, Stop, log_likelihood
from mccpo.mastery.fitting.fit import Settings, bkt_tiles, fit, starts
from mccpo.mastery.model import with_unseen
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


def measure(bench: Bench) -> dict[str, Any]:
    """Fits ASSISTments 2009 with both, on one thread and on all cores; 20 % of learners are held out."""
    kept, held = split_learners(assistments(), 0.2, seed=0)
    present = np.unique(kept.concept)
    kept = kept._replace(
        concept=np.searchsorted(present, kept.concept).astype(np.int32),
        concepts=tuple(kept.concepts[code] for code in present),
    )
    threads = sorted({1, workers()})
    stage = Stage("learner", (1 + len(VARIANTS)) * len(threads), steps_per_point=0)
    bench.session.begin(stage)
    contests: dict[str, dict[str, Any]] = {}
    home, missing = _peer(bench)
    for turn, count in enumerate(threads):
        ours = _ours(kept, held, count)
        contests[str(count)] = {"ours": _shown(ours), "peers": {}}
        for place, name in enumerate(VARIANTS if home is not None else ()):
            _tell(bench, stage, turn * (1 + len(VARIANTS)) + place + 1)
            assert home is not None
            theirs = _theirs(home, name, kept, held, count)
            contests[str(count)]["peers"][name] = _shown(theirs) | compare(kept, ours, theirs)
    _tell(bench, stage, stage.points)
    first = contests[str(threads[0])]["ours"]
    bounded = fit("bkt", kept, _settings(workers(), bound=0.5))
    return {
        "rows": kept.rows,
        "learners": len(np.unique(kept.learner)),
        "concepts": len(kept.concepts),
        "restarts": RESTARTS,
        "tolerance": STOP.tolerance,
        "limit": STOP.steps,
        "compile_seconds": first["first_seconds"] - first["seconds"],
        "threads": contests,
        "bounded": {"log_likelihood": bounded.account["log_likelihood"], "auc": diagnose(bounded.model, held)["auc"]},
        "peer_missing": missing,
    }


def assistments() -> Responses:
    """The answers of ASSISTments 2009 from the folder of real data."""
    import polars as pl  # noqa: PLC0415 - only this bench reads a table

    from mccpo.mastery.tables.responses import BETWEEN_CONCEPTS, responses_of  # noqa: PLC0415

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


def compare(kept: Responses, ours: dict[str, Any], peer: dict[str, Any]) -> dict[str, Any]:
    """Skills whose log-likelihood is worse by more than is allowed, and how many times as fast ours is.

    Where a skill has hardly any likelihood to lose, what is allowed is the tolerance.
    """
    lead = ours["by_concept"] - peer["by_concept"]
    allowed = np.maximum(ALLOWED * np.abs(peer["by_concept"]), STOP.tolerance)
    return {
        "worse": [name for name, behind in zip(kept.concepts, lead < -allowed, strict=True) if behind],
        "better": [name for name, ahead in zip(kept.concepts, lead > allowed, strict=True) if ahead],
        "least_lead": float((lead / np.maximum(np.abs(peer["by_concept"]), 1.0)).min()),
        "ratio": peer["seconds"] / ours["seconds"],
        "em_ratio": peer["em_seconds"] / ours["seconds"],
    }


def _settings(threads: int, bound: float = 1.0) -> Settings:
    return Settings(restarts=RESTARTS, bound=bound, stop=STOP, workers=threads)


def _ours(kept: Responses, held: Responses, threads: int) -> dict[str, Any]:
    """Ours, without bounds, as pyBKT is. The first call compiles."""
    seconds: list[float] = []
    for _ in range(ROUNDS + 1):
        begun = time.perf_counter()
        fitted = fit("bkt", kept, _settings(threads))
        seconds.append(time.perf_counter() - begun)
    assert isinstance(fitted.model, BKT)
    return {
        "seconds": median(seconds[1:]),
        "rounds": seconds[1:],
        "first_seconds": seconds[0],
        "steps": round(fitted.account["steps"]["mean"] * RESTARTS * len(kept.concepts)),
        **_judged(fitted.model, kept, held),
    }


def _theirs(home: Path, variant: str, kept: Responses, held: Responses, threads: int) -> dict[str, Any]:
    """pyBKT's: the seconds of its `fit` from a table in memory, and of expectation maximisation alone."""
    begin = starts(BKT._fields[:4], len(kept.concepts), _settings(threads))
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        _write(kept, table)
        request = {
            "table": str(table),
            "starts": {str(code): one.tolist() for code, one in enumerate(begin)},
            "tolerance": STOP.tolerance,
            "limit": STOP.steps,
            "rounds": ROUNDS,
        }
        found = subprocess.run(
            [_python(home), str(SCRIPT)], input=json.dumps(request), capture_output=True, text=True, check=False,
            env=os.environ | {
                "OMP_NUM_THREADS": str(threads),
                "OMP_WAIT_POLICY": "passive",
                "PYTHONPATH": str(home / "mended") if variant == VARIANTS[1] else "",
            },
        )  # fmt: skip
    if found.returncode:
        raise PeerMissing(f"it stopped: {_last(found.stderr)}")
    answer = json.loads(found.stdout.splitlines()[-1])
    values = np.array([answer["parameters"][str(code)] for code in range(len(kept.concepts))])
    rows = np.bincount(kept.concept, minlength=len(kept.concepts)).astype(float)
    prior, learn, guess, slip = (with_unseen(column, rows) for column in values.T)
    model = BKT(prior, learn, guess, slip, kept.concepts)
    return {
        "seconds": median(answer["rounds"]),
        "rounds": answer["rounds"],
        "em_seconds": median(answer["em_rounds"]),
        "steps": answer["steps"],
        "compiled": answer["compiled"],
        "versions": answer["versions"],
        **_judged(model, kept, held),
    }


def _judged(model: BKT, kept: Responses, held: Responses) -> dict[str, Any]:
    values: Float[np.ndarray, "concepts parameters"] = np.stack([field[:-1] for field in model[:4]], axis=1)
    by_concept = log_likelihood(bkt_tiles(kept), values, workers())
    prior, learn, guess, slip = (np.clip(field, EPSILON, 1 - EPSILON) for field in model[:4])
    inside = BKT(prior, learn, guess, slip, model.concepts)  # where no answer is impossible
    auc = diagnose(inside, held)["auc"]
    return {"log_likelihood": float(by_concept.sum()), "auc": auc, "by_concept": by_concept}


def _write(responses: Responses, path: Path) -> None:
    """The rows as pyBKT takes them; skills and learners go by their codes, which need no quotes."""
    columns = (responses.learner, responses.concept, responses.correct, responses.event)
    table = np.stack([column.astype(np.int64) for column in columns], axis=1)
    np.savetxt(path, table, fmt="%d", delimiter=",", header="user_id,skill_name,correct,order_id", comments="")


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    """The result without what only its comparison needs."""
    return {key: value for key, value in found.items() if key != "by_concept"}


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


def _last(told: str) -> str:
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    return (lines or ["it does not say why"])[-1]


def _tell(bench: Bench, stage: Stage, point: int) -> None:
    if bench.session.progress is not None:
        bench.session.progress(stage, point)
