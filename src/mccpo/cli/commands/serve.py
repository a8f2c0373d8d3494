"""`mccpo serve`: the decision service of a run's policy."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from mccpo.cli.commands.keys import DATABASE
from mccpo.cli.commands.serving.policy import Rules, Served, above_0, served_policy, terms_of
from mccpo.cli.commands.serving.record import Anchoring, check_anchor_file, key_file_of, record_store
from mccpo.cli.commands.small_policy import train_small
from mccpo.cli.commands.tutor.serving import method_of, tutor_of_graph
from mccpo.cli.console.interrupt import ending
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note, number, parse_pairs
from mccpo.errors import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from mccpo.serve.access import KeyFile
    from mccpo.serve.api import Settings
    from mccpo.serve.policy import Release
    from mccpo.serve.record import Store
    from mccpo.serve.service import Service


def serve(
    run: Annotated[Path | None, Parameter(help="The folder of a finished run of a neural learner.")] = None,
    /,
    *,
    graph: Annotated[
        Path | None,
        Parameter(help="A prerequisite graph to make a tutor of first, as `mccpo tutor` does, instead of a run."),
    ] = None,
    out: Annotated[
        Path | None, Parameter(help="With --graph, the folder of its run; beside the graph by default.")
    ] = None,
    demo: Annotated[
        bool,
        Parameter(negative="", help="Train a small policy first, and let simulated learners be taught by it."),
    ] = False,
    database: Annotated[
        str | None,
        Parameter(help="The record: a file, or sqlite:///FILE or postgresql://…; decisions.db in RUN by default."),
    ] = None,
    host: Annotated[
        str, Parameter(help="The address to listen on; with --no-keys, one of the loopback.")
    ] = "127.0.0.1",
    port: Annotated[WholeNumber, Parameter(help="The port to listen on; 0 for any that is free.")] = 8000,
    part: Annotated[str | None, Parameter(help="The part of the run, where it has several.")] = None,
    method: Annotated[str | None, Parameter(help="Whose policy; mc-cpo's, or that of the only method.")] = None,
    seed: Annotated[WholeNumber, Parameter(help="The policy of this seed, from 0 on.")] = 0,
    keys: Annotated[
        Path | None, Parameter(help="The file of keys; by default the one beside the record, if that is a file.")
    ] = None,
    keyring: Annotated[
        Path | None,
        Parameter(
            help="The file with the keys that learners' names are sealed with; beside the record by default, or beside "
            "--keys if the record is no file."
        ),
    ] = None,
    no_keys: Annotated[
        bool, Parameter(negative="", help="Ask for no keys: let this machine do everything, and nobody else anything.")
    ] = False,
    rate: Annotated[float, Parameter(help="Requests a second of one key, in the long run.")] = 2000.0,
    log_format: Annotated[
        Literal["text", "json"], Parameter(help="How lines of the log are written to stderr.")
    ] = "text",
    drain_seconds: Annotated[
        float, Parameter(help="How many seconds to go on after SIGTERM, while /readyz says that it is about to stop.")
    ] = 3.0,
    rules: Annotated[Rules, Parameter(name="*")] = Rules(),  # noqa: B008 - frozen
    anchoring: Annotated[Anchoring, Parameter(name="*")] = Anchoring(),  # noqa: B008 - frozen
    json: JsonFlag = False,
) -> None:
    """Serve the decisions of a trained policy, each behind the gate and on record, until it is stopped.

    The API is under /v1, described by /openapi.json. Every request needs a key of `mccpo keys create`, unless --no-keys
    is given. --demo needs no run and no keys: it shows the service at work, with simulated learners.
    """
    check_installed()
    _one_thread_a_product()
    run = _made(run, graph, out, demo=demo, keyed=no_keys or keys is not None)
    with _inputs(run, database, keys, demo=demo) as (folder, record):
        from mccpo.serve.access import write_logs
        from mccpo.serve.api import create_app, listen, run_loop
        from mccpo.serve.pages import add_pages
        from mccpo.serve.policy import gate_text

        # The run first: whoever lacks one needs no keys yet.
        served = served_policy(folder, rules, part=part, method=method or method_of(folder), seed=seed)
        key_file = key_file_of(folder, record, keys, no_keys=no_keys or demo)
        _check_host(host, key_file)
        service = _service(served.release, record_store(record, keyring, key_file.path), rules)
        app = create_app(service, _settings(key_file, rate, folder, rules, served, anchoring))
        add_pages(app, key_file)
        with listen(host, port) as listener:
            address = listener.getsockname()
            where = f"http://{f'[{address[0]}]' if ':' in address[0] else address[0]}:{address[1]}"
            about = {
                "url": where,
                "release": served.release.version,
                "database": service.store.name,
                "keys": len(key_file),
            }

            def announce() -> None:
                write_logs(log_format)
                live = service.release
                if live.version != served.release.version:
                    note(f"the release {live.version} goes on deciding, as before the restart, by {gate_text(live)}")
                gate = {"theta": live.theta, "confidence": live.opening.confidence}
                _announce(about | {"release": live.version, **gate}, folder, key_file, as_json=json)

            drain = 0.0 if demo else drain_seconds
            run_loop(_serve(app, service, listener, announce, drain, no_keys=not key_file.asks, demo=demo))


def _one_thread_a_product() -> None:
    """NumPy's products by one thread, unless the operator says otherwise: NumPy reads this when it is imported.

    A decision's products are small. Threads that share them wait for each other, on a busy machine for tens of ms.
    """
    for library in ("OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def _made(run: Path | None, graph: Path | None, out: Path | None, *, demo: bool, keyed: bool) -> Path | None:
    """The run that is named, or that of a tutor that is made of a graph."""
    if graph is None:
        if out is not None:
            raise InputError("--out is given without --graph", fix="name the run to serve, or add --graph")
        return run
    if run is not None or demo:
        raise InputError("--graph makes a run of its own", fix="give it without a run and --demo")
    if not graph.is_file():
        raise InputError(f"there is no file {graph}", fix="name a prerequisite graph: JSON, CSV, TSV or GraphML")
    return tutor_of_graph(graph, out, keyed=keyed)


@contextmanager
def _inputs(run: Path | None, database: str | None, keys: Path | None, *, demo: bool) -> Iterator[tuple[Path, str]]:
    """The run and the database to serve with; those of a demonstration are removed with it."""
    if not demo and run is None:
        raise InputError("no run is named", fix="name the folder of one, or try --demo")
    if not demo and run is not None:
        if not run.is_dir():
            raise InputError(f"there is no run {run}", fix="name the folder of a finished run, or try --demo")
        yield run, database or str(run / DATABASE)
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
        yield trained, str(trained / DATABASE)


async def _serve(
    app: FastAPI, service: Service, listener: socket.socket, announce: Any, drain: float, *, no_keys: bool, demo: bool
) -> None:
    from mccpo.serve.access import LOCAL
    from mccpo.serve.api import run_app
    from mccpo.serve.service import simulated_learners

    async with service:  # first, so that a database that cannot be opened is one line of ours
        if no_keys and await service.names_keys():
            raise InputError(
                f"the record {service.store.name} was written with keys, and is not served without them",
                fix="leave --no-keys out, and name the file of keys with --keys",
            )
        announce()
        async with simulated_learners(service, LOCAL) if demo else nullcontext():
            begin_drain = partial(setattr, app.state, "draining", True)
            await run_app(app, listener, drain_seconds=drain, drain=begin_drain)


def _service(release: Release, store: Store, rules: Rules) -> Service:
    from mccpo.serve.policy import Releases
    from mccpo.serve.service import Service

    return Service(store, Releases(release), terms_of(rules), lower_gate=rules.lower_gate)


def _settings(keys: KeyFile, rate: float, run: Path, rules: Rules, served: Served, anchoring: Anchoring) -> Settings:
    from mccpo.serve.api import Settings
    from mccpo.serve.monitor import BOUNDS
    from mccpo.serve.record import Signer

    bounds = parse_pairs(rules.bound or [], "--bound", number)
    if unknown := [name for name in bounds if name not in BOUNDS]:
        raise InputError(f"--bound has {unknown[0]!r}", fix=f"choose from {', '.join(BOUNDS)}")
    if negative := [name for name, bound in bounds.items() if bound < 0]:
        raise InputError(f"--bound has {negative[0]}={bounds[negative[0]]:g}", fix="give a bound of at least 0")
    rate = above_0("--rate", rate)
    return Settings(
        keys=keys,
        rate=rate,
        burst=max(1, int(2 * rate)),
        runs=run.resolve().parent,
        ready=served.ready,
        deferral=served.deferral,
        anchor_seconds=above_0("--anchor-every", anchoring.anchor_every),
        anchor_file=check_anchor_file(anchoring.anchor_file),
        signer=None if anchoring.sign is None else Signer.read(anchoring.sign),
        bounds={**BOUNDS, **bounds},
    )


def _announce(about: dict[str, Any], run: Path, keys: KeyFile, *, as_json: bool) -> None:
    if not keys.asks:
        note("no keys are asked for: only this machine is answered (loopback), and any program on it may do everything")
    text = f"serving {run} (release {about['release']}) at {about['url']}; record: {about['database']}"
    emit(about, as_json=as_json, text=text)
    sys.stdout.flush()  # whoever started us may wait for it


def _check_host(host: str, keys: KeyFile) -> None:
    from mccpo.serve.access import is_loopback

    loopback = is_loopback(host)
    if not loopback and not keys.asks:
        raise InputError(
            f"--host is {host} and no keys are asked for, so that anybody could decide",
            fix="leave --no-keys out, or listen on 127.0.0.1",
        )
    if not loopback:
        note("keys travel as they are over plain HTTP: put a server with TLS before it")


def check_installed() -> None:
    """Refuses where what the service needs is not there."""
    for name in (
        "fastapi",
        "uvicorn",
        "sqlalchemy",
        "aiosqlite",
        "alembic",
        "prometheus_client",
        "jinja2",
        "cryptography",
        "httptools",
        "uvloop",
    ):
        if find_spec(name) is None:
            raise InputError(f"{name} is not installed", fix="install mccpo[serve]")
