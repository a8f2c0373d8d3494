"""`mccpo verify`: does everything on record hold?"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, emit
from mccpo.errors import GateFailed, InputError

if TYPE_CHECKING:
    from mccpo.serve.record import Verdict

_ANCHOR = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


def verify(
    database: Annotated[str, Parameter(help="The database of the service: a file, sqlite:///FILE, or postgresql://…")],
    /,
    *,
    anchor: Annotated[
        str | None, Parameter(help="NUMBER:HASH as an earlier call told it: that event must be there, unchanged.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Replay the whole record of a service, and exit 0 only if everything on it holds.

    The chain of hashes is checked, mastery is rebuilt from the events, and every decision's gate and certificate is
    derived again from it. Exits 3 with the first decision or event that does not hold. Keep the anchor that is printed
    elsewhere: a later call with it shows whether the end of the record was cut off or the whole of it rewritten.
    """
    verdict = asyncio.run(_verify(database, _parse_anchor(anchor)))
    result: dict[str, Any] = {
        "holds": verdict.wrong is None,
        "events": verdict.events,
        "learners": verdict.learners,
        "decisions": verdict.decisions,
        "outcomes": verdict.outcomes,
        "anchor": f"{verdict.head.number}:{verdict.head.hash}",
        "wrong": verdict.wrong,
    }
    emit(result, as_json=json, text=lambda: _text(result))
    if verdict.wrong is not None:
        raise GateFailed(verdict.wrong)


async def _verify(database: str, anchor: tuple[int, str] | None) -> Verdict:
    from mccpo.serve.record import Store
    from mccpo.serve.record import verify as verify_record

    store = Store(database)
    await store.open(create=False)
    try:
        return await verify_record(store, anchor=anchor)
    finally:
        await store.close()


def _parse_anchor(anchor: str | None) -> tuple[int, str] | None:
    if anchor is None:
        return None
    match = _ANCHOR.fullmatch(anchor)
    if match is None:
        raise InputError(f"--anchor is {anchor!r}", fix="give NUMBER:HASH as an earlier call printed it")
    return int(match[1]), match[2]


def _text(result: dict[str, Any]) -> str:
    counts = f"{result['events']:,} events, {result['learners']:,} learners, {result['decisions']:,} decisions"
    if not result["holds"]:
        return f"replayed {counts}, and not all of it holds"
    return f"everything holds: {counts}, {result['outcomes']:,} outcomes\nanchor {result['anchor']}"
