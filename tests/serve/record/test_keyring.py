"""The keyring: each learner's own key, which can be erased."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from mccpo.errors import InputError
from mccpo.serve.record.keyring import KeyErasedError, Keyring


@pytest.fixture
def keyring(tmp_path):
    opened = Keyring.create(tmp_path / "a.keyring")
    yield opened
    opened.close()


def test_only_the_owner_can_read_it(keyring):
    assert keyring.path.stat().st_mode & 0o777 == 0o600
    again = Keyring.create(keyring.path)
    assert again.id == keyring.id  # the one that is there
    again.close()


def test_sealed_values_open_only_in_their_own_place(keyring):
    ada, bob = keyring.add(["lrn_ada", "lrn_bob"])
    sealed = keyring.seal("lrn_ada", ada, "identity", ["Ada", {"class": "1"}])
    assert b"Ada" not in sealed
    assert keyring.unseal("lrn_ada", ada, "identity", sealed) == ["Ada", {"class": "1"}]
    assert keyring.seal("lrn_ada", ada, "identity", ["Ada", {"class": "1"}]) != sealed
    for learner, slot, what in (("lrn_ada", ada, "note 1"), ("lrn_bob", bob, "identity"), ("lrn_ada", bob, "identity")):
        with pytest.raises(ValueError, match=r"sealed|another"):
            keyring.unseal(learner, slot, what, sealed)
    with pytest.raises(ValueError, match="no such key"):
        keyring.unseal("lrn_ada", 99, "identity", sealed)


def test_an_erased_key_is_in_the_file_no_more_and_others_stay(keyring):
    ada, bob = keyring.add(["lrn_ada", "lrn_bob"])
    sealed = {name: keyring.seal(name, slot, "x", name) for name, slot in (("lrn_ada", ada), ("lrn_bob", bob))}
    key = keyring.path.read_bytes()[64 + 32 : 64 + 64]
    keyring.erase([("lrn_ada", ada)])
    keyring.erase([("lrn_ada", ada), ("lrn_nobody", bob), ("lrn_nobody", 9)])
    assert key not in keyring.path.read_bytes()
    assert list(keyring.erased()) == ["lrn_ada"]
    with pytest.raises(KeyErasedError):
        keyring.unseal("lrn_ada", ada, "x", sealed["lrn_ada"])
    assert keyring.unseal("lrn_bob", bob, "x", sealed["lrn_bob"]) == "lrn_bob"


def test_what_a_crash_left_unfinished_is_passed_over(keyring):
    keyring.add(["lrn_ada"])
    with keyring.path.open("ab") as file:
        file.write(b"lrn_half")
    (slot,) = keyring.add(["lrn_bob"])
    assert keyring.unseal("lrn_bob", slot, "x", keyring.seal("lrn_bob", slot, "x", 1)) == 1


def _add(path, start):
    keyring = Keyring.open(path, write=True)
    for number in range(start, start + 50):
        keyring.add([f"lrn_{number}"])
    keyring.close()


def test_two_who_add_at_once_get_slots_of_their_own(keyring):
    """Each has opened the file for itself, as two processes have."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_add, [keyring.path] * 2, (0, 50)))
    content = keyring.path.read_bytes()[64:]
    names = {content[at : at + 32].rstrip(b"\0").decode() for at in range(0, len(content), 64)}
    assert names == {f"lrn_{number}" for number in range(100)}


def test_a_hash_needs_the_keyring(keyring, tmp_path):
    other = Keyring.create(tmp_path / "b.keyring")
    assert keyring.keyed_hash("name", "t", "Ada") == keyring.keyed_hash("name", "t", "Ada")
    assert keyring.keyed_hash("name", "t", "Ada") not in (
        other.keyed_hash("name", "t", "Ada"),
        keyring.keyed_hash("name", "tAda", ""),
    )
    other.close()


def test_a_keyring_that_was_replaced_is_not_written_to(keyring):
    (slot,) = keyring.add(["lrn_ada"])
    os.replace(_copy(keyring.path), keyring.path)  # noqa: PTH105 - as `mv` does
    for attempt in (lambda: keyring.erase([("lrn_ada", slot)]), lambda: keyring.add(["lrn_bob"])):
        with pytest.raises(FileNotFoundError):
            attempt()


def _copy(path):
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    return copy


def test_what_is_no_keyring_is_refused(tmp_path):
    (tmp_path / "text").write_text("something else" * 10)
    for name, words in (("text", "is no keyring"), ("none", "cannot open the keyring"), (".", "is no keyring")):
        with pytest.raises(InputError, match=words):
            Keyring.open(tmp_path / name)
    with pytest.raises(InputError, match="cannot make the keyring"):
        Keyring.create(tmp_path / "nowhere" / "a.keyring")
