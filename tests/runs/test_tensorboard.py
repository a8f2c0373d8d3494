"""Event files, read back by a second implementation of their format."""

import struct
from pathlib import Path

import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

from mccpo.evaluation import Curves
from mccpo.runs.tensorboard import EventFiles

VALUES = np.arange(12.0).reshape(2, 6)


def curves(points: int) -> Curves:
    values = {"return": VALUES[:, :points], "J_c2": -VALUES[:, :points]}
    return Curves(10 * np.arange(1, points + 1), {"mc-cpo": values}, unit="steps")


def crc32c(data: bytes) -> int:
    """The checksum by Castagnoli's polynomial, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def events(path: Path) -> list[Event]:
    content, found = path.read_bytes(), []
    while content:
        size, check = struct.unpack("<QI", content[:12])
        assert check == masked(content[:8])
        data, content = content[12 : 12 + size], content[12 + size :]
        assert struct.unpack("<I", content[:4])[0] == masked(data)
        content = content[4:]
        found.append(Event.FromString(data))
    return found


def scalars(folder: Path) -> dict[str, dict[int, float]]:
    """The scalars of a run by name and step, none of them written twice."""
    (path,) = folder.iterdir()
    assert "tfevents" in path.name
    first, *rest = events(path)
    assert first.file_version == "brain.Event:2"
    found: dict[str, dict[int, float]] = {}
    for event in rest:
        for value in event.summary.value:
            assert event.step not in found.setdefault(value.tag, {})
            found[value.tag][event.step] = value.simple_value
    return found


def test_the_files_hold_what_was_recorded_and_can_be_read_at_any_time(tmp_path: Path) -> None:
    files = EventFiles(tmp_path)
    for points in range(1, 7):
        files.record("tutor-15 κ=0.9", curves(points))
        for seed in range(2):
            found = scalars(tmp_path / "tutor-15-κ=0.9" / "mc-cpo" / f"seed-{seed}")
            expected = {10 * (at + 1): VALUES[seed, at] for at in range(points)}
            assert found == {"return": expected, "J_c2": {step: -value for step, value in expected.items()}}


def test_a_value_that_is_undefined_leaves_a_gap(tmp_path: Path) -> None:
    values = np.array([[1.0, np.nan, np.inf, 4.0]])
    EventFiles(tmp_path).record("part", Curves(np.arange(1, 5), {"m": {"dK": values}}))
    assert scalars(tmp_path / "part" / "m" / "seed-0") == {"dK": {1: 1.0, 4: 4.0}}


@pytest.mark.parametrize("torn", [0, 1, 15, 30])
def test_a_run_that_is_taken_up_again_repeats_no_step(tmp_path: Path, torn: int) -> None:
    EventFiles(tmp_path).record("part", curves(3))
    folder = tmp_path / "part" / "mc-cpo" / "seed-0"
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[: -torn or None])
    resumed = EventFiles(tmp_path)
    for points in (2, 4, 6):  # from a checkpoint that is older than the file
        resumed.record("part", curves(points))
    assert list(scalars(folder)["return"].items()) == [(10 * (at + 1), VALUES[0, at]) for at in range(6)]


def test_a_file_that_is_no_event_file_any_more_begins_anew(tmp_path: Path) -> None:
    EventFiles(tmp_path).record("part", curves(3))
    folder = tmp_path / "part" / "mc-cpo" / "seed-0"
    (path,) = folder.iterdir()
    path.write_bytes(b"not an event file at all")
    EventFiles(tmp_path).record("part", curves(3))
    assert list(scalars(folder)["return"]) == [10, 20, 30]
