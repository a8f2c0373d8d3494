"""The dependencies of routes: who calls, with which right, on which service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

from fastapi import Depends, Request

from mccpo.serve.access.keys import Caller, Right
from mccpo.serve.api.forms import IdempotencyKey
from mccpo.serve.problems import Forbidden

if TYPE_CHECKING:
    from mccpo.serve.monitor.watch import Watch
    from mccpo.serve.service.service import Service


class Call(NamedTuple):
    """A request whose caller has the right to it; `key` is its idempotency key."""

    service: Service
    watch: Watch
    caller: Caller
    key: str | None = None

    @property
    def tenant(self) -> str:
        return self.caller.tenant

    async def check_learner(self, learner: str) -> None:
        """Refuses a learner of another class than the caller's, as if there were none."""
        await self.service.check_class(self.tenant, learner, self.caller.classes)

    def check_whole(self) -> None:
        """Refuses what is about a tenant as a whole to whom sees only some classes."""
        if self.caller.classes is not None:
            raise Forbidden("this key is for some classes, and that is about all learners")


def reads(right: Right) -> Callable[[Request], Awaitable[Call]]:
    """The dependency of a route that reads."""

    async def call(request: Request) -> Call:
        return _call(request, right)

    return call


def writes(right: Right) -> Callable[..., Awaitable[Call]]:
    """The dependency of a route that writes, and therefore takes an idempotency key."""

    async def call(request: Request, key: IdempotencyKey = None) -> Call:
        return _call(request, right, key)

    return call


def _call(request: Request, right: Right, key: str | None = None) -> Call:
    caller: Caller = request.state.caller
    if not caller.may(right):
        raise Forbidden(f"a key with the role {caller.role} has no right to {right}")
    state: Any = request.app.state
    return Call(state.service, state.watch, caller, key)


Looking: TypeAlias = Annotated[Call, Depends(reads("look"))]
Auditing: TypeAlias = Annotated[Call, Depends(reads("audit"))]
Exporting: TypeAlias = Annotated[Call, Depends(reads("privacy"))]
Operating: TypeAlias = Annotated[Call, Depends(reads("operate"))]
Releasing: TypeAlias = Annotated[Call, Depends(reads("release"))]
Changing: TypeAlias = Annotated[Call, Depends(writes("release"))]
KeyKeeping: TypeAlias = Annotated[Call, Depends(reads("keys"))]
Teaching: TypeAlias = Annotated[Call, Depends(writes("teach"))]
Overriding: TypeAlias = Annotated[Call, Depends(writes("override"))]
Erasing: TypeAlias = Annotated[Call, Depends(writes("privacy"))]
