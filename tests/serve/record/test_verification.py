"""`verify` passes what was served, and finds whatever was done to it since."""

import asyncio
import hashlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys

import pytest
from sqlalchemy.exc import OperationalError

from mccpo.cli import main
from mccpo.env import make
from mccpo.files import canonical_json
from mccpo.serve.policy import Deferral, Releases, load_release
from mccpo.serve.record import Keyring, Store, verify, writes
from mccpo.serve.record.chain import GENESIS, chain_hash
from mccpo.serve.service import Erase, Next, Outcome, Override, Register, Service, Terms

from ..client import mentions  # noqa: TID252 - shared by the folders of these tests


async def _served(url, release):
    """A record with everything in it: lessons, an override, an erasure, an open decision, a late outcome."""
    now = [1_800_000_000_000]
    draw = random.Random(5)
    service = Service(Store(url), Releases(release), Terms(late_seconds=60.0), clock=lambda: now[0], draw=draw.random)
    async with service:
        ada, bob = [
            (await service.register("t", Register(name, {"school": name}), key=name)).id for name in ("Ada", "Bob")
        ]
        await service.register("t", Register("Ada", {"school": "another"}))
        for step in range(6):
            for learner in (ada, bob):
                decision = await service.next("t", Next(learner))
                now[0] += 1000
                await service.outcome("t", Outcome(decision.id, step % 3 != 2, step, 1.5))
        chosen = await service.override("t", Override(ada, release.concepts[0], "practice", "Ms B"))
        now[0] += 120_000
        await service.outcome("t", Outcome(chosen.id, True))
        await service.erase("t", Erase(bob), key="gone")
        cleo = (await service.register("t", Register("Cleo", {"school": "Ada"}))).id
        await service.next("t", Next(ada), key="next")
        await service.next("t", Next(cleo))


@pytest.fixture(scope="module")
def record(tmp_path_factory, release):
    path = tmp_path_factory.mktemp("record") / "record.db"
    asyncio.run(_served(str(path), release))
    return path


@pytest.fixture
def copy(record, tmp_path):
    shutil.copy(record, tmp_path / "copy.db")
    shutil.copy(record.with_suffix(".keyring"), tmp_path / "copy.keyring")
    return tmp_path / "copy.db"


def _verdict(path, **more):
    async def found():
        store = Store(str(path))
        await store.open(create=False)
        try:
            return await verify(store, **more)
        finally:
            await store.close()

    return asyncio.run(found())


def _change(path, *statements):
    with sqlite3.connect(path) as connection:
        for statement, *values in statements:
            assert connection.execute(statement, values).rowcount > 0
    connection.close()


def _events(path):
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT number, text, hash FROM event ORDER BY number").fetchall()
    connection.close()
    return found


def _reseal(path, change):
    """Changes name, labels and salt of learners who are not erased, as one would who has the keyring."""
    keyring = Keyring.open(path.with_suffix(".keyring"))
    with sqlite3.connect(path) as connection:
        query = "SELECT id, slot, tenant, sealed FROM learner WHERE erased IS NULL"
        for id, slot, tenant, sealed in connection.execute(query).fetchall():
            words = change(*keyring.unseal(id, slot, "identity", sealed))
            name_hash = keyring.keyed_hash("name", tenant, words[0])
            connection.execute(
                "UPDATE learner SET sealed = ?, name_hash = ? WHERE id = ?",
                (keyring.seal(id, slot, "identity", words), name_hash, id),
            )
    connection.close()
    keyring.close()


def _rewrite(path, change):
    """Changes the content of events and seals all of them again, as one would who knows how it is done."""
    head = GENESIS.hash
    changes = []
    for number, text, _ in _events(path):
        event = json.loads(text)
        change(event)
        text = canonical_json(event)
        head = chain_hash(head, text)
        changes.append(("UPDATE event SET text = ?, hash = ? WHERE number = ?", text, head, number))
    _change(path, *changes, ("UPDATE head SET hash = ?", head))


def test_what_was_served_holds(database, release):
    async def story():
        await _served(database, release)
        store = Store(database)
        await store.open(create=False)
        verdict = await verify(store)
        await store.close()
        return verdict

    verdict = asyncio.run(story())
    assert verdict.wrong is None
    assert (verdict.learners, verdict.decisions, verdict.outcomes) == (3, 15, 13)


