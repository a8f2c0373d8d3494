"""Releases are loaded, shadowed and rolled back through the API."""

import csv
import io
import json

import pytest

from ..client import refused, serving  # noqa: TID252 - shared by the folders of these tests


def test_a_release_takes_over_looks_on_and_goes_back(api, runs):
    _, names = runs
    before = api.get("/v1/releases").json()
    shadowed = api.post("/v1/releases", {"run": names["second"], "shadow": 1.0}).json()
    assert shadowed["current"] == before["current"]
    assert shadowed["share"] == 1.0
    api.next(api.learner("watched"))
    assert api("DELETE", "/v1/releases/shadow").json()["shadow"] is None
    loaded = api.post("/v1/releases", {"run": names["second"]}).json()
    assert loaded["current"] == shadowed["shadow"]
    assert api.next(api.learner("under the second"))["release"] == loaded["current"]["version"]
    assert api.get("/v1/curriculum").json()["release"] == loaded["current"]["version"]
    back = api.post("/v1/releases/roll-back").json()
    assert back["current"] == before["current"]
    assert back["previous"] == loaded["current"]


def test_what_a_shadow_would_have_done_can_be_read(release, runs, tmp_path):
    folder, names = runs
    with serving(release, tmp_path / "record.db", runs=folder) as api:
        shadow = api.post("/v1/releases", {"run": names["second"], "shadow": 1.0}).json()["shadow"]["version"]
        for _ in range(12):
            served = api.next(api.learner())
            assert served["shadow"] is None  # it is for those who look back, not for those who teach
            api.post(f"/v1/decisions/{served['id']}/outcome", {"correct": True})
        listed = api.get("/v1/decisions").json()["decisions"]
        assert {one["shadow"]["release"] for one in listed} == {shadow}
        for one in listed:
            same = (one["shadow"]["concept"], one["shadow"]["activity"]) == (one["concept"], one["activity"])
            assert one["shadow"]["agrees"] is same
        assert api.get(f"/v1/decisions/{listed[0]['id']}").json()["shadow"] == listed[0]["shadow"]
        lines = [json.loads(line) for line in api.get("/v1/decisions/export").text.splitlines()]
        assert [line["shadow"] for line in lines] == [one["shadow"] for one in listed]
        table = list(csv.DictReader(io.StringIO(api.get("/v1/decisions/export?format=csv").text)))
        assert [json.loads(row["shadow"]) for row in table] == [line["shadow"] for line in lines]
        agreed = sum(one["shadow"]["agrees"] for one in listed)
        seen = api.get("/v1/monitor").json()["shadows"]
        assert (seen[shadow]["agrees"]["count"], seen[shadow]["agrees"]["of"]) == (agreed, 12)
        assert seen[shadow]["failed"]["count"] == 0
        told = f'mccpo_shadow_agreement_rate{{release="{shadow}",tenant="local"}} {agreed / 12}'
        assert told in api.get("/metrics").text
    with serving(release, tmp_path / "record.db", runs=folder) as api:
        api.runner.run(api.app.state.watch.caught_up())
        assert api.get("/v1/monitor").json()["shadows"] == seen


def test_what_is_live_survives_a_restart(release, runs, tmp_path):
    folder, names = runs
    with serving(release, tmp_path / "record.db", runs=folder) as api:
        api.post("/v1/releases", {"run": names["second"]})
        live = api.post("/v1/releases", {"run": names["second"], "seed": 1, "shadow": 0.5}).json()
        assert (live["previous"]["version"], live["share"]) == (release.version, 0.5)
    with serving(release, tmp_path / "record.db", runs=folder) as api:
        assert api.get("/v1/releases").json() == live
        assert api.next(api.learner())["release"] == live["current"]["version"]
        assert api.get("/v1/monitor").status_code == 200
        assert api.post("/v1/releases/roll-back").json()["current"]["version"] == release.version


@pytest.mark.parametrize("run", ["nowhere", "stranger"])
def test_a_release_that_cannot_be_served_changes_nothing(api, runs, run):
    before = api.get("/v1/releases").json()
    refused(api.post("/v1/releases", {"run": runs[1].get(run, run)}), 422)
    assert api.get("/v1/releases").json() == before


@pytest.mark.parametrize("run", ["../first", "/etc", "a/b", "..", ".", ""])
def test_a_release_comes_from_the_folder_of_runs(api, run):
    refused(api.post("/v1/releases", {"run": run}), 422, "run")
