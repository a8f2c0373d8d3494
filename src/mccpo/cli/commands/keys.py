"""`mccpo keys`: who may call the decision service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from cyclopts import App, Parameter

from mccpo.cli.console.output import JsonFlag, emit, note

KeysFlag: TypeAlias = Annotated[Path, Parameter(help="The file of keys, which holds their hashes only.")]
KEYS = Path("mccpo-keys.json")

keys = App(name="keys", help="Create, list and revoke the keys of the decision service.")


@keys.command
def create(
    *,
    role: Annotated[str, Parameter(help="client, teacher, auditor or admin.")],
    tenant: Annotated[str, Parameter(help="Whose learners it is for: a key sees those of its tenant only.")] = "local",
    label: Annotated[str, Parameter(help="A note to tell keys apart by.")] = "",
    keys: KeysFlag = KEYS,
    json: JsonFlag = False,
) -> None:
    """Create a key and print it, this once: the file keeps a hash, from which it cannot be had again.

    A client registers learners, asks for activities and reports outcomes. A teacher sees states and decisions, and may
    override. An auditor sees states and decisions, and the monitor. An admin may do everything, also erase learners,
    change the release, and read the metrics.
    """
    from mccpo.serve.access import KeyFile

    key, text = KeyFile(keys).create(tenant, role, label)
    created = {"id": key.id, "tenant": key.tenant, "role": key.role, "label": key.label, "key": text, "file": str(keys)}
    if not json:
        note(f"a key for the role {role} of {tenant}, kept as a hash in {keys}; it is shown only now:")
    emit(created, as_json=json, text=text)


@keys.command(name="list")
def list_keys(*, keys: KeysFlag = KEYS, json: JsonFlag = False) -> None:
    """List the keys, without what is secret of them."""
    from mccpo.serve.access import KeyFile

    listed = [
        {
            "id": key.id,
            "tenant": key.tenant,
            "role": key.role,
            "label": key.label,
            "created": key.created,
            "revoked": key.revoked,
        }
        for key in KeyFile(keys).all()
    ]
    emit({"keys": listed}, as_json=json, text=lambda: "\n".join(_lines(listed)))


@keys.command
def revoke(id: str, /, *, keys: KeysFlag = KEYS, json: JsonFlag = False) -> None:
    """End a key. A running service sees it with the next request.

    Parameters
    ----------
    id
        The key's id, as listed: the part between the underscores.
    """
    from mccpo.serve.access import KeyFile

    key = KeyFile(keys).revoke(id)
    emit({"id": key.id, "revoked": key.revoked}, as_json=json, text=f"{key.id} does not work any more")


def _lines(listed: list[Mapping[str, Any]] | list[dict[str, Any]]) -> Iterator[str]:
    if not listed:
        yield "no keys: the service answers on the loopback only, whoever asks"
    for key in listed:
        state = f"revoked {key['revoked']}" if key["revoked"] else f"since {key['created']}"
        yield f"{key['id']}  {key['role']:<8} {key['tenant']:<16} {state}  {key['label']}".rstrip()
