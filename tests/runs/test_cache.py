"""What one run leaves for the next: the right entry or none, and to the bit what training would give."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import make
from mccpo.env.tutor import Tutor
from mccpo.experiments import Options, Session, neural
from mccpo.methods import NeuralPlan
from mccpo.methods.gradient.rollout import Sizes
from mccpo.runs import cache as module
from mccpo.runs.cache import Cache, anchor_key, prune

PLAN = NeuralPlan(steps=300, seeds=2, sizes=Sizes(8, 16, 32, 1), validation=8)


def arrays() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    return {"weights": draw.normal(size=(2, 3)), "flags": np.array([True, False]), "steps": np.arange(6)[::2]}


def the_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_what_is_remembered_is_recalled_and_nothing_else(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "anchors")
    assert cache.recall("a") is None
    cache.remember("a", arrays())
    found = cache.recall("a")
    assert found is not None
    assert found.keys() == arrays().keys()
    for name, array in arrays().items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    assert cache.recall("b") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: content[:-1],
        lambda content: content[:40],
        lambda content: content[:-5] + bytes([content[-5] ^ 1]) + content[-4:],
        lambda content: content + b"\0",
    ],
    ids=["empty", "cut", "cut short", "a bit", "longer"],
)
def test_a_damaged_entry_is_ignored_and_rewritten(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    cache = Cache(tmp_path)
    cache.remember("a", arrays())
    whole = the_file(tmp_path).read_bytes()
    the_file(tmp_path).write_bytes(damage(whole))
    assert cache.recall("a") is None
    cache.remember("a", arrays())
    assert the_file(tmp_path).read_bytes() == whole


def test_the_longest_unused_entries_give_way(tmp_path: Path) -> None:
    size = len(the_bytes(tmp_path / "one"))
    cache = Cache(tmp_path / "many", most=3 * size)
    for age, key in enumerate("cba"):
        cache.remember(key, arrays())
        os.utime(tmp_path / "many" / f"{key}.anchor", ns=(0, 10**9 * (age + 1)))
    assert cache.recall("c") is not None  # the oldest, but it was of use just now
    cache.remember("d", arrays())
    assert {path.stem for path in (tmp_path / "many").iterdir()} == {"a", "c", "d"}


def the_bytes(folder: Path) -> bytes:
    Cache(folder).remember("a", arrays())
    return the_file(folder).read_bytes()


def test_pruning_an_empty_folder_removes_nothing(tmp_path: Path) -> None:
    prune(tmp_path, most=0)
    assert tmp_path.exists()


def test_a_cache_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "anchors")
    cache.remember("a", arrays())
    assert cache.recall("a") is None


CURRICULUM = Curriculum.from_edges([("a", "b"), ("b", "c")])
OTHERS = [
    (make("tutor-25"), PLAN),
    (make("tutor-15-bkt"), PLAN),
    (make("tutor-15", eta=0.081), PLAN),
    (make("tutor-15", horizon=99), PLAN),
    (make("tutor-15", curriculum_seed=1), PLAN),
    (make("tutor-15", curriculum=CURRICULUM), PLAN),
    (make("tutor-15", curriculum=Curriculum.from_edges([("a", "b"), ("a", "c")])), PLAN),
    (make("tutor-15", activities=["hint", "practice"]), PLAN),
    (make("tutor-15"), replace(PLAN, steps=301)),
    (make("tutor-15"), replace(PLAN, seeds=3)),
    (make("tutor-15"), replace(PLAN, seed=1)),
    (make("tutor-15"), replace(PLAN, sizes=Sizes(8, 16, 64, 1))),
    (make("tutor-15"), replace(PLAN, settings=PLAN.settings._replace(learning_rate=1e-4))),
]


def test_a_key_depends_on_all_that_training_does(monkeypatch: pytest.MonkeyPatch) -> None:
    key = anchor_key(make("tutor-15"), PLAN)
    assert key is not None
    assert key == anchor_key(make("tutor-15", eta=0.08), replace(PLAN))
    keys = [key, *(anchor_key(env, plan) for env, plan in OTHERS)]
    assert len(set(keys)) == len(keys)
    monkeypatch.setattr(module, "_source", lambda: "another")
    assert anchor_key(make("tutor-15"), PLAN) != key


def test_the_source_of_every_learner_counts() -> None:
    names = [name for room in module._ROOMS for name, _ in module._modules(module.files(f"mccpo.{room}"), room)]
    assert {"algo/ppo.py", "algo/engine.py", "env/types.py", "env/tutor/profiles.py", "curriculum/gate.py"} <= {*names}


class TheirTutor(Tutor):
    """An environment of which only its author knows when it changes."""


def test_what_may_change_unseen_has_no_key() -> None:
    assert anchor_key(TheirTutor(), PLAN) is None


def test_the_anchor_from_the_cache_is_the_trained_one_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Options, "neural_plan", lambda *_: PLAN)
    env, cache = make("tutor-15"), Cache(tmp_path)
    recalled = []

    def recall(key: str) -> dict[str, np.ndarray] | None:
        recalled.append(cache.recall(key))
        return recalled[-1]

    told: list[int] = []
    session = Session(recall=recall, remember=cache.remember, progress=lambda _, point: told.append(point))
    trained = neural.anchor(env, Options(), session)
    assert recalled == [None]
    assert told == list(range(PLAN.points + 1))
    told.clear()
    again = neural.anchor(env, Options(), session)
    assert recalled[1] is not None
    assert told == []
    assert again.anchor == trained.anchor
    jax.tree.map(np.testing.assert_array_equal, trained.runs.curves, again.runs.curves)
    np.testing.assert_array_equal(trained.runs.selected, again.runs.selected)
    np.testing.assert_array_equal(trained.runs.last, again.runs.last)
