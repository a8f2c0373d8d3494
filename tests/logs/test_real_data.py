"""Public data sets in the folder that `MCCPO_DATA` names: each is read, and its counts are those of its release."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from mccpo.logs import Logs, ReadOptions, load

RENUMBERED = "learner=user_id,item=item_id,time=timestamp,correct=correct,concept=skill_id"


class DataSet(NamedTuple):
    """How a file is read, and what it then holds: rows, events, learners, items and concepts."""

    file: str
    format: str
    counts: tuple[int, int, int, int, int]
    map: str = ""
    model: str | None = None


DATASETS = (
    DataSet("assist2009/skill_builder_data_corrected.parquet", "assistments-2009", (401756, 346860, 4217, 26688, 110)),
    DataSet("assist2009/skill_builder_data_original.parquet", "assistments-2009", (525534, 346860, 4217, 26688, 110)),
    DataSet("assist2012/assist2012_interactions.parquet", "assistments-2012", (1968737, 1968737, 24429, 51632, 264)),
    DataSet("assist2017/assist2017_interactions.parquet", "assistments-2017", (934638, 934638, 1708, 3162, 411)),
    DataSet(
        "statics2011/statics2011_preprocessed.parquet", "table", (189297, 189297, 282, 1223, 98),
        "learner=user_id,item=item_id,correct=correct,concept=skill_id",
    ),
    DataSet(
        "ednet/pebg_ednet_5002_students.parquet", "table", (222141, 222141, 5002, 10779, 1661),
        "learner=student,order=step,item=problem,concept=skill_combo,correct=correct",
    ),
    DataSet("ednet/theophilee_ednet_small_test_split.parquet", "table", (87210, 87193, 1000, 11640, 117), RENUMBERED),
    DataSet(
        "junyi2015/grlepg_junyi_sequences.parquet", "table", (75184, 75184, 2500, 546, 546),
        "learner=student,order=step,item=exercise,concept=exercise,correct=correct,group_topic=topic",
    ),
    DataSet(
        "junyi2015/conecd_junyi_responses_named.parquet", "table", (353835, 353835, 10000, 706, 706),
        "learner=student,item=exercise,concept=exercise,correct=score",
    ),
    DataSet(
        "junyi2015/hiercdf_junyi_responses.parquet", "table", (408057, 408057, 10000, 707, 707),
        "learner=user_id,item=exer_id,concept=exer_id,correct=score,group_split=split",
    ),
    DataSet(
        "junyi2015/yts798_junyi10_rows.parquet", "table", (100000, 100000, 39827, 683, 683),
        "learner=user,order=step,item=item,concept=item,correct=correct,attempts=count_attempts,seconds=time_taken",
    ),
    DataSet("junyi2020/Log_Problem_head5.csv", "junyi-2020", (5, 5, 5, 5, 5)),
    DataSet(
        "junyi2020/yts798_junyi18_rows.parquet", "table", (50000, 50000, 18897, 15254, 0),
        "learner=uuid,order=step,item=upid,correct=correct",
    ),
    DataSet(
        "datashop/ds76_geometry_area_transactions.txt.gz", "datashop", (6778, 5104, 59, 139, 12), model="Textbook"
    ),
    DataSet("datashop/ds1_chinese_tone_student_step_9999rows.txt.gz", "datashop", (9999, 9999, 15, 948, 7)),
    DataSet(
        "lkt_statistics_cloze/largerawsample.parquet", "table", (58316, 55122, 478, 72, 36),
        "learner=Anon.Student.Id,time=Time,order=Row,item=Problem.Name,concept=KC..Cluster.,correct=Outcome,"
        "seconds=Duration..sec.,group_condition=Condition.Name.1,group_unit=Level..Unitname.",
    ),
)  # fmt: skip
"""Every data set with responses: the file, the format, and what `--map` and `--model` then say."""


def opened(dataset: DataSet) -> Logs:
    folder = os.environ.get("MCCPO_DATA")
    if not folder:
        pytest.skip("MCCPO_DATA does not name a folder with the public data sets")
    path = Path(folder) / dataset.file
    if not path.exists():
        pytest.skip(f"{path} is not there")
    mapping = dict(each.split("=", 1) for each in dataset.map.split(",")) if dataset.map else {}
    return load(path, dataset.format, ReadOptions(mapping=mapping, model=dataset.model))


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.file)
def test_a_public_data_set_holds_what_its_release_says(dataset: DataSet) -> None:
    logs = opened(dataset)
    account = logs.account
    assert (account.rows, account.interactions, account.learners, account.items, account.concepts) == dataset.counts
    assert account.reconciles
    assert account.rejected == 0
    assert logs.table["learner"].is_sorted()
