"""Property tests try the same examples every time, so that a change is judged by itself; `explore` tries new ones."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import pytest
from hypothesis import settings

from mccpo.cli.commands import cache

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=20)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# Most of the time of these tests is spent on compiling small programs that run for a moment: they are compiled in less
# time, to run in more. With `explore` they are compiled as users' are.
QUICK = settings.default.derandomize
if QUICK:
    flags = ("backend_optimization_level=1", "cpu_use_fusion_emitters=false", "cpu_parallel_codegen_split_count=1")
    os.environ.setdefault("XLA_FLAGS", " ".join(f"--xla_{flag}" for flag in flags))
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# jax has read its variables by now; those that tests start will.
FAST_COMPILING = os.environ.get("JAX_DISABLE_MOST_OPTIMIZATIONS", "0").lower() in ("1", "true", "yes", "on")
jax.config.update("jax_disable_most_optimizations", FAST_COMPILING)

# Processes that tests start would otherwise each compile the package's own modules where that is forbidden.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

MOST_MAPS = 20_000


def pytest_collection_finish() -> None:
    """What is loaded by now stays until the end: garbage is looked for among what comes later, and less often.

    Tracing makes so many small objects that it would be looked for hundreds of times in a test.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_acts() -> None:
    """A test run that was started in the background inherits an ignored Ctrl-C, and so would what it starts itself."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _a_cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands leave for later ones must neither come from the user's own runs nor go to them.

    The processes that share the tests share it, and what one of them has compiled no other compiles again.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MCCPO_CACHE", raising=False)
        patch.setenv("XDG_CACHE_HOME", str(shared))
        place = cache.folder()
        assert place is not None
        cache.keep_programs(place)
        yield


EVALUATING = ("anchors", "finite", "measuring", "problem")  # the modules of experiments that judge policies


@pytest.fixture(autouse=True, scope="session")
def _choosing_and_judging_are_quick() -> Iterator[None]:
    """A training of a moment ends with episodes that choose among its policies and judge them, and take most of it.

    A few do as well for policies that have learnt next to nothing. With `explore` they are as many as users'.
    """
    with pytest.MonkeyPatch.context() as patch:
        if QUICK:
            patch.setattr("mccpo.methods.gradient.training.LEAST_FINAL", 32)
            patch.setattr("mccpo.experiments.anchors.PLANNED_EPISODES", 4)
            for module in EVALUATING:
                patch.setattr(f"mccpo.experiments.{module}.EVALUATION_EPISODES", 200)
        yield


@pytest.fixture
def optimised() -> Iterator[None]:
    """Asked for by tests whose programs run for longer than they take to compile."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", FAST_COMPILING)


@pytest.fixture(autouse=True, scope="module")
def _programs_do_not_pile_up() -> Iterator[None]:
    """Compiled programs hold memory maps, of which Linux gives a process 65,530: they are let go in time.

    Not after every module, because the next one needs many of the same.
    """
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > MOST_MAPS:
        jax.clear_caches()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Path]]:
    """Installs a distribution `their-package`, as far as Python can tell, of one module and its entry points."""

    def install(module: str, entry_points: str) -> Path:
        about = tmp_path / "their_package-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(entry_points)
        (tmp_path / "their_package.py").write_text(module)
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path

    yield install
    sys.modules.pop("their_package", None)
