"""Keys of a tenant, kept by its admins. Whoever runs the service makes the first one, by `mccpo keys create`."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from mccpo.errors import InputError
from mccpo.serve.access.keys import MOST_CLASSES, TENANT_ROLES, Key, KeyFile
from mccpo.serve.access.security_log import record
from mccpo.serve.api.access import KeyKeeping
from mccpo.serve.api.answers import REFUSALS, answer
from mccpo.serve.api.forms import Form, Id, Label
from mccpo.serve.api.strict import StrictRoute
from mccpo.serve.problems import Missing, Unprocessable

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=StrictRoute, responses=REFUSALS)


class KeyForm(Form):
    """A key to be made; `classes` are those that a teacher may see, all by default."""

    role: str
    label: Annotated[str, Field(max_length=200)] = ""
    days: Annotated[float, Field(gt=0, le=36_500)] | None = None
    classes: Annotated[list[Label], Field(max_length=MOST_CLASSES)] | None = None


class KeyView(BaseModel):
    """A key without its secret; `used` is when it was last seen, to the minute or so."""

    id: str
    role: str
    label: str
    classes: list[str] | None
    created: str
    expires: str | None
    revoked: str | None
    used: str | None


class NewKey(KeyView):
    """A key with its secret, which is told this once."""

    key: str


class KeyList(BaseModel):
    """The keys of a tenant."""

    keys: list[KeyView]


@router.get("", response_model=KeyList)
async def listed(request: Request, call: KeyKeeping) -> Response:
    """The keys of the tenant, revoked ones too."""
    file = _file(request)
    used = file.used()
    return answer({"keys": [_view(key, used) for key in file.all() if key.tenant == call.tenant]})


@router.post("", response_model=NewKey, status_code=201)
async def create(form: KeyForm, request: Request, call: KeyKeeping) -> Response:
    """Makes a key of the own tenant: a role that reaches beyond it cannot be given here."""
    if form.role not in TENANT_ROLES:
        raise Unprocessable(f"there is no role {form.role!r} in a tenant; choose from {', '.join(TENANT_ROLES)}")
    try:
        made = await asyncio.to_thread(
            _file(request).create, call.tenant, form.role, form.label, form.days, form.classes
        )
    except InputError as error:
        raise Unprocessable(str(error)) from error
    key, text = made
    record("key created", call.caller, made=key.id, made_role=key.role)
    return answer({**_view(key, {}), "key": text}, 201)


@router.delete("/{id}", response_model=KeyView)
async def revoke(id: Id, request: Request, call: KeyKeeping) -> Response:
    """Ends a key of the own tenant, at once."""
    file = _file(request)
    if not any(key.id == id and key.tenant == call.tenant for key in file.all()):
        raise Missing(f"there is no key {id}")
    key = await asyncio.to_thread(file.revoke, id)
    record("key revoked", call.caller, revoked=key.id)
    return answer(_view(key, file.used()))


def _file(request: Request) -> KeyFile:
    keys: KeyFile | None = request.app.state.settings.asking
    if keys is None:
        raise Unprocessable("the service asks for no keys; `mccpo keys create` makes the first one")
    return keys


def _view(key: Key, used: dict[str, str]) -> dict[str, object]:
    told = {name: getattr(key, name) for name in ("id", "role", "label", "created", "expires", "revoked")}
    return {**told, "classes": None if key.classes is None else list(key.classes), "used": used.get(key.id)}
