"""Training curves as TensorBoard event files, written as training goes: PART/METHOD/seed-N/ under one folder.

An event file is a row of records: their length, the data, and a checksum of each. A point of a run is one record, put
at the end of the run's file at once, so that nothing stays open and a run that is killed leaves at most a torn record,
which the next one cuts off. Points that a file has already are not written again.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import numpy as np
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.record_writer import masked_crc32c

from mccpo.evaluation import Curves

_FILE = "events.out.tfevents.mccpo"
_LENGTH = struct.Struct("<Q")
_CHECK = struct.Struct("<I")
_AROUND = _LENGTH.size + 2 * _CHECK.size
"""The bytes of a record that are not data."""


class EventFiles:
    """The event files of a run, one for each part, method and seed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[Path, int] = {}

    def record(self, part: str, curves: Curves) -> None:
        """Writes the points of a part that its files do not have yet."""
        for method, metrics in curves.values.items():
            seeds = len(next(iter(metrics.values())))
            for seed in range(seeds):
                path = self._folder / _plain(part) / method / f"seed-{seed}" / _FILE
                self._extend(path, curves.trained, {name: values[seed] for name, values in metrics.items()})

    def _extend(self, path: Path, steps: np.ndarray, metrics: dict[str, np.ndarray]) -> None:
        if path not in self._last:
            self._last[path] = _open(path)
        new = [at for at, step in enumerate(steps) if step > self._last[path]]
        if not new:
            return
        events = [_event(int(steps[at]), {name: float(values[at]) for name, values in metrics.items()}) for at in new]
        with path.open("ab") as file:
            file.write(b"".join(map(_record, events)))
        self._last[path] = int(steps[-1])


def _open(path: Path) -> int:
    """Makes a file ready to be written to; gives the last step that it holds, 0 for a new one."""
    events, length = _whole(path.read_bytes()) if path.exists() else ([], 0)
    if not events:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_record(Event(wall_time=time.time(), file_version="brain.Event:2")))
        return 0
    os.truncate(path, length)
    return max(event.step for event in events)


def _event(step: int, metrics: dict[str, float]) -> Event:
    values = [
        Summary.Value(tag=name, simple_value=value)
        for name, value in metrics.items()
        if np.isfinite(value)  # a metric that was undefined at a point leaves a gap
    ]
    return Event(wall_time=time.time(), step=step, summary=Summary(value=values))


def _record(event: Event) -> bytes:
    data = event.SerializeToString()
    length = _LENGTH.pack(len(data))
    return length + _CHECK.pack(masked_crc32c(length)) + data + _CHECK.pack(masked_crc32c(data))


def _whole(content: bytes) -> tuple[list[Event], int]:
    """The events of all whole records, and how many bytes these take."""
    events: list[Event] = []
    at = 0
    while at + _AROUND <= len(content):
        (size,) = _LENGTH.unpack_from(content, at)
        end = at + _AROUND + size
        data = content[at + _LENGTH.size + _CHECK.size : end - _CHECK.size]
        if end > len(content) or _CHECK.unpack_from(content, end - _CHECK.size)[0] != masked_crc32c(data):
            break
        events.append(Event.FromString(data))
        at = end
    return events, at


def _plain(part: str) -> str:
    """A part's label as the name of a folder."""
    return part.replace(" ", "-").replace("/", "-")
