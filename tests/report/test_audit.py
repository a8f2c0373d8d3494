"""The page of an audit, and its sentences."""

import re
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from mccpo.logs import COLUMNS, encode
from mccpo.logs.audit import Audit, Rate, audit
from mccpo.report.audit import AuditSubject, PaperPrevalence, render_audit, sentences
from mccpo.report.audit.page import FEWEST_EVENTS, FEWEST_LEARNERS

SUBJECT = AuditSubject(
    "school <1>", 30, 5000, 8.0, PaperPrevalence("Junyi Academy", 90_485, 340_988), {"ema": "moving average"}
)


def found(learners: int = 60, *, signal: bool = True, concepts: int = 3, **fixed: object) -> Audit:
    rng = np.random.default_rng(0)
    size = 30 * learners
    columns: dict[str, object] = {
        "learner": [f"u{at:03d}" for at in np.repeat(np.arange(learners), 30)],
        "concept": [f"分数 & <{at}>" for at in rng.integers(concepts, size=size)],
        "order": np.tile(np.arange(30), learners),
        "time": np.datetime64("2019-01-01T00:00", "ms") + rng.integers(10**10, size=size).astype("timedelta64[ms]"),
        "correct": rng.random(size) < 0.7,
        "signal": rng.integers(-1, 2, size) if signal else None,
        "group_grade": [str(1 + at % 11) for at in np.repeat(np.arange(learners), 30)],
    }
    frame = pl.DataFrame(columns | fixed)
    frame = frame.with_columns(
        pl.col(name).cast(dtype) if name in frame.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in COLUMNS.items()
    )
    frame = frame.with_columns(encode(frame[name]) for name in ("learner", "concept", "group_grade"))
    gains = {"ema": rng.random(frame.height) * 0.05}
    return audit(frame, gains, retained=(frame["learner"].to_physical() % 2 == 0).to_numpy(), hours_ahead=8)


def test_the_page_holds_the_finding_the_definition_and_every_part() -> None:
    made = found()
    page = render_audit(made, SUBJECT)
    for part in (
        sentences.headline(made), "correct ∧ signal ≠ up", "correct ∧ K_after − K_before ≤ 0.005", "UTC+8",
        "The paper reports 26.5 %", "Retained episodes", "school &lt;1&gt;", "分数 &amp; &lt;0&gt;", "Months",
    ):  # fmt: skip
        assert part in page
    body = page[page.index("<main") : page.index("</main>") + len("</main>")]
    ElementTree.fromstring(body.replace("&nbsp;", " "))  # well formed, and every name escaped
    assert not re.search(r"https?://|<script|<link|@import|src=", page)  # opens offline


def test_the_same_audit_gives_the_same_bytes() -> None:
    assert render_audit(found(), SUBJECT) == render_audit(found(), SUBJECT)


def test_ids_are_unique() -> None:
    ids = re.findall(r' id="([^"]+)"', render_audit(found(), SUBJECT))
    assert len(ids) == len(set(ids))


def test_groups_named_by_numbers_are_in_their_order() -> None:
    page = render_audit(found(), SUBJECT)
    grades = page[page.index("<h3>Grade</h3>") :]
    shown = re.findall(r'<th scope="row">(\d+)</th>', grades)
    assert shown == [str(grade) for grade in range(1, 12)]


def test_many_concepts_show_the_ends_and_do_not_rank_rare_ones() -> None:
    many = found(200, concepts=40)
    page = render_audit(many, SUBJECT)
    assert "The highest rates" in page
    assert "The lowest rates" in page
    shown = re.findall(r'<th scope="row">分数[^<]*</th>', page)
    assert len(shown) == 24
    ranked = many.breakdown("concept")
    assert ranked is not None
    best = max(ranked.levels, key=lambda level: level.rates["signal"].rate or 0.0)
    assert best.label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in shown[0]
    few = found(5, concepts=40)
    rare = rf"\b0 of \d+ concepts have at least {FEWEST_EVENTS} interactions of at least {FEWEST_LEARNERS} learners"
    assert re.search(rare, render_audit(few, SUBJECT))


@pytest.mark.parametrize(
    "made",
    [
        pytest.param({"learners": 1}, id="one learner"),
        pytest.param({"signal": False}, id="no signal"),
        pytest.param({"concept": None}, id="no concept"),
        pytest.param({"time": None}, id="no clock"),
        pytest.param({"correct": True}, id="all right"),
        pytest.param({"correct": False}, id="all wrong"),
    ],
)
def test_what_logs_lack_is_left_out_and_said(made: dict[str, object]) -> None:
    one = found(**made)  # type: ignore[arg-type]
    page = render_audit(one, SUBJECT._replace(paper=None))
    assert not re.search(r"\bnan\b", page)
    assert ("The platform gives no signal" in page) == (made == {"signal": False})
    assert ("There is one learner" in page) == (made == {"learners": 1})
    assert ("Months and hours" in page) == ("time" not in made)


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (None, "–"), (0.0, "0 %"), (1.0, "100 %"), (0.265, "26.5 %"), (0.0314, "3.1 %"), (0.9999, "99.9 %"),
        (0.0012, "0.12 %"), (0.00041, "0.041 %"), (1e-7, "under 0.0001 %"), (0.00996, "1.0 %"), (0.01, "1.0 %"),
    ],
)  # fmt: skip
def test_shares_are_told_with_as_many_digits_as_they_deserve(rate: float | None, text: str) -> None:
    assert sentences.percent(rate) == text


def test_intervals_and_differences_in_words() -> None:
    assert sentences.interval(Rate(1, 2, 2, 0.5, 0.262, 0.7)) == "26.2 to 70.0 %"
    assert sentences.interval(Rate(1, 2, 1, 0.5, None, None)) == "no interval"
    assert [sentences.points(value) for value in (0.051, -0.02, 0.0001, -0.0001)] == ["+5.1", "−2.0", "0.0", "0.0"]


def test_the_threshold_at_which_a_model_has_the_platforms_rate() -> None:
    made = found()
    curve = made.curve("ema")
    assert curve is not None
    level = made.rate("signal").rate
    assert level is not None
    told = sentences.crossing(curve, level)
    assert told is not None
    low, high = (float(part) for part in re.findall(r"[\d.]+", told))
    by_threshold = dict(zip((float(sentences.plain(at)) for at in curve.thresholds), curve.rates, strict=True))
    assert (by_threshold[low].rate or 0.0) < level <= (by_threshold[high].rate or 0.0)
    assert sentences.crossing(curve, 0.99) is None
    assert told in sentences.moved(made)


def test_many_groups_show_those_with_most_learners() -> None:
    one = found(90, group_grade=[f"class {at}" for at in np.repeat(np.minimum(np.arange(90) // 2, 40), 30)])
    page = render_audit(one, SUBJECT)
    shown = re.findall(r'<th scope="row">(class \d+)</th>', page[page.index("<h3>Grade</h3>") :])
    assert len(shown) == 30
    assert "class 40" in shown  # the largest
    assert "audit.json has all" in page
