"""Anchors: the end of the record at some time, kept elsewhere to show later that nothing before it was changed.

One may be signed (Ed25519), so that whoever keeps anchors cannot make up others. What is signed is its number, hash and
time, in one line of text.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from mccpo.errors import InputError
from mccpo.files import dump_json, write_bytes, write_text

_TEXT = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


class Anchor(NamedTuple):
    """The event with this number had this hash; `at` is its time (RFC 3339). One in short has no more than these two.

    `signature` is over all three, by the key whose public half is `public_key`; both in base64.
    """

    number: int
    hash: str
    at: str | None = None
    signature: str | None = None
    public_key: str | None = None

    @property
    def text(self) -> str:
        """As `mccpo verify --anchor` takes it."""
        return f"{self.number}:{self.hash}"

    @property
    def message(self) -> bytes:
        """What is signed."""
        return f"mccpo-anchor/1 {self.text} {self.at}".encode()

    def as_line(self) -> str:
        """A line of a file of anchors."""
        signed = {"signature": self.signature, "public_key": self.public_key} if self.signature else {}
        return dump_json({"anchor": self.text, "at": self.at, **signed}) + "\n"


class Signer:
    """Signs anchors with a private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public_key = _public_text(key.public_key())

    @classmethod
    def read(cls, path: Path) -> Signer:
        """The signer of a file that `create_signing_key` wrote."""
        fix = "make one with `mccpo signing-key FILE`"
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), None)
        except OSError as error:
            raise InputError(f"cannot read the signing key {path}: {error.strerror or error}", fix=fix) from error
        except (ValueError, TypeError) as error:
            raise InputError(f"{path} is no signing key", fix=fix) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise InputError(f"{path} is a key of another kind", fix=fix)
        return cls(key)

    def sign(self, anchor: Anchor) -> Anchor:
        signature = base64.b64encode(self._key.sign(anchor.message)).decode()
        return anchor._replace(signature=signature, public_key=self.public_key)


def create_signing_key(path: Path) -> str:
    """Writes a new private key to a file, and its public half beside it (`.pub`); returns the latter."""
    public = path.with_name(f"{path.name}.pub")
    for file in (path, public):
        if file.exists():
            raise InputError(f"{file} is there already", fix="name a new file: a key that is lost cannot be had again")
    key = Ed25519PrivateKey.generate()
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_bytes(path, key.private_bytes(*form), private=True)
    text = _public_text(key.public_key())
    write_text(public, text + "\n")
    return text


def read_public_key(given: str) -> Ed25519PublicKey:
    """A public key, or the one in a file."""
    path = Path(given)
    try:
        text = path.read_text().strip() if path.is_file() else given
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))
    except (OSError, ValueError, binascii.Error) as error:
        raise InputError(
            f"--public-key is {given!r}, which is no public key",
            fix="give what `mccpo signing-key` printed, or its file",
        ) from error


def is_signed(anchor: Anchor, key: Ed25519PublicKey) -> bool:
    """Whether an anchor bears a signature by a key."""
    try:
        key.verify(base64.b64decode(anchor.signature or "", validate=True), anchor.message)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def read_anchors(given: str) -> list[Anchor]:
    """An anchor as NUMBER:HASH, or those in a file: a line each, as the service writes and answers them."""
    if (match := _TEXT.fullmatch(given)) is not None:
        return [Anchor(int(match[1]), match[2])]
    if not Path(given).is_file():
        raise InputError(f"--anchor is {given!r}", fix="give NUMBER:HASH as an earlier call printed it, or a file")
    lines = enumerate(Path(given).read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
    anchors = [_parse(line, f"{given}, line {number}") for number, line in lines if line.strip()]
    if not anchors:
        raise InputError(f"there is no anchor in {given}", fix="give a file that the service wrote")
    return anchors


def append_anchor(path: Path, anchor: Anchor) -> None:
    """Adds a line to a file of anchors, in one write, and waits until it is on the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, anchor.as_line().encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def numbers_and_hashes(anchors: Iterable[Anchor]) -> list[tuple[int, str]]:
    return [(anchor.number, anchor.hash) for anchor in anchors]


def _parse(line: str, where: str) -> Anchor:
    try:
        content: Any = json.loads(line)
        match = _TEXT.fullmatch(content["anchor"])
        rest = [content.get(name) for name in ("at", "signature", "public_key")]
        if match is None or not all(isinstance(value, str | None) for value in rest):
            raise ValueError(line)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f"{where} is no anchor", fix="give a file that the service wrote") from error
    return Anchor(int(match[1]), match[2], *rest)


def _public_text(key: Ed25519PublicKey) -> str:
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return base64.b64encode(raw).decode()
