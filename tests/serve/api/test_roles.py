"""Teachers of some classes see no others; admins keep the keys of their tenant; keys say when they were used."""

import json

import pytest

from mccpo.serve.access import KeyFile

from ..client import mentions, refused, serving  # noqa: TID252 - shared by the folders of these tests


@pytest.fixture(scope="module")
def school(release, tmp_path_factory):
    """A service with two classes, an admin, a teacher of all, and one of class 3b."""
    folder = tmp_path_factory.mktemp("school")
    keys = KeyFile(folder / "keys.json")
    texts = {role: keys.create("north", role)[1] for role in ("admin", "teacher", "client")}
    texts["of 3b"] = keys.create("north", "teacher", classes=["3b"])[1]
    with serving(release, folder / "record.db", keys=keys) as nobody:
        found = {name: nobody.as_(text) for name, text in texts.items()} | {"nobody": nobody, "keys": keys}
        client = found["client"]
        for name, of in (("Ana", {"class": "3b"}), ("Ben", {"class": "4a"}), ("Cem", {})):
            found[name] = client.learner(name, **of)
            found["decision", name] = client.next(found[name])["id"]
        yield found


def test_a_teacher_of_a_class_sees_its_learners_and_no_others(school):
    teacher = school["of 3b"]
    assert [one["name"] for one in teacher.get("/v1/learners").json()["learners"]] == ["Ana"]
    assert {one["learner"] for one in teacher.get("/v1/decisions").json()["decisions"]} == {school["Ana"]}
    assert teacher.get("/v1/learners?name=Ana").status_code == 200
    words = {"concept": "v0", "reason": "r", "teacher": "t"}
    for name, status in (("Ana", 200), ("Ben", 404), ("Cem", 404)):
        for method, path, body in (
            ("GET", f"/v1/learners/{school[name]}", None),
            ("GET", f"/v1/learners/{school[name]}/state", None),
            ("GET", f"/v1/learners?name={name}", None),
            ("GET", f"/v1/decisions?learner={school[name]}", None),
            ("GET", f"/v1/decisions/{school['decision', name]}", None),
            ("POST", f"/v1/learners/{school[name]}/overrides", words),
        ):
            answer = teacher(method, path, **({"json": body} if body else {}))
            assert answer.status_code in ({status, 422} if status == 200 and body else {status}), (name, path)


def test_teachers_of_some_classes_do_not_see_all_learners(school):
    for path in ("/v1/monitor", "/v1/decisions/export", "/v1/xapi/statements"):
        refused(school["of 3b"].get(path), 403, "classes")
        assert school["teacher"].get(path).status_code == 200


def test_pages_show_a_teacher_their_classes_alone(school):
    (key, text) = school["keys"].create("north", "teacher", classes=["3b"])
    cookie = school["nobody"]("POST", "/pages/sign-in", data={"key": text}).headers["set-cookie"].split(";")[0]
    signed_in = {"headers": {"cookie": cookie}}
    listed = school["nobody"].get("/pages/learners", **signed_in).text
    assert mentions(listed, "Ana")
    assert not any(mentions(listed, word) for word in ("Ben", "Cem", "4a"))
    for path in ("learners?class=4a", "decisions"):
        assert not mentions(school["nobody"].get(f"/pages/{path}", **signed_in).text, "Ben")
    for path in (
        f"learners/{school['Ben']}",
        f"learners/{school['Ben']}/standing",
        f"decisions/{school['decision', 'Ben']}",
    ):
        assert school["nobody"].get(f"/pages/{path}", **signed_in).status_code == 404
    for path in ("monitor", "monitor/numbers", "monitor/curves"):
        assert school["nobody"].get(f"/pages/{path}", **signed_in).status_code == 403
    assert "/pages/monitor" not in listed
    school["keys"].revoke(key.id)


def test_a_learner_who_changes_class_changes_teacher(school):
    moved = school["client"].learner("Dan", **{"class": "4a"})
    refused(school["of 3b"].get(f"/v1/learners/{moved}"), 404)
    assert school["client"].learner("Dan", **{"class": " 3b "}) == moved  # spaces around it make no other class
    assert school["of 3b"].get(f"/v1/learners/{moved}").status_code == 200


def test_the_roll_can_be_filtered_by_class(school):
    cookie = school["nobody"]("POST", "/pages/sign-in", data={"key": _text(school, "teacher")}).headers["set-cookie"]
    signed_in = {"headers": {"cookie": cookie.split(";")[0]}}
    every = school["nobody"].get("/pages/learners", **signed_in).text
    assert all(mentions(every, word) for word in ("Ana", "Ben", "Cem", "3b", "4a", "Classes"))
    one = school["nobody"].get("/pages/learners?class=4a", **signed_in).text
    assert mentions(one, "Ben")
    assert not mentions(one, "Ana")
    assert "Show all learners" in one


def test_only_teachers_have_classes(school):
    answer = school["admin"].post("/v1/keys", {"role": "auditor", "classes": ["3b"]})
    refused(answer, 422, "teacher")


def test_an_admin_keeps_the_keys_of_the_own_tenant_and_no_others(school, caplog):
    admin = school["admin"]
    other, _ = school["keys"].create("south", "client")
    made = admin.post("/v1/keys", {"role": "teacher", "label": "Ms B", "classes": ["4a"], "days": 30})
    assert made.status_code == 201
    fresh = made.json()
    assert school["nobody"].as_(fresh["key"]).get(f"/v1/learners/{school['Ben']}").status_code == 200
    listed = admin.get("/v1/keys").json()["keys"]
    assert fresh["id"] in {key["id"] for key in listed}
    assert other.id not in {key["id"] for key in listed}
    assert "sha256" not in json.dumps(listed)
    assert "key" not in listed[0]
    for role in ("operator", "publisher", "anybody"):
        refused(admin.post("/v1/keys", {"role": role}), 422)
    refused(admin("DELETE", f"/v1/keys/{other.id}"), 404)
    assert admin("DELETE", f"/v1/keys/{fresh['id']}").json()["revoked"]
    refused(school["nobody"].as_(fresh["key"]).get("/v1/curriculum"), 401)
    told = [line.getMessage() for line in caplog.records if line.name == "mccpo.serve.security"]
    assert any(line.startswith("key created") for line in told)
    assert any(line.startswith("key revoked") for line in told)
    assert fresh["key"] not in caplog.text


def test_when_a_key_was_last_used_is_kept(school):
    keys = school["keys"]
    unused, _ = keys.create("north", "client")
    school["client"].get("/v1/curriculum")
    keys.note_use()
    used = KeyFile(keys.path).used()
    by_role = {key.role: key.id for key in keys.all() if key.tenant == "north" and not key.revoked}
    assert used[by_role["admin"]]
    assert unused.id not in used


def _text(school, name):
    return school[name].client.headers["Authorization"].removeprefix("Bearer ")
