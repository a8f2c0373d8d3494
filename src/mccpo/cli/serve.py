"""`mccpo serve`: the decision service of a run's policy."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mccpo.cli.keys import KEYS, KeysFlag
from mccpo.cli.output import JsonFlag, WholeNumber, emit, note, number, parse_pairs
from mccpo.errors import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from mccpo.serve.keys import KeyFile
    from mccpo.serve.release import Release
    from mccpo.serve.service import Service
    from mccpo.serve.settings import Settings

DATABASE = "decisions.db"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The flags that say how learners are treated; each is a flag of the command."""

    session_minutes: Annotated[float, Parameter(help="Without a request for so long, a session is over.")] = 30.0
    late_hours: Annotated[
        float, Parameter(help="An outcome later than that goes on record, and does not change mastery.")
    ] = 24.0
    forgetting_days: Annotated[
        float | None, Parameter(help="The half-life of mastery between sessions; nothing is forgotten by default.")
    ] = None
    retention_days: Annotated[
        float | None, Parameter(help="Who was not heard of for so long is erased; nobody is by default.")
    ] = None
    bound: Annotated[
        list[str] | None,
        Parameter(negative="", help="How far groups may lie apart before there is an alarm: restriction_rate=0.1."),
    ] = None


def serve(
    run: Annotated[Path, Parameter(help="The folder of a finished run of a neural learner.")],
    /,
    *,
    database: Annotated[
        str | None,
        Parameter(help="The record: a file, or sqlite:///FILE or postgresql://…; decisions.db in RUN by default."),
    ] = None,
    host: Annotated[str, Parameter(help="The address to listen on; without keys, one of the loopback.")] = "127.0.0.1",
    port: Annotated[WholeNumber, Parameter(help="The port to listen on; 0 for any that is free.")] = 8000,
    part: Annotated[str | None, Parameter(help="The part of the run, where it has several.")] = None,
    method: Annotated[str, Parameter(help="Whose policy.")] = "mc-cpo",
    seed: Annotated[WholeNumber, Parameter(help="The policy of this seed, from 0 on.")] = 0,
    keys: KeysFlag = KEYS,
    rate: Annotated[float, Parameter(help="Requests a second of one key, in the long run.")] = 2000.0,
    rules: Annotated[Rules, Parameter(name="*")] = Rules(),  # noqa: B008 - frozen
    json: JsonFlag = False,
) -> None:
    """Serve the decisions of a trained policy, each behind the gate and on record, until it is stopped.

    The API is under /v1, described by /openapi.json. Keys come from `mccpo keys create`; while there are none, only
    this machine is answered.
    """
    _check_installed()
    from mccpo.serve.app import create_app
    from mccpo.serve.keys import KeyFile
    from mccpo.serve.release import load_release

    kept = KeyFile(keys)
    _check_host(host, kept)
    release = load_release(run, part=part, method=method, seed=seed)
    service = _service(release, database or str(run / DATABASE), rules)
    app = create_app(service, _settings(kept, rate, run, rules))
    with _listening(host, port) as listener:
        address = listener.getsockname()
        where = f"http://{f'[{address[0]}]' if ':' in address[0] else address[0]}:{address[1]}"
        told = {"url": where, "release": release.version, "database": service.store.name, "keys": len(kept)}
        asyncio.run(_serve(app, service, listener, lambda: _announce(told, run, kept, as_json=json)))


async def _serve(app: FastAPI, service: Service, listener: socket.socket, announce: Any) -> None:
    import uvicorn

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=10
    )
    async with service:  # first, so that what cannot be opened is told in a line of ours
        announce()
        await uvicorn.Server(config).serve(sockets=[listener])


def _service(release: Release, database: str, rules: Rules) -> Service:
    from mccpo.serve.desk import Terms
    from mccpo.serve.releases import Releases
    from mccpo.serve.service import Service
    from mccpo.serve.store import Store

    terms = Terms(
        session_seconds=_above_0("--session-minutes", rules.session_minutes) * 60,
        late_seconds=_above_0("--late-hours", rules.late_hours) * 3600,
        forgetting=_days("--forgetting-days", rules.forgetting_days),
        retention_seconds=_days("--retention-days", rules.retention_days),
    )
    return Service(Store(database), Releases(release), terms)


def _settings(kept: KeyFile, rate: float, run: Path, rules: Rules) -> Settings:
    from mccpo.serve.monitor import BOUNDS
    from mccpo.serve.settings import Settings

    bounds = parse_pairs(rules.bound or [], "--bound", number)
    if unknown := [name for name in bounds if name not in BOUNDS]:
        raise InputError(f"--bound has {unknown[0]!r}", fix=f"choose from {', '.join(BOUNDS)}")
    rate = _above_0("--rate", rate)
    return Settings(
        keys=kept if len(kept) else None,
        rate=rate,
        burst=max(1, int(2 * rate)),
        runs=run.resolve().parent,
        bounds={**BOUNDS, **bounds},
    )


def _announce(told: dict[str, Any], run: Path, kept: KeyFile, *, as_json: bool) -> None:
    if not len(kept):
        note(f"no keys in {kept.path}: only this machine is answered (loopback), whoever asks, as an admin")
    text = f"serving {run} (release {told['release']}) at {told['url']}; record: {told['database']}"
    emit(told, as_json=as_json, text=text)
    sys.stdout.flush()  # whoever started us may wait for it


def _listening(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65_535:
        raise InputError(f"--port is {port}", fix="give one from 0 to 65535")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(f"cannot listen on {host}:{port}: {error}", fix="choose another --host or --port") from error


def _check_host(host: str, kept: KeyFile) -> None:
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False  # a name, which may be anybody's
    if not loopback and not len(kept):
        raise InputError(
            f"--host is {host} and {kept.path} has no keys, so that anybody could decide",
            fix="make some with `mccpo keys create`, or listen on 127.0.0.1",
        )
    if not loopback:
        note("keys travel as they are over plain HTTP: put a server with TLS before it")


def _check_installed() -> None:
    for name in ("fastapi", "uvicorn", "sqlalchemy", "aiosqlite", "alembic", "prometheus_client"):
        if find_spec(name) is None:
            raise InputError(f"{name} is not installed", fix="install mccpo[serve]")


def _above_0(flag: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise InputError(f"{flag} is {value}", fix="give a number above 0")
    return value


def _days(flag: str, value: float | None) -> float | None:
    return None if value is None else _above_0(flag, value) * 86_400
