"""`mccpo serve`: the decision service of a run's policy."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from mccpo.cli.commands.keys import KEYS
from mccpo.cli.commands.small_policy import train_small
from mccpo.cli.console.interrupt import ending
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note, number, parse_pairs
from mccpo.errors import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from mccpo.serve.access import KeyFile
    from mccpo.serve.api import Settings
    from mccpo.serve.policy import Deferral, Release
    from mccpo.serve.service import Service

DATABASE = "decisions.db"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The flags that say how learners are treated; each is a flag of the command."""

    ready: Annotated[
        float | None,
        Parameter(
            help="How likely a learner must be ready before the gate opens a concept; as in training by default."
        ),
    ] = None
    defer: Annotated[
        Literal["teacher", "probe"] | None,
        Parameter(
            help="What to do with choices that only just pass the gate: serve a safe one and ask a teacher, or serve "
            "what tells most about the prerequisites in doubt; they are served as they are by default."
        ),
    ] = None
    defer_below: Annotated[
        float | None,
        Parameter(help="With --defer, the chance of being ready below which a choice is deferred; 0.97 by default."),
    ] = None
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
    run: Annotated[Path | None, Parameter(help="The folder of a finished run of a neural learner.")] = None,
    /,
    *,
    demo: Annotated[
        bool,
        Parameter(negative="", help="Train a small policy first, and let simulated learners be taught by it."),
    ] = False,
    database: Annotated[
        str | None,
        Parameter(help="The record: a file, or sqlite:///FILE or postgresql://…; decisions.db in RUN by default."),
    ] = None,
    host: Annotated[str, Parameter(help="The address to listen on; without keys, one of the loopback.")] = "127.0.0.1",
    port: Annotated[WholeNumber, Parameter(help="The port to listen on; 0 for any that is free.")] = 8000,
    part: Annotated[str | None, Parameter(help="The part of the run, where it has several.")] = None,
    method: Annotated[str | None, Parameter(help="Whose policy; mc-cpo's, or that of the only method.")] = None,
    seed: Annotated[WholeNumber, Parameter(help="The policy of this seed, from 0 on.")] = 0,
    keys: Annotated[
        Path | None, Parameter(help=f"The file of keys, which must be there if it is named; {KEYS} by default.")
    ] = None,
    rate: Annotated[float, Parameter(help="Requests a second of one key, in the long run.")] = 2000.0,
    rules: Annotated[Rules, Parameter(name="*")] = Rules(),  # noqa: B008 - frozen
    json: JsonFlag = False,
) -> None:
    """Serve the decisions of a trained policy, each behind the gate and on record, until it is stopped.

    The API is under /v1, described by /openapi.json. Keys come from `mccpo keys create`; while there are none, only
    this machine is answered. --demo needs no run: it shows the service at work, with simulated learners.
    """
    check_installed()
    with _inputs(run, database, keys, demo=demo) as (folder, record, key_path):
        from mccpo.serve.access import KeyFile
        from mccpo.serve.api import create_app, listen
        from mccpo.serve.pages import add_pages
        from mccpo.serve.policy import load_release

        key_file = KeyFile(key_path)
        if keys is not None and key_file.asks and not len(key_file):
            raise InputError(
                f"all keys in {keys} are revoked, so that nobody would be answered", fix="make one: `mccpo keys create`"
            )
        _check_host(host, key_file)
        deferral = _deferral(rules)
        if rules.ready is not None:
            trained = load_release(folder, part=part, method=method, seed=seed).opening.confidence
            _check_ready(rules.ready, trained)
        release = load_release(folder, part=part, method=method, seed=seed, ready=rules.ready, deferral=deferral)
        service = _service(release, record, rules)
        app = create_app(service, _settings(key_file, rate, folder, rules, deferral))
        add_pages(app, key_file)
        with listen(host, port) as listener:
            address = listener.getsockname()
            where = f"http://{f'[{address[0]}]' if ':' in address[0] else address[0]}:{address[1]}"
            about = {
                "url": where,
                "release": release.version,
                "database": service.store.name,
                "keys": len(key_file),
            }

            def announce() -> None:
                live = service.release.version
                if live != release.version:
                    note(f"the release {live} goes on deciding, as before the restart; roll back, or load another")
                _announce(about | {"release": live}, folder, key_file, as_json=json)

            asyncio.run(_serve(app, service, listener, announce, demo=demo))


@contextmanager
def _inputs(
    run: Path | None, database: str | None, keys: Path | None, *, demo: bool
) -> Iterator[tuple[Path, str, Path]]:
    """The run, the database and the file of keys to serve with; those of a demonstration are removed with it."""
    if not demo and run is None:
        raise InputError("no run is named", fix="name the folder of one, or try --demo")
    if not demo and run is not None:
        yield run, database or str(run / DATABASE), _key_file(keys)
        return
    if run is not None or database is not None or keys is not None:
        raise InputError(
            "--demo trains a policy of its own, keeps its record for as long as it runs, and asks for no keys",
            fix="give it without a run, --database and --keys",
        )
    with (
        ending(signal.SIGTERM),
        tempfile.TemporaryDirectory(prefix="mccpo-demo-", ignore_cleanup_errors=True) as folder,
    ):
        note(
            "training a small policy first, which takes some ten seconds, or thirty the first time; Ctrl-C ends it all"
        )
        trained = train_small(Path(folder))
        yield trained, str(trained / DATABASE), Path(folder) / "keys.json"


