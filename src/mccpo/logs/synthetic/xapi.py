"""Made-up xAPI statements, one JSON object a line."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import polars as pl
from jaxtyping import Int

from mccpo.logs.synthetic.delimited import clock
from mccpo.logs.synthetic.faults import Fault
from mccpo.logs.synthetic.item_bank import ItemBank
from mccpo.logs.synthetic.line_logs import LineLog
from mccpo.logs.synthetic.simulation import Answers

XAPI_BANK = ItemBank(exercises=100, problems=20)
_HOME = "https://example.org"


@dataclass(frozen=True)
class XapiLog(LineLog):
    """Statements of the verb `answered`: who, what, with which result, for which concept."""

    def text(self, frame: pl.DataFrame) -> str:
        return frame.write_ndjson()

    def header(self, frame: pl.DataFrame) -> str:
        return ""

    def damaged(self, line: str, fault: Fault, columns: list[str]) -> str:
        statement = json.loads(line)
        match fault:
            case Fault.TOO_LONG:
                return line + "}"
            case Fault.CUT_SHORT:
                return line[: len(line) // 2]
            case Fault.NO_LEARNER:
                del statement["actor"]
            case Fault.STRANGE_ANSWER:
                statement["result"]["success"] = "perhaps"
            case Fault.STRANGE_ORDER:
                statement["timestamp"] = "later"
        return json.dumps(statement, separators=(",", ":"))

    def reason(self, fault: Fault, columns: list[str]) -> str:
        return {
            Fault.TOO_LONG: "not JSON",
            Fault.CUT_SHORT: "not JSON",
            Fault.NO_LEARNER: "missing actor",
            Fault.STRANGE_ANSWER: "unreadable result.success",
            Fault.STRANGE_ORDER: "unreadable timestamp",
        }[fault]


def _statements(_: ItemBank, answers: Answers, which: Int[np.ndarray, " rows"]) -> pl.DataFrame:
    concept = pl.Series(answers.exercise).cast(pl.String)
    text = pl.DataFrame(
        {
            "row": pl.Series(which).cast(pl.String).str.zfill(12),
            "learner": "learner-" + pl.Series(answers.learner).cast(pl.String),
            "item": f"{_HOME}/items/" + pl.Series(answers.item).cast(pl.String),
            "concept": f"{_HOME}/concepts/" + concept,
            "taken": "PT" + pl.Series(answers.seconds).cast(pl.String) + "S",
            "correct": answers.correct,
            "time": clock(answers).dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )
    answered = pl.struct(pl.lit("http://adlnet.gov/expapi/verbs/answered").alias("id"))
    account = pl.struct(pl.lit(_HOME).alias("homePage"), pl.col("learner").alias("name"))
    about = pl.struct(pl.lit("http://adlnet.gov/expapi/activities/cmi.interaction").alias("type"))
    parent = pl.concat_list(pl.struct(pl.col("concept").alias("id")))
    return text.select(
        ("00000000-0000-4000-8000-" + pl.col("row")).alias("id"),
        pl.struct(pl.lit("Agent").alias("objectType"), account.alias("account")).alias("actor"),
        answered.alias("verb"),
        pl.struct(pl.col("item").alias("id"), about.alias("definition")).alias("object"),
        pl.struct(
            pl.struct(pl.col("correct").cast(pl.Float64).alias("scaled")).alias("score"),
            pl.col("correct").alias("success"),
            pl.lit(True).alias("completion"),
            pl.col("taken").alias("duration"),
        ).alias("result"),
        pl.struct(pl.struct(parent.alias("parent")).alias("contextActivities")).alias("context"),
        pl.col("time").alias("timestamp"),
    )


XAPI = XapiLog(_statements)
