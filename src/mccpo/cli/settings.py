"""Where a command's settings come from: flags, then `MCCPO_*` variables, then a TOML file, then defaults.

A setting is named by its flag. In a file it stands in the table of its command, or above all tables for every command
that has such a flag:

    seeds = 10
    [curriculum.show]
    theta = 0.6

A variable likewise names the command, `MCCPO_CURRICULUM_SHOW_THETA`, or leaves it out, `MCCPO_THETA`. What names a
command wins over what does not.

A setting that its command does not have is an error, whichever command runs. A table may hold the flags of its command,
and a variable one of the command that it names. What names no command may be a flag of any.
"""

from __future__ import annotations

import difflib
import inspect
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from cyclopts import App
from cyclopts.config import Dict, Env

from mccpo.errors import InputError
from mccpo.files import dump_json
from mccpo.redaction import redact

PREFIX = "MCCPO_"
DEFAULT_FILE = "mccpo.toml"
RESERVED = frozenset({"MCCPO_DATA", "MCCPO_CONFIG", "MCCPO_CACHE", "MCCPO_TEST_POSTGRES"})
"""Variables that are not settings of a command."""


@dataclass(frozen=True)
class File:
    """A settings file: its tables by command, and the settings above them that hold for every command."""

    path: str
    tables: dict[str, Any]
    shared: dict[str, Any]


def load(path: Path | None) -> File:
    """Reads the settings file, or `./mccpo.toml` when none is named and it exists."""
    chosen = path or Path(DEFAULT_FILE)
    if path is None and not chosen.exists():
        return File(str(chosen), {}, {})
    try:
        content = tomllib.loads(chosen.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {chosen}: {error.strerror or error}", fix="check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{chosen} is not TOML: {error}", fix="correct it") from error
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    return File(str(chosen), tables, {key: value for key, value in content.items() if key not in tables})


def providers(file: File) -> tuple[Callable[..., Any], ...]:
    """The sources of settings below the flags, the strongest first."""
    return (
        Env(PREFIX, command=True, show=False),
        Env(PREFIX, command=False, show=False),
        Dict(file.tables, source=file.path),
        Dict(file.shared, source=file.path, use_commands_as_keys=False, allow_unknown=True),
    )


def refuse_unknown(apps: Sequence[App], file: File) -> None:
    """Refuses a variable or a key of the file that belongs to no command, as a slip of the pen would.

    `apps` leads from the root to the command that runs.
    """
    root, own = apps[0], _flags(apps[-1])
    _refuse_tables(file.tables, root, file.path)
    loose = {key: f"{key} in {file.path}" for key in file.shared} | _loose_variables(root)
    doubtful = {key: what for key, what in loose.items() if not _is_flag(key, own)}
    if doubtful:
        everywhere = own.union(*(_flags(command) for command in _commands(root)))  # loads them all: only when in doubt
        for key, what in doubtful.items():
            if not _is_flag(key, everywhere):
                raise InputError(f"{what} is a setting that no command has", fix=f"there are {_listed(everywhere)}")


def show(names: Sequence[str], bound: inspect.BoundArguments) -> None:
    """Prints the settings that a command would run with, as the table of a settings file (or as JSON with `--json`).

    Passwords are not shown.
    """
    bound.apply_defaults()
    given = {key: value for argument, value in bound.arguments.items() for key, value in _spread(argument, value)}
    values = {key.replace("_", "-"): _masked(value) for key, value in given.items()}
    if values.get("json"):
        sys.stdout.write(dump_json(values) + "\n")
        return
    kinds = {key: parameter.kind for key, parameter in bound.signature.parameters.items()}
    lines = [f"[{'.'.join(names)}]"]
    for key, value in values.items():
        if value is None:
            lines.append(f"# {key} is not set")
        elif kinds.get(key) in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
            lines.append(f"# {key} is {dump_json(value)}")  # what the command works on is no setting
        else:
            lines.append(f"{key} = {dump_json(value)}")
    sys.stdout.write("\n".join(lines) + "\n")


def _spread(argument: str, value: Any) -> Iterator[tuple[str, Any]]:
    """An argument by its name; one that bundles flags, flag by flag."""
    if is_dataclass(value):
        yield from ((flag.name, getattr(value, flag.name)) for flag in fields(value))
    else:
        yield argument, value


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    return [_masked(each) for each in value] if isinstance(value, list | tuple) else value


def _refuse_tables(tables: dict[str, Any], app: App, path: str, parents: tuple[str, ...] = ()) -> None:
    commands = [command for command in app if not command.startswith("-")]
    for name, content in tables.items():
        here = (*parents, name)
        if name not in commands:
            close = difflib.get_close_matches(name, commands, n=1)
            fix = f"did you mean {close[0]!r}?" if close else f"the commands are {', '.join(commands)}"
            raise InputError(f"{path} has [{'.'.join(here)}], which is not a command", fix=fix)
        if not isinstance(content, dict):
            raise InputError(f"{path} gives {'.'.join(here)} a value", fix=f"write it as the table [{'.'.join(here)}]")
        if app[name].default_command is None:  # a group of commands, which has no settings of its own
            _refuse_tables(content, app[name], path, here)
        elif unknown := [key for key in content if not _is_flag(key, _flags(app[name]))]:
            fix = f"the settings are {_listed(_flags(app[name]))}"
            raise InputError(f"{path} has {unknown[0]!r} in [{'.'.join(here)}], which has no such setting", fix=fix)


def _loose_variables(root: App) -> dict[str, str]:
    """The variables that name no command; one that names a command but none of its flags is refused."""
    loose: dict[str, str] = {}
    for variable in sorted(os.environ.keys() - RESERVED):
        if not variable.startswith(PREFIX):
            continue
        command, setting = _named(root, variable.removeprefix(PREFIX))
        if command is root:
            loose[setting] = f"the variable {variable}"
        elif not _is_flag(setting, flags := _flags(command)):
            raise InputError(f"the variable {variable} sets nothing", fix=f"the flags are {_listed(flags)}")
    return loose


def _named(app: App, rest: str) -> tuple[App, str]:
    """The command that the beginning of a variable names, and what follows."""
    for name in app:
        start = f"{name.upper().replace('-', '_')}_"
        if not name.startswith("-") and rest.startswith(start):
            return _named(app[name], rest.removeprefix(start))
    return app, rest


def _commands(app: App) -> Iterator[App]:
    for name in app:
        if not name.startswith("-"):
            yield app[name]
            yield from _commands(app[name])


def _flags(command: App) -> frozenset[str]:
    if command.default_command is None:
        return frozenset()
    arguments = command.assemble_argument_collection()
    names = {name.removeprefix("--").lower() for argument in arguments for name in argument.names}
    return frozenset(names - {"*"})  # the name of what bundles flags


def _is_flag(key: str, flags: frozenset[str]) -> bool:
    return key.lower().replace("_", "-") in flags


def _listed(flags: frozenset[str]) -> str:
    return ", ".join(sorted(flags)) or "none"
