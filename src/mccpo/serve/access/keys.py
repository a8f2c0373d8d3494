"""API keys: each belongs to a tenant and has a role; the file holds only their hashes.

A key reads `mccpo_ID_SECRET`. The secret has 256 random bits, so that one round of SHA-256 protects it: there is
nothing to guess, and a slow hash would only slow down every request. The file is read again when it changes, so that a
key that is made or revoked is seen with the next request.

A service asks for a key, whatever happens to the file: revoking the last key, or losing the file, locks everybody out
and lets nobody in. Where keys are `optional` it asks for none until the file has held one, and from then on for good.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from mccpo import files
from mccpo.errors import InputError
from mccpo.files import dump_json
from mccpo.serve.problems import Unavailable

log = logging.getLogger("mccpo.serve")

Role: TypeAlias = Literal["client", "teacher", "auditor", "privacy", "admin", "operator", "publisher", "anybody"]
Right: TypeAlias = Literal["teach", "look", "override", "audit", "privacy", "keys", "operate", "release"]

FORMAT = "mccpo-keys/1"
LOCAL = "local"
"""The tenant of those who need no key, on the loopback."""

RIGHTS: Mapping[Role, frozenset[Right]] = {
    "client": frozenset({"teach", "look"}),
    "teacher": frozenset({"look", "override", "audit"}),
    "auditor": frozenset({"look", "audit"}),
    "privacy": frozenset({"look", "privacy"}),
    "admin": frozenset({"teach", "look", "override", "audit", "privacy", "keys"}),
    "operator": frozenset({"operate"}),
    "publisher": frozenset({"release"}),
    "anybody": frozenset(get_args(Right)),
}
"""What a role may do. An operator and a publisher serve all tenants, and see no learner; nobody else reaches beyond
their own tenant.

- `teach`: register learners, begin and end sessions, ask for the next activity, report outcomes.
- `look`: read a learner's state and the curriculum.
- `override`: set another activity in the place of a decision.
- `audit`: list and export decisions, see the monitor.
- `privacy`: export and erase a learner's personal data.
- `keys`: list, create and revoke keys of the own tenant.
- `operate`: read the metrics of the whole service.
- `release`: load releases and roll back, for all tenants.
"""
ROLES = tuple(role for role in RIGHTS if role != "anybody")
"""The roles that a key can have; everybody on the loopback is `anybody` where none is asked for."""
TENANT_ROLES = tuple(role for role in ROLES if not RIGHTS[role] & {"operate", "release"})
"""The roles within a tenant, which its admins may give."""
MOST_CLASSES = 50

_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"mccpo_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class Key:
    """What the file knows of a key: everything but its secret."""

    id: str
    tenant: str
    role: Role
    sha256: str
    created: str
    label: str = ""
    revoked: str | None = None
    expires: str | None = None
    classes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
            if self.role != "teacher" or not all(isinstance(each, str) and each.strip() for each in self.classes):
                raise ValueError(f"key {self.id} is for classes, which are texts, and only a teacher has some")
        texts = (self.id, self.tenant, self.sha256, self.created, self.label)
        ends = (self.revoked, self.expires)
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(end, str | None) for end in ends):
            raise ValueError("a key's fields are texts")
        if self.expires is not None and datetime.fromisoformat(self.expires).tzinfo is None:
            raise ValueError(f"key {self.id} expires at {self.expires}, which is a time without a zone")
        if self.role not in ROLES or not _TENANT.fullmatch(self.tenant):
            raise ValueError(f"key {self.id} has the role {self.role!r} of the tenant {self.tenant!r}")

    def works(self) -> bool:
        """Whether the key is neither revoked nor expired."""
        return self.revoked is None and (
            self.expires is None or datetime.now(UTC) < datetime.fromisoformat(self.expires)
        )


@dataclass(frozen=True)
class Caller:
    """On whose behalf a request is made.

    `key` is the public part of the key, None where none is needed; `label` is what it was given to be told apart by.
    `classes` are those whose learners the caller may see; None for all.
    """

    tenant: str
    role: Role
    key: str | None = None
    label: str = ""
    classes: tuple[str, ...] | None = None

    @property
    def signature(self) -> dict[str, str] | None:
        """The key as the record names it, with the role it had; None where none is needed."""
        return None if self.key is None else {"id": self.key, "role": self.role, "label": self.label}

    def may(self, right: Right) -> bool:
        """Whether the caller's role has a right."""
        return right in RIGHTS[self.role]