def test_the_command_says_so_and_exits_0(record, capsys):
    assert main(["verify", str(record), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    number, _, text_hash = told["anchor"].partition(":")
    assert (told["holds"], told["wrong"]) == (True, None)
    assert _events(record)[-1] == (int(number), _events(record)[-1][1], text_hash)
    assert main(["verify", str(record), "--anchor", told["anchor"]]) == 0
    assert "everything holds" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["none.db"], ["--anchor", "x", "."], ["mysql://x/y"]])
def test_a_wrong_call_exits_2(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_any_byte_of_any_event(record, copy):
    draw = random.Random(3)
    for number, text, sealed in _events(record):
        shutil.copy(record, copy)
        whole = bytearray(text.encode())
        at = draw.randrange(len(whole))
        whole[at] ^= 1 << draw.randrange(7)
        _change(copy, ("UPDATE event SET text = ? WHERE number = ?", whole.decode(errors="replace"), number))
        assert f"event {number}" in _verdict(copy).wrong
        shutil.copy(record, copy)
        other = ("0" if sealed[0] != "0" else "1") + sealed[1:]
        _change(copy, ("UPDATE event SET hash = ? WHERE number = ?", other, number))
        assert f"event {number}" in _verdict(copy).wrong


def test_a_missing_event_and_swapped_events_are_found(record, copy):
    events = _events(record)
    for number, *_ in events:
        shutil.copy(record, copy)
        _change(copy, ("DELETE FROM event WHERE number = ?", number))
        found = _verdict(copy).wrong
        assert f"event {number + 1}" in found or (number == len(events) and f"event {number}:" in found)
    for one, other in zip(events[:-1:5], events[1::5], strict=True):
        shutil.copy(record, copy)
        set_event = "UPDATE event SET text = ?, hash = ? WHERE number = ?"
        _change(copy, (set_event, *other[1:], one[0]), (set_event, *one[1:], other[0]))
        assert f"event {one[0]}" in _verdict(copy).wrong


def test_the_command_names_the_decision_and_exits_3(record, copy, capsys):
    number, text, _ = next(one for one in _events(record) if '"kind":"decision"' in one[1])
    decision = json.loads(text)["content"]["decision"]
    _change(copy, ("UPDATE event SET text = replace(text, '\"theta\":0.7', '\"theta\":0.1') WHERE number = ?", number))
    assert main(["verify", str(copy)]) == 3
    assert f"event {number} (decision {decision})" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("decision", lambda content: content["certificate"].update(theta=0.1)),
        ("decision", lambda content: content["certificate"].update(propensity=0.5)),
        ("decision", lambda content: content["certificate"].update(draw=1.0)),
        ("decision", lambda content: content["certificate"]["ready"].update(size=1)),
        ("decision", lambda content: content.update(concept="v14")),
        ("decision", lambda content: content.update(session="ses_other")),
        ("decision", lambda content: content.update(release="another")),
        ("decision", lambda content: content.pop("certificate")),
        ("override", lambda content: content["certificate"].update(by="policy")),
        ("override", lambda content: content.update(words="00" * 32)),
        ("outcome", lambda content: content.update(correct=not content["correct"])),
        ("outcome", lambda content: content.update(after=content["after"] + 1e-6)),
        ("outcome", lambda content: content.update(counted=False)),
        ("outcome", lambda content: content.update(decision="dec_none")),
        ("session", lambda content: content.update(change="paused")),
        ("session", lambda content: content.update(away=1.0)),
    ],
)
def test_wrong_consequences_are_found_even_if_all_hashes_fit(record, copy, kind, change):
    number = [json.loads(text)["kind"] for _, text, _ in _events(record)].index(kind) + 1

    def rewritten(event):
        if event["number"] == number:
            change(event["content"])

    _rewrite(copy, rewritten)
    assert f"event {number}" in _verdict(copy).wrong


async def _deferred(url, release):
    """A learner is taught until a choice is deferred."""
    async with Service(Store(url), Releases(release), draw=random.Random(1).random) as service:
        learner = (await service.register("t", Register("Ada"))).id
        while (decision := await service.next("t", Next(learner))).by == "policy":
            await service.outcome("t", Outcome(decision.id, True))


