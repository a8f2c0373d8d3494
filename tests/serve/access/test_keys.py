"""Keys are handed out once, kept as hashes, and stop working when they are revoked."""

import hashlib
import json
import subprocess
import sys
from datetime import datetime, timedelta
from typing import get_args

import pytest

from mccpo.errors import InputError
from mccpo.serve.access.keys import RIGHTS, ROLES, TENANT_ROLES, KeyFile, Right
from mccpo.serve.problems import Unavailable


@pytest.fixture
def keys(tmp_path):
    return KeyFile(tmp_path / "keys.json")


def test_a_key_says_whose_it_is_and_its_secret_is_nowhere(keys):
    key, text = keys.create("school-a", "teacher", "Ms Noor")
    caller = keys.caller(text)
    assert (caller.tenant, caller.role, caller.key) == ("school-a", "teacher", key.id)
    secret = text.split("_", 2)[2]
    kept = keys.path.read_text()
    assert secret not in kept
    assert hashlib.sha256(secret.encode()).hexdigest() in kept
    assert keys.path.stat().st_mode & 0o777 == 0o600


def test_another_process_sees_a_new_key_and_a_revoked_one(keys):
    _, first = keys.create("a", "client")
    server = KeyFile(keys.path)
    key, second = keys.create("b", "admin")
    assert server.caller(second).tenant == "b"
    keys.revoke(key.id)
    assert server.caller(second) is None
    assert server.caller(first).role == "client"
    assert len(server) == 1
    assert [one.revoked is None for one in server.all()] == [True, False]


@pytest.mark.parametrize(
    "change",
    [
        lambda _: "",
        lambda text: text[:-1],
        lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
        lambda text: text + "x",
        lambda text: text.replace("mccpo_", "mccpo_0", 1),
        lambda text: "mccpo_" + "0" * 12 + text[18:],
        lambda text: text.upper(),
        lambda text: text + "\n",
    ],
)
def test_a_key_that_is_a_little_wrong_is_no_key(keys, change):
    _, text = keys.create("a", "client")
    assert keys.caller(text) is not None
    assert keys.caller(change(text)) is None


def test_revoking_twice_keeps_the_first_time(keys):
    key, _ = keys.create("a", "client")
    assert keys.revoke(key.id) == keys.revoke(key.id)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda keys: keys.create("a", "root"), "there is no role 'root'"),
        (lambda keys: keys.create("a b", "client"), "the tenant is 'a b'"),
        (lambda keys: keys.create("", "client"), "the tenant is ''"),
        (lambda keys: keys.create("a", "client", "two\nlines"), "the label"),
        (lambda keys: keys.revoke("nobody"), "has no key 'nobody'"),
    ],
)
def test_what_cannot_be_done_is_refused(keys, call, message):
    with pytest.raises(InputError, match=message):
        call(keys)
    assert not keys.path.exists()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"format": "mccpo-keys/9", "keys": []}',
        '{"format": "mccpo-keys/1"}',
        '{"format": "mccpo-keys/1", "keys": [{"id": "x"}]}',
        json.dumps(
            {
                "format": "mccpo-keys/1",
                "keys": [{"id": "x", "tenant": "a", "role": "root", "sha256": "", "created": ""}],
            }
        ),
    ],
)
def test_a_damaged_file_lets_nobody_in(tmp_path, content):
    path = tmp_path / "keys.json"
    path.write_text(content)
    with pytest.raises(InputError, match="is no file of keys"):
        KeyFile(path)


def test_a_file_that_is_gone_lets_nobody_in(keys):
    _, text = keys.create("a", "client")
    keys.path.unlink()
    assert keys.caller(text) is None


def test_optional_keys_are_asked_for_from_the_first_one_on_and_for_good(keys):
    assert KeyFile(keys.path).asks
    server = KeyFile(keys.path, optional=True)
    assert not server.asks
    key, text = keys.create("a", "client", "the app")
    assert server.asks
    assert server.caller(text).signature == {"id": key.id, "role": "client", "label": "the app"}
    keys.revoke(key.id)
    assert server.asks
    keys.path.unlink()
    assert server.asks


