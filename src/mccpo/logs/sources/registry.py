"""Log formats by name. A format registers itself in its own file:

    @register_source("my-lms", "My LMS (events.csv)")
    def my_lms(path: Path, options: ReadOptions) -> Source: ...

Another package does the same, and names the function in an entry point of the group `mccpo.log_sources`:

    [project.entry-points."mccpo.log_sources"]
    my-lms = "my_package.logs:my_lms"
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from mccpo.errors import InputError
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.registry import Registry

BuildSource: TypeAlias = Callable[[Path, ReadOptions], Source]
"""The source of a log, which may depend on what columns its file has and on what the user says."""


@dataclass(frozen=True)
class LogFormat:
    """A kind of log.

    **Fields:**

    - `label`: what it is, in a line.
    - `build`: gives the source of a log of this kind.
    - `takes_mapping`, `takes_model`: whether `ReadOptions.mapping` and `.model` mean something to it.
    """

    name: str
    label: str
    build: BuildSource
    takes_mapping: bool = False
    takes_model: bool = False

    @property
    def docs(self) -> str:
        """What its file says about the format."""
        module = inspect.getmodule(self.build)
        return inspect.cleandoc((module.__doc__ if module is not None else None) or self.label)

    def source(self, path: Path, options: ReadOptions) -> Source:
        """The source of one log; options that mean nothing to the format are refused."""
        if options.mapping and not self.takes_mapping:
            fix = "leave --map out, or read with --format table"
            raise InputError(f"{self.name} has columns of its own", fix=fix)
        if options.model is not None and not self.takes_model:
            raise InputError(f"{self.name} has no models to choose from", fix="leave --model out")
        return self.build(path, options)


SOURCES = Registry("log format", "mccpo.log_sources", LogFormat)


def register_source(
    name: str, label: str, *, takes_mapping: bool = False, takes_model: bool = False
) -> Callable[[BuildSource], LogFormat]:
    """Registers what gives the source of a log as a format of this name; a decorator."""

    def registered(build: BuildSource) -> LogFormat:
        return SOURCES.register(name, LogFormat(name, label, build, takes_mapping, takes_model))

    return registered
