"""Exports as logs: what the service decided is read back as it is, and every decision is accounted for."""

import asyncio
import csv
import gzip
import json
import random

import httpx
import numpy as np
import polars as pl
import pytest

from mccpo.cli import main
from mccpo.curriculum import render_json
from mccpo.env import make
from mccpo.logs import load, read_table
from mccpo.serve.api import Settings, create_app
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.record import Store, verify
from mccpo.serve.service import Erase, Next, Outcome, Override, Register, Service
from mccpo.serve.service.simulated import SimulatedLearner

LEARNERS, LESSONS = 16, 12
LOCAL = "local"


@pytest.fixture(scope="module")
def release(run_of):
    return load_release(run_of(make("tutor-15", concepts=6, horizon=40, activities=("hint", "practice"))))


@pytest.fixture(scope="module")
def exports(release, tmp_path_factory):
    """A folder with the exports of a service that simulated learners were taught by, and what its record counts.

    Every fourth learner leaves with a decision that waits; teachers choose now and then; one learner is erased.
    """
    folder = tmp_path_factory.mktemp("exports")

    async def taught(service, number):
        labels = {"class": "3a" if number % 2 else "3b"} | ({'a, "b"': "odd"} if number == 3 else {})
        who = (await service.register(LOCAL, Register(f"learner {number}", labels))).id
        learner = SimulatedLearner(release, 1.0, random.Random(number))
        for lesson in range(LESSONS):
            one = await service.next(LOCAL, Next(who))
            if lesson % 5 == 4:  # the policy's own decision is left without an outcome
                one = await service.override(LOCAL, Override(who, "v0", 'so,\n"just" so', "Ms T", "hint"))
            correct = learner.answer(one.concept, one.activity)
            await service.outcome(LOCAL, Outcome(one.id, correct, hints=lesson % 3, seconds=lesson + 0.25))
        if number % 4 == 0:
            await service.next(LOCAL, Next(who))
        return who

    async def story():
        async with Service(Store(str(folder / "record.db")), Releases(release)) as service:
            learners = [await taught(service, number) for number in range(LEARNERS)]
            await service.register("another", Register("somebody else", {"secret": "yes"}))
            await service.erase(LOCAL, Erase(learners[-1]))
            transport = httpx.ASGITransport(create_app(service, Settings(keys=None)), client=("127.0.0.1", 9))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                for format in ("ndjson", "csv"):
                    answer = await client.get("/v1/decisions/export", params={"format": format})
                    assert answer.status_code == 200
                    (folder / f"decisions.{format}").write_bytes(answer.content)
                empty = await client.get("/v1/decisions/export", params={"format": "csv", "after": 10**9})
                assert empty.text.splitlines()[0] == (folder / "decisions.csv").read_text().splitlines()[0]
                assert (await client.get("/v1/decisions/export", params={"format": "xml"})).status_code == 422
            return await verify(service.store)

    verdict = asyncio.run(story())
    assert verdict.wrong is None
    return folder, verdict


@pytest.mark.parametrize("format", ["ndjson", "csv"])
def test_every_decision_is_in_the_account_and_every_answer_in_the_table(exports, format):
    folder, verdict = exports
    logs = load(folder / f"decisions.{format}", "decisions")
    account = logs.account
    assert (account.rows, account.interactions) == (verdict.decisions, verdict.outcomes)
    assert account.skips == {"no outcome": verdict.decisions - verdict.outcomes}
    assert account.interactions == LEARNERS * LESSONS
    assert (account.rejected, account.duplicates, account.learners) == (0, 0, LEARNERS)


@pytest.mark.parametrize("format", ["ndjson", "csv"])
def test_what_was_exported_is_what_is_read(exports, format):
    folder, _ = exports
    lines = [json.loads(line) for line in (folder / "decisions.ndjson").read_text().splitlines()]
    answered = sorted(
        (row for row in lines if row["correct"] is not None), key=lambda row: (row["learner"], row["order"])
    )
    found = load(folder / f"decisions.{format}", "decisions").table.to_dicts()
    for row, line in zip(found, answered, strict=True):
        for name in ("learner", "concept", "item", "correct", "hints", "seconds"):
            assert row[name] == line[name]
        assert f"{row['time']:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z" == line["time"]
        chance = line["propensity"]
        assert row["propensity"] == (None if chance is None else float(np.float32(chance)))
        assert (chance is None) is (line["by"] == "teacher")
        for label in ("class", 'a, "b"'):
            assert row[f"group_{label}"] == line.get(f"group_{label}")
    assert sum(row["propensity"] is None for row in found) == LEARNERS * 2
    assert sum(row["group_class"] is None for row in found) == LESSONS  # whoever was erased belongs to no class
    assert "group_secret" not in found[0]


def test_both_flavours_say_the_same_and_gzip_changes_nothing(exports, tmp_path):
    folder, _ = exports
    with (folder / "decisions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (folder / "decisions.ndjson").read_text().splitlines()]
    assert [json.loads(row["certificate"]) for row in rows] == [line["certificate"] for line in lines]
    assert [row["reason"] or None for row in rows] == [line["reason"] for line in lines]
    (tmp_path / "decisions.gz").write_bytes(gzip.compress((folder / "decisions.ndjson").read_bytes()))
    tables = [
        load(path, "decisions").table
        for path in (*(folder / f"decisions.{one}" for one in ("ndjson", "csv")), tmp_path / "decisions.gz")
    ]
    for other in tables[1:]:
        assert other.select(tables[0].columns).equals(tables[0])


def test_the_commands_take_an_export_as_it_is(exports, release, tmp_path, capsys, monkeypatch):
    folder, verdict = exports
    monkeypatch.chdir(tmp_path)
    log = [str(folder / "decisions.ndjson"), "--format", "decisions"]

    def told(*tokens):
        assert main([*tokens, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    checked = told("logs", "check", *log)
    assert (checked["rows"], checked["interactions"]) == (verdict.decisions, verdict.outcomes)
    told("logs", "convert", *log, "--out", "table.parquet")
    table = read_table("table.parquet")
    assert table["propensity"].dtype == pl.Float32
    assert table.equals(load(log[0], "decisions").table)
    audited = told("audit", *log, "--model", "ema", "--minimum", "5")
    assert audited["interactions"] == verdict.outcomes
    fitted = told("fit-learner", *log, "--model", "ema")
    assert 0 < fitted["concepts"] <= table["concept"].n_unique()  # a rare one may have fallen to those held out
    (tmp_path / "graph.json").write_text(render_json(release.curriculum.to_raw()))
    quick = ["--graph", "graph.json", "--minimum", "5", "--restarts", "1", "--group", "class", "--ready", "theta"]
    prepared = told("prepare", *log, *quick, "--out", "made")
    assert prepared["from"]["account"]["interactions"] == verdict.outcomes
    assert set(prepared["events"].values()) == {verdict.outcomes}  # all are on the graph, and in episodes
    assert {one["name"] for one in prepared["groups"]} >= {"3a", "3b"}
    assert make("made").horizon == LESSONS