@pytest.mark.parametrize("to", ["teacher", "probe"])
def test_deferred_decisions_verify_and_cannot_be_changed(run_of, tmp_path, to):
    release = load_release(run_of(make("tutor-15", concepts=6, horizon=20)), deferral=Deferral(to))
    asyncio.run(_deferred(str(tmp_path / "record.db"), release))
    number, text, _ = _events(tmp_path / "record.db")[-1]
    certificate = json.loads(text)["content"]["certificate"]
    assert certificate["by"] == {"teacher": "deferred", "probe": "probe"}[to]
    assert _verdict(tmp_path / "record.db").wrong is None
    wanted = certificate["wanted"]
    for change in (
        {"by": "policy", "reason": None, "wanted": None},
        {"by": "fallback"},
        {"by": "deferred" if to == "probe" else "probe"},
        {"reason": "unready"},
        {"bound": 0.5},
        {"chance": 0.99},
        {"wanted": None},
        {"wanted": wanted | {"chance": wanted["chance"] / 2}},
        {"wanted": wanted | {"concept": "v5"}},
        {"propensity": certificate["propensity"] / 2},
    ):
        shutil.copy(tmp_path / "record.db", tmp_path / "copy.db")
        _rewrite(
            tmp_path / "copy.db",
            lambda event, change=change: event["number"] == number and event["content"]["certificate"].update(change),
        )
        assert f"event {number} (decision" in _verdict(tmp_path / "copy.db").wrong


def test_an_unready_concept_is_found_even_with_a_certificate_that_looks_right(record, copy, release):
    """What a policy that slips through every other check would leave behind."""
    number = [json.loads(text)["kind"] for _, text, _ in _events(record)].index("decision") + 1
    locked = next(name for name, needed in release.prerequisites.items() if needed)

    def rewritten(event):
        if event["number"] == number:
            event["content"].update(concept=locked)
            event["content"]["certificate"].update(
                concept=locked, prerequisites=dict.fromkeys(release.prerequisites[locked], 0.9)
            )

    _rewrite(copy, rewritten)
    assert f"event {number} (decision" in _verdict(copy).wrong


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE standing SET t = t + 1", "learner lrn_"),
        ("UPDATE standing SET mastery = zeroblob(length(mastery)) WHERE erased = 0", "learner lrn_"),
        ("UPDATE standing SET mastery = x'00'", "learner lrn_"),
        ("UPDATE standing SET practised = zeroblob(length(practised))", "learner lrn_"),
        ("UPDATE standing SET previous = NULL", "learner lrn_"),
        ("UPDATE standing SET session = 'ses_x' WHERE erased = 0", "learner lrn_"),
        ("UPDATE standing SET active = active - 1", "learner lrn_"),
        ("UPDATE standing SET tenant = 'other'", "learner lrn_"),
        ("DELETE FROM standing", "standing is not there"),
        ("UPDATE decision SET outcome = NULL", "decision dec_"),
        ("UPDATE decision SET tenant = 'other'", "decision dec_"),
        ("DELETE FROM decision WHERE number = (SELECT max(number) FROM decision)", "decision dec_"),
        ("UPDATE session SET ended = NULL", "session ses_"),
        ("DELETE FROM session", "session ses_"),
        ("UPDATE learner SET erased = NULL", "learner lrn_"),
        ("UPDATE learner SET tenant = 'other'", "learner lrn_"),
        ("UPDATE learner SET sealed = zeroblob(length(sealed)) WHERE erased IS NULL", "are damaged"),
        ("UPDATE learner SET slot = slot + 1 WHERE erased IS NULL", "are damaged"),
        ("UPDATE learner SET name_hash = id WHERE erased IS NULL", "by another name"),
        ("UPDATE learner SET sealed = NULL WHERE erased IS NULL", "no name or labels"),
        ("UPDATE learner SET sealed = x'00' WHERE erased IS NOT NULL", "is erased and still has"),
        ("UPDATE learner SET name_hash = '00' WHERE erased IS NOT NULL", "is erased and still has"),
        (
            'UPDATE reply SET answer = \'{"again":false,"number":1}\' WHERE learner IN (SELECT id FROM learner WHERE '
            "erased IS NOT NULL)",
            "a reply about them is still there",
        ),
        ('UPDATE reply SET answer = \'{"name":"Bob"}\'', "not in the form"),
        (
            "UPDATE reply SET answer = '{\"again\":false,\"number\":3}' WHERE answer LIKE '%:__}' AND learner IN "
            "(SELECT learner FROM note)",
            "which is not theirs",
        ),
        ("UPDATE reply SET learner = 'lrn_x'", "the table reply"),
        ("DELETE FROM learner", "learner lrn_"),
        ("UPDATE note SET sealed = zeroblob(length(sealed))", "the teacher's words"),
        ("DELETE FROM note", "the teacher's words"),
        ("UPDATE head SET number = number + 1", "is not there"),
        ("UPDATE head SET hash = 'x'", "is not there"),
        ("UPDATE head SET live = NULL", "decides by event None"),
        ("UPDATE head SET live = 2", "decides by event 2"),
        ("UPDATE event SET learner = 'lrn_x' WHERE number = 9", "event 9"),
        ("UPDATE event SET kind = 'erasure' WHERE number = 9", "event 9"),
        ("UPDATE release SET weights = zeroblob(length(weights))", "has been changed"),
        ("UPDATE release SET description = replace(description, '0.7', '0.1')", "has been changed"),
        ("DELETE FROM release", "event 1"),
        (
            "INSERT INTO session SELECT 'ses_x', tenant, learner, began, ended, cause FROM session LIMIT 1",
            "the table session",
        ),
        ("INSERT INTO note VALUES (1, 'lrn_x', x'00')", "the table note"),
        ("UPDATE decision SET statement = 'another' WHERE outcome IS NOT NULL AND number < 7", "decision dec_"),
    ],
)
def test_stored_state_must_agree_with_the_events(copy, statement, words):
    _change(copy, (statement,))
    assert words in _verdict(copy).wrong


