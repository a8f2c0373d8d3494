"""A canonical table summed up by learner and concept."""

import polars as pl
import pytest

from mccpo.errors import InputError
from mccpo.logs import responses_by_concept

TABLE = pl.DataFrame(
    [
        ("u", "b", 0, False), ("u", "a", 1, True), ("u", "b", 2, True), ("u", "a~~c", 3, False), ("u", None, 4, True),
        ("v", "a", 0, False), ("v", "a", 1, True), ("v", "a", 2, True),
    ],
    schema={"learner": pl.Categorical, "concept": pl.String, "order": pl.Int64, "correct": pl.Boolean}, orient="row",
)  # fmt: skip


def entries(scores):
    columns = zip(
        scores.learner.tolist(), scores.concept.tolist(), scores.score.tolist(), scores.first.tolist(), strict=True
    )
    return [(learner, scores.concepts[concept], score, first) for learner, concept, score, first in columns]


def test_first_answers_and_means():
    assert entries(responses_by_concept(TABLE)) == [(0, "a", 1, 1), (0, "b", 0, 0), (1, "a", 0, 0)]
    mean = entries(responses_by_concept(TABLE, "mean"))
    assert mean == [(0, "a", 1, 1), (0, "b", 0.5, 0), (1, "a", pytest.approx(2 / 3), 0)]


def test_a_concept_that_only_shares_events_is_named_and_has_no_scores():
    assert responses_by_concept(TABLE).concepts == ("a", "b", "c")


def test_the_order_of_rows_does_not_matter():
    assert entries(responses_by_concept(TABLE[::-1])) == entries(responses_by_concept(TABLE))


def test_names_may_be_codes():
    coded = TABLE.with_columns(pl.col("concept").cast(pl.Categorical))
    assert entries(responses_by_concept(coded)) == entries(responses_by_concept(TABLE))


def test_answers_without_concepts_are_refused():
    with pytest.raises(InputError, match="no answer names one concept"):
        responses_by_concept(TABLE.with_columns(pl.lit(None, pl.String).alias("concept")))