EVERYONE = Caller(LOCAL, "anybody")
"""Whoever calls a service that has no keys, and therefore listens on the loopback only."""


def keys_beside(database: Path) -> Path:
    """The file of keys that goes with a record in a file, whichever folder the service is started from.

    >>> keys_beside(Path("runs/tutor-15/decisions.db")).as_posix()
    'runs/tutor-15/decisions-keys.json'
    """
    return database.with_name(f"{database.stem}-keys.json")


class KeyFile:
    """The keys in a file. Writing replaces the whole file, which only its owner may read; writers take turns."""

    def __init__(self, path: Path, *, optional: bool = False) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}
        self._wrong = ""
        self._used: dict[str, str] = {}  # by id, when it was last seen by this process
        self._refresh()
        self._asks = bool(self._keys) or not optional

    def __len__(self) -> int:
        """How many keys work now."""
        return sum(key.works() for key in self.all())

    @property
    def asks(self) -> bool:
        """Whether a key is asked for. Optional ones are from the first key on, for good."""
        self._look()
        if self._keys and not self._asks:
            self._asks = True
            log.warning("there are keys in %s now: from here on, every request needs one", self.path)
        return self._asks

    def all(self) -> list[Key]:
        """Every key there ever was, in the order of creation."""
        self._refresh()
        return list(self._keys.values())

    def create(
        self,
        tenant: str,
        role: str,
        label: str = "",
        days: float | None = None,
        classes: Collection[str] | None = None,
    ) -> tuple[Key, str]:
        """Adds a key, and returns it with the text to hand out, which nobody can find out again.

        With `days` it works for so long. With `classes` a teacher sees learners with one of these labels `class` only.
        """
        if role not in ROLES:
            raise InputError(f"there is no role {role!r}", fix=f"choose from {', '.join(ROLES)}")
        if not _TENANT.fullmatch(tenant):
            raise InputError(f"the tenant is {tenant!r}", fix="use up to 64 letters, digits, dots, hyphens")
        if len(label) > 200 or not label.isprintable():
            raise InputError("the label is too long, or not one line", fix="give at most 200 printable characters")
        if classes and role != "teacher":
            raise InputError(f"classes are given to the role {role!r}", fix="give them to a teacher")
        if classes and not all(0 < len(each.strip()) <= 64 and each.isprintable() for each in classes):
            raise InputError("a class is empty or too long", fix="give at most 64 printable characters")
        if len(classes or ()) > MOST_CLASSES:
            raise InputError(f"{len(classes or ())} classes are too many", fix=f"give at most {MOST_CLASSES}")
        only = tuple(classes) if classes else None
        expires = None if days is None else _in_days(days)
        secret = secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(6), tenant, role, _hash(secret), _now(), label, None, expires, only)
        with self._turn() as keys:
            self._write({**keys, key.id: key})
        return key, f"mccpo_{key.id}_{secret}"

    def revoke(self, id: str) -> Key:
        """Ends a key. It stays in the file, so that what it did can still be traced."""
        with self._turn() as keys:
            if id not in keys:
                raise InputError(f"{self.path} has no key {id!r}", fix="`mccpo keys list` names them")
            keys[id] = replace(keys[id], revoked=keys[id].revoked or _now())
            self._write(keys)
            return keys[id]

    def rotate(self, id: str, grace_days: float) -> tuple[Key, str]:
        """Adds a key like another, which goes on working for some days so that both can be changed over."""
        until = _in_days(grace_days)
        with self._turn() as keys:
            if id not in keys or not keys[id].works():
                raise InputError(f"{self.path} has no key {id!r} that works", fix="`mccpo keys list` names them")
            old, secret = keys[id], secrets.token_urlsafe(32)
            key = replace(old, id=secrets.token_hex(6), sha256=_hash(secret), created=_now(), expires=None)
            ends = until if old.expires is None else min(until, old.expires, key=datetime.fromisoformat)
            self._write({**keys, id: replace(old, expires=ends), key.id: key})
        return key, f"mccpo_{key.id}_{secret}"

    def caller(self, text: str) -> Caller | None:
        """Whom a key belongs to; None where it does not work."""
        self._look()
        parts = _KEY.fullmatch(text)
        key = self._keys.get(parts[1]) if parts else None
        # A comparison is made in any case: how long the answer takes says nothing about which ids there are.
        right = hmac.compare_digest(_hash(parts[2] if parts else ""), key.sha256 if key else _hash("no key"))
        holder = _holder(key) if right else None
        if holder is not None:
            self._used[str(holder.key)] = _now()
        return holder

    def used(self) -> dict[str, str]:
        """When each key was last used, by any process that has noted it, or by this one."""
        try:
            noted: dict[str, str] = json.loads(self._uses.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            noted = {}
        return noted | {id: max(at, noted.get(id, "")) for id, at in self._used.items()}

    def note_use(self) -> None:
        """Writes when keys were last used, in a file beside that of the keys: it must not look as if they changed."""
        if self._used:
            with self._turn():
                files.write_text(self._uses, dump_json(self.used(), indent=2) + "\n")
            self._used = {}

    @property
    def _uses(self) -> Path:
        return self.path.with_name(f"{self.path.stem}-used.json")

    def holder(self, id: str) -> Caller | None:
        """Whom the key of an id belongs to, as long as it is not revoked."""
        self._look()
        return _holder(self._keys.get(id))

    @contextmanager
    def _turn(self) -> Iterator[dict[str, Key]]:
        """The keys as they are now; until the block ends, no other process changes them.

        The lock is that of the folder: the file itself is another one after each change.
        """
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder, os.O_RDONLY)
        except OSError as error:
            raise InputError(
                f"cannot write {self.path}: {error.strerror or error}", fix="choose a folder that you may write to"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._seen = None  # to be read in any case
            self._refresh()
            yield dict(self._keys)
        finally:
            os.close(lock)

    def _look(self) -> None:
        """Reads the file again if it has changed; while it cannot be read, nobody is let in."""
        try:
            self._refresh()
            self._wrong = ""
        except (InputError, OSError) as error:
            if str(error) != self._wrong:  # once, however many ask
                log.error("the keys cannot be read, so that nobody is answered: %s", error)
            self._wrong = str(error)
            raise Unavailable("the keys of the service cannot be read now; its log says more") from error

    def _refresh(self) -> None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._keys, self._seen = {}, None
            return
        seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        if seen != self._seen:
            self._keys, self._seen = _read(self.path), seen

    def _write(self, keys: Mapping[str, Key]) -> None:
        document = {"format": FORMAT, "keys": [asdict(key) for key in keys.values()]}
        files.write_text(self.path, dump_json(document, indent=2) + "\n")
        self.path.chmod(0o600)


def _read(path: Path) -> dict[str, Key]:
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, not {FORMAT}")
        keys = [Key(**entry) for entry in document["keys"]]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix="let the service read it") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no file of keys ({error})", fix="restore it, or create keys anew") from error
    return {key.id: key for key in keys}


def _holder(key: Key | None) -> Caller | None:
    if key is None or not key.works():
        return None
    return Caller(key.tenant, key.role, key.id, key.label, key.classes)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _in_days(days: float) -> str:
    if not 0 < days <= 36_500:
        raise InputError(f"a key cannot work for {days:g} days", fix="give a number above 0, at most 36,500")
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
