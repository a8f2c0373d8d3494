"""The page of all commands, from their own help."""

from __future__ import annotations

import re

from mccpo.cli.app import COMMANDS, build_app

_SHARED = "**Settings of every command**:"
_CONTENTS = re.compile(r"^## Table of Contents\n.*?(?=^\*\*Commands\*\*)", re.MULTILINE | re.DOTALL)
_INTRO = """# Commands

Every command explains itself with `--help`. This page is made from the same text.

- Results go to stdout. Progress and warnings go to stderr.
- `--json` prints one JSON object and nothing else.
- `--print-config` says what a command would run with, and stops.
- The [exit codes](errors.md#exit-codes) are the same for all commands.
- [Configuration](configuration.md) says how to set a flag by a variable or a file.
"""


def page() -> str:
    """All commands and what they take."""
    app = build_app()
    for name in COMMANDS:
        if (command := app[name]).default_command is not None:
            command.help = None  # its docstring says more than its line in the list of commands
    made = app.generate_docs(output_format="markdown", recursive=True, usage_name="mccpo")
    first, *rest = re.split(r"(?m)^(?=##+ )", _CONTENTS.sub("", made))
    return _INTRO + "\n" + _overview(first) + "\n" + "\n".join(map(_section, rest))


def _overview(first: str) -> str:
    """The list of commands and what is common to all, without the title and the usage."""
    return first[first.index("**Commands**") :].rstrip() + "\n"


def _section(text: str) -> str:
    """One command, without what every command has."""
    own = text.partition(_SHARED)[0].rstrip()
    own = re.sub(r"\n {4,}(?=\S)", " ", own)  # help texts wrap their lines with an indent
    return own.replace(" *[default: False]*", "") + "\n"
