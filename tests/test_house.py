"""The house: imports between rooms go through what an `__init__` offers, folders and files stay small."""

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "mccpo"
MOST_FILES = 22
MOST_LINES = 400
OPEN = {"errors", "files", "redaction", "registry", "_version"}
"""Modules beside the rooms, which any room may use."""


def modules(source: Path) -> dict[str, Path]:
    """Every module by its dotted name; a package by that of its folder."""
    named = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def offered(init: Path) -> set[str]:
    """The names in `__all__` of a package."""
    for node in ast.parse(init.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return {ast.literal_eval(entry) for entry in node.value.elts}
    return set()


def bypasses(source: Path) -> list[str]:
    """Imports from another room that do not go through what one of its packages offers."""
    known = modules(source)
    found = []
    for module, path in known.items():
        if module == "mccpo":  # the public API, which has the best of every room
            continue
        room = module.split(".")[1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("mccpo."):
                continue
            if node.module.split(".")[1] in OPEN | {room}:
                continue
            target = known[node.module]
            for alias in node.names:
                if target.name != "__init__.py" or alias.name not in offered(target):
                    found.append(f"{module}: from {node.module} import {alias.name}")
    return found


def test_imports_between_rooms_go_through_an_init():
    assert bypasses(SOURCE) == []


def test_a_bypass_is_noticed(tmp_path):
    for name, text in {
        "one/__init__": '__all__ = ["offered"]\nfrom mccpo.one.leaf import offered',
        "one/leaf": "offered = hidden = 1",
        "two/__init__": "",
        "two/good": "from mccpo.one import offered",
        "two/bad": "from mccpo.one.leaf import offered\nfrom mccpo.one import hidden",
    }.items():
        path = tmp_path / "mccpo" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert bypasses(tmp_path / "mccpo") == [
        "mccpo.two.bad: from mccpo.one.leaf import offered",
        "mccpo.two.bad: from mccpo.one import hidden",
    ]


CONTRACT = {
    "ConceptGraph",
    "Conditioned",
    "ONE_MODEL",
    "Ensemble",
    "Environment",
    "FiniteEnvironment",
    "Observation",
    "ObservationField",
    "Privileged",
    "TimeStep",
    "at_kappa",
    "check_budgets",
}
"""What methods that learn may know of environments. Rules may know more: some follow a model of the learner."""
LEARNING = ("baselines", "constrained", "gradient", "mc_cpo", "engine", "episodes", "policy_set", "registry")


def forbidden_knowledge(source: Path) -> list[str]:
    """Imports by which a method that learns knows more of an environment than its contract, such as the optimum."""
    found = []
    for module, path in modules(source).items():
        if not any(module.startswith(f"mccpo.methods.{part}") for part in LEARNING):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        checked_only = {
            id(child)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
            for child in ast.walk(node)
        }
        for node in ast.walk(tree):
            room = ".".join((getattr(node, "module", None) or "").split(".")[:2])
            if not isinstance(node, ast.ImportFrom) or id(node) in checked_only:
                continue
            names = {alias.name for alias in node.names}
            if room in ("mccpo.exact", "mccpo.curriculum") or (room == "mccpo.env" and not names <= CONTRACT):
                found.append(f"{module}: {ast.unparse(node)}")
    return found


def test_methods_that_learn_see_the_contract_of_environments_only():
    assert forbidden_knowledge(SOURCE) == []


@pytest.mark.parametrize(
    "line", ["from mccpo.exact import solve", "from mccpo.env import Tutor", "from mccpo.env.finite.gate import Gate"]
)
def test_a_method_that_knows_more_is_noticed(tmp_path, line):
    path = tmp_path / "mccpo" / "methods" / "constrained" / "peeking.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"from mccpo.env import Environment\n{line}\n")
    assert forbidden_knowledge(tmp_path / "mccpo") == [f"mccpo.methods.constrained.peeking: {line}"]


def test_folders_can_be_taken_in_at_a_glance():
    sizes = Counter(path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    assert {folder: count for folder, count in sizes.items() if count > MOST_FILES} == {}


def test_files_fit_in_one_reading():
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


@pytest.mark.parametrize("name", ["utils", "common", "misc", "helpers"])
def test_no_module_says_nothing(name):
    assert not [*SOURCE.rglob(f"{name}.py"), *SOURCE.rglob(f"{name}/__init__.py")]
