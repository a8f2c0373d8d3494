"""The command line itself: which commands there are, and how a call ends.

Commands are named by import path and loaded when they are called, so that `mccpo --help` stays quick; a command's
module imports what is heavy inside its functions. No command may have a flag named `--config`, `--debug`,
`--print-config` or `--cache`: the first three belong to every command, and `MCCPO_CACHE` names the folder of what a run
leaves for the next. `--data` is always the folder of real data, which `MCCPO_DATA` names as well.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Group, Parameter
from cyclopts.exceptions import CycloptsError, UnknownCommandError

from mccpo._version import __version__
from mccpo.cli import settings
from mccpo.cli.console import interrupt
from mccpo.errors import MccpoError
from mccpo.redaction import redact

COMMANDS = {
    "tutor": (
        "mccpo.cli.commands.tutor.command:tutor",
        "Make a tutor from a prerequisite graph, and say what it promises.",
    ),
    "recalibrate": (
        "mccpo.cli.commands.tutor.recalibrate:recalibrate",
        "Make a tutor again from the answers of its learners.",
    ),
    "compare": (
        "mccpo.cli.commands.compare:compare",
        "Train and evaluate the methods on an environment, side by side.",
    ),
    "benchmark": (
        "mccpo.cli.commands.benchmark.command:benchmark",
        "Compare all methods on all environments, under the same budgets.",
    ),
    "reproduce": (
        "mccpo.cli.commands.reproduce:reproduce",
        "Run the paper's protocol and set our numbers beside its own.",
    ),
    "train": ("mccpo.cli.commands.train:train", "Train one method on an environment."),
    "pretrain": (
        "mccpo.cli.commands.pretrain:pretrain",
        "Train the package's policy for any curriculum again.",
    ),
    "evaluate": ("mccpo.cli.commands.evaluate:evaluate", "Judge the policies of a run on fresh episodes."),
    "certify": (
        "mccpo.cli.commands.certify:certify",
        "Bound what the policies of a run cost, before they are released.",
    ),
    "report": ("mccpo.cli.commands.report:report", "Make one self-contained report of runs."),
    "solve": ("mccpo.cli.commands.solve:solve", "Find the exact optimum of a finite environment."),
    "curriculum": (
        "mccpo.cli.commands.curriculum.command:curriculum",
        "Check, draw, convert, derive and compare prerequisite graphs.",
    ),
    "logs": ("mccpo.cli.commands.logs:logs", "Check and convert logs of learners, and make up some."),
    "audit": ("mccpo.cli.commands.audit:audit", "Measure how often right answers bring no gain of mastery."),
    "prepare": ("mccpo.cli.commands.prepare:prepare", "Make an environment of logs and a prerequisite graph."),
    "fit-learner": ("mccpo.cli.commands.fit_learner:fit_learner", "Fit a model of what learners know, and judge it."),
    "serve": ("mccpo.cli.commands.serve:serve", "Serve the decisions of a trained policy, each on record."),
    "verify": ("mccpo.cli.commands.verify:verify", "Replay the record of a service, and check every decision."),
    "backup": ("mccpo.cli.commands.backup:backup", "Back up the record of a service while it runs."),
    "restore": ("mccpo.cli.commands.backup:restore", "Restore the record of a service from a backup."),
    "downgrade": ("mccpo.cli.commands.backup:downgrade", "Take a record's tables back, for an earlier mccpo."),
    "signing-key": ("mccpo.cli.commands.signing_key:signing_key", "Make a key to sign anchors of the record with."),
    "keys": ("mccpo.cli.commands.keys:keys", "Create, list and revoke the keys of the decision service."),
    "bench": ("mccpo.cli.commands.bench.command:bench", "Measure the speed."),
}
"""Every command: where it is and what it is for, in the order of the help page."""

_SHARED = Group("Settings of every command", sort_key=100)


def build_app() -> App:
    """The commands, none of them loaded yet."""
    app = App(
        name="mccpo",
        help="Tutoring policies that teach only what the gate says a learner is ready for.",
        version=__version__,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    app["--help"].sort_key = app["--version"].sort_key = 100
    for position, (name, (path, purpose)) in enumerate(COMMANDS.items()):
        app.command(path, name=name, help=purpose, sort_key=position)
    app.meta.default(_launcher(app))
    app.meta.suppress_keyboard_interrupt = False  # main gives Ctrl-C its line and code
    return app


def _launcher(app: App) -> Callable[..., object]:
    def launch(
        *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
        config: Annotated[Path | None, Parameter(env_var="MCCPO_CONFIG", group=_SHARED)] = None,
        print_config: Annotated[bool, Parameter(negative="", group=_SHARED)] = False,
        debug: Annotated[bool, Parameter(negative="", group=_SHARED)] = False,
    ) -> object:
        """Runs one command.

        Parameters
        ----------
        config
            A TOML file of settings; ./mccpo.toml is read where it exists. Flags go before MCCPO_* variables, and those
            before the file.
        print_config
            Print the settings that the command would run with, and stop.
        debug
            Show the traceback of an error.
        """
        del debug  # main looks for it itself: it must work for errors in the call, too
        file = settings.load(config)
        app.config = settings.providers(file)
        command, bound, _ = app.parse_args(tokens, print_error=False, exit_on_error=False)
        names, apps, _ = app.parse_commands(tokens)
        if names:
            settings.refuse_unknown(apps, file)
        if names and print_config:
            settings.show(names, bound)
            return None
        return command(*bound.args, **bound.kwargs)

    return launch


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `mccpo` and returns its exit code: 0 done, 1 failed, 2 wrong call or input, 3 a gate failed, 130 stopped."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stderr is None:  # closed by the caller (`2>&-`), who wants to hear nothing
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as we run
    if sys.stdout is None:  # before the work rather than after it
        sys.stderr.write("mccpo: stdout is closed, so there is nowhere to print the result\n")
        return 1
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")  # names of concepts are in any language, whatever the locale
    app = build_app()
    try:
        _show_own_words(app, tokens)
        with interrupt.watching():
            app.meta(tokens, print_error=False, exit_on_error=False, result_action="return_value")
            sys.stdout.flush()
    except BrokenPipeError:
        _mute_stdout()  # the reader (`| head`) has gone: there is nobody to tell
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):  # which rich turns into an exit of its own
            raise
        _mute_stdout()
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in tokens:
            sys.stderr.write(redact("".join(traceback.format_exception(error))))
        message, code = _ending(error)
        sys.stderr.write(f"mccpo: {redact(' '.join(message.split()))}\n")
        _flush_or_mute()
        if arguments is None and isinstance(error, KeyboardInterrupt):
            # Threads may still compile or train, and would crash as the interpreter goes: nobody waits for them.
            sys.stderr.flush()
            os._exit(code)
        return code
    return 0


def _show_own_words(app: App, tokens: Sequence[str]) -> None:
    """Lets the help page of a command have its docstring: the line in `COMMANDS` is for the list of commands only."""
    names, _, _ = app.parse_commands(tokens)
    if names and names[0] in COMMANDS and (command := app[names[0]]).default_command is not None:
        command.help = None


def _flush_or_mute() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _mute_stdout()


def _mute_stdout() -> None:
    """Sends what is left of stdout nowhere, so that Python's own last flush does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _ending(error: BaseException) -> tuple[str, int]:
    """What to tell the user about an error, and the exit code it means."""
    match error:
        case MccpoError():
            return str(error), error.exit_code
        case UnknownCommandError():
            return _unknown_command(error), 2
        case CycloptsError():
            error.verbose = False
            return str(error), 2
        case KeyboardInterrupt():
            return "stopped", 130
        case OSError() if error.strerror:  # a full disk, most often; writing to a stream names no file
            return f"cannot {f'use {error.filename}' if error.filename else 'write'}: {error.strerror}", 1
    return f"internal error: {type(error).__name__}: {error} (run with --debug for the traceback)", 1


def _unknown_command(error: UnknownCommandError) -> str:
    # cyclopts would load every command to say this
    token = (error.unused_tokens or [""])[0]
    commands = [name for name in (error.app or ()) if not name.startswith("-")]
    close = difflib.get_close_matches(token, commands, n=1)
    return f"there is no command {token!r}; " + (
        f"did you mean {close[0]!r}?" if close else f"the commands are {', '.join(commands)}"
    )
