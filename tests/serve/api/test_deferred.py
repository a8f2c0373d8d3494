"""Deferred choices wait for a teacher: in the API, on the pages, in the monitor; and the record of them holds."""

import asyncio
import json
from html import unescape

import pytest

from mccpo.serve.access import KeyFile
from mccpo.serve.policy import Deferral, load_release
from mccpo.serve.record import Store, verify

from ..client import refused, serving  # noqa: TID252 - shared by the folders of these tests


def deferring(runs, to):
    folder, names = runs
    return load_release(folder / names["first"], deferral=Deferral(to))


def taught_until(api, learner, by, most=300):
    """Lets a learner answer until a decision is by whom we wait for; by some wrong answers, doubt comes again."""
    for lesson in range(most):
        decision = api.next(learner)
        if decision["by"] == by:
            return decision
        api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": lesson % 4 < 3})
    raise AssertionError(f"nothing was chosen by {by!r}")


def waiting(api, **query):
    return api.get("/v1/decisions/deferred", params=query).json()


def verdict(path):
    async def found():
        store = Store(str(path))
        await store.open(create=False)
        try:
            return await verify(store)
        finally:
            await store.close()

    return asyncio.run(found())


def test_a_deferred_choice_waits_until_a_teacher_or_the_learner_settles_it(runs, tmp_path):
    with serving(deferring(runs, "teacher"), tmp_path / "record.db") as api:
        assert waiting(api) == {"decisions": [], "next": None}
        ana, bob = api.learner("Ana"), api.learner("<b>Bob</b>")
        first, second = taught_until(api, ana, "deferred"), taught_until(api, bob, "deferred")
        wanted = first["certificate"]["wanted"]
        assert wanted["chance"] < first["certificate"]["bound"] == 0.97 <= first["certificate"]["chance"]
        assert first["reason"] == "below the bound"
        listed = waiting(api)["decisions"]
        assert [one["id"] for one in listed] == [first["id"], second["id"]]
        assert waiting(api, limit=1)["next"] == first["number"]
        assert [one["id"] for one in waiting(api, after=first["number"])["decisions"]] == [second["id"]]
        assert api.next(ana)["again"] is True

        page = api.get("/pages/learners").text
        assert f"/pages/learners/{ana}#override" in page
        assert "Waiting for a teacher (2)" in page
        assert "<b>Bob</b>" not in page
        assert wanted["concept"] in unescape(api.get(f"/pages/decisions/{first['id']}").text)
        assert "while a teacher is asked" in api.get(f"/pages/learners/{ana}").text

        given = {"concept": wanted["concept"], "reason": "she knows it", "teacher": "Ms Li"}
        taken = api.post(f"/v1/learners/{ana}/overrides", given).json()
        assert (taken["by"], taken["supersedes"], taken["concept"]) == ("teacher", first["id"], wanted["concept"])
        assert [one["id"] for one in waiting(api)["decisions"]] == [second["id"]]
        api.post(f"/v1/decisions/{second['id']}/outcome", {"correct": True})
        assert waiting(api)["decisions"] == []
        assert "Waiting for a teacher" not in api.get("/pages/learners").text
    assert verdict(tmp_path / "record.db").wrong is None


def test_the_list_on_the_page_is_sent_only_when_it_has_changed(runs, tmp_path):
    with serving(deferring(runs, "teacher"), tmp_path / "record.db") as api:
        address = "/pages/learners/deferred"
        assert api.get(address, params={"seen": "0-0"}).status_code == 204
        number = taught_until(api, api.learner(), "deferred")["number"]
        assert f"seen=1-{number}" in api.get(address, params={"seen": "0-0"}).text
        assert api.get(address, params={"seen": f"1-{number}"}).status_code == 204


