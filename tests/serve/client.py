"""A client of the service's application in this process, which several tests share."""

import asyncio
import re
from contextlib import contextmanager

import httpx

from mccpo.serve.api import Settings, create_app
from mccpo.serve.pages import add_pages
from mccpo.serve.policy import Releases
from mccpo.serve.record import Store
from mccpo.serve.service import Service

PROBLEM = "application/problem+json"


class Api:
    """A client of an application in this very process, whose calls wait for their answers."""

    def __init__(self, runner, app, **options):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=options.pop("client", ("127.0.0.1", 9)))
        self.runner, self.app = runner, app
        self.client = httpx.AsyncClient(transport=transport, base_url="http://localhost", **options)

    def __call__(self, method, path, **options):
        return self.runner.run(self.client.request(method, path, **options))

    def get(self, path, **options):
        return self("GET", path, **options)

    def post(self, path, body=None, **options):
        return self("POST", path, **({} if body is None else {"json": body}), **options)

    def at_once(self, *calls):
        """The answers to several calls that are under way at the same time."""

        async def all_of_them():
            return await asyncio.gather(*(self.client.request(*call[:2], **call[2]) for call in calls))

        return self.runner.run(all_of_them())

    def learner(self, name="Ana", **labels):
        return self.post("/v1/learners", {"name": name, "labels": labels}).json()["id"]

    def next(self, learner):
        answer = self.post(f"/v1/learners/{learner}/next")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def as_(self, key, **options):
        """The same application with a key."""
        return Api(self.runner, self.app, headers={"Authorization": f"Bearer {key}"}, **options)


@contextmanager
def serving(release, database, terms=None, **settings):
    """An application over a database, and a client of it."""
    with asyncio.Runner() as runner:
        service = runner.run(_made(Store(str(database)), Releases(release), terms))
        app = create_app(service, Settings(**{"keys": None} | settings))
        add_pages(app, settings.get("keys"))
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        try:
            yield Api(runner, app)
        finally:
            runner.run(lifespan.__aexit__(None, None, None))
            runner.run(service.__aexit__(None, None, None))


async def _made(store, releases, terms):
    return await Service(store, releases, terms).__aenter__()


def refused(answer, status, *words):
    """What a refusal says, which has the form that all refusals have."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    told = answer.json()
    assert told["status"] == status
    assert told["title"]
    assert told["type"] == "about:blank"
    for word in words:
        assert word in answer.text
    return told


def statement(success, name="Ana", id=None, **extensions):
    """A statement of a platform about an answer."""
    context = {"extensions": {f"urn:mccpo:{key}": value for key, value in extensions.items()}}
    return {
        **({} if id is None else {"id": id}),
        "actor": {"account": {"homePage": "https://school.example", "name": name}},
        "verb": {"id": "http://adlnet.gov/expapi/verbs/answered"},
        "object": {"id": "https://school.example/items/1"},
        "result": {"success": success, "duration": "PT12.5S"},
        "context": context,
    }


def mentions(text, word):
    """Whether a word stands in a text by itself: a part of a random token is no mention."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
