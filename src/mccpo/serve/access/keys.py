"""API keys: each belongs to a tenant and has a role; the file holds only their hashes.

A key reads `mccpo_ID_SECRET`. The secret has 256 random bits, so that one round of SHA-256 protects it: there is
nothing to guess, and a slow hash would only slow down every request. The file is read again when it changes, so that a
key that is made or revoked is seen with the next request.

A service whose file has never held a key requires none. From the first key that it sees on it does, whatever happens to
the file: revoking the last key, or losing the file, locks everybody out and lets nobody in.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from mccpo import files
from mccpo.errors import InputError
from mccpo.files import dump_json
from mccpo.serve.problems import Unavailable

log = logging.getLogger("mccpo.serve")

Role: TypeAlias = Literal["client", "teacher", "auditor", "admin"]
Right: TypeAlias = Literal["teach", "look", "override", "audit", "erase", "manage"]

FORMAT = "mccpo-keys/1"
LOCAL = "local"
"""The tenant of those who need no key, on the loopback."""

RIGHTS: Mapping[Role, frozenset[Right]] = {
    "client": frozenset({"teach", "look"}),
    "teacher": frozenset({"look", "override", "audit"}),
    "auditor": frozenset({"look", "audit"}),
    "admin": frozenset(get_args(Right)),
}
"""What a role may do.

- `teach`: register learners, begin and end sessions, ask for the next activity, report outcomes.
- `look`: read a learner's state and the curriculum.
- `override`: set another activity in the place of a decision.
- `audit`: list and export decisions, see the monitor.
- `erase`: export and erase a learner's personal data.
- `manage`: load releases and roll back, read the metrics of the whole service.
"""

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

    def __post_init__(self) -> None:
        texts = (self.id, self.tenant, self.sha256, self.created, self.label)
        if not all(isinstance(text, str) for text in texts) or not isinstance(self.revoked, str | None):
            raise ValueError("a key's fields are texts")
        if self.role not in RIGHTS or not _TENANT.fullmatch(self.tenant):
            raise ValueError(f"key {self.id} has the role {self.role!r} of the tenant {self.tenant!r}")


@dataclass(frozen=True)
class Caller:
    """On whose behalf a request is made.

    `key` is the public part of the key, None where none is needed; `label` is what it was given to be told apart by.
    """

    tenant: str
    role: Role
    key: str | None = None
    label: str = ""

    @property
    def signature(self) -> dict[str, str] | None:
        """The key as the record names it, with the role it had; None where none is needed."""
        return None if self.key is None else {"id": self.key, "role": self.role, "label": self.label}

    def may(self, right: Right) -> bool:
        """Whether the caller's role has a right."""
        return right in RIGHTS[self.role]


EVERYONE = Caller(LOCAL, "admin")
"""Whoever calls a service that has no keys, and therefore listens on the loopback only."""


class KeyFile:
    """The keys in a file. Writing replaces the whole file, which only its owner may read; writers take turns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}
        self._wrong = ""
        self._refresh()
        self._asks = bool(self._keys)

    def __len__(self) -> int:
        """How many keys work now."""
        return sum(key.revoked is None for key in self.all())

    @property
    def asks(self) -> bool:
        """Whether a key is asked for: not before there was one, and always from then on."""
        self._look()
        if self._keys and not self._asks:
            self._asks = True
            log.warning("there are keys in %s now: from here on, every request needs one", self.path)
        return self._asks

    def all(self) -> list[Key]:
        """Every key there ever was, in the order of creation."""
        self._refresh()
        return list(self._keys.values())

    def create(self, tenant: str, role: str, label: str = "") -> tuple[Key, str]:
        """Adds a key, and returns it with the text to hand out, which nobody can find out again."""
        if role not in RIGHTS:
            raise InputError(f"there is no role {role!r}", fix=f"choose from {', '.join(RIGHTS)}")
        if not _TENANT.fullmatch(tenant):
            raise InputError(f"the tenant is {tenant!r}", fix="use up to 64 letters, digits, dots, hyphens")
        if len(label) > 200 or not label.isprintable():
            raise InputError("the label is too long, or not one line", fix="give at most 200 printable characters")
        secret = secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(6), tenant, role, _hash(secret), _now(), label)  # type: ignore[arg-type]
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

    def caller(self, text: str) -> Caller | None:
        """Whom a key belongs to; None where it does not work."""
        self._look()
        parts = _KEY.fullmatch(text)
        key = self._keys.get(parts[1]) if parts else None
        # A comparison is made in any case: how long the answer takes says nothing about which ids there are.
        right = hmac.compare_digest(_hash(parts[2] if parts else ""), key.sha256 if key else _hash("no key"))
        return _holder(key) if right else None

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
    if key is None or key.revoked is not None:
        return None
    return Caller(key.tenant, key.role, key.id, key.label)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
