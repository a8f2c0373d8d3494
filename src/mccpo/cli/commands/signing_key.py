"""`mccpo signing-key`: a key to sign anchors with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, emit, note


def signing_key(
    file: Annotated[Path, Parameter(help="The new file of the private key; the public one is beside it, FILE.pub.")],
    /,
    *,
    json: JsonFlag = False,
) -> None:
    """Make a key by which the service signs anchors (Ed25519), and print its public half.

    Give the private key to `mccpo serve --sign FILE`, and the public one to whoever verifies: `mccpo verify RECORD
    --anchor ANCHORS --public-key FILE.pub`.
    """
    from mccpo.serve.record import create_signing_key

    public = create_signing_key(file)
    if not json:
        note(f"the private key is in {file}, the public one is in {file}.pub:")
    emit({"private_key": str(file), "public_key": public, "public_key_file": f"{file}.pub"}, as_json=json, text=public)
