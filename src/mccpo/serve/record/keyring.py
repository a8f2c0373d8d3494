"""The keyring: a key of its own for each learner, in a file outside the database. Erasing a person is erasing a key.

Who a learner is, and what teachers wrote about them, is in the database as ciphertext only. So the database's files,
its log of writes and its backups hold nothing that can be read without the keyring, and nothing that can be read at
all once a key is erased: the file is overwritten in place, and no other file holds the key.

The file begins with its own id and a secret, by which names are found without being stored: the database has a keyed
hash of each. Then comes a slot of 64 bytes for each learner: the opaque id, and the key, which is zero once erased.
Slots are only ever added, so a keyring opens every earlier backup of its record, but for who was erased since.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import secrets
import struct
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mccpo.errors import InputError
from mccpo.files import canonical_json

_MAGIC = b"mccpo-keyring/1\n"
_HEADER = struct.Struct("16s16s32s")
_SLOT = struct.Struct("32s32s")
_NONCE = 12
_ERASED = bytes(32)


class KeyErasedError(ValueError):
    """The key of a learner is erased: what was sealed with it can no longer be read, by anybody."""


class Keyring:
    """An open keyring; `id` tells it from others, and the record says which one it needs."""

    def __init__(self, path: Path, descriptor: int, id: str, secret: bytes) -> None:
        self.path, self.id = path, id
        self._descriptor, self._secret = descriptor, secret

    @classmethod
    def create(cls, path: Path) -> Keyring:
        """Opens the keyring of a path, which is made if there is none; of several who make it at once, one does."""
        if not path.exists():
            scratch = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            try:
                descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                try:
                    os.write(descriptor, _HEADER.pack(_MAGIC, secrets.token_bytes(16), secrets.token_bytes(32)))
                    os.fsync(descriptor)
                    os.link(scratch, path)
                    _sync_folder(path.parent)
                except FileExistsError:
                    pass  # another process was first
                finally:
                    os.close(descriptor)
                    scratch.unlink()
            except OSError as error:
                raise InputError(
                    f"cannot make the keyring {path}: {error.strerror or error}", fix="name another with --keyring FILE"
                ) from error
        return cls.open(path, write=True)

    @classmethod
    def open(cls, path: Path, *, write: bool = False) -> Keyring:
        """Opens the keyring of a path, to read or to write as well."""
        try:
            descriptor = os.open(path, os.O_RDWR if write else os.O_RDONLY)
        except OSError as error:
            raise InputError(
                f"cannot open the keyring {path}: {error.strerror or error}",
                fix="put it back from its copy, or name it with --keyring FILE",
            ) from error
        header = b"" if path.is_dir() else os.pread(descriptor, _HEADER.size, 0)
        if len(header) < _HEADER.size or not header.startswith(_MAGIC):
            os.close(descriptor)
            raise InputError(f"{path} is no keyring", fix="name the one of the record with --keyring FILE")
        _, id, secret = _HEADER.unpack(header)
        return cls(path, descriptor, id.hex(), secret)

    def close(self) -> None:
        os.close(self._descriptor)

    # ---- keys

    def add(self, learners: Sequence[str]) -> list[int]:
        """Makes a key for each of some learners; returns their slots, once they are on the disk."""
        self._check_there()
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            size = os.fstat(self._descriptor).st_size - _HEADER.size
            first = -(-size // _SLOT.size)  # what a crash left unfinished is passed over
            content = b"".join(_SLOT.pack(_name(learner), secrets.token_bytes(32)) for learner in learners)
            os.pwrite(self._descriptor, content, _offset(first))
            os.fsync(self._descriptor)
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return list(range(first, first + len(learners)))

    def erase(self, slots: Collection[tuple[str, int]]) -> None:
        """Overwrites the keys of learners, each given by id and slot; those that are erased already stay so."""
        self._check_there()
        remaining = [slot for learner, slot in slots if self.has_key(learner, slot)]
        for slot in remaining:
            os.pwrite(self._descriptor, _ERASED, _offset(slot) + _SLOT.size - len(_ERASED))
        if remaining:
            os.fsync(self._descriptor)

    def erased(self) -> Iterator[str]:
        """The ids of the learners whose keys are erased."""
        with self.path.open("rb") as file:
            file.seek(_HEADER.size)
            while len(slot := file.read(_SLOT.size)) == _SLOT.size:
                name, key = _SLOT.unpack(slot)
                if key == _ERASED and name != _ERASED:
                    yield name.rstrip(b"\0").decode(errors="replace")

    def has_slot(self, learner: str, slot: int) -> bool:
        """Whether a slot is that of a learner, erased or not; it is not in a copy from before it was added."""
        try:
            self._read(learner, slot)
        except ValueError:
            return False
        return True

    def has_key(self, learner: str, slot: int) -> bool:
        """Whether a learner's key is there and not erased."""
        try:
            return self._read(learner, slot) != _ERASED
        except ValueError:
            return False

    def _read(self, learner: str, slot: int) -> bytes:
        """The key in a slot; zero if it is erased."""
        content = os.pread(self._descriptor, _SLOT.size, _offset(slot))
        if len(content) < _SLOT.size:
            raise ValueError("there is no such key")
        name, key = _SLOT.unpack(content)
        if name != _name(learner):
            raise ValueError("the key is of another learner")
        return bytes(key)

    def _check_there(self) -> None:
        """Raises where the file was removed or replaced: a key that is erased here would live on in the other."""
        ours, theirs = os.fstat(self._descriptor), self.path.stat()
        if (ours.st_dev, ours.st_ino) != (theirs.st_dev, theirs.st_ino):
            raise FileNotFoundError(f"{self.path} is another file than was opened")

    # ---- what is sealed with them

    def seal(self, learner: str, slot: int, what: str, words: Any) -> bytes:
        """Encrypts plain values with a learner's key; they can only be read as that learner's, and as `what`."""
        nonce = secrets.token_bytes(_NONCE)
        sealed = AESGCM(self._key(learner, slot)).encrypt(nonce, canonical_json(words).encode(), _bound(learner, what))
        return nonce + sealed

    def unseal(self, learner: str, slot: int, what: str, sealed: bytes) -> Any:
        """What was sealed; `KeyErasedError` if the key is erased, ValueError if something else is wrong."""
        key = self._key(learner, slot)
        try:
            return json.loads(AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], _bound(learner, what)))
        except InvalidTag as error:
            raise ValueError("is not what was sealed") from error

    def keyed_hash(self, *words: str) -> str:
        """A hash that nobody can guess words by who has not this keyring."""
        return hmac.digest(self._secret, canonical_json(words).encode(), "sha256").hex()

    def _key(self, learner: str, slot: int) -> bytes:
        key = self._read(learner, slot)
        if key == _ERASED:
            raise KeyErasedError("its key is erased")
        return key


def keyring_beside(record: Path) -> Path:
    """The keyring of a record that is a file, unless another is named."""
    return record.with_name(f"{record.stem}.keyring")


def _offset(slot: int) -> int:
    return _HEADER.size + slot * _SLOT.size


def _name(learner: str) -> bytes:
    name = learner.encode()
    if not 0 < len(name) <= 32:
        raise ValueError("is no id of a learner")
    return name.ljust(32, b"\0")


def _bound(learner: str, what: str) -> bytes:
    return f"{learner}/{what}".encode()


def _sync_folder(folder: Path) -> None:
    """Makes the name of a new file as durable as its content."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
