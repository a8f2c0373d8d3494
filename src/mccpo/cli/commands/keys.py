"""`mccpo keys`: who may call the decision service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import App, Parameter

from mccpo.cli.console.output import JsonFlag, emit, note
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.serve.access import Key, KeyFile

RunFlag: TypeAlias = Annotated[
    Path | None, Parameter(help="The run that is served, or the file of its record: the keys are kept beside it.")
]
KeysFlag: TypeAlias = Annotated[
    Path | None, Parameter(help="The file of keys, if the service is started with --keys: for a record elsewhere.")
]
DATABASE = "decisions.db"
"""The record of a run, in its folder, unless another is named."""

keys = App(name="keys", help="Create, list and revoke the keys of the decision service.")


@keys.command
def create(
    *,
    role: Annotated[str, Parameter(help="client, teacher, auditor, privacy, admin, operator or publisher.")],
    tenant: Annotated[str, Parameter(help="Whose learners it is for: a key sees those of its tenant only.")] = "local",
    label: Annotated[str, Parameter(help="A note to tell keys apart by.")] = "",
    days: Annotated[float | None, Parameter(help="How many days it works; by default, until it is revoked.")] = None,
    class_: Annotated[
        list[str] | None,
        Parameter(name="--class", negative="", help="Let a teacher see learners with this label `class` only."),
    ] = None,
    run: RunFlag = None,
    keys: KeysFlag = None,
    json: JsonFlag = False,
) -> None:
    """Create a key and print it, this once: the file keeps a hash, from which it cannot be had again.

    A client registers learners, asks for activities and reports outcomes. A teacher sees states, decisions and
    the monitor, and may override. An auditor sees the same. `privacy` exports and erases learners. An admin may do
    all of this in a tenant, and make keys for it. An operator reads the metrics of the whole service, and a publisher
    changes the release, for all tenants; neither sees a learner.
    """
    file = _file(run, keys)
    _show(file, *file.create(tenant, role, label, days, class_), as_json=json)


@keys.command
def rotate(
    id: str,
    /,
    *,
    grace_days: Annotated[float, Parameter(help="How many days the old one goes on working.")] = 7.0,
    run: RunFlag = None,
    keys: KeysFlag = None,
    json: JsonFlag = False,
) -> None:
    """Create a key like another, and let the old one work for some days more.

    Parameters
    ----------
    id
        The old key's id, as listed: the part between the underscores.
    """
    file = _file(run, keys)
    _show(file, *file.rotate(id, grace_days), as_json=json)


def _show(file: KeyFile, key: Key, text: str, *, as_json: bool) -> None:
    """Prints a new key, this once."""
    about = {"id": key.id, "tenant": key.tenant, "role": key.role, "label": key.label, "expires": key.expires}
    if not as_json:
        note(f"a key with the role {key.role} of {key.tenant}; {file.path} keeps its hash, and it is shown only now:")
    emit({**about, "key": text, "file": str(file.path)}, as_json=as_json, text=text)


@keys.command(name="list")
def list_keys(*, run: RunFlag = None, keys: KeysFlag = None, json: JsonFlag = False) -> None:
    """List the keys, without what is secret of them."""
    file = _file(run, keys)
    used = file.used()
    listed = [
        {
            "id": key.id,
            "tenant": key.tenant,
            "role": key.role,
            "label": key.label,
            "created": key.created,
            "revoked": key.revoked,
            "expires": key.expires,
            "classes": None if key.classes is None else list(key.classes),
            "used": used.get(key.id),
        }
        for key in file.all()
    ]
    emit({"keys": listed}, as_json=json, text=lambda: "\n".join(_lines(listed)))


@keys.command
def revoke(id: str, /, *, run: RunFlag = None, keys: KeysFlag = None, json: JsonFlag = False) -> None:
    """End a key. A running service sees it with the next request.

    Parameters
    ----------
    id
        The key's id, as listed: the part between the underscores.
    """
    key = _file(run, keys).revoke(id)
    emit({"id": key.id, "revoked": key.revoked}, as_json=json, text=f"{key.id} does not work any more")


def _file(run: Path | None, keys: Path | None) -> KeyFile:
    """The keys of a run's service, or those in a file."""
    from mccpo.serve.access import KeyFile, keys_beside

    if (run is None) is (keys is None):
        raise InputError(
            "say whose keys these are, in one way", fix="name the run with --run RUN, or their file with --keys FILE"
        )
    if keys is not None:
        return KeyFile(keys)
    assert run is not None
    if not run.exists():
        raise InputError(f"there is no run {run}", fix="name the folder of a run, or the file of its record")
    return KeyFile(keys_beside(run / DATABASE if run.is_dir() else run))


def _lines(listed: list[Mapping[str, Any]] | list[dict[str, Any]]) -> Iterator[str]:
    if not listed:
        yield "no keys: the service needs one to start, unless --no-keys is given"
    for key in listed:
        state = f"revoked {key['revoked']}" if key["revoked"] else f"since {key['created']}"
        state += f" until {key['expires']}" if key["expires"] and not key["revoked"] else ""
        state += f", last used {key['used']}" if key["used"] else ", never used"
        classes = f"  classes {', '.join(key['classes'])}" if key["classes"] else ""
        yield f"{key['id']}  {key['role']:<9} {key['tenant']:<16} {state}{classes}  {key['label']}".rstrip()
