"""What one run leaves for the next: the right entry or none."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mccpo.runs.cache import Cache, prune


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
