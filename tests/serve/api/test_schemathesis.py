"""The API against its own document: whatever is sent, in the form that is asked for or not, it never fails itself."""

import asyncio
import threading
import time
from collections import Counter
from contextlib import suppress

import httpx
import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from mccpo.env import make
from mccpo.serve.access import KeyFile
from mccpo.serve.api import Settings, create_app
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.record import Store
from mccpo.serve.service import Service

EXAMPLES = 6 if settings.default.derandomize else 12
"""Of each route, in each of the two ways."""
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


class Server(threading.Thread):
    """A service that listens on a port of its own, in a thread of its own."""

    def __init__(self, release, folder, runs):
        super().__init__(daemon=True)
        self.release, self.folder, self.runs = release, folder, runs
        self.keys = KeyFile(folder / "keys.json")
        self.headers, self.operator, self.publisher = (
            {"Authorization": f"Bearer {self.keys.create('school', role)[1]}"}
            for role in ("admin", "operator", "publisher")
        )
        self.server = None

    def run(self):
        asyncio.run(self._serve())

    async def _serve(self):
        async with Service(Store(str(self.folder / "record.db")), Releases(self.release)) as service:
            unlimited = {"rate": 1e6, "burst": 10**6, "open_rate": 1e6, "failed_rate": 1e6}
            app = create_app(service, Settings(keys=self.keys, runs=self.runs, **unlimited))
            self.server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical"))
            await self.server.serve()

    @property
    def url(self):
        while self.server is None or not self.server.started:
            time.sleep(0.02)
            assert self.is_alive()
        return f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"


@pytest.fixture(scope="module")
def server(run_of, tmp_path_factory):
    run = run_of(make("tutor-15", concepts=6, horizon=20))
    server = Server(load_release(run), tmp_path_factory.mktemp("record"), run.parent)
    server.start()
    yield server
    server.server.should_exit = True
    server.join(20)
    assert not server.is_alive()


@pytest.fixture(scope="module")
def known(server):
    """Ids that are there, by the name that paths give them; ids drawn at random would never meet anything."""
    with httpx.Client(base_url=server.url, headers=server.headers) as client:
        learner = client.post("/v1/learners", json={"name": "Ana"}).json()["id"]
        decision = client.post(f"/v1/learners/{learner}/next").json()
    return {"learner": learner, "session": decision["session"], "decision": decision["id"]}


def try_out(server, mode, prepare=lambda case: case):
    """Sends examples to every route, and returns how many there were of each kind of answer."""
    statuses = Counter()
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def sent(case):
            beyond = {"/v1/releases": server.publisher, "/metrics": server.operator}
            headers = next((key for path, key in beyond.items() if case.path.startswith(path)), server.headers)
            answer = prepare(case).call(headers=headers)
            statuses[answer.status_code] += 1
            case.validate_response(answer, checks=CHECKS)

        with suppress(Unsatisfiable):  # a route that nothing wrong can be sent to
            sent()
    return statuses


def test_valid_requests_are_answered_as_the_document_says(server, known):
    def meeting_something(case):
        if case.method != "DELETE":
            case.path_parameters.update({name: id for name, id in known.items() if name in case.path_parameters})
        return case

    statuses = try_out(server, GenerationMode.POSITIVE, meeting_something)
    assert statuses[200] + statuses[201] > statuses.total() / 2
    assert set(statuses) <= {200, 201, 404, 409, 410, 422}


def test_invalid_requests_are_refused_as_the_document_says(server):
    statuses = try_out(server, GenerationMode.NEGATIVE)
    assert statuses[422] > statuses.total() / 3  # there are routes to which nothing wrong can be said
    assert set(statuses) <= {200, 201, 401, 404, 410, 422}