def _read_only(folder, *command):
    """A command for which a folder cannot be written to: as root, since nothing else keeps one out, by a mount."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        return list(command)
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("root may write everywhere here, and may not mount")
    return ["unshare", "-m", "sh", "-c", mount, str(folder), *command]


@pytest.mark.parametrize("name", ["record.db", "a 100% sure? record#1.db"])
def test_a_record_where_nothing_can_be_written_is_read(record, tmp_path, name):
    folder = tmp_path / "read only"
    folder.mkdir()
    shutil.copy(record, folder / name)
    command = _read_only(folder, sys.executable, "-m", "mccpo", "verify", str(folder / name))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    folder.chmod(0o755)
    assert (done.returncode, done.stderr) == (0, "")
    assert "everything holds" in done.stdout
    assert [path.name for path in folder.iterdir()] == [name]


def test_what_is_opened_to_be_read_cannot_be_written_to(copy):
    async def story():
        store = Store(str(copy))
        await store.open(create=False)
        try:
            with pytest.raises(OperationalError, match="readonly"):
                async with store.writing() as (connection, head):
                    await writes.write_head(connection, head)
        finally:
            await store.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    "change",
    [
        lambda name, labels, salt: [name + "!", labels, salt],
        lambda name, _, salt: [name, {}, salt],
        lambda name, labels, _: [name, labels, None],
    ],
)
def test_names_that_were_changed_by_one_who_has_the_keyring(copy, change):
    _reseal(copy, change)
    assert "that the events seal" in _verdict(copy).wrong


def test_two_learners_whose_names_were_swapped(copy):
    with sqlite3.connect(copy) as connection:
        rows = connection.execute("SELECT id, name_hash, sealed FROM learner WHERE erased IS NULL").fetchall()
    connection.close()
    (one, *first), (other, *second) = rows
    swap = "UPDATE learner SET name_hash = ?, sealed = ? WHERE id = ?"
    _change(copy, (swap, None, None, one), (swap, *first, other), (swap, *second, one))
    assert "are damaged" in _verdict(copy).wrong  # a name opens as that of its learner alone


def test_an_erased_learner_whose_key_was_put_back(record, copy):
    with sqlite3.connect(copy) as connection:
        ((slot,),) = connection.execute("SELECT slot FROM learner WHERE erased IS NOT NULL").fetchall()
    connection.close()
    keyring = copy.with_suffix(".keyring")
    content = bytearray(keyring.read_bytes())
    at = 64 + 64 * slot + 32
    assert content[at : at + 32] == bytes(32)
    content[at : at + 32] = b"k" * 32
    keyring.write_bytes(content)
    assert "is erased and still has a key" in _verdict(copy).wrong


def test_without_the_keyring_everything_but_names_is_checked(copy, capsys):
    copy.with_suffix(".keyring").unlink()
    assert _verdict(copy).names_checked is False
    assert main(["verify", str(copy)]) == 0
    assert "not known: whether names and teachers' words" in capsys.readouterr().out
    _change(copy, ("UPDATE standing SET t = t + 1",))
    assert "learner lrn_" in _verdict(copy).wrong


def test_records_from_before_names_were_sealed_hold(copy):
    _rewrite(copy, lambda event: event["content"].pop("who", None))
    _reseal(copy, lambda name, labels, _: [name, labels, None])
    assert _verdict(copy).wrong is None


def test_the_names_that_are_sealed_cannot_be_guessed_from_the_record(record):
    """Once the salt is gone, nothing that is left leads from a name to its seal."""
    _, text, _ = _events(record)[1]  # Bob's, who was erased
    with sqlite3.connect(record) as connection:
        everything = "\n".join(connection.iterdump())
    connection.close()
    seal = json.loads(text)["content"]["who"]
    assert everything.count(seal) == 1
    assert not mentions(everything, "Bob")


def test_an_anchor_at_the_very_beginning_must_be_that_of_a_record(record, capsys):
    assert _verdict(record, anchors=[(0, GENESIS.hash)]).wrong is None
    assert main(["verify", str(record), "--anchor", f"0:{'f' * 64}"]) == 3
    assert "begins with the hash" in capsys.readouterr().err


def test_a_record_that_was_cut_and_mended_is_found_by_an_anchor(record, copy, release):
    last = _verdict(record).head
    asyncio.run(_one_more(copy, release))
    assert _verdict(copy, anchors=[(last.number, last.hash)]).wrong is None
    other = hashlib.sha256(b"another").hexdigest()
    assert f"event {last.number}" in _verdict(copy, anchors=[(last.number, other)]).wrong
    assert "ends with event" in _verdict(record, anchors=[(last.number + 1, other)]).wrong


async def _one_more(path, release):
    async with Service(Store(str(path)), Releases(release)) as service:
        await service.register("t", Register("Cleo"))


async def _taught(path, release, learners, lessons):
    async def teach(service, name):
        learner = (await service.register("t", Register(name))).id
        for _ in range(lessons):
            decision = await service.next("t", Next(learner))
            await service.outcome("t", Outcome(decision.id, True))

    async with Service(Store(str(path)), Releases(release), Terms(decide_seconds=60.0)) as service:
        await asyncio.gather(*(teach(service, f"{number}") for number in range(learners)))  # they share commits


def test_what_is_in_memory_does_not_grow_with_the_record(release, tmp_path, monkeypatch):
    """A learner here speaks of ten decisions, a session and a standing: twelve rows."""
    monkeypatch.setattr("mccpo.serve.record.verification.BATCH", 60)
    held = {}
    for learners in (10, 100):
        path = tmp_path / f"{learners}.db"
        asyncio.run(_taught(path, release, learners, 10))
        verdict = _verdict(path)
        assert verdict.wrong is None
        assert verdict.events == learners * 22 + 1  # that which says what is live
        held[learners] = verdict.most_rows
    assert held[10] == held[100] <= 60 + 12


def test_the_first_of_several_things_that_do_not_hold_is_named(record, copy):
    """Whichever learner it is about, and although the chain is broken further on."""
    kinds = [json.loads(text)["kind"] for _, text, _ in _events(record)]
    first, second = (number for number, kind in enumerate(kinds, start=1) if kind == "decision" and number < 10)

    def rewritten(event):
        if event["number"] in (first, second):
            event["content"]["certificate"].update(theta=0.1)

    _rewrite(copy, rewritten)
    _change(copy, ("UPDATE event SET hash = 'x' WHERE number = ?", second + 3))
    assert f"event {first} " in _verdict(copy).wrong
