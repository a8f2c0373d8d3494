"""A real browser and a real service: Chromium where there is one, and `mccpo serve` on a port that is free."""

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.forked import forked

from mccpo.curriculum import Curriculum
from mccpo.env import make
from mccpo.serve.access import KeyFile

from ..serve.conftest import run_of as run_of  # noqa: TID252 - the same runs are served

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DESK, PHONE = (1280, 900), (390, 844)

WAITING = 30_000
"""Milliseconds that a page has for what is asked of it: a busy machine is slow; only what never comes is a fault."""
expect.set_options(timeout=WAITING)


# Of the module, not of the session: while playwright runs, no other test in this process can run an event loop.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, or the one that `MCCPO_CHROMIUM` names."""
    path = os.environ.get("MCCPO_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium here; install one, or set MCCPO_CHROMIUM to it")
    with sync_playwright() as playwright:
        # Chromium refuses to run as root inside its sandbox, and containers have no room for its shared memory.
        flags = ["--disable-dev-shm-usage"] + (["--no-sandbox"] if os.geteuid() == 0 else [])
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def run(run_of: Callable[..., Path]) -> Path:
    return run_of(make("tutor-15", concepts=6, horizon=20))


@pytest.fixture(scope="session")
def run_of_many(run_of: Callable[..., Path]) -> Path:
    """A run over 300 concepts: a graph drawn at random, in which each needs one to three of the forty before it."""
    draw = random.Random(1)
    edges = {
        (f"c{draw.randrange(max(0, at - 40), at)}", f"c{at}")
        for at in range(10, 300)
        for _ in range(draw.randint(1, 3))
    }
    first = {(f"c{at}", f"c{at + 40}") for at in range(10)}  # none of the first ten is left out
    return run_of(make("tutor-15", curriculum=Curriculum.from_edges(sorted(edges | first)), horizon=20))


@contextmanager
def serving(run: Path, folder: Path, *roles: str) -> Iterator[SimpleNamespace]:
    """A service with a key for each role; with none, everybody on this machine is an admin."""
    keys = KeyFile(folder / "keys.json")
    texts = {role: keys.create("north", role)[1] for role in roles}
    flags = [
        "--port",
        "0",
        "--database",
        str(folder / "record.db"),
        *(["--keys", str(keys.path)] if roles else ["--no-keys"]),
    ]
    with forked("serve", run, *flags, folder=folder) as service:
        line = service.out.readline()
        assert line, service.told()
        url = re.search(r"http://[^;]+", line)[0]  # type: ignore[index]
        headers = {"Authorization": f"Bearer {texts['admin']}"} if texts else {}
        with httpx.Client(base_url=url, headers=headers) as api:
            yield SimpleNamespace(url=url, keys=texts, api=Platform(api))


class Platform:
    """What a tutoring platform does by the API while somebody looks at the pages."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def _post(self, path: str, body: Any = None) -> Any:
        answer = self.client.post(path, json=body)
        answer.raise_for_status()
        return answer.json()

    def learner(self, name: str, **labels: str) -> str:
        return self._post("/v1/learners", {"name": name, "labels": labels})["id"]

    def next(self, learner: str) -> dict[str, Any]:
        return self._post(f"/v1/learners/{learner}/next")

    def answer(self, decision: str, correct: bool = True) -> dict[str, Any]:
        return self._post(f"/v1/decisions/{decision}/outcome", {"correct": correct})

    def decisions(self, learner: str) -> list[dict[str, Any]]:
        return self.client.get("/v1/decisions", params={"learner": learner}).json()["decisions"]


@pytest.fixture(scope="session")
def open_service(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A service without keys."""
    with serving(run, tmp_path_factory.mktemp("open")) as found:
        yield found


@pytest.fixture(scope="session")
def many_service(run_of_many: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A service of hundreds of concepts."""
    with serving(run_of_many, tmp_path_factory.mktemp("many")) as found:
        yield found


@pytest.fixture(scope="session")
def keyed_service(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    with serving(run, tmp_path_factory.mktemp("keyed"), "client", "teacher", "auditor", "admin") as found:
        yield found


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


@pytest.fixture
def page(chromium: Browser, size: tuple[int, int]) -> Iterator[Page]:
    """A page of a fresh browser; nothing that it meets on its way may be an error, a dialog or a call elsewhere."""
    wide, high = size
    phone = size == PHONE
    context = chromium.new_context(viewport={"width": wide, "height": high}, has_touch=phone, is_mobile=phone)
    found = context.new_page()
    found.set_default_timeout(WAITING)
    faults: list[str] = []
    hosts: set[str] = set()
    context.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    found.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    found.expected = []  # type: ignore[attr-defined]
    yield found
    context.close()
    assert len(hosts) <= 1, hosts
    unexpected = [fault for fault in faults if not any(word in fault for word in found.expected)]  # type: ignore[attr-defined]
    assert not unexpected, unexpected


# Where a page is seen on a phone matters to how it is laid out; the rest is the same page.
LAID_OUT = ("fits", "phone", "override", "print")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves what does not depend on the size of the screen to `make test-all`, on the phone."""
    for item in items:
        on_phone = "browser" in item.nodeid and item.nodeid.endswith("[phone]")
        if on_phone and not any(word in item.name.removesuffix("[phone]") for word in LAID_OUT):
            item.add_marker(pytest.mark.slow)
