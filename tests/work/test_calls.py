"""Calls as cells: values and errors come back as they would from a plain call."""

import math
from pathlib import Path

import pytest
from tests.work.here import Here

from mccpo.errors import InputError, MccpoError
from mccpo.work import ByCrew, Call, Cell, Ending, one_by_one


def refuse(what: str) -> None:
    raise InputError(what, fix="mend it")


def test_values_come_back_in_order_and_no_file_stays(tmp_path: Path) -> None:
    calls, told = [Call(f"root of {n}", math.sqrt, (n,)) for n in (9, 4)], []
    by_crew = ByCrew(Here(), tmp_path / "cells", lambda *counts: told.append(counts))
    assert by_crew(calls) == one_by_one(calls) == [3.0, 2.0]
    assert told == [(1, 2), (2, 2)]
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_the_input_is_said_as_without_a_crew(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rows; mend it") as raised:
        ByCrew(Here(), tmp_path / "cells")([Call("reading", refuse, ("no rows",))])
    assert raised.value.fix == "mend it"


def test_a_cell_that_dies_is_an_error(tmp_path: Path) -> None:
    class Dying:
        def do(self, cells: list[Cell], ended) -> None:  # type: ignore[no-untyped-def]
            ended(cells[0], Ending("crashed", "its process was ended by SIGKILL"))

    with pytest.raises(MccpoError, match="reading: its process was ended by SIGKILL"):
        ByCrew(Dying(), tmp_path / "cells")([Call("reading", refuse, ("no rows",))])