def _key_file(keys: Path | None) -> Path:
    """The file of keys. A named file must exist: a mistyped name must not let everybody in."""
    if keys is not None and not keys.exists():
        raise InputError(
            f"--keys is {keys}, and there is no such file",
            fix="make it with `mccpo keys create`, or leave --keys out to answer this machine alone",
        )
    return keys or KEYS


async def _serve(app: FastAPI, service: Service, listener: socket.socket, announce: Any, *, demo: bool) -> None:
    from mccpo.serve.access import LOCAL
    from mccpo.serve.api import run_app
    from mccpo.serve.service import simulated_learners

    async with service:  # first, so that a database that cannot be opened is one line of ours
        announce()
        async with simulated_learners(service, LOCAL) if demo else nullcontext():
            await run_app(app, listener)


def _service(release: Release, database: str, rules: Rules) -> Service:
    from mccpo.serve.policy import Releases
    from mccpo.serve.record import Store
    from mccpo.serve.service import Service, Terms

    terms = Terms(
        session_seconds=_above_0("--session-minutes", rules.session_minutes) * 60,
        late_seconds=_above_0("--late-hours", rules.late_hours) * 3600,
        forgetting=_days("--forgetting-days", rules.forgetting_days),
        retention_seconds=_days("--retention-days", rules.retention_days),
    )
    return Service(Store(database), Releases(release), terms)


def _check_ready(ready: float, trained: float | None) -> None:
    """Refuses a chance that is none, and warns of a gate that is looser than in training."""
    if not 0 < ready < 1:
        raise InputError(f"--ready is {ready:g}", fix="give a chance strictly between 0 and 1, such as 0.99")
    if trained is not None and ready < trained:
        note(
            f"warning: the gate opens at {ready:g}, in training at {trained:g}: no certificate of the run is about that"
        )


def _deferral(rules: Rules) -> Deferral | None:
    from mccpo.serve.policy import Deferral

    if rules.defer is None and rules.defer_below is not None:
        raise InputError("--defer-below is given without --defer", fix="add --defer teacher or --defer probe")
    if rules.defer is None:
        return None
    return Deferral(rules.defer) if rules.defer_below is None else Deferral(rules.defer, rules.defer_below)


def _settings(keys: KeyFile, rate: float, run: Path, rules: Rules, deferral: Deferral | None) -> Settings:
    from mccpo.serve.api import Settings
    from mccpo.serve.monitor import BOUNDS

    bounds = parse_pairs(rules.bound or [], "--bound", number)
    if unknown := [name for name in bounds if name not in BOUNDS]:
        raise InputError(f"--bound has {unknown[0]!r}", fix=f"choose from {', '.join(BOUNDS)}")
    if negative := [name for name, bound in bounds.items() if bound < 0]:
        raise InputError(f"--bound has {negative[0]}={bounds[negative[0]]:g}", fix="give a bound of at least 0")
    rate = _above_0("--rate", rate)
    return Settings(
        keys=keys,
        rate=rate,
        burst=max(1, int(2 * rate)),
        runs=run.resolve().parent,
        ready=rules.ready,
        deferral=deferral,
        bounds={**BOUNDS, **bounds},
    )


def _announce(about: dict[str, Any], run: Path, keys: KeyFile, *, as_json: bool) -> None:
    if not keys.asks:
        note(f"no keys in {keys.path}: only this machine is answered (loopback), whoever asks, as an admin")
    elif not len(keys):
        note(f"all keys in {keys.path} are revoked: nobody is answered until `mccpo keys create` makes one")
    text = f"serving {run} (release {about['release']}) at {about['url']}; record: {about['database']}"
    emit(about, as_json=as_json, text=text)
    sys.stdout.flush()  # whoever started us may wait for it


def _check_host(host: str, keys: KeyFile) -> None:
    from mccpo.serve.access import is_loopback

    loopback = is_loopback(host)
    if not loopback and not len(keys):
        raise InputError(
            f"--host is {host} and {keys.path} has no keys, so that anybody could decide",
            fix="make some with `mccpo keys create`, or listen on 127.0.0.1",
        )
    if not loopback:
        note("keys travel as they are over plain HTTP: put a server with TLS before it")


def check_installed() -> None:
    """Refuses where what the service needs is not there."""
    for name in ("fastapi", "uvicorn", "sqlalchemy", "aiosqlite", "alembic", "prometheus_client", "jinja2"):
        if find_spec(name) is None:
            raise InputError(f"{name} is not installed", fix="install mccpo[serve]")


def _above_0(flag: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise InputError(f"{flag} is {value}", fix="give a number above 0")
    return value


def _days(flag: str, value: float | None) -> float | None:
    return None if value is None else _above_0(flag, value) * 86_400
