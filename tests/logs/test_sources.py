"""Every log format, on small files of its exact schema that are worked out by hand."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from mccpo.errors import InputError
from mccpo.logs import SOURCES, Logs, ReadOptions, load
from mccpo.logs.sources.datashop import models


@dataclass(frozen=True)
class Example:
    """A log, how it is opened, what must be read from it, and what its account must say."""

    path: Path
    events: list[dict[str, Any]]
    opening: ReadOptions = field(default_factory=ReadOptions)
    account: dict[str, Any] = field(default_factory=dict)


def at(*told: int) -> datetime:
    return datetime(*told)  # type: ignore[arg-type]  # year, month, day, and on


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def junyi_2020(folder: Path) -> Example:
    write(
        folder / "Info_UserData.csv",
        "\ufeffuuid,gender,points,badges_cnt,first_login_date_TW,user_grade,user_city,has_teacher_cnt,is_self_coach,"
        "has_student_cnt,belongs_to_class_cnt,has_class_cnt\n"
        "u=1,male,5,1,2018-09-01 00:00:00,7,tp,1,False,0,1,0\n",
    )
    write(
        folder / "Log_Problem.csv",
        "\ufefftimestamp_TW,uuid,ucid,upid,problem_number,exercise_problem_repeat_session,is_correct,total_sec_taken,"
        "total_attempt_cnt,used_hint_cnt,is_hint_used,is_downgrade,is_upgrade,level\n"
        "2019-05-26 21:00:00 UTC,u=1,c1,p2,2,1,False,33,2,1,True,True,False,2\n"
        "2019-05-26 21:00:00 UTC,u=1,c1,p1,1,1,True,8,1,0,False,False,True,3\n"
        "1/24/2019 21:15,u=1,c1,p0,1,1,TRUE,8,1,0,FALSE,,,0\n"
        "2019-05-26 21:00:00 UTC,u 2,c1,p1,1,1,True,-1,1,0,False,,,0\n",
    )
    return Example(
        folder,
        [
            {"learner": "u 2", "item": "p1", "seconds": None, "signal": 0, "group_gender": None},
            {"learner": "u=1", "item": "p0", "time": at(2019, 1, 24, 13, 15), "order": 0, "group_gender": "male"},
            {"learner": "u=1", "concept": "c1", "item": "p1", "correct": True, "seconds": 8.0, "signal": 1, "order": 1},
            {"item": "p2", "time": at(2019, 5, 26, 13), "attempts": 2, "hints": 1, "signal": -1, "correct": False},
        ],
        account={"rows": 4, "interactions": 4, "learners": 2, "out_of_order": 2},
    )


def junyi_2015(folder: Path) -> Example:
    path = write(
        folder / "junyi_ProblemLog_original.csv",
        "user_id,exercise,problem_type,problem_number,topic_mode,suggested,review_mode,time_done,time_taken,"
        "time_taken_attempts,correct,count_attempts,hint_used,count_hints,hint_time_taken_list,earned_proficiency,"
        "points_earned\n"
        "7,solid geometry,0,2,false,true,false,1420714810324490,12,12,true,1,false,0,,true,225\n"
        "7,solid geometry,0,1,false,false,false,1420714800324490,30,10&20,false,2,true,1,5&5,false,0\n",
    )
    return Example(
        path,
        [
            {"learner": "7", "concept": "solid geometry", "item": "solid geometry/0", "signal": 0, "attempts": 2},
            {"correct": True, "signal": 1, "time": at(2015, 1, 8, 11, 0, 10, 324000), "group_suggested": "true"},
        ],
        account={"rows": 2, "out_of_order": 1, "concepts": 1, "items": 1},
    )


def xes3g5m(folder: Path) -> Example:
    header = "fold,uid,questions,concepts,responses,timestamps,selectmasks,is_repeat\n"
    write(
        folder / "kc_level/train_valid_sequences.csv",
        # One answer has the concepts 1 and 2; its second concept begins the next stretch of the learner.
        header
        + '0,5,"10,11","0,1","1,0","1500000000000,1500000001000","1,1","0,0"\n'
        + '0,5,"11,12,-1","2,0,-1","0,1,-1","1500000001000,1500000002000,-1","1,1,-1","1,0,-1"\n',
    )
    write(
        folder / "kc_level/test.csv",
        "fold,uid,questions,concepts,responses,timestamps,is_repeat,cidxs\n"
        '-1,6,"10,11,11","0,1,2","1,1,1","1500000000000,1500000009000,1500000009000","0,0,1","0,1,2"\n',
    )
    # Two names that differ by white space alone.
    write(folder / "metadata/kc_routes_map.json", json.dumps({"0": "面积", "1": "面积 ", "2": "周长"}))
    return Example(
        folder,
        [
            {"learner": "5", "concept": "面积", "item": "10", "time": at(2017, 7, 14, 2, 40), "correct": True},
            {"learner": "5", "concept": "周长~~面积 ", "item": "11", "correct": False},
            {"learner": "5", "concept": "面积", "item": "12"},
            {"learner": "6", "concept": "面积", "item": "10"},
            {"learner": "6", "concept": "周长~~面积 ", "correct": True},
        ],
        account={"rows": 7, "interactions": 5, "merged": 2, "concepts": 3, "items": 3},
    )


def assistments_2009(folder: Path) -> Example:
    header = (
        "order_id,assignment_id,user_id,assistment_id,problem_id,original,correct,attempt_count,ms_first_response,"
        "tutor_mode,answer_type,sequence_id,student_class_id,position,type,base_sequence_id,skill_id,skill_name,"
        "teacher_id,school_id,hint_count,hint_total,overlap_time,template_id,answer_id,answer_text,first_action,"
        "bottom_hint,opportunity,opportunity_original\n"
    )
    row = "{},1,{},1,{},1,{},1,{},tutor,algebra,1,1,1,MasterySection,1,1,{},9,3,0,3,32454,1,,{},0,,1,1\n"
    path = write(
        folder / "skill_builder_data.csv",
        header
        + row.format(22, 1, "p2", 0, -5, "Mean", '"1,5 €"')
        + row.format(21, 1, "p1", 1, 2500, "Área", "x")
        + row.format(21, 1, "p1", 1, 2500, "Mean", "x")
        + row.format(21, 1, "p1", 1, 2500, "Mean", "x")
        + row.format(23, 1, "p3", 1, 100, "", "x"),
        "iso-8859-15",
    )
    return Example(
        path,
        [
            {"learner": "1", "concept": "Mean~~Área", "item": "p1", "correct": True, "seconds": 2.5, "time": None},
            {"concept": "Mean", "seconds": None, "attempts": 1, "hints": 0, "group_school": "3", "order": 1},
            {"concept": None, "item": "p3"},
        ],
        account={"rows": 5, "interactions": 3, "merged": 1, "duplicates": 1, "out_of_order": 1, "without_concept": 1},
    )


def assistments_2012(folder: Path) -> Example:
    header = (
        "problem_log_id,skill,problem_id,user_id,assignment_id,assistment_id,start_time,end_time,problem_type,original,"
        "correct,bottom_hint,hint_count,actions,attempt_count,ms_first_response,tutor_mode,sequence_id,"
        "student_class_id,position,type,base_sequence_id,skill_id,teacher_id,school_id,overlap_time,template_id,"
        "answer_id,answer_text,first_action,problemlogid,Average_confidence(FRUSTRATED)\n"
    )
    row = "{},{},p1,1,1,1,{},2012-09-28 15:12:00,algebra,1,{},0,2,{},3,4200,tutor,1,1,1,L,1,1,9,3,1,1,,x,0,1,0.1\n"
    path = write(
        folder / "2012.csv",
        header
        + row.format(8, "Rounding", "2012-09-28 15:11:29.5", "1", '"- - start\n- - end"')
        + row.format(7, "", "2012-09-28 15:11:28", "0.0", "x")
        + row.format(9, "Rounding", "2012-09-28 15:11:30", "0.25", "x"),
    )
    return Example(
        path,
        [
            {"learner": "1", "concept": None, "correct": False, "time": at(2012, 9, 28, 15, 11, 28)},
            {"concept": "Rounding", "correct": True, "hints": 2, "attempts": 3, "seconds": 4.2, "group_teacher": "9"},
        ],
        account={"rows": 3, "rejected": 1, "reasons": {"unreadable correct": 1}},
    )


def assistments_2017(folder: Path) -> Example:
    path = write(
        folder / "2017.csv",
        "studentId,MiddleSchoolId,InferredGender,AveKnow,NumActions,action_num,skill,problemId,assignmentId,"
        "startTime,endTime,timeTaken,correct,original,hint,hintCount,hintTotal,scaffold,bottomHint,attemptCount\n"
        "8,2,Male,0.3,9,1,properties-of-geometric-figures,950,1,1096470301,1096470350,49,0,1,0,0,4,0,0,1\n"
        "8,2,Male,0.3,9,0,noskill,951,1,1096470301,1096470350,3,1,0,0,0,0,1,0,1\n",
    )
    return Example(
        path,
        [
            {"learner": "8", "concept": None, "item": "951", "correct": True, "attempts": None},
            {"item": "950", "hints": 4, "seconds": 49.0, "time": at(2004, 9, 29, 15, 5, 1), "group_gender": "Male"},
        ],
        account={"rows": 2, "out_of_order": 1},
    )


def ednet_kt1(folder: Path) -> Example:
    header = "timestamp,solving_id,question_id,user_answer,elapsed_time\n"
    write(folder / "KT1/u1.csv", header + "1565332027449,2,q2,b,47000\n1565332027449,1,q1,b,24000\n")
    write(folder / "KT1/u20.csv", header + "1565332057492,1,q3,a,-1\n")
    write(
        folder / "contents/questions.csv",
        "question_id,bundle_id,explanation_id,correct_answer,part,tags,deployed_at\n"
        "q1,b1,e1,b,1,179;1;10,1558093217098\nq2,b1,e1,a,1,15,1558093219720\nq3,b3,e3,a,5,-1,1558093222784\n",
    )
    return Example(
        folder,
        [
            {"learner": "u1", "concept": "1~~10~~179", "item": "q1", "seconds": 24},
            {"learner": "u1", "concept": "15", "correct": False, "time": at(2019, 8, 9, 6, 27, 7, 449000)},
            {"learner": "u20", "concept": None, "correct": True, "seconds": None, "group_part": "5"},
        ],
        account={"rows": 3, "learners": 2, "concepts": 4, "out_of_order": 1},
    )


_STEPS = (
    "Row\tSample\tAnon Student Id\tProblem Hierarchy\tProblem Name\tProblem View\tStep Name\tStep Start Time\t"
    "First Transaction Time\tCorrect Transaction Time\tStep End Time\tStep Duration (sec)\t"
    "Correct Step Duration (sec)\tError Step Duration (sec)\tFirst Attempt\tIncorrects\tHints\tCorrects\t"
    "Condition\tKC (Default)\tOpportunity (Default)\tPredicted Error Rate (Default)\tKC (Other)\tOpportunity (Other)\t"
    "Predicted Error Rate (Other)\n"
)


def datashop(folder: Path) -> Example:
    when = "10/14/05 14:51\t" * 4
    path = folder / "steps.txt.gz"
    text = (
        _STEPS
        + f'1\tAll Data\tStu_1\t"Unit 5, s2"\tw01\t1\tdone\t{when}.\t.\t.\thint\t1\t2\t1\t.\t'
        + "tone2~~tone1\t1~~1\t0.3\tx\t1\t0\n"
        + f"2\tAll Data\tStu_1\tUnit 5\tw01\t2\tdone\t{when}7\t7\t.\tcorrect\t0\t0\t1\tA\t\t\t\tx\t2\t0\n"
        + f"2\tSample 2\tStu_1\tUnit 5\tw01\t2\tdone\t{when}7\t7\t.\tcorrect\t0\t0\t1\tA\t\t\t\tx\t2\t0\n"
    )
    path.write_bytes(gzip.compress(text.encode()))
    return Example(
        path,
        [
            {"learner": "Stu_1", "concept": "tone1~~tone2", "item": "w01 / done", "correct": False, "seconds": None},
            {"concept": None, "correct": True, "seconds": 7.0, "attempts": 1, "hints": 0, "group_condition": "A"},
        ],
        account={"rows": 3, "duplicates": 1, "concepts": 2, "first": "2005-10-14T14:51:00Z"},
    )


def pykt(folder: Path) -> Example:
    path = write(
        folder / "data.txt",
        "u1,3\n10,11,10\n0,1_0,0\n1,0,1\n1500000000000,1500000001000,1500000002000\n2000,NA,500\n"
        "u,2,2\nNA\n0,0\n1,1\nNA\nNA\n",
    )
    return Example(
        path,
        [
            # The learner of the last six lines: no clock, and the same answer twice.
            {"learner": "u,2", "concept": "0", "item": None, "time": None, "order": 0},
            {"learner": "u,2", "concept": "0", "seconds": None, "order": 1},
            {"learner": "u1", "concept": "0", "item": "10", "seconds": 2.0, "time": at(2017, 7, 14, 2, 40)},
            {"learner": "u1", "concept": "0~~1", "correct": False, "seconds": None},
            {"learner": "u1", "concept": "0", "seconds": 0.5},
        ],
        account={"rows": 5, "interactions": 5, "learners": 2},
    )


def statement(**changes: Any) -> dict[str, Any]:
    return {
        "id": "s1",
        "actor": {"account": {"homePage": "https://example.org", "name": "ana"}},
        "verb": {"id": "http://adlnet.gov/expapi/verbs/answered"},
        "object": {"id": "https://example.org/q1"},
        "result": {"success": True, "duration": "PT1M4.5S"},
        "context": {
            "contextActivities": {
                "category": [{"id": "https://example.org/b"}, {"id": "https://w3id.org/xapi/cmi5/context/moveon"}],
                "parent": [{"id": "https://example.org/unit"}],
            },
            "extensions": {"https://example.org/skill.v1": ["c2", "c1"]},
        },
        "timestamp": "2020-03-01T10:00:00.250+02:00",
    } | changes


def xapi(folder: Path) -> Example:
    void = {
        "verb": {"id": "http://adlnet.gov/expapi/verbs/voided"},
        "object": {"objectType": "StatementRef", "id": "s3"},
    }
    statements = [
        statement(id="s2", timestamp="2020-03-01T08:00:00Z", context={}, actor={"mbox": "mailto:bo@example.org"}),
        statement(),
        statement(),
        statement(id="s3"),
        statement(id="s4", result={"completion": True}),
        statement(id="s5", result={}, **void),
    ]
    path = folder / "statements.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(each) for each in statements).encode()))
    return Example(
        path,
        [
            {"learner": "ana", "concept": "https://example.org/b", "item": "https://example.org/q1", "seconds": 64.5},
            {"learner": "bo@example.org", "concept": None, "time": at(2020, 3, 1, 8), "correct": True},
        ],
        account={"rows": 6, "interactions": 2, "duplicates": 1, "skips": {"no result": 2, "voided": 1}},
    )


def decision(**changes: Any) -> dict[str, Any]:
    """A row as the service exports it."""
    changes = {"decision": f"dec_{changes.get('order', 7)}"} | changes
    return {
        "learner": "lrn_b", "concept": "v1", "item": "v1/practice", "order": 7, "time": "2026-01-07T10:12:00.250Z",
        "correct": True, "hints": 2, "seconds": 12.5, "counted": True, "late": False, "before": 0.2, "after": 0.5,
        "session": "ses_1", "activity": "practice", "by": "policy", "reason": None,
        "propensity": 0.25, "release": "37f6", "certificate": {"ready": ["v1"]},
    } | changes  # fmt: skip


UNANSWERED = dict.fromkeys(("correct", "hints", "seconds", "counted", "late", "before", "after"))


def decisions(folder: Path) -> Example:
    rows = [
        decision(group_class="3b"),
        decision(order=5, correct=False, hints=None, seconds=None, by="teacher", reason="to\u2028day", propensity=None),
        decision(order=9, **UNANSWERED),
        decision(learner="lrn_a", order=8, concept="v2", item="v2/hint", group_school="north"),
        decision(group_class="3b"),
    ]
    path = write(folder / "decisions.ndjson", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return Example(
        path,
        [
            {"learner": "lrn_a", "concept": "v2", "item": "v2/hint", "group_school": "north", "group_class": None},
            {"learner": "lrn_b", "order": 0, "correct": False, "hints": None, "seconds": None, "propensity": None},
            {
                "learner": "lrn_b", "order": 1, "correct": True, "hints": 2, "seconds": 12.5, "propensity": 0.25,
                "time": at(2026, 1, 7, 10, 12, 0, 250_000), "attempts": None, "signal": None, "group_class": "3b",
            },
        ],
        account={"rows": 5, "interactions": 3, "duplicates": 1, "out_of_order": 1, "skips": {"no outcome": 1}},
    )  # fmt: skip


def table(folder: Path) -> Example:
    path = write(
        folder / "answers.tsv",
        "who\tskill\tquestion\twhen\tright\ttries\thelp\ttook\tup\tclass\n"
        "Zoë B\tb~~a~~b\tq1\t2020-03-01T10:00:00+01:00\tyes\t1.0\tNA\t1.5\t1\t7a\n"
        "Zoë B\ta\tq2\t2020-03-01 08:00\tF\t2\t-1\tinf\t-1\t7a\n"
        "Zoë B\ta\tq2\t2020-03-01 12:00\tSTUDY\t2\t-1\tinf\t-1\t7a\n",
    )
    mapping = {
        "learner": "who", "concept": "skill", "item": "question", "time": "when", "correct": "right",
        "attempts": "tries", "hints": "help", "seconds": "took", "signal": "up", "group_class": "class",
    }  # fmt: skip
    return Example(
        path,
        [
            {"learner": "Zoë B", "concept": "a", "correct": False, "hints": None, "seconds": None, "signal": -1},
            {"concept": "a~~b", "time": at(2020, 3, 1, 9), "attempts": 1, "hints": None, "group_class": "7a"},
        ],
        ReadOptions(mapping=mapping),
        account={"rows": 3, "skips": {"no answer": 1}, "out_of_order": 1},
    )


EXAMPLES: dict[str, Callable[[Path], Example]] = {
    "junyi-2020": junyi_2020,
    "junyi-2015": junyi_2015,
    "xes3g5m": xes3g5m,
    "assistments-2009": assistments_2009,
    "assistments-2012": assistments_2012,
    "assistments-2017": assistments_2017,
    "ednet-kt1": ednet_kt1,
    "datashop": datashop,
    "pykt": pykt,
    "xapi": xapi,
    "decisions": decisions,
    "table": table,
}


def assert_holds(logs: Logs, events: list[dict[str, Any]]) -> None:
    rows = logs.table.to_dicts()
    assert len(rows) == len(events)
    for row, event in zip(rows, events, strict=True):
        # Seconds are held as single precision.
        found = {name: round(row[name], 4) if isinstance(row[name], float) else row[name] for name in event}
        assert found == event


@pytest.mark.parametrize("name", SOURCES)
def test_a_format_gives_the_canonical_table(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name](tmp_path)
    logs = load(example.path, name, example.opening, most_rejected=0.5)
    assert_holds(logs, example.events)
    assert logs.format == name
    account = logs.account.as_json()
    assert {key: account[key] for key in example.account} == example.account
    assert logs.account.reconciles


@pytest.mark.parametrize("name", SOURCES)
def test_a_format_says_what_it_is_in_one_line(name: str) -> None:
    assert SOURCES[name].name == name
    assert SOURCES[name].label
    assert "\n" not in SOURCES[name].label


@pytest.mark.parametrize("name", SOURCES)
def test_a_format_is_described_in_the_docs(name: str) -> None:
    assert f"\n### {name}\n" in (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8")


DELIMITED = {
    "junyi-2020": ("Log_Problem.csv", ",", "is_correct"),
    "junyi-2015": ("junyi_ProblemLog_original.csv", ",", "earned_proficiency"),
    "assistments-2009": ("skill_builder_data.csv", ",", "skill_name"),
    "assistments-2012": ("2012.csv", ",", "start_time"),
    "assistments-2017": ("2017.csv", ",", "timeTaken"),
    "ednet-kt1": ("KT1/u1.csv", ",", "user_answer"),
    "table": ("answers.tsv", "\t", "right"),
}
"""Formats in lines of fields: the file, what is between the fields, and a column that must be there."""


@pytest.mark.parametrize("name", DELIMITED)
def test_a_wrong_delimiter_is_told_with_the_right_one(name: str, tmp_path: Path) -> None:
    file, delimiter, _ = DELIMITED[name]
    example = EXAMPLES[name](tmp_path)
    text = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(text.replace(delimiter.encode(), b"|"))
    with pytest.raises(InputError, match=r"is separated by bars, not by (commas|tabs); give --delimiter '\|'"):
        load(example.path, name, example.opening)


@pytest.mark.parametrize("name", DELIMITED)
def test_a_missing_column_is_told(name: str, tmp_path: Path) -> None:
    file, _, column = DELIMITED[name]
    example = EXAMPLES[name](tmp_path)
    text = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(text.replace(column.encode(), b"renamed", 1))
    with pytest.raises(InputError, match=f"has no column '{column}'") as told:
        load(example.path, name, example.opening)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", SOURCES)
def test_a_path_that_is_not_there_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    mapping = {"learner": "a", "correct": "b"} if name == "table" else {}
    with pytest.raises(InputError, match="does not exist") as told:
        load(tmp_path / "nowhere", name, ReadOptions(mapping=mapping))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", SOURCES)
def test_an_empty_file_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text("question_id,correct_answer,part,tags\nq,a,1,1\n")
    (tmp_path / "u1.csv").touch()
    with pytest.raises(InputError, match="is empty"):
        load(tmp_path / "u1.csv", name, ReadOptions())


@pytest.mark.parametrize("name", ["junyi-2020", "xes3g5m", "pykt", "ednet-kt1"])
def test_a_folder_without_the_files_of_a_format_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load(tmp_path, name)


def test_formats_without_choices_refuse_a_map_and_a_model(tmp_path: Path) -> None:
    example = junyi_2015(tmp_path)
    with pytest.raises(InputError, match="leave --map out"):
        load(example.path, "junyi-2015", ReadOptions(mapping={"learner": "user_id"}))
    with pytest.raises(InputError, match="leave --model out"):
        load(example.path, "junyi-2015", ReadOptions(model="Default"))


def test_an_unknown_format_is_told_with_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'junyi-2020'"):
        load(tmp_path, "junyi2020")


def test_question_level_sequences_give_the_same_events_as_concept_level_ones(tmp_path: Path) -> None:
    example = xes3g5m(tmp_path / "kc")
    write(
        tmp_path / "que/question_level/train_valid_sequences_quelevel.csv",
        "fold,uid,questions,concepts,responses,timestamps,selectmasks\n"
        '0,5,"10,11,12,-1","0,1_2,0,-1","1,0,1,-1","1500000000000,1500000001000,1500000002000,-1","1,1,1,-1"\n',
    )
    write(
        tmp_path / "que/question_level/test_quelevel.csv",
        'fold,uid,questions,concepts,responses,timestamps\n-1,6,"10,11","0,1_2","1,1","1500000000000,1500000009000"\n',
    )
    write(
        tmp_path / "que/metadata/kc_routes_map.json",
        (tmp_path / "kc/metadata/kc_routes_map.json").read_text(encoding="utf-8"),
    )
    assert load(tmp_path / "que", "xes3g5m").table.equals(load(example.path, "xes3g5m").table)


def test_a_sequence_file_without_names_is_read_with_ids(tmp_path: Path) -> None:
    example = xes3g5m(tmp_path)
    (tmp_path / "metadata/kc_routes_map.json").unlink()
    logs = load(example.path / "kc_level/test.csv", "xes3g5m")
    assert logs.table["concept"].to_list() == ["0", "1~~2"]


def test_sequences_whose_lists_do_not_fit_together_are_rejected_with_their_line(tmp_path: Path) -> None:
    path = write(
        tmp_path / "test_sequences.csv",
        'fold,uid,questions,concepts,responses\n0,1,"1,2","1,2","1,0"\n0,2,"1,2","1","1,0"\n0,3,"1","1","5"\n',
    )
    logs = load(path, "pykt", most_rejected=0.9)
    assert logs.account.reasons == {"lists of different lengths": 1, "unreadable responses": 1}
    assert logs.rejects["line"].to_list() == [3, 4]


def test_six_lines_that_break_off_are_rejected(tmp_path: Path) -> None:
    path = write(tmp_path / "data.txt", "1,2\n1,2\n1,2\n1,0\nNA\nNA\n2,3\n1,2\n1,2\n1,0\nNA\nNA\n3,1\n1\n1\n")
    logs = load(path, "pykt", most_rejected=0.5)
    assert logs.account.rows == 4
    assert logs.rejects.select("line", "reason").rows() == [
        (7, "lists of different lengths"),
        (13, "3 of a learner's six lines"),
    ]


def test_an_answer_to_an_unknown_question_is_rejected_with_its_file_and_line(tmp_path: Path) -> None:
    example = ednet_kt1(tmp_path)
    with (tmp_path / "KT1/u20.csv").open("a") as file:
        file.write("1565332057493,2,q9,a,1\n1565332057494,3,q1,,1\n")
    logs = load(example.path, "ednet-kt1", most_rejected=0.5)
    told = logs.rejects.with_columns(pl.col("file").str.extract(r"([^/\\]+)$")).select("file", "line", "reason").rows()
    assert told == [("u20.csv", 3, "missing correct_answer"), ("u20.csv", 4, "missing user_answer")]


def test_learners_files_with_lines_too_long_are_mended(tmp_path: Path) -> None:
    example = ednet_kt1(tmp_path)
    for name in ("u1.csv", "u20.csv"):
        with (tmp_path / "KT1" / name).open("a") as file:
            file.write("1565332057493,2,q1,a,1,1,1\n")
    logs = load(example.path, "ednet-kt1", most_rejected=0.5)
    assert_holds(logs, example.events)
    assert logs.account.reasons == {"7 fields, where the header has 5": 2}
    assert sorted(logs.rejects["line"]) == [3, 4]


def test_without_questions_nothing_says_what_is_correct(tmp_path: Path) -> None:
    example = ednet_kt1(tmp_path)
    (tmp_path / "contents/questions.csv").unlink()
    with pytest.raises(InputError, match=r"no questions\.csv"):
        load(example.path, "ednet-kt1")


def test_the_knowledge_component_model_can_be_chosen(tmp_path: Path) -> None:
    example = datashop(tmp_path)
    assert models(_STEPS.rstrip("\n").split("\t")) == ["Default", "Other"]
    logs = load(example.path, "datashop", ReadOptions(model="Other"))
    assert logs.table["concept"].to_list() == ["x", "x"]
    with pytest.raises(InputError, match="choose from Default, Other"):
        load(example.path, "datashop", ReadOptions(model="Else"))


def test_the_kdd_cup_s_variant_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "algebra_train.txt",
        "Row\tAnon Student Id\tProblem Hierarchy\tProblem Name\tProblem View\tStep Name\tStep Start Time\t"
        "First Transaction Time\tCorrect Transaction Time\tStep End Time\tStep Duration (sec)\t"
        "Correct Step Duration (sec)\tError Step Duration (sec)\tCorrect First Attempt\tIncorrects\tHints\tCorrects\t"
        "KC(Default)\tOpportunity(Default)\n"
        "1\ts1\tUnit A\tP1\t1\tR1C1\t\t2008-09-19 13:30:46.0\t\t\t\t\t\t0\t1\t0\t1\tUse ~ b~~Use a\t4~~3\n",
    )
    assert_holds(
        load(path, "datashop"),
        [{"concept": "Use a~~Use ~ b", "correct": False, "time": at(2008, 9, 19, 13, 30, 46), "attempts": 2}],
    )


def test_the_first_attempt_at_a_step_is_the_event(tmp_path: Path) -> None:
    header = (
        "Row\tTransaction Id\tAnon Student Id\tTime\tDuration (sec)\tProblem Name\tProblem View\tStep Name\t"
        "Attempt At Step\tOutcome\tKC (A)\tKC Category (A)\tKC (A)\tKC Category (A)\n"
    )
    path = write(
        tmp_path / "transactions.txt",
        header
        + "1\tt1\ts1\t1996-02-01 00:00:48\t5\tP\t1\tS\t1\tHINT\ty\t\tx\t\n"
        + "2\tt2\ts1\t1996-02-01 00:00:58\t9\tP\t1\tS\t2\tINCORRECT\ty\t\tx\t\n"
        + "3\tt3\ts1\t1996-02-01 00:01:58\t9\tP\t1\tS\t3\tCORRECT\ty\t\tx\t\n"
        + "4\tt4\ts1\t1996-02-01 00:02:00\t.\tP\t2\tS\t1\tCORRECT\ty\t\t\t\n"
        + "5\tt5\ts1\t1996-02-01 00:02:01\t.\tP\t2\tS\t\t\ty\t\t\t\n",
    )
    logs = load(path, "datashop")
    assert_holds(
        logs,
        [
            {"concept": "x~~y", "item": "P / S", "correct": False, "attempts": 2, "hints": 1, "seconds": 5.0},
            {"concept": "y", "correct": True, "attempts": 1, "hints": 0, "seconds": None},
        ],
    )
    assert logs.account.skips == {"later attempt": 2, "no outcome": 1}


def test_statements_can_tell_their_concept_in_an_extension(tmp_path: Path) -> None:
    example = xapi(tmp_path)
    place = "context.extensions.https://example.org/skill.v1"
    logs = load(example.path, "xapi", ReadOptions(mapping={"concept": place}))
    assert logs.table["concept"].to_list() == ["c1~~c2", None]
    with pytest.raises(InputError, match="no canonical column 'skill'"):
        load(example.path, "xapi", ReadOptions(mapping={"skill": place}))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda each: each,
        lambda each: {"statements": each, "more": ""},
        lambda each: {"version": "1.0.3", "statements": each},
    ],
)
def test_statements_in_one_document_are_read_too(wrap: Callable[[list[Any]], Any], tmp_path: Path) -> None:
    path = write(tmp_path / "export.json", json.dumps(wrap([statement(), statement(id="s2", result={})])))
    assert load(path, "xapi").account.interactions == 1


def test_lines_that_are_no_statements_are_rejected(tmp_path: Path) -> None:
    bad = [
        "{", "[1]", json.dumps(statement(actor={})), json.dumps(statement(timestamp="soon")),
        json.dumps(statement(result={"success": True, "duration": "a while"})),
    ]  # fmt: skip
    path = write(tmp_path / "statements.jsonl", "\n".join([json.dumps(statement()), "", *bad]))
    logs = load(path, "xapi", most_rejected=0.9)
    assert logs.account.reasons == {
        "not JSON": 2,
        "missing actor": 1,
        "unreadable result.duration": 1,
        "unreadable timestamp": 1,
    }
    assert logs.rejects["line"].to_list() == [3, 4, 5, 6, 7]


def test_statements_without_any_answer_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "statements.jsonl", json.dumps(statement(result={})))
    with pytest.raises(InputError, match=r"holds no answers, only no result \(1\)"):
        load(path, "xapi")


def test_lines_that_are_no_decisions_are_rejected(tmp_path: Path) -> None:
    bad = [
        "[1]", json.dumps(decision(learner=None)), json.dumps(decision(propensity=1.5)),
        json.dumps(decision(propensity=0)), json.dumps(decision(correct="perhaps")), json.dumps(decision(order=None)),
        json.dumps(decision())[:40],
    ]  # fmt: skip
    path = write(tmp_path / "decisions.ndjson", "\n".join([json.dumps(decision()), "", *bad]))
    logs = load(path, "decisions", most_rejected=0.9)
    assert logs.account.reasons == {
        "not JSON": 2,
        "unreadable propensity": 2,
        "missing learner": 1,
        "missing order": 1,
        "unreadable correct": 1,
    }
    assert logs.rejects["line"].to_list() == [3, 4, 5, 6, 7, 8, 9]
    with pytest.raises(InputError, match="rows cannot be used") as told:
        load(path, "decisions")
    assert "\n" not in str(told.value)


def test_exports_may_overlap(tmp_path: Path) -> None:
    """The later has an outcome that the earlier lacks, and labels that were changed since."""
    first = [decision(group_class="3a"), decision(order=9, group_class="3a", **UNANSWERED)]
    second = [decision(group_class="3b"), decision(order=9, group_class="3b", correct=False)]
    path = write(tmp_path / "decisions.ndjson", "\n".join(json.dumps(row) for row in first + second))
    account = load(path, "decisions").account
    assert (account.rows, account.interactions) == (4, 2)
    assert (account.duplicates, account.skips) == (1, {"no outcome": 1})


def test_decisions_without_any_answer_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "decisions.ndjson", json.dumps(decision(**UNANSWERED)))
    with pytest.raises(InputError, match=r"holds no answers, only no outcome \(1\)"):
        load(path, "decisions")


def test_a_row_that_was_cut_short_is_no_decision_without_an_outcome(tmp_path: Path) -> None:
    """As when an export in CSV breaks off: in JSON lines, what is cut is no JSON."""
    rows = [decision(), decision(order=8, **UNANSWERED)]
    header = ",".join(name for name in rows[0] if name != "certificate")
    text = "\n".join(",".join(str(row.get(name) or "") for name in header.split(",")) for row in rows)
    path = write(tmp_path / "decisions.csv", f"{header}\n{text}\nlrn_b,v1,v1/practice,9,2026-01-07T10:12:00.250Z")
    account = load(path, "decisions", most_rejected=0.5).account
    assert (account.interactions, account.skips, account.reasons) == (1, {"no outcome": 1}, {"missing correct": 1})


def test_a_table_of_one_s_own_can_tell_propensities(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", "who,correct,chance\na,1,0.5\nb,0,NA\n")
    mapping = {"learner": "who", "propensity": "chance"}
    found = load(path, "table", ReadOptions(mapping=mapping)).table
    assert found["propensity"].to_list() == [0.5, None]
    assert found["propensity"].dtype == pl.Float32
    assert "propensity" not in load(path, "table", ReadOptions(mapping={"learner": "who"})).table.columns


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ({}, "which column of .* is learner and which is correct"),
        ({"learner": "a"}, "add correct=COLUMN to --map"),
        ({"learner": "a", "correct": "z"}, "has no column 'z'"),
        ({"lerner": "a"}, "no canonical column 'lerner'"),
    ],
)
def test_a_map_that_does_not_do_is_told(mapping: dict[str, str], told: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b\n1,1\n")
    with pytest.raises(InputError, match=told):
        load(path, "table", ReadOptions(mapping=mapping))


@pytest.mark.parametrize(
    ("told", "time"),
    [
        ("1565332027", at(2019, 8, 9, 6, 27, 7)),
        ("1565332027449", at(2019, 8, 9, 6, 27, 7, 449000)),
        ("1565332027449000", at(2019, 8, 9, 6, 27, 7, 449000)),
        ("1565332027449000000", at(2019, 8, 9, 6, 27, 7, 449000)),
        ("90", at(1970, 1, 1, 0, 1, 30)),
        ("2019-08-09T06:27:07.449Z", at(2019, 8, 9, 6, 27, 7, 449000)),
        ("8/9/2019 6:27", at(2019, 8, 9, 6, 27)),
        ("8/9/19 6:27", at(2019, 8, 9, 6, 27)),
        ("8/9/19 6:27:07", at(2019, 8, 9, 6, 27, 7)),
        ("8/9/19", at(2019, 8, 9)),
        ("8/9/2019", at(2019, 8, 9)),
        ("8/9/2019 6:27 PM", at(2019, 8, 9, 18, 27)),
        ("8/9/19 6:27:07 AM", at(2019, 8, 9, 6, 27, 7)),
        ("2019-08-09", at(2019, 8, 9)),
    ],
)
def test_times_of_a_table_are_numbers_or_written_out(told: str, time: datetime, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"learner,correct,time\n1,1,{told}\n")
    assert load(path, "table").table["time"].to_list() == [time]


def test_canonical_columns_need_no_map_in_csv_or_parquet(tmp_path: Path) -> None:
    frame = pl.DataFrame({"learner": [2, 1], "correct": [True, False], "time": [at(2020, 1, 2), at(2020, 1, 1)]})
    frame.write_parquet(tmp_path / "a.parquet")
    logs = load(tmp_path / "a.parquet", "table")
    assert_holds(logs, [{"learner": "1", "time": at(2020, 1, 1), "correct": False}, {"learner": "2", "correct": True}])


@pytest.mark.parametrize("name", ["assistments-2012", "assistments-2017", "table"])
def test_renumbered_copies_of_a_release_are_known_by_their_columns(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "user_id,item_id,timestamp,correct,skill_id\n0,5,10,1,3\n0,4,0,0,3\n")
    logs = load(path, name)
    assert_holds(logs, [{"learner": "0", "item": "4", "concept": "3", "correct": False}, {"item": "5"}])
    assert logs.format == name


def test_rows_of_one_event_of_a_table_are_merged(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "learner,correct,order,event,concept\n1,1,1,x,b\n1,0,2,y,a\n1,1,1,x,a\n")
    logs = load(path, "table")
    assert logs.table["concept"].to_list() == ["a~~b", "a"]
    assert logs.account.merged == 1


@pytest.mark.parametrize(
    ("told", "time"),
    [
        ("1/24/2019 21:00", at(2019, 1, 24, 13)),
        ("1/24/2019 21:00:00", at(2019, 1, 24, 13)),
        ("1/24/2019 9:00 PM", at(2019, 1, 24, 13)),
        ("1/24/19 21:00", at(2019, 1, 24, 13)),
        ("1/24/2019", at(2019, 1, 23, 16)),
        ("1/24/19", at(2019, 1, 23, 16)),
    ],
)
def test_times_of_junyi_s_that_went_through_a_spreadsheet(told: str, time: datetime, tmp_path: Path) -> None:
    path = junyi_2020(tmp_path).path / "Log_Problem.csv"
    write(
        path, path.read_text(encoding="utf-8").replace("2019-05-26 21:00:00 UTC", told).replace("1/24/2019 21:15", told)
    )
    logs = load(path, "junyi-2020", most_rejected=0.0)
    assert logs.table["time"].unique().to_list() == [time]


def test_a_quote_within_a_step_s_name_is_a_letter_like_others(tmp_path: Path) -> None:
    path = datashop(tmp_path).path
    text = gzip.decompress(path.read_bytes()).decode().replace("\tdone\t", '\tthe 5" side\t')
    logs = load(write(tmp_path / "steps.txt", text), "datashop")
    assert logs.table["item"].to_list() == ['w01 / the 5" side'] * 2
    text = text.replace('the 5" side', '"the 5"" side, left"')  # as some copies have it
    logs = load(write(tmp_path / "steps.txt", text), "datashop")
    assert logs.table["item"].to_list() == ['w01 / the 5" side, left'] * 2


def test_empty_component_names_count_as_missing(tmp_path: Path) -> None:
    path = datashop(tmp_path).path
    text = gzip.decompress(path.read_bytes()).decode().replace("tone2~~tone1", "~~tone1")
    logs = load(write(tmp_path / "steps.txt", text), "datashop")
    assert logs.table["concept"].to_list() == ["tone1", None]


def test_each_answer_of_six_lines_is_an_event_whatever_the_clock_says(tmp_path: Path) -> None:
    lists = [",".join(each) for each in (["5"] * 40, ["1"] * 40, ["0", "1"] * 20, ["0"] * 40)]
    logs = load(write(tmp_path / "data.txt", "\n".join(["u0,40", *lists, "NA"]) + "\n"), "pykt")
    assert logs.account.interactions == logs.account.rows == 40
    assert logs.table["correct"].to_list() == [False, True] * 20


def sequences(path: Path, questions: str, concepts: str, responses: str, **lists: str) -> Path:
    columns = {"questions": questions, "concepts": concepts, "responses": responses, **lists}
    return write(path, ",".join(("uid", *columns)) + "\n5," + ",".join(f'"{each}"' for each in columns.values()) + "\n")


def test_a_question_answered_again_at_once_is_not_one_that_goes_on(tmp_path: Path) -> None:
    again = sequences(tmp_path / "a.csv", "7,7,7", "1,1,2", "0,1,1", timestamps="9,9,9", is_repeat="0,0,1")
    logs = load(again, "xes3g5m")
    assert logs.table.select("concept", "correct").rows() == [("1", False), ("1~~2", True)]
    assert (logs.account.merged, logs.account.duplicates) == (1, 0)


def test_unmarked_rows_with_another_concept_and_the_same_answer_continue_a_question(tmp_path: Path) -> None:
    path = sequences(tmp_path / "a.csv", "7,7,7,7", "1,2,2,1", "1,1,1,0", timestamps="9,9,9,9")
    logs = load(path, "xes3g5m")
    assert logs.table.select("concept", "correct").rows() == [("1~~2", True), ("2", True), ("1", False)]


def test_events_of_a_learner_in_two_files_are_not_one(tmp_path: Path) -> None:
    sequences(tmp_path / "train_valid_sequences.csv", "7,8", "1,2", "1,1", is_repeat="0,0")
    sequences(tmp_path / "test.csv", "9,9", "3,4", "1,1", is_repeat="0,1")
    assert load(tmp_path, "xes3g5m").table["concept"].to_list() == ["1", "2", "3~~4"]


def test_a_mark_of_utf_8_goes_before_the_format_s_own_encoding(tmp_path: Path) -> None:
    example = assistments_2009(tmp_path)
    text = example.path.read_text(encoding="iso-8859-15")
    logs = load(write(tmp_path / "saved.csv", "\ufeff" + text), "assistments-2009")
    assert logs.table.equals(load(example.path, "assistments-2009").table)


def test_learners_files_whose_lines_end_with_a_carriage_return_are_read(tmp_path: Path) -> None:
    example = ednet_kt1(tmp_path)
    table = load(example.path, "ednet-kt1").table
    for file in tmp_path.rglob("u*.csv"):
        file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r"))
    assert load(example.path, "ednet-kt1").table.equals(table)


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_statements_end_with_their_line_and_not_before(sign: str, end: str, tmp_path: Path) -> None:
    told = statement(object={"id": f"https://example.org/q{sign}1"})
    lines = [json.dumps(told, ensure_ascii=False), "no JSON", json.dumps(statement(id="s2"))]
    logs = load(write(tmp_path / "statements.jsonl", end.join(lines)), "xapi", most_rejected=0.5)
    assert sorted(logs.table["item"].to_list()) == ["https://example.org/q1", f"https://example.org/q{sign}1"]
    assert logs.rejects["line"].to_list() == [2]


def test_ids_of_statements_may_be_of_any_kind(tmp_path: Path) -> None:
    voiding = {"verb": {"id": "http://adlnet.gov/expapi/verbs/voided"}, "result": None}
    told = [
        statement(id=5), statement(id=["s"]), statement(id=None), statement(id=6),
        statement(id="v1", object={"id": ["s1"]}, **voiding), statement(id="v2", object={"id": 6}, **voiding),
    ]  # fmt: skip
    logs = load(write(tmp_path / "statements.jsonl", "\n".join(map(json.dumps, told))), "xapi")
    assert logs.account.interactions == 3
    assert logs.account.skips == {"no result": 2, "voided": 1}


@pytest.mark.parametrize("statements", [None, 5, "s", {}])
def test_a_document_without_a_list_of_statements_is_refused(statements: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "statements.json", json.dumps({"statements": statements}))
    with pytest.raises(InputError, match="'statements' are no list"):
        load(path, "xapi")
