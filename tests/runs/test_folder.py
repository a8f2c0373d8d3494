"""Run folders: what is written, and that a resumed run is the unbroken one to the bit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import polars as pl
import pytest

from mccpo.env import FiniteEnvironment, make
from mccpo.errors import InputError, MccpoError
from mccpo.evaluation import Curves
from mccpo.experiments import TABLES, Options, Session
from mccpo.experiments.saved_policies import load_policies
from mccpo.methods import Arrays, Snapshot, method_spec, to_arrays, train_tabular
from mccpo.runs.checkpoints import read_checkpoint
from mccpo.runs.curves import read_curves, write_curves
from mccpo.runs.folder import RunFolder

METHODS = ("unconstrained", "mc-cpo")
OPTIONS = Options(methods=METHODS, seeds=2, episodes=800)


def _train(resume: Arrays | None = None) -> tuple[list[Snapshot[Any, Any]], Any]:
    env = make("gate")
    assert isinstance(env, FiniteEnvironment)
    plan = OPTIONS.plan(env)
    kept: list[Snapshot[Any, Any]] = []
    methods = [method_spec(name) for name in METHODS]
    return kept, train_tabular(env, methods, {"c": 0.0}, plan, resume=resume, after_point=kept.append)


@pytest.fixture(scope="module")
def unbroken() -> tuple[list[Snapshot[Any, Any]], Any]:
    """What could be resumed from after each point, and what training gave."""
    return _train()


def test_a_run_resumed_from_disk_is_the_unbroken_run_to_the_bit(
    unbroken: tuple[list[Snapshot[Any, Any]], Any], tmp_path: Path
) -> None:
    snapshots, whole = unbroken
    folder = RunFolder(tmp_path / "run", {"run": "x"})
    folder.save("part", lambda: to_arrays(snapshots[36]), last=True)
    _, resumed = _train(resume=folder.load("part"))
    for name in ("averaged", "last", "multipliers", "multipliers_last"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(resumed, name))
    jax.tree.map(np.testing.assert_array_equal, whole.curves, resumed.curves)


DAMAGE: dict[str, Callable[[Arrays], Arrays]] = {
    "nothing": lambda _: {},
    "no curves": lambda arrays: {name: array for name, array in arrays.items() if "states" in name},
    "no states": lambda arrays: {name: array for name, array in arrays.items() if "curves" in name},
    "curves of no length": lambda arrays: {name: np.zeros(()) for name in arrays},
    "another shape": lambda arrays: {**arrays, "['states'].theta": arrays["['states'].theta"][:, :-1]},
    "another type": lambda arrays: {**arrays, "['states'].update": arrays["['states'].update"].astype(np.float32)},
    "fewer seeds": lambda arrays: {name: array[:1] for name, array in arrays.items()},
    "a curve that is shorter": lambda arrays: {**arrays, "['curves'].gain": arrays["['curves'].gain"][:-1]},
    "a curve of other costs": lambda arrays: {**arrays, "['curves'].costs": arrays["['curves'].costs"][..., :0]},
    "too many points": lambda arrays: {
        name: np.concatenate([array] * 3) if "curves" in name else array for name, array in arrays.items()
    },
}


@pytest.fixture(scope="module")
def arrays(unbroken: tuple[list[Snapshot[Any, Any]], Any]) -> Arrays:
    """A checkpoint in the middle of the table gate."""
    snapshots, _ = unbroken
    return to_arrays(snapshots[36])


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_checkpoint_that_does_not_fit_is_refused_by_its_part(
    arrays: Arrays, damage: Callable[[Arrays], Arrays]
) -> None:
    points: list[int] = []
    session = Session(load=lambda _: damage(arrays), progress=lambda _, point: points.append(point))
    with pytest.raises(InputError, match="checkpoint of 'gate' is not one of this part") as refused:
        TABLES["gate"](OPTIONS, session)
    assert "delete it" in refused.value.fix
    assert len(points) == 1  # nothing was trained


def test_parts_that_would_share_a_checkpoint_are_refused(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", {"run": "x"})
    assert folder.load("tutor-15 κ=0.9") is None
    assert folder.load("tutor-15 κ=0.9") is None  # the same part again
    with pytest.raises(MccpoError, match=r"'tutor-15 κ=0\.9' and 'tutor 15 κ=0\.9'"):
        folder.load("tutor 15 κ=0.9")


@pytest.mark.parametrize("results", ["{}", '{"tables": {}}', '{"rows": {}}'])
def test_a_run_without_tables_is_refused(tmp_path: Path, results: str) -> None:
    (tmp_path / "manifest.json").write_text('{"finished": true}')
    (tmp_path / "results.json").write_text(results)
    with pytest.raises(InputError, match=r"results\.json has no tables"):
        load_policies(tmp_path)


def _curves() -> dict[str, Curves]:
    return {"part": Curves(np.array([1, 2]), {"mc-cpo": {"return": np.array([[0.5, 0.6]])}})}


def test_opening_a_folder_writes_nothing(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", {"run": "x"})
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", {"run": "x"}).finish({}, _curves())
    with pytest.raises(InputError, match="already holds a run"):
        RunFolder(tmp_path / "run", {"run": "x"})
    RunFolder(tmp_path / "run", {"run": "x"}, resume=True)
    with pytest.raises(InputError, match="other settings"):
        RunFolder(tmp_path / "run", {"run": "y"}, resume=True)


def test_resuming_what_is_not_a_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        RunFolder(tmp_path / "nothing", {"run": "x"}, resume=True)


@pytest.mark.parametrize("content", [b"", b"\x00" * 40, b"not a tensor file"])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "part.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"part\.safetensors is not a checkpoint"):
        read_checkpoint(path)


UNITS = ("episodes", "steps")


@pytest.mark.parametrize("unit", UNITS)
def test_curves_come_back_in_their_unit(tmp_path: Path, unit: str) -> None:
    curves = Curves(np.array([1, 2]), {"mc-cpo": {"return": np.array([[0.5, 0.6]])}}, unit=unit)
    RunFolder(tmp_path / "run", {"run": "x"}).finish({}, {"part": curves})
    path = tmp_path / "run" / "metrics.parquet"
    assert read_curves(path)["part"].unit == unit
    assert unit in pl.read_parquet_schema(path)
    assert ("episodes" in pl.read_parquet_schema(path)) is (unit == "episodes")


def test_curves_in_both_units_share_a_file(tmp_path: Path) -> None:
    values = {"mc-cpo": {"return": np.array([[0.5, 0.6]])}}
    path = tmp_path / "metrics.parquet"
    write_curves(path, {unit: Curves(np.array([at, 9]), values, unit=unit) for at, unit in enumerate(UNITS)})
    for at, (unit, curves) in enumerate(read_curves(path).items()):
        assert curves.unit == unit
        assert curves.metrics() == ["return"]
        np.testing.assert_array_equal(curves.trained, [at, 9])


def test_a_run_of_rules_alone_has_no_curves(tmp_path: Path) -> None:
    path = tmp_path / "metrics.parquet"
    write_curves(path, {"gate": Curves(np.array([1, 2]), {})})
    assert read_curves(path) == {}


def test_older_files_have_steps_under_episodes(tmp_path: Path) -> None:
    path = tmp_path / "metrics.parquet"
    columns = {
        "part": "p",
        "unit": "steps",
        "method": "mc-cpo",
        "seed": 0,
        "episodes": [100, 200],
        "return": [0.5, 0.6],
    }
    pl.DataFrame(columns).write_parquet(path)
    curves = read_curves(path)["p"]
    assert curves.unit == "steps"
    np.testing.assert_array_equal(curves.trained, [100, 200])


def test_curves_come_back_as_they_were(tmp_path: Path) -> None:
    produced = TABLES["gate"](OPTIONS, Session())
    folder = RunFolder(tmp_path / "run", {"run": "gate"})
    manifest = folder.finish(produced.results.as_json(), produced.curves)
    assert manifest["finished"]
    assert json.loads((tmp_path / "run" / "results.json").read_text())["table"] == "gate"
    read = read_curves(tmp_path / "run" / "metrics.parquet")["gate"]
    np.testing.assert_array_equal(read.trained, produced.curves["gate"].trained)
    for method, metrics in produced.curves["gate"].values.items():
        for metric, values in metrics.items():
            np.testing.assert_array_equal(read.values[method][metric], values)
