"""The few ways in which a call can fail, each with the exit code the command line gives it."""

from __future__ import annotations


class MccpoError(Exception):
    """The work failed (exit 1). The message is one line that a user can act on."""

    exit_code = 1


class InputError(MccpoError):
    """The call or its input is wrong (exit 2): says what and where, then what to do about it."""

    exit_code = 2

    def __init__(self, what: str, *, fix: str) -> None:
        self.what = what
        self.fix = fix
        super().__init__(f"{what}; {fix}")


class DoesNotApply(InputError):  # noqa: N818 - a finding, not a fault of the program
    """What was asked for makes no sense here, such as a plan of a curriculum that nobody shows: nothing is broken."""


class GateFailed(MccpoError):  # noqa: N818 - a finding, not a fault of the program
    """A check that the user asked for did not hold (exit 3)."""

    exit_code = 3
