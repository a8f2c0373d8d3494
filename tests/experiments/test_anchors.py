"""The unconstrained training that is kept for later runs: its key, and to the bit what training would give."""

from dataclasses import replace
from importlib import resources
from pathlib import Path

import jax
import numpy as np
import pytest
from tests.small import HORIZON, PLAN

from mccpo.curriculum import Curriculum
from mccpo.env import Constraints, make
from mccpo.env.tutor import Tutor
from mccpo.experiments import Options, Session, anchor_cache, parse_floor
from mccpo.experiments.anchor_cache import anchor_key
from mccpo.experiments.anchors import MOST_TEACHING
from mccpo.experiments.problem import pose_neural
from mccpo.methods import Sizes, method_spec
from mccpo.runs.cache import Cache

FREE = method_spec("unconstrained")
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
    (make("tutor-15"), replace(PLAN, steps=1501)),
    (make("tutor-15"), replace(PLAN, seeds=3)),
    (make("tutor-15"), replace(PLAN, seed=1)),
    (make("tutor-15"), replace(PLAN, sizes=Sizes(8, 16, 64, 1))),
    (make("tutor-15"), replace(PLAN, settings=PLAN.settings._replace(learning_rate=1e-4))),
]


def test_a_key_depends_on_all_that_training_does(monkeypatch: pytest.MonkeyPatch) -> None:
    key = anchor_key(make("tutor-15"), FREE, PLAN)
    assert key is not None
    assert key == anchor_key(make("tutor-15", eta=0.08), replace(FREE), replace(PLAN))
    keys = [key, *(anchor_key(env, FREE, plan) for env, plan in OTHERS)]
    keys += [anchor_key(make("tutor-15"), spec, PLAN) for spec in (MOST_TEACHING, replace(FREE, shared=True))]
    keys.append(anchor_key(Constraints(objective="learning").environment(make("tutor-15")), FREE, PLAN))
    assert len(set(keys)) == len(keys)
    monkeypatch.setattr(anchor_cache, "_source", lambda: "another")
    assert anchor_key(make("tutor-15"), FREE, PLAN) != key


def test_the_source_of_every_method_counts() -> None:
    folders = {room: resources.files(f"mccpo.{room}") for room in anchor_cache._ROOMS}
    names = [name for room, folder in folders.items() for name, _ in anchor_cache._modules(folder, room)]
    assert {
        *("methods/gradient/ppo.py", "methods/engine.py", "policy/network.py"),
        *("env/contract.py", "env/tutor/profiles.py", "curriculum/gate.py"),
    } <= {*names}


class TheirTutor(Tutor):
    """An environment of which only its author knows when it changes."""


def test_what_may_change_unseen_has_no_key() -> None:
    assert anchor_key(TheirTutor(), FREE, PLAN) is None
    assert anchor_key(Constraints(objective="learning").environment(TheirTutor()), MOST_TEACHING, PLAN) is None


def test_the_anchor_from_the_cache_is_the_trained_one_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Options, "neural_plan", lambda *_: PLAN)
    env, cache = make("tutor-15", horizon=HORIZON), Cache(tmp_path)
    recalled = []

    def recall(key: str) -> dict[str, np.ndarray] | None:
        recalled.append(cache.recall(key))
        return recalled[-1]

    told: list[int] = []
    session = Session(recall=recall, remember=cache.remember, progress=lambda _, point: told.append(point))
    trained = pose_neural(env, Options(), session)
    assert recalled == [None]
    assert told == [*range(PLAN.points + 1), 0, 1]  # training, then the choice of the final policies
    told.clear()
    again = pose_neural(env, Options(), session)
    assert recalled[1] is not None
    assert told == []
    assert again.anchor == trained.anchor
    jax.tree.map(np.testing.assert_array_equal, trained.runs.curves, again.runs.curves)
    np.testing.assert_array_equal(trained.runs.selected, again.runs.selected)
    np.testing.assert_array_equal(trained.runs.last, again.runs.last)


def test_what_can_be_reached_is_the_same_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both anchors are kept, each under a key of its own: the policies that only please, and those that only teach."""
    monkeypatch.setattr(Options, "neural_plan", lambda *_: PLAN)
    env, cache = make("tutor-15", horizon=HORIZON), Cache(tmp_path)
    stages: list[str] = []
    session = Session(
        recall=cache.recall, remember=cache.remember, progress=lambda stage, _: stages.append(stage.label)
    )
    options = Options(floors=(parse_floor("learning=0.8"), parse_floor("engagement=0.9")))
    trained = pose_neural(env, options, session)
    trainings = {"tutor-15 unconstrained", "tutor-15 most-teaching"}
    assert set(stages) == trainings | {f"{name}, choosing" for name in trainings}
    stages.clear()
    again = pose_neural(env, options, session)
    assert stages == []
    assert again.reach == trained.reach
    assert trained.reach["engagement"] == trained.anchor.ret
    assert trained.reach["learning"] >= trained.anchor.learning
    assert trained.constraints().floors == {
        "learning": 0.8 * trained.reach["learning"],
        "engagement": 0.9 * trained.anchor.ret,
    }
