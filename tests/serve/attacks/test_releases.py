"""Somebody wants another release, with a gate that is open, to decide: by the API, or by writing to the database."""

import json
import sqlite3

import pytest

from mccpo.cli import main
from mccpo.env import make
from mccpo.serve.access import KeyFile
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.record.chain import Head, seal_event
from mccpo.serve.record.live_releases import release_pins

from ..client import refused, serving  # noqa: TID252 - shared by the folders of these tests


@pytest.fixture(scope="module")
def strict(run):
    return load_release(run)


@pytest.fixture(scope="module")
def loose(run_of):
    """The folder of a run like the other, whose gate is all but open."""
    return run_of(make("tutor-15", concepts=6, horizon=20, theta=0.05))


def test_nobody_of_a_tenant_changes_what_decides_for_another(tmp_path, strict, loose):
    keys = KeyFile(tmp_path / "keys.json")
    roles = ("client", "teacher", "auditor", "privacy", "admin", "operator", "publisher")
    texts = {role: keys.create("south", role)[1] for role in roles}
    body = {"run": loose.name, "lower_gate": True}
    with serving(strict, tmp_path / "record.db", keys=keys, runs=loose.parent) as nobody:
        for role in roles[:-1]:
            for call in (
                ("POST", "/v1/releases", body),
                ("POST", "/v1/releases/roll-back", {"lower_gate": True}),
                ("DELETE", "/v1/releases/shadow", {}),
            ):
                refused(nobody.as_(texts[role])(*call[:2], json=call[2]), 403)
        publisher = nobody.as_(texts["publisher"])
        refused(publisher.post("/v1/releases", {"run": loose.name}), 422, "θ = 0.05", "lower_gate")
        assert publisher.post("/v1/releases", body).json()["current"]["theta"] == 0.05
        refused(publisher.get("/v1/learners"), 403)  # who changes releases sees no learner
    with sqlite3.connect(tmp_path / "record.db") as connection:
        texts = [text for (text,) in connection.execute("SELECT text FROM event WHERE kind = 'release'")]
    said = json.loads(texts[-1])["content"]
    assert (said["change"], said["current"]["theta"], said["key"]["role"]) == ("loaded", 0.05, "publisher")


@pytest.fixture
def record(tmp_path, strict):
    """A record with a decision."""
    with serving(strict, tmp_path / "record.db") as api:
        api.next(api.learner())
    return tmp_path / "record.db"


def stored(connection, release):
    connection.execute("INSERT INTO release VALUES (?, ?, ?)", (release.version, release.description, release.weights))


def test_a_release_forged_into_the_live_table_does_not_decide(record, strict, loose):
    forged = load_release(loose)
    with sqlite3.connect(record) as connection:
        stored(connection, forged)
        connection.execute("DELETE FROM live")
        connection.execute("INSERT INTO live VALUES (1, ?, ?, NULL, NULL, 0.0)", (strict.version, forged.version))
    with serving(strict, record) as api:
        assert api.next(api.learner("Ben"))["release"] == strict.version


def test_a_pin_refuses_a_release_forged_together_with_its_event(record, strict, loose, capsys):
    """Whoever writes to the database can go on with the chain as the service would, and keep every earlier anchor."""
    main(["verify", str(record), "--json"])
    before = json.loads(capsys.readouterr().out)
    forged = load_release(loose)
    with sqlite3.connect(record) as connection:
        stored(connection, forged)
        head = Head(*connection.execute("SELECT number, hash, at FROM head").fetchone())
        last = connection.execute("SELECT text FROM event WHERE kind = 'release'").fetchone()[0]
        content = json.loads(last)["content"] | {"current": release_pins_of(forged)}
        event = seal_event(head, head.at, "release", "", "", content)
        row = (event.number, event.kind, "", "", event.text, event.hash)
        connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.execute("UPDATE head SET number = ?, hash = ?, live = ?", (event.number, event.hash, event.number))
    with serving(strict, record) as api:
        assert api.next(api.learner("Ben"))["release"] == forged.version
    capsys.readouterr()
    assert main(["verify", str(record), "--anchor", before["anchor"]]) == 0  # it follows from what is there
    told = capsys.readouterr().out
    assert f"release {forged.version} (θ = 0.05), 1 decisions" in told
    assert "not known: whether these releases were meant to decide" in told
    assert main(["verify", str(record), "--release", strict.digest]) == 3
    assert f"the release {forged.version} (θ = 0.05) decided since event" in capsys.readouterr().err
    assert main(["verify", str(record), "--release", strict.digest, "--release", forged.version]) == 0
    told = capsys.readouterr().out
    assert "meant to decide" not in told
    assert "not known: whether events after" in told  # nothing but a newer anchor shows what was cut off


def test_a_decision_by_a_release_that_is_not_live_does_not_verify(record, strict, loose, capsys):
    forged = load_release(loose)
    with sqlite3.connect(record) as connection:
        stored(connection, forged)
        head = Head(*connection.execute("SELECT number, hash, at FROM head").fetchone())
        learner = connection.execute("SELECT id FROM learner").fetchone()[0]
        content = {"session": "ses_x", "change": "began", "release": forged.version, "away": 0.0, "forgetting": None}
        event = seal_event(head, head.at, "session", "local", learner, content)
        row = (event.number, event.kind, "local", learner, event.text, event.hash)
        connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.execute("UPDATE head SET number = ?, hash = ?", (event.number, event.hash))
    assert main(["verify", str(record)]) == 3
    assert f"is by the release {forged.version}, and {strict.version} was live" in capsys.readouterr().err


def release_pins_of(release):
    return release_pins(Releases(release))["current"]
