"""What the service is compared with: the same server and database, and a plain route that inserts one row durably.

`/row` commits every row on its own, as a plain route does. `/grouped` lets waiting rows share a commit, as the service
does: it shows what everything else of the service costs. Run as `python -m mccpo.bench.serve.bare URL`; it prints its
address.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import Boolean, Column, Integer, MetaData, String, Table, insert
from sqlalchemy.ext.asyncio import AsyncEngine

from mccpo.bench.serve.client import HOST
from mccpo.serve.api import listen, run_app, run_loop
from mccpo.serve.record import engine_of, parse_url
from mccpo.serve.service import background

METADATA = MetaData()
ROW = Table(
    "bare_row",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("learner", String(64), nullable=False),
    Column("correct", Boolean, nullable=False),
)


class Row(BaseModel):
    """What is sent."""

    learner: str
    correct: bool


class Inserted(BaseModel):
    """What is answered."""

    learner: str
    correct: bool
    durable: bool = True


def create_bare(engine: AsyncEngine) -> FastAPI:
    """The application over a database."""
    waiting: list[tuple[dict[str, Any], asyncio.Future[None]]] = []
    wake = asyncio.Event()

    async def write(stop: asyncio.Event) -> None:
        while not stop.is_set():
            await wake.wait()
            wake.clear()
            batch = waiting.copy()
            waiting.clear()
            async with engine.begin() as connection:
                await connection.execute(insert(ROW), [row for row, _ in batch])
            for _, done in batch:
                done.set_result(None)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with engine.begin() as connection:
            await connection.run_sync(METADATA.create_all)
        async with background(write):
            yield
        await engine.dispose()

    app = FastAPI(lifespan=lifespan)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/row")
    async def row(row: Row) -> Inserted:
        async with engine.begin() as connection:
            await connection.execute(insert(ROW).values(row.model_dump()))
        return Inserted(learner=row.learner, correct=row.correct)

    @app.post("/grouped")
    async def grouped(row: Row) -> Inserted:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append((row.model_dump(), done))
        wake.set()
        await done
        return Inserted(learner=row.learner, correct=row.correct)

    return app


async def _serve(url: str) -> None:
    address = parse_url(url)
    # SQLite has one writer: more connections would only wait for each other's lock, by sleeping.
    engine = engine_of(address, 1 if address.get_backend_name() == "sqlite" else 16)
    with listen(HOST, 0) as listener:
        sys.stdout.write(f"http://{HOST}:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        await run_app(create_bare(engine), listener)


if __name__ == "__main__":
    run_loop(_serve(sys.argv[1]))