def test_a_damaged_file_locks_everybody_out_until_it_is_mended(keys):
    _, text = keys.create("a", "client")
    server, whole = KeyFile(keys.path), keys.path.read_text()
    keys.path.write_text("{")
    for ask in (lambda: server.caller(text), lambda: server.asks):
        with pytest.raises(Unavailable, match="cannot be read"):
            ask()
    keys.path.write_text(whole)
    assert server.caller(text) is not None


def test_keys_that_are_made_at_the_same_time_are_all_kept(keys):
    """By processes of their own, as those of `mccpo keys create` are."""
    code = (
        "import sys; from pathlib import Path; from mccpo.serve.access import KeyFile\n"
        "for number in range(25): KeyFile(Path(sys.argv[1])).create('a', 'client', sys.argv[2] + str(number))"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(keys.path), name]) for name in "abcd"]
    assert [process.wait(60) for process in processes] == [0, 0, 0, 0]
    labels = sorted(key.label for key in keys.all())
    assert labels == sorted(f"{name}{number}" for name in "abcd" for number in range(25))


def test_a_damaged_file_is_told_once_however_many_ask(keys, caplog):
    _, text = keys.create("a", "client")
    whole = keys.path.read_text()
    for turn in (1, 2):
        keys.path.write_text("{")
        for _ in range(3):
            with pytest.raises(Unavailable):
                keys.caller(text)
        assert [record.levelname for record in caplog.records] == ["ERROR"] * turn
        keys.path.write_text(whole)
        assert keys.caller(text) is not None


def test_each_right_has_its_roles_and_none_of_a_tenant_reaches_beyond_it():
    holders = {right: {role for role in ROLES if right in RIGHTS[role]} for right in get_args(Right)}
    assert (holders["operate"], RIGHTS["operator"]) == ({"operator"}, {"operate"})
    assert (holders["release"], RIGHTS["publisher"]) == ({"publisher"}, {"release"})
    assert (holders["privacy"], holders["keys"]) == ({"admin", "privacy"}, {"admin"})
    assert holders["override"] == {"teacher", "admin"}
    assert holders["teach"] == {"client", "admin"}
    assert holders["audit"] == {"teacher", "auditor", "admin"}
    assert holders["look"] == set(ROLES) - {"operator", "publisher"}
    assert set(TENANT_ROLES) == holders["look"]


def test_no_key_is_for_anybody(keys):
    with pytest.raises(InputError, match="no role 'anybody'"):
        keys.create("a", "anybody")


def test_keys_need_no_web_framework_and_no_database():
    code = (
        "import sys, mccpo.cli.app, mccpo.serve.access; print({'fastapi', 'sqlalchemy', 'uvicorn'} & set(sys.modules))"
    )
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert imported.stdout.strip() == "set()"


def test_the_command_line_does_not_import_the_service():
    code = "import sys, mccpo.cli.app; print([name for name in sys.modules if name.startswith('mccpo.serve')])"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert imported.stdout.strip() == "[]"


def test_a_key_expires_and_one_that_is_rotated_works_for_a_while(keys, monkeypatch):
    _, short = keys.create("a", "client", days=1)
    key, text = keys.create("a", "teacher", "Ms Noor")
    new, newer = keys.rotate(key.id, grace_days=3)
    assert (new.tenant, new.role, new.label, new.expires) == ("a", "teacher", "Ms Noor", None)
    assert [keys.caller(one) is not None for one in (short, text, newer)] == [True] * 3

    class Later(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime.now(zone) + timedelta(days=2)

    monkeypatch.setattr("mccpo.serve.access.keys.datetime", Later)
    assert [keys.caller(one) is not None for one in (short, text, newer)] == [False, True, True]
    assert len(keys) == 2
    with pytest.raises(InputError, match="that works"):
        keys.rotate(short.split("_")[1], 1)
