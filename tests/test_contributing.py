"""CONTRIBUTING.md followed to the letter: its examples work, and the rooms and files that it names are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TRIED = """
from pathlib import Path

import jax
import jax.numpy as jnp

import mccpo
from mccpo.experiments import TABLES, Options, Session
from mccpo.logs import load
from mccpo.methods import Sizes, budgets_of

env = mccpo.make("my-course", horizon=5)
state, observation = env.reset(jax.random.key(0))
assert len(env.action_names) == 40
assert jax.eval_shape(env.step, jax.random.key(1), state, jnp.array(0)).costs.shape == (3,)

entry = mccpo.METHODS["my-method"]
assert (entry.label, entry.about) == ("My method", "PPO at prices that never change.")
method, sizes = entry.build(env, entry.search[1]), Sizes(2, 4, 8, 1)
budgets = budgets_of(env, {name: 1.0 for name in env.cost_names})
begun = method.start(env, sizes, jax.random.key(0))
after, _ = jax.eval_shape(lambda state: method.iterate(env, sizes, budgets, state, jnp.zeros(())), begun)
assert after.fitted.parameters.shape == begun.fitted.parameters.shape

Path("answers.csv").write_text("student,skill,when,right\\nana,sums,2026-01-05 09:00:00,1\\n")
assert load("answers.csv", "my-lms").account.interactions == 1

mccpo.Curriculum.from_edges([], ["a", "b"]).write("graph.names")
assert mccpo.Curriculum.read("graph.names").concepts == ("a", "b")

table = TABLES["my-table"](Options(seeds=1), Session()).results
assert (table.table, sorted(table.settings[0].rows)) == ("my-table", ["curriculum-order", "random-ready"])
"""


def blocks(language: str) -> list[str]:
    """The blocks of code of a language."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the package that the text describes: each example in the module that its entry point names."""
    groups = {}
    for block in blocks("toml"):
        groups |= tomllib.loads(block)["project"]["entry-points"]
    (tmp_path / "my_package").mkdir()
    left = blocks("python")
    for points in groups.values():
        for value in points.values():
            module, _, name = value.partition(":")
            defines = re.compile(rf"^(?:class {name}\b|def {name}\b|{name} = )", re.MULTILINE)
            example = next(block for block in left if defines.search(block))
            left.remove(example)
            (tmp_path / f"{module.replace('.', '/')}.py").write_text(example)
    assert left == []  # every example is part of it
    about = tmp_path / "my_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in groups.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return tmp_path


def test_the_examples_work(package: Path) -> None:
    path = os.pathsep.join(part for part in (os.environ.get("PYTHONPATH"), str(package)) if part)
    tried = [sys.executable, "-W", "error", "-c", TRIED]
    ended = subprocess.run(
        tried, cwd=package, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=200
    )
    assert ended.returncode == 0, ended.stderr


def test_the_rooms_match_the_source() -> None:
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    source = ROOT / "src" / "mccpo"
    rooms = [layer.removeprefix("mccpo.") for layer in reversed(layers) if (source / layer.split(".")[1]).is_dir()]
    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == rooms


def test_the_files_that_it_names_are_there() -> None:
    named = re.findall(r"`((?:\w+/)+[\w.]+)`", TEXT)
    assert len(named) > 10
    missing = [path for path in named if not (ROOT / path).exists() and not any((ROOT / "src/mccpo").glob(f"{path}*"))]
    assert missing == []