def test_a_probe_is_served_and_nobody_is_asked(runs, tmp_path):
    with serving(deferring(runs, "probe"), tmp_path / "record.db") as api:
        decision = taught_until(api, api.learner(), "probe")
        assert waiting(api)["decisions"] == []
        certificate = decision["certificate"]
        assert certificate["chance"] >= 0.97 > certificate["wanted"]["chance"]
        assert certificate["wanted"]["concept"] in api.get(f"/pages/decisions/{decision['id']}").text
        assert "find out what the learner knows" in api.get(f"/pages/learners/{decision['learner']}").text
        line = json.loads(api.get("/v1/decisions/export").text.splitlines()[-1])
        assert (line["by"], line["propensity"]) == ("probe", decision["propensity"])
    assert verdict(tmp_path / "record.db").wrong is None


def test_the_monitor_counts_what_was_deferred_and_again_after_a_restart(runs, tmp_path):
    release = deferring(runs, "teacher")
    with serving(release, tmp_path / "record.db") as api:
        taught_until(api, api.learner(), "deferred")
        seen = api.get("/v1/monitor").json()
        assert seen["decisions"]["deferred"] == seen["deferral"]["count"] == 1
        assert seen["deferral"]["rate"] == 1 / seen["decisions"]["total"]
        assert seen["fallback"]["count"] == 0  # the policy did not fail
        assert f'mccpo_deferral_rate{{tenant="local"}} {seen["deferral"]["rate"]}' in api.get("/metrics").text
        assert "deferred" in api.get("/pages/monitor").text
        assert max(filter(None, api.get("/pages/monitor/curves").json()["columns"]["deferral"])) > 0
    with serving(release, tmp_path / "record.db") as api:
        api.runner.run(api.app.state.watch.caught_up())
        assert api.get("/v1/monitor").json()["deferral"] == seen["deferral"]


def _shadows(api, learner, lessons=60):
    """What the shadow would have done in each lesson of a learner who answers all of them right."""
    for _ in range(lessons):
        decision = api.next(learner)
        yield api.get(f"/v1/decisions/{decision['id']}").json()["shadow"]
        api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": True})


def test_what_a_shadow_would_have_deferred_does_not_wait(release, runs, tmp_path):
    folder, names = runs
    settings = {"runs": folder, "deferral": Deferral("teacher")}
    with serving(release, tmp_path / "record.db", **settings) as api:
        api.post("/v1/releases", {"run": names["first"], "shadow": 1.0})
        # What a learner is taught is drawn, so one of them may never come near the bound.
        looked_on = next(
            seen for n in range(20) for seen in _shadows(api, api.learner(f"n{n}")) if seen["by"] == "deferred"
        )
        assert looked_on["by"] == "deferred"
        assert waiting(api)["decisions"] == []


def test_a_release_that_is_loaded_defers_as_the_first_does(runs, tmp_path):
    folder, names = runs
    strict = {"ready": 0.9, "deferral": Deferral("probe", 0.96)}
    release = load_release(folder / names["first"], **strict)
    with serving(release, tmp_path / "record.db", runs=folder, **strict) as api:
        api.post("/v1/releases", {"run": names["second"]})
        certificate = api.next(api.learner())["certificate"]
        assert certificate["release"] == load_release(folder / names["second"], **strict).version
        assert (certificate["confidence"], certificate["bound"]) == (0.9, 0.96)


def test_a_tenant_sees_its_own_cases_with_a_key_that_may(runs, tmp_path):
    keys = KeyFile(tmp_path / "keys.json")
    pairs = [("north", "admin"), ("north", "teacher"), ("north", "client"), ("south", "admin")]
    texts = {pair: keys.create(*pair)[1] for pair in pairs}
    with serving(deferring(runs, "teacher"), tmp_path / "record.db", keys=keys) as api:
        admin, teacher, client, stranger = (api.as_(texts[pair]) for pair in pairs)
        decision = taught_until(admin, admin.learner(), "deferred")
        assert [one["id"] for one in waiting(teacher)["decisions"]] == [decision["id"]]
        assert waiting(stranger)["decisions"] == []
        refused(client.get("/v1/decisions/deferred"), 403)


@pytest.mark.parametrize("query", ["learner=lrn_1", "after=-1", "limit=0", "by=probe"])
def test_a_question_that_is_wrong_is_refused(api, query):
    refused(api.get(f"/v1/decisions/deferred?{query}"), 422)
