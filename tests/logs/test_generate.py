"""Made-up logs: the same for the same seed, exact in schema, readable, and true to what they say is in them."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from mccpo.errors import InputError
from mccpo.logs import ReadOptions, load
from mccpo.logs.synthetic import NOT_JUDGED, PLATFORMS, ItemBank, generate, simulate

FAULTY = [name for name, platform in PLATFORMS.items() if platform.takes_faults]


def contents(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {each.name: each.read_bytes() for each in files}


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_format_reads_back_and_holds_what_it_says(name, tmp_path):
    faults = 0.02 if name in FAULTY else 0.0
    made = generate(name, tmp_path / "log", rows=2_000, learners=25, faults=faults)
    read = load(made.path, name, ReadOptions(mapping=made.mapping), most_rejected=0.05)
    account = read.account.as_json()
    expected = made.contents.as_json()
    assert {key: account[key] for key in expected} == expected
    assert expected["interactions"] == 2_000 - round(2_000 * faults)
    assert account["learners"] == 25
    assert read.rejects.height == expected["rejected"]


@pytest.mark.parametrize("name", PLATFORMS)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(name, tmp_path):
    made = [contents(generate(name, tmp_path / str(at), rows=500, seed=seed).path) for at, seed in enumerate((1, 1, 2))]
    assert made[0] == made[1]
    assert made[0] != made[2]


@pytest.mark.parametrize("name", FAULTY)
def test_faults_are_as_many_as_asked_for(name, tmp_path):
    expected = generate(name, tmp_path / "log", rows=1_000, faults=0.06).contents.as_json()
    assert expected["rejected"] + expected["duplicates"] == 60
    assert expected["duplicates"] == 10
    assert expected["rows"] == 1_000 + expected["merged"]


def test_many_faults_and_a_learner_who_never_stops_still_reconcile(tmp_path):
    made = generate("table", tmp_path / "log", rows=60_000, learners=1, faults=0.02)
    found = load(made.path, "table", ReadOptions(mapping=made.mapping), most_rejected=0.05).account.as_json()
    expected = made.contents.as_json()
    assert {key: found[key] for key in expected} == expected
    assert (found["rejected"], found["duplicates"]) == (1_000, 200)


def test_junyi_is_written_as_its_release_is(tmp_path):
    home = generate("junyi-2020", tmp_path / "junyi", rows=3_000).path
    log = (home / "Log_Problem.csv").read_bytes()
    assert log.startswith(
        b"timestamp_TW,uuid,ucid,upid,problem_number,exercise_problem_repeat_session,is_correct,total_sec_taken,"
        b"total_attempt_cnt,used_hint_cnt,is_hint_used,is_downgrade,is_upgrade,level\n"
    )
    for name, columns in {"Info_Content.csv": 10, "Info_UserData.csv": 12}.items():
        text = (home / name).read_bytes()
        assert text.startswith(b"\xef\xbb\xbfu")
        assert text.splitlines(keepends=True)[0].endswith(b"\r\n")
        assert text.splitlines()[0].count(b",") + 1 == columns
    frame = pl.read_csv(home / "Log_Problem.csv")
    assert frame["timestamp_TW"].str.contains(r"^\d{4}-\d\d-\d\d \d\d:(00|15|30|45):00 UTC$").all()
    assert set(frame["is_upgrade"].cast(pl.String).unique()) <= {"true", "false", None}
    content = pl.read_csv(home / "Info_Content.csv")
    assert content.height == 1330
    assert [content[f"level{at}_id"].n_unique() for at in (1, 2, 3, 4)] == [1, 10, 42, 171]
    nested = content.select("level2_id", "level3_id", "level4_id").unique()
    assert nested["level4_id"].is_unique().all()  # each node lies below one other
    assert set(content["difficulty"]) == {"easy", "normal", "hard"}
    assert set(content["learning_stage"]) == {"elementary", "junior", "senior"}
    assert set(frame["ucid"]) <= set(content["ucid"])


def test_learners_learn_and_the_ladder_follows_their_answers():
    answers = simulate(ItemBank(exercises=50, problems=10), 60_000, 300, seed=0)
    right = [
        answers.correct[(answers.number > low) & (answers.number <= high)].mean() for low, high in ((0, 5), (15, 40))
    ]
    assert right[1] > right[0] + 0.2
    judged = np.flatnonzero(answers.signal != NOT_JUDGED)
    won = np.array([answers.correct[at - 4 : at + 1].sum() for at in judged])
    before = np.where(answers.number[judged] > 5, answers.level[judged - 1], 0)
    assert (answers.number[judged] % 5 == 0).all()
    assert ((answers.signal[judged] == 1) == ((won >= 4) & (before < 4))).all()
    assert ((answers.signal[judged] == -1) == ((won <= 2) & (before > 0))).all()
    assert (answers.level[judged] == before + answers.signal[judged]).all()


def test_activity_is_skewed_and_times_rise_within_a_learner():
    answers = simulate(ItemBank(exercises=50, problems=10), 50_000, 400, seed=3)
    counts = np.bincount(answers.learner)
    assert len(counts) == 400
    assert counts.min() >= 1
    assert counts.max() > 8 * np.median(counts)
    same = np.diff(answers.learner) == 0
    assert (np.diff(answers.time)[same] > 0).all()
    together = np.lexsort((answers.number, answers.exercise, answers.learner))
    keys = np.stack([answers.learner, answers.exercise, answers.number])[:, together]
    assert (np.diff(keys, axis=1) != 0).any(axis=0).all()  # no answer is there twice


def test_a_folder_that_holds_something_is_not_written_to(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="is not empty"):
        generate("junyi-2020", tmp_path / "there", rows=10)
    assert [each.name for each in (tmp_path / "there").iterdir()] == ["mine.txt"]


def test_nothing_is_left_where_writing_fails(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mccpo.logs.synthetic.junyi._write_users", fail)
    with pytest.raises(OSError, match="No space"):
        generate("junyi-2020", tmp_path / "junyi", rows=10)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": 0}, "0 rows"),
        ({"rows": 10, "learners": 11}, "11 learners cannot give 10 answers"),
        ({"rows": 1_000_000, "learners": 9}, "give from 10 to 1000000"),
        ({"rows": 10, "faults": 0.9}, "from 0 to 0.5"),
        ({"rows": 10, "seed": -1}, "seed is -1"),
    ],
)
def test_what_cannot_be_made_is_refused(settings, message, tmp_path):
    with pytest.raises(InputError, match=message):
        generate("table", tmp_path / "t.csv", **settings)
    assert list(tmp_path.iterdir()) == []


def test_xes3g5m_names_every_concept_of_its_questions(tmp_path):
    home = generate("xes3g5m", tmp_path / "xes", rows=1_000).path
    questions = json.loads((home / "metadata" / "questions.json").read_text(encoding="utf-8"))
    names = set(json.loads((home / "metadata" / "kc_routes_map.json").read_text(encoding="utf-8")).values())
    assert all(set(route.split("----")) <= names for each in questions.values() for route in each["kc_routes"])
    sequences = pl.read_csv(home / "kc_level" / "train_valid_sequences.csv")
    assert (sequences["questions"].str.split(",").list.len() == 200).all()
