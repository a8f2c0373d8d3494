"""Anchors that come by themselves: with every answer, on request, and in the log."""

import asyncio
import json
import sqlite3

import pytest

from mccpo.cli import main
from mccpo.env import make
from mccpo.serve.record import Anchor, Signer, Store, create_signing_key, verify
from mccpo.serve.record.anchors import append_anchor

from ..client import serving  # noqa: TID252 - shared by the folders of these tests


def verdict(url, anchor):
    async def replayed():
        store = Store(str(url))
        await store.open(create=False)
        try:
            number, hash = anchor.split(":")
            return (await verify(store, anchors=[(int(number), hash)])).wrong
        finally:
            await store.close()

    return asyncio.run(replayed())


def test_every_answer_is_an_anchor(release, tmp_path, caplog):
    caplog.set_level("INFO", "mccpo.serve.security")
    url = tmp_path / "record.db"
    with serving(release, url, anchor_seconds=0.01) as api:
        learner = api.learner()
        decision = api.next(learner)
        outcome = api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": True}).json()
        last = api.get("/v1/anchor").json()
        assert last["anchor"] == f"{outcome['number']}:{outcome['hash']}"
        assert api.get(f"/v1/decisions/{decision['id']}").json()["hash"] == decision["hash"]
        erased = api("DELETE", f"/v1/learners/{learner}").json()
        api.runner.run(asyncio.sleep(0.1))
    anchors = [f"{one['number']}:{one['hash']}" for one in (decision, outcome, erased)]
    assert f"anchor head={anchors[-1]}" in caplog.text
    assert [verdict(url, anchor) for anchor in anchors] == [None] * 3
    with sqlite3.connect(url) as connection:  # the end is cut off, as if it had never been
        connection.execute("DELETE FROM event WHERE number > ?", (decision["number"],))
        at = "(SELECT json_extract(text, '$.at') FROM event WHERE number = ?)"
        connection.execute(
            f"UPDATE head SET number = ?, hash = ?, at = {at}",
            (decision["number"], decision["hash"], decision["number"]),
        )
    assert verdict(url, anchors[0]) != verdict(url, anchors[1])
    assert "is not there" in verdict(url, anchors[1])


def test_a_session_and_a_registration_are_anchors_too(release, tmp_path):
    url = tmp_path / "record.db"
    with serving(release, url) as api:
        new = api.post("/v1/learners", {"name": "Ana"}, headers={"Idempotency-Key": "k"}).json()
        again = api.post("/v1/learners", {"name": "Ana"}, headers={"Idempotency-Key": "k"}).json()
        known = api.post("/v1/learners", {"name": "Ana"}).json()
        labelled = api.post("/v1/learners", {"name": "Ana", "labels": {"class": "3"}}).json()
        begun = api.post(f"/v1/learners/{new['id']}/sessions", headers={"Idempotency-Key": "s"}).json()
        assert begun == api.post(f"/v1/learners/{new['id']}/sessions", headers={"Idempotency-Key": "s"}).json()
        ended = api.post(f"/v1/sessions/{begun['id']}/end", headers={"Idempotency-Key": "e"}).json()
        assert ended == api.post(f"/v1/sessions/{begun['id']}/end", headers={"Idempotency-Key": "e"}).json()
        twice = api.post(f"/v1/sessions/{begun['id']}/end").json()
        decision = api.next(new["id"])
        outcome = api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": True}).json()
        assert api.get(f"/v1/decisions/{decision['id']}").json()["outcome"]["hash"] == outcome["hash"]
    assert again == new
    assert (known["number"], known["hash"], twice["number"], twice["hash"]) == (None,) * 4  # nothing was added
    for one in (new, labelled, begun, ended):
        assert verdict(url, f"{one['number']}:{one['hash']}") is None
    assert len({one["number"] for one in (new, labelled, begun, ended)}) == 4


@pytest.fixture
def signing(tmp_path):
    """A signing key, by its file and its public half."""
    return tmp_path / "key", create_signing_key(tmp_path / "key")


def test_anchors_are_written_to_a_file_and_signed(release, tmp_path, signing, capsys):
    url, file = tmp_path / "record.db", tmp_path / "anchors"
    with serving(release, url, anchor_seconds=0.01, anchor_file=file, signer=Signer.read(signing[0])) as api:
        learner = api.learner()
        api.runner.run(asyncio.sleep(0.1))
        decision = api.next(learner)
        told = api.get("/v1/anchor").json()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) >= 2  # while it ran, and when it ended
    assert lines[-1] == {name: told[name] for name in ("anchor", "at", "signature", "public_key")}
    assert told["anchor"] == f"{decision['number']}:{decision['hash']}"
    call = ["verify", str(url), "--anchor", str(file), "--public-key"]
    assert main([*call, signing[1]]) == main([*call, f"{signing[0]}.pub"]) == 0
    capsys.readouterr()
    (tmp_path / "told.json").write_text(json.dumps(told))
    assert main(["verify", str(url), "--anchor", str(tmp_path / "told.json"), "--public-key", signing[1]]) == 0
    # of another key, with another time, with another hash, without a signature
    assert main([*call, create_signing_key(tmp_path / "other")]) == 3
    for change in ({"at": "2020-01-01T00:00:00.000Z"}, {"anchor": f"1:{'0' * 64}"}, {"signature": None}):
        file.write_text(json.dumps(lines[0] | change))
        assert main([*call, signing[1]]) == 3
        assert "is not signed by this key" in capsys.readouterr().err


def test_every_anchor_of_a_file_must_hold(release, tmp_path, capsys):
    url, file = tmp_path / "record.db", tmp_path / "anchors"
    with serving(release, url) as api:
        first = api.post("/v1/learners", {"name": "Ana"}).json()
        last = api.get("/v1/anchor").json()
    append_anchor(file, Anchor(first["number"], first["hash"]))
    append_anchor(file, Anchor(last["number"], last["hash"], last["at"]))
    assert main(["verify", str(url), "--anchor", str(file)]) == 0
    append_anchor(file, Anchor(first["number"], "0" * 64))
    assert main(["verify", str(url), "--anchor", str(file)]) == 3
    assert "as noted before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "r.db", "--public-key", "x"], "without --anchor"),
        (["verify", "r.db", "--anchor", "none"], "--anchor is 'none'"),
        (["verify", "r.db", "--anchor", "text"], "text, line 1 is no anchor"),
        (["verify", "r.db", "--anchor", "empty"], "there is no anchor in empty"),
        (["verify", "r.db", "--anchor", f"1:{'0' * 64}", "--public-key", "x"], "no public key"),
        (["signing-key", "text"], "there already"),
        (["serve", "run", "--no-keys", "--sign", "text"], "text is no signing key"),
        (["serve", "run", "--no-keys", "--sign", "none"], "cannot read the signing key"),
        (["serve", "run", "--no-keys", "--anchor-file", "."], "cannot write"),
        (["serve", "run", "--no-keys", "--anchor-every", "0"], "--anchor-every is 0"),
    ],
)
def test_wrong_calls_are_one_line(run_of, tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("no key, no anchor")
    (tmp_path / "empty").touch()
    if arguments[0] == "serve":
        (tmp_path / "run").symlink_to(run_of(make("tutor-15", concepts=6, horizon=20)))
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert words in err
    assert len(err.splitlines()) == 1


def test_a_signing_key_is_its_owners_alone_and_made_once(tmp_path, capsys):
    assert main(["signing-key", str(tmp_path / "key"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "key.pub").read_text().strip() == told["public_key"] == Signer.read(tmp_path / "key").public_key
    assert main(["signing-key", str(tmp_path / "key")]) == 2
