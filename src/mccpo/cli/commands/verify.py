"""`mccpo verify`: does everything on record hold?"""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, emit
from mccpo.errors import GateFailed, InputError

if TYPE_CHECKING:
    from mccpo.serve.record import Anchor, Verdict

_PIN = re.compile(r"[0-9a-f]{16,64}")


def verify(
    database: Annotated[str, Parameter(help="The database of the service: a file, sqlite:///FILE, or postgresql://…")],
    /,
    *,
    anchor: Annotated[
        str | None,
        Parameter(
            help="NUMBER:HASH as an earlier call told it, or a file of anchors: these events must be there, unchanged."
        ),
    ] = None,
    public_key: Annotated[
        str | None,
        Parameter(help="The public key, or its file, by which every anchor must be signed; see mccpo signing-key."),
    ] = None,
    release: Annotated[
        list[str] | None,
        Parameter(negative="", help="A release that may have decided: its hash, or 16 digits or more of it."),
    ] = None,
    keyring: Annotated[
        Path | None,
        Parameter(help="The file with the keys that names are sealed with; the one beside the record by default."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Replay the whole record of a service, and exit 0 only if everything on it holds.

    The chain of hashes is checked, mastery is rebuilt from the events, and every decision's gate and certificate is
    derived again from it. Exits 3 with the first decision or event that does not hold. Keep the anchor that is printed
    on another machine. A later call with it shows whether the end of the record was cut off, or all of it rewritten.
    Keep the hashes of your releases, too. With --release, no other release may have decided.
    """
    anchors = read_given_anchors(anchor, public_key)
    verdict = asyncio.run(_verify(database, keyring, anchors, _check_pins(release)))
    result: dict[str, Any] = {
        "holds": verdict.wrong is None,
        "events": verdict.events,
        "learners": verdict.learners,
        "decisions": verdict.decisions,
        "outcomes": verdict.outcomes,
        "anchor": f"{verdict.head.number}:{verdict.head.hash}",
        "releases": {version: asdict(use) for version, use in verdict.releases.items()},
        "wrong": verdict.wrong,
        "at": verdict.last,
        "not_known": _not_known(verdict, anchors, release),
    }
    emit(result, as_json=json, text=lambda: _text(result))
    if verdict.wrong is not None:
        raise GateFailed(verdict.wrong)


async def _verify(database: str, keyring: Path | None, anchors: list[Anchor], pins: list[str] | None) -> Verdict:
    from mccpo.serve.record import Store, numbers_and_hashes
    from mccpo.serve.record import verify as verify_record

    store = Store(database, keyring=keyring)
    await store.open(create=False)
    try:
        return await verify_record(store, anchors=numbers_and_hashes(anchors), pins=pins)
    finally:
        await store.close()


def read_given_anchors(given: str | None, public_key: str | None) -> list[Anchor]:
    """The anchors that must hold; with a key, each must be signed by it."""
    from mccpo.serve.record import is_signed, read_anchors, read_public_key

    if given is None and public_key is not None:
        raise InputError("--public-key is given without --anchor", fix="name the file of signed anchors as well")
    anchors = [] if given is None else read_anchors(given)
    if public_key is not None:
        key = read_public_key(public_key)
        for anchor in anchors:
            if not is_signed(anchor, key):
                raise GateFailed(f"the anchor {anchor.text} is not signed by this key")
    return anchors


def _check_pins(pins: list[str] | None) -> list[str] | None:
    for pin in pins or []:
        if not _PIN.fullmatch(pin):
            raise InputError(f"--release is {pin!r}", fix="give the hash of a release, as an earlier call printed it")
    return pins


def _not_known(verdict: Verdict, anchors: list[Anchor], pins: list[str] | None) -> list[str]:
    """What no replay can show, and what would."""
    last, noted = verdict.head.number, max((anchor.number for anchor in anchors), default=None)
    told = [
        f"whether events after {last} ({verdict.last}) are missing, as from a copy of a running database or a cut-off "
        "end; compare it with a newer anchor"
    ]
    if noted is None:
        told.append(
            "whether the record was written anew as a whole; an anchor that was kept elsewhere shows it (--anchor)"
        )
    elif noted != last:
        told.append(f"whether events after {noted} were written anew; a newer anchor shows it")
    if pins is None:
        told.append("whether these releases were meant to decide; their hashes, kept elsewhere, show it (--release)")
    if not verdict.names_checked:
        told.append(
            "whether names and teachers' words are those that the events seal; the keyring shows it (--keyring)"
        )
    if verdict.keys_erased:
        told.append(f"the names of {verdict.keys_erased} learners: their keys were erased after this copy was made")
    return told


def _release_line(version: str, use: dict[str, Any]) -> str:
    gate = f"θ = {use['theta']:g}" if use["confidence"] is None else f"confidence {use['confidence']:g}"
    since = f"live since event {use['since']}" if use["since"] else "from before the record said what is live"
    key = "" if use["key"] is None else f" by the key {use['key']['id']}"
    return f"release {version} ({gate}), {use['decisions']:,} decisions, {since}{key}\n  sha256 {use['sha256']}"


def _text(result: dict[str, Any]) -> str:
    counts = f"{result['events']:,} events, {result['learners']:,} learners, {result['decisions']:,} decisions"
    if not result["holds"]:
        return f"replayed {counts}, and not all of it holds"
    lines = [_release_line(version, use) for version, use in result["releases"].items()]
    holds = f"everything holds: {counts}, {result['outcomes']:,} outcomes"
    not_known = [f"not known: {what}" for what in result["not_known"]]
    return "\n".join([holds, *lines, *not_known, f"anchor {result['anchor']}"])
