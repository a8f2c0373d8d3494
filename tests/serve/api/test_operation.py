"""Health, readiness, metrics and the monitor through the API."""

import sqlite3
from contextlib import asynccontextmanager

from sqlalchemy.exc import OperationalError

from mccpo.serve.problems import Unavailable

from ..client import refused, serving  # noqa: TID252 - shared by the folders of these tests


def test_health_readiness_and_the_document_need_no_key(keyed):
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert keyed["nobody"].get(path).status_code == 200


def test_a_service_that_cannot_write_is_not_ready(api, monkeypatch):
    async def gone():
        raise Unavailable("the database failed: disk full", retry_after=1)

    monkeypatch.setattr(api.app.state.service, "check_ready", gone)
    assert refused(api.get("/readyz"), 503, "disk full")
    assert api.get("/readyz").headers["retry-after"] == "1"
    assert api.get("/healthz").status_code == 200


def test_a_database_that_fails_is_a_503_and_nothing_is_done(api, monkeypatch):
    learner = api.learner("in trouble")
    with monkeypatch.context() as patch:
        patch.setattr(api.app.state.service.store, "connected", _full_disk)
        answer = api.post(f"/v1/learners/{learner}/next")
        refused(answer, 503)
        assert int(answer.headers["retry-after"]) >= 1
        refused(api.get("/readyz"), 503, "database or disk is full")
    assert api.get(f"/v1/learners/{learner}/state").json()["decision"] is None
    assert not api.next(learner)["again"]


@asynccontextmanager
async def _full_disk():
    raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))
    yield


def test_a_fault_of_ours_is_told_without_its_details(api, monkeypatch, caplog):
    async def broken():
        raise ZeroDivisionError("secret of the house")

    monkeypatch.setattr(api.app.state.service, "check_ready", broken)
    assert "secret" not in refused(api.get("/readyz"), 500)["detail"]
    assert "GET /readyz failed" in caplog.text


def test_metrics_count_by_route_and_never_by_id(api):
    learner = api.learner("Wilhelmina")
    api.next(learner)
    text = api.get("/metrics").text
    assert 'mccpo_requests_total{method="POST",route="/v1/learners/{learner}/next",status="200"}' in text
    assert 'mccpo_decisions_total{by="policy",tenant="local"}' in text
    assert 'mccpo_budget{cost="c4",tenant="local"} 1.8' in text
    assert "lrn_" not in text
    assert "Wilhelmina" not in text


def test_the_monitor_sees_what_happened_and_again_after_a_restart(release, tmp_path):
    with serving(release, tmp_path / "record.db") as api:
        for number in range(12):
            learner = api.learner(f"l{number}", pace=("slow", "quick")[number % 2])
            for _ in range(6):
                decision = api.next(learner)
                api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": number % 2 == 1})
        api.post(f"/v1/learners/{learner}/overrides", {"concept": "v0", "reason": "why not", "teacher": "Mr Li"})
        api("DELETE", f"/v1/learners/{learner}")
        api.runner.run(api.app.state.watch.caught_up())
        seen = api.get("/v1/monitor").json()
        metrics = api.get("/metrics").text
    assert 'mccpo_group_alarm{label="pace",measure="mastery_gain",tenant="local"} 1.0' in metrics
    assert seen["complete"]
    assert seen["decisions"] == {"total": 73, "policy": 72, "teacher": 1}
    assert seen["equity"]["pace"]["groups"]["slow"]["learners"] == 6
    assert seen["equity"]["pace"]["groups"]["quick"]["learners"] == 5  # one is erased
    assert seen["equity"]["pace"]["gaps"]["mastery_gain"]["verdict"] == "alarm"
    with serving(release, tmp_path / "record.db") as api:
        api.runner.run(api.app.state.watch.caught_up())
        assert api.get("/v1/monitor").json() == seen


def test_what_happens_while_the_monitor_catches_up_is_counted_once(release, tmp_path):
    with serving(release, tmp_path / "record.db") as api:
        learners = [api.learner(f"l{number}") for number in range(5)]
        for learner in learners:
            api.next(learner)
    with serving(release, tmp_path / "record.db") as api:  # whose first requests race with the catching up
        api.at_once(*(("POST", f"/v1/learners/{learner}/sessions", {}) for learner in learners))
        api.at_once(*(("POST", f"/v1/learners/{learner}/next", {}) for learner in learners))
        api.runner.run(api.app.state.watch.caught_up())
        assert api.get("/v1/monitor").json()["decisions"] == {"total": 10, "policy": 10}


def test_each_process_counts_what_it_did_so_that_counts_can_be_summed(release, tmp_path):
    with serving(release, tmp_path / "record.db") as one, serving(release, tmp_path / "record.db") as other:
        for api, learners in ((one, 2), (other, 3)):
            for number in range(learners):
                api.next(api.learner(f"{learners} {number}"))
        told = [_metrics(api) for api in (one, other)]
        assert [each['mccpo_written_events_total{kind="decision"}'] for each in told] == [2, 3]
        assert [each["mccpo_commit_seconds_count"] for each in told] == [4, 6]
        assert [each["mccpo_queue"] for each in told] == [0, 0]
        assert told[1]["mccpo_head"] > told[0]["mccpo_head"]
        assert all(each["mccpo_database_errors_total"] == 0 for each in told)
        assert all("mccpo_monitor_lag" in each for each in told)


def test_a_commit_that_fails_is_counted(release, tmp_path, monkeypatch):
    with serving(release, tmp_path / "record.db") as api:
        learner = api.learner()

        async def fail(*_):
            raise OSError("no room")

        monkeypatch.setattr("mccpo.serve.record.writes.write_events", fail)
        assert api.post(f"/v1/learners/{learner}/next").status_code == 503
        assert _metrics(api)["mccpo_database_errors_total"] == 1


def _metrics(api):
    lines = [line.rpartition(" ") for line in api.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}
