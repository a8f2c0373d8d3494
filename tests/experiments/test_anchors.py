"""The unconstrained training that is kept for later runs: its key, and to the bit what training would give."""

from dataclasses import replace
from importlib import resources
from pathlib import Path

import jax
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import make
from mccpo.env.tutor import Tutor
from mccpo.experiments import Options, Session, anchors
from mccpo.experiments.anchors import anchor_key
from mccpo.experiments.problem import pose_neural
from mccpo.methods import NeuralPlan, Sizes
from mccpo.runs.cache import Cache

PLAN = NeuralPlan(steps=300, seeds=2, sizes=Sizes(8, 16, 32, 1), validation=8)
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
    monkeypatch.setattr(anchors, "_source", lambda: "another")
    assert anchor_key(make("tutor-15"), PLAN) != key


def test_the_source_of_every_method_counts() -> None:
    folders = {room: resources.files(f"mccpo.{room}") for room in anchors._ROOMS}
    names = [name for room, folder in folders.items() for name, _ in anchors._modules(folder, room)]
    assert {
        *("methods/gradient/ppo.py", "methods/engine.py", "policy/network.py"),
        *("env/contract.py", "env/tutor/profiles.py", "curriculum/gate.py"),
    } <= {*names}


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
    trained = pose_neural(env, Options(), session)
    assert recalled == [None]
    assert told == list(range(PLAN.points + 1))
    told.clear()
    again = pose_neural(env, Options(), session)
    assert recalled[1] is not None
    assert told == []
    assert again.anchor == trained.anchor
    jax.tree.map(np.testing.assert_array_equal, trained.runs.curves, again.runs.curves)
    np.testing.assert_array_equal(trained.runs.selected, again.runs.selected)
    np.testing.assert_array_equal(trained.runs.last, again.runs.last)
