"""The processes that are measured: a server, and a database for it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.engine import make_url

from mccpo.bench.serve.client import HOST, Connection
from mccpo.errors import MccpoError

POSTGRES = "MCCPO_TEST_POSTGRES"
"""The variable that names a PostgreSQL server in which databases may be made."""
_PATIENCE = 60.0


class Server(NamedTuple):
    """A server that runs; `start_seconds` is the time from its start to its first answer."""

    process: subprocess.Popen[str]
    port: int
    start_seconds: float

    @property
    def cpu_seconds(self) -> float:
        """The time for which it has used a processor; 0 where the system does not tell."""
        times = Path(f"/proc/{self.process.pid}/stat")
        if not times.exists():
            return 0.0
        user, system = times.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    @property
    def peak_bytes(self) -> int:
        """The most memory that it has held so far; where the system does not tell, what it holds now."""
        status = Path(f"/proc/{self.process.pid}/status")
        if status.exists():
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            return int(lines["VmHWM"].split()[0]) * 1024
        shown = subprocess.run(["ps", "-o", "rss=", "-p", str(self.process.pid)], capture_output=True, check=True)
        return int(shown.stdout) * 1024


def service_of(run: Path, url: str, *flags: str, source: Path | None = None) -> AbstractContextManager[Server]:
    """`mccpo serve` without keys, and with a rate that is not what is measured.

    With `source` it is that of another checkout, which may be older than the flag --no-keys.
    """
    words = ("-m", "mccpo", "serve", str(run), "--database", url, "--port", "0", "--rate", "1e6", *flags)
    path = None if source is None else str(source / "src")
    older = source is not None and "no_keys" not in (source / "src/mccpo/cli/commands/serve.py").read_text()
    return serving(*words, *(() if older else ("--no-keys",)), ready="/readyz", path=path)


@contextmanager
def serving(*arguments: str, ready: str, path: str | None = None) -> Iterator[Server]:
    """Runs Python with these arguments as long as the block: a server that prints its address in its first line.

    With `path` it imports from there first.
    """
    began = time.perf_counter()
    environment = os.environ if path is None else {**os.environ, "PYTHONPATH": path}
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(
            [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=said, text=True, env=environment
        ) as process,
    ):
        try:
            assert process.stdout is not None
            address = re.search(rf"http://{re.escape(HOST)}:(\d+)", process.stdout.readline())
            if address is None:
                process.wait(_PATIENCE)
                said.seek(0)
                raise MccpoError(f"the server did not start: {said.read().strip() or 'it said nothing'}")
            port = int(address[1])
            yield Server(process, port, asyncio.run(_answers(port, ready, began)))
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


async def _answers(port: int, path: str, began: float) -> float:
    """Seconds from `began` until a path answers that all is well."""
    while time.perf_counter() - began < _PATIENCE:
        with suppress(OSError):  # it does not listen yet
            async with Connection(port) as connection:
                if (await connection.request("GET", path)).status == HTTPStatus.OK:
                    return time.perf_counter() - began
        await asyncio.sleep(0.01)
    raise MccpoError(f"the server did not answer {path} within {_PATIENCE:.0f} s")


@contextmanager
def postgres() -> Iterator[str | None]:
    """A PostgreSQL server: the one that the variable names, or one of our own as long as the block; None without."""
    if find_spec("psycopg") is None:
        yield None
        return
    if named := os.environ.get(POSTGRES):
        yield named
        return
    programs = _programs()
    if programs is None:
        yield None
        return
    # The server refuses to run as root: it then runs as its own user, where there is one.
    user = "postgres" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="mccpo-pg-") as folder:
        data = Path(folder) / "data"
        try:
            if user is not None:
                shutil.chown(folder, user)
            _call(user, programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust")
            options = f"-c listen_addresses='' -k {folder}"
            _call(user, programs / "pg_ctl", "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
        except (OSError, LookupError, subprocess.SubprocessError):
            yield None
            return
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            _call(user, programs / "pg_ctl", "-D", data, "-m", "fast", "-w", "stop")


@contextmanager
def database_in(server: str) -> Iterator[str]:
    """The URL of a new database in a PostgreSQL server, which is gone after the block."""
    import psycopg  # noqa: PLC0415 - an extra of its own

    name = f"mccpo_bench_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _programs() -> Path | None:
    """The folder of PostgreSQL's programs, which distributions keep off the path."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return installed[-1].parent if installed else None


def _call(user: str | None, *words: str | Path) -> None:
    command = [str(word) for word in words]
    # What pg_ctl starts keeps what it was given to write to: a pipe would never end.
    subprocess.run(
        command, user=user, cwd="/", check=True, timeout=_PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
