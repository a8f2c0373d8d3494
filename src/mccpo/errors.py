"""The few ways in which a call can fail, each with the exit code the command line gives it."""

from __future__ import annotations

from typing import Any


class MccpoError(Exception):
    """The work failed (exit 1). The message is one line that a user can act on.

    >>> str(MccpoError("the disk is full")), MccpoError.exit_code
    ('the disk is full', 1)
    """

    exit_code = 1


class InputError(MccpoError):
    """The call or its input is wrong (exit 2): says what and where, then what to do about it.

    >>> error = InputError("kappa is -1", fix="give a share above 0")
    >>> str(error), error.fix, error.exit_code
    ('kappa is -1; give a share above 0', 'give a share above 0', 2)
    """

    exit_code = 2

    def __init__(self, what: str, *, fix: str) -> None:
        self.what = what
        self.fix = fix
        super().__init__(f"{what}; {fix}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.what, self.fix)  # from another process


class DoesNotApply(InputError):  # noqa: N818 - a finding, not a fault of the program
    """What was asked for makes no sense here, such as a plan of a curriculum that nobody shows: nothing is broken."""


class GateFailed(MccpoError):  # noqa: N818 - a finding, not a fault of the program
    """A check that the user asked for did not hold (exit 3).

    >>> issubclass(GateFailed, MccpoError), GateFailed.exit_code
    (True, 3)
    """

    exit_code = 3


def _again(kind: type[InputError], what: str, fix: str) -> InputError:
    return kind(what, fix=fix)
