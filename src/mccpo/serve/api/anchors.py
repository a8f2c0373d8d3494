"""Writes the end of the record elsewhere every now and then: to the security log, and to a file if one is named."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from mccpo.serve.access.security_log import record
from mccpo.serve.problems import Problem
from mccpo.serve.record.anchors import Anchor, Signer, append_anchor
from mccpo.serve.service.background import pause
from mccpo.serve.service.messages import AnchorView
from mccpo.serve.service.service import Service

log = logging.getLogger("mccpo.serve")


async def signed_anchor(service: Service, signer: Signer | None) -> AnchorView:
    """The end of the record now, signed if there is a key to sign with."""
    view = await service.anchor()
    if signer is None:
        return view
    anchor = signer.sign(Anchor(view.number, view.hash, view.at))
    return AnchorView(view.anchor, view.number, view.hash, view.at, anchor.signature, anchor.public_key)


class AnchorKeeper:
    """Writes an anchor whenever `seconds` have passed and the record has grown, and a last one at the end."""

    def __init__(self, service: Service, seconds: float, file: Path | None, signer: Signer | None) -> None:
        self._service, self._seconds, self._file, self._signer = service, seconds, file, signer
        self._last = ""

    async def run(self, stop: asyncio.Event) -> None:
        while True:
            await pause(stop, self._seconds)
            if stop.is_set():
                return
            await self.write()

    async def write(self) -> None:
        """Writes the end of the record, unless it is where it was the last time."""
        with suppress(Problem):  # the next one may succeed
            view = await signed_anchor(self._service, self._signer)
            if view.anchor == self._last:
                return
            record("anchor", head=view.anchor, at=view.at, signature=view.signature)
            if self._file is not None:
                anchor = Anchor(view.number, view.hash, view.at, view.signature, view.public_key)
                try:
                    await asyncio.to_thread(append_anchor, self._file, anchor)
                except OSError as error:
                    log.error("the anchor %s cannot be written to %s: %s", view.anchor, self._file, error.strerror)
                    return
            self._last = view.anchor
