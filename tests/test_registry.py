"""Names that register themselves, and those that other packages add by entry points."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mccpo.errors import InputError
from mccpo.registry import Registry

GROUP = "mccpo.tests_of_registries"


@pytest.fixture
def registry() -> Registry[int]:
    numbers = Registry("number", GROUP, int)
    numbers.register("one", 1)
    numbers.register("two", 2)
    return numbers


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that adds three, a text, something that is not there, and another one."""
    points = (
        "three = others_numbers:THREE\ntext = others_numbers:TEXT\nlost = others_lost:X\none = others_numbers:THREE\n"
    )
    about = tmp_path / "others-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{points}")
    (tmp_path / "others_numbers.py").write_text("THREE = 3\nTEXT = 'three'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "others_numbers", raising=False)


def test_a_name_gives_its_entry(registry: Registry[int]) -> None:
    assert registry["two"] == 2
    assert list(registry) == ["one", "two"]
    assert "three" not in registry


def test_a_taken_name_is_refused(registry: Registry[int]) -> None:
    with pytest.raises(InputError, match="there is a number 'one' already"):
        registry.register("one", 11)


def test_an_unknown_name_is_told_with_a_hint(registry: Registry[int]) -> None:
    with pytest.raises(InputError, match="unknown number 'tow'; did you mean 'two'\\? choose from one, two"):
        registry["tow"]


@pytest.mark.usefixtures("package")
def test_other_packages_add_names(registry: Registry[int]) -> None:
    assert list(registry) == ["one", "two", "lost", "text", "three"]
    assert len(registry) == 5
    assert "three" in registry
    assert registry["three"] == 3


@pytest.mark.usefixtures("package")
def test_a_name_of_ours_stays_ours(registry: Registry[int]) -> None:
    assert registry["one"] == 1


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lost", "the number 'lost' of others_lost:X fails: No module named 'others_lost'"),
        ("text", "others_numbers:TEXT is no number but a str"),
    ],
)
def test_a_broken_package_is_one_line_when_it_is_asked_for(registry: Registry[int], name: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        registry[name]
    assert "\n" not in str(error.value)
    assert registry["three"] == 3
