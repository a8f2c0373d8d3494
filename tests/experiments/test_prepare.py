"""From logs to environments: what is found against cases worked out by hand and learners that were made up."""

import json
import math
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from tests.work.here import Here

from mccpo.curriculum import Curriculum, RawConcept, RawGraph, read_raw
from mccpo.curriculum.lint import repaired
from mccpo.env import PreparedBestLR, PreparedJudge, PreparedTutor, make
from mccpo.errors import InputError
from mccpo.experiments.prepare import LogOrigin, PrepareOptions, prepare, prepared, training_learners
from mccpo.experiments.prepare.demand import demand_of
from mccpo.experiments.prepare.engagement import engaged, engagement_of, first_answers, novelty_of
from mccpo.experiments.prepare.held_out import HeldOut
from mccpo.experiments.prepare.learners import as_learners, groups_of, halves, harmless, labels_of, pooled
from mccpo.experiments.prepare.parameters import C2_SHARE, C4_SHARE
from mccpo.experiments.prepare.resampling import RESAMPLES, resampled
from mccpo.logs import ReadOptions, load, read_table
from mccpo.mastery import BKT, PFA, Responses, read_model
from mccpo.mastery.fitting import FitSettings
from mccpo.mastery.tables import responses_of
from mccpo.work import ByCrew, one_by_one

CHAIN = RawGraph((RawConcept("c", ("b",)), RawConcept("b", ("a",)), RawConcept("a"), RawConcept("unmet")))
FILES = {
    "curriculum.json", "tutor.json", "judge.json", "judge-others.json", "judge-best-lr.json", "learner.json",
    "judge-learner.json", "episodes.parquet", "prepared.json",
}  # fmt: skip
CHOICES = PrepareOptions(minimum=6, restarts=2)


@pytest.fixture(scope="module")
def canonical(tmp_path_factory):
    """Rows of learner, concept, order, correct and more as a canonical table."""
    place = tmp_path_factory.mktemp("tables") / "table.parquet"

    def build(rows, **columns):
        names = ("learner", "concept", "order", "correct", *columns)
        data = dict(zip(names, (*map(list, zip(*rows, strict=True)), *columns.values()), strict=True))
        pl.DataFrame(data).with_columns(pl.col("correct").cast(pl.Boolean)).write_parquet(place)
        return read_table(place)

    return build


def made_up(learners=30, seed=0, concepts=("a", "b", "c"), each=6, prior=0.3, learn=0.2, names="l"):
    """Rows of learners who know a concept at first, or learn it, with these chances, and guess and slip at 0.2."""
    draw = np.random.default_rng(seed)
    for learner in range(learners):
        order = 0
        for concept in concepts:
            known = draw.random() < prior
            for _ in range(each):
                yield f"{names}{learner:03d}", concept, order, bool(draw.random() < (0.8 if known else 0.2))
                known = known or draw.random() < learn
                order += 1


def responses(rows, time=None):
    """Rows of learner, concept, correct and, where several are one event, its number."""
    learners, concepts = (sorted({row[at] for row in rows}) for at in (0, 1))
    return Responses(
        learner=np.array([learners.index(row[0]) for row in rows], np.int32),
        concept=np.array([concepts.index(row[1]) for row in rows], np.int32),
        correct=np.array([bool(row[2]) for row in rows]),
        event=np.array([row[3] if len(row) > 3 else at for at, row in enumerate(rows)], np.int64),
        time=np.full(len(rows), np.nan) if time is None else np.array(time, float),
        learners=tuple(learners),
        concepts=tuple(concepts),
    )


@pytest.fixture(scope="module")
def table(canonical):
    return canonical(list(made_up()))


@pytest.fixture(scope="module")
def found(table):
    return prepare(table, CHAIN, CHOICES, origin=LogOrigin("made up"))


def test_fits_by_other_processes_give_the_same_environment(table, found, tmp_path):
    """What is fitted apart comes back as files; the same of the eight resamples of a robust environment."""
    crew = Here()
    calls = ByCrew(crew, tmp_path / "cells")
    apart = prepare(table, CHAIN, CHOICES, origin=LogOrigin("made up"), calls=calls)
    assert apart.document.as_json() == found.document.as_json()
    assert len(crew.done) == 4  # there are too few learners for a recurrent network
    ours = responses_of(table)
    drawn, again = (resampled(ours, Curriculum.from_raw(CHAIN), FitSettings(), how) for how in (calls, one_by_one))
    for one, other in zip(drawn, again, strict=True):
        np.testing.assert_array_equal(one, other)


class TestSignals:
    def test_demand_of_a_log_worked_out_by_hand(self):
        events = pl.DataFrame(
            {
                "learner": ["1", "1", "2", "2", "3"],
                "concept": ["a", "a", "a", "b", "b"],
                "order": [0, 1, 0, 1, 0],
                "correct": [False, True, True, True, False],
                "hints": [1, 0, 0, 0, None],
                "seconds": [10.0, 30.0, 20.0, 60.0, None],
            }
        )
        demand, asked = demand_of(events, ("a", "b", "unmet"))
        # a: one of two first answers wrong, one of three events with a hint, a median of 20 s against 25 s over all.
        first, hint, time = (0.5, 0.5), (1 / 3, 0.0), (20 / 45, 60 / 85)
        by_hand = [np.mean([first[at], hint[at], time[at]]) for at in range(2)]
        np.testing.assert_allclose(demand, [*by_hand, np.mean(by_hand)])
        assert asked == ["wrong first answers", "events with a hint", "time"]

    def test_demand_is_of_what_there_is_and_never_nothing_or_all(self):
        events = pl.DataFrame(
            {"learner": ["1", "1"], "concept": ["a", "b"], "order": [0, 1], "correct": [True, False]},
        ).with_columns(hints=pl.lit(None, pl.Int32), seconds=pl.lit(None, pl.Float32))
        demand, asked = demand_of(events, ("a", "b"))
        assert asked == ["wrong first answers"]
        np.testing.assert_allclose(demand, [0.05, 0.95])

    def test_engagement_is_to_be_right_and_to_go_on(self):
        rows = [("x", "a", 1, 0), ("x", "b", 1, 0), ("x", "a", 0, 1), ("x", "a", 1, 2), ("y", "a", 1, 3)]
        time = [0, 0, 60, 60 + 1801, 0]
        # The two rows of the first event go on together; half an hour is exceeded before the third; the rest are last.
        np.testing.assert_allclose(engaged(responses(rows, time)), [1.0, 1.0, 0.0, 0.5, 0.5])
        np.testing.assert_allclose(engaged(responses(rows)), [1.0, 1.0, 0.0, 1.0, 1.0])
        unknown = [np.nan, np.nan, 60, 61, 0]
        np.testing.assert_allclose(engaged(responses(rows, unknown)), [1.0, 1.0, 0.5, 0.5, 0.5])

    def test_novelty_and_first_answers_go_by_learner_and_concept(self):
        rows = responses([("x", "a", 1), ("x", "b", 0), ("x", "a", 0), ("y", "a", 0), ("y", "a", 1)])
        np.testing.assert_allclose(novelty_of(rows), [1, 1, math.exp(-0.2), 1, math.exp(-0.2)])
        np.testing.assert_allclose(first_answers(rows), [0.5, 0.0])
        assert np.isnan(first_answers(rows._replace(concepts=("a", "b", "unmet")))[2])

    def test_engagement_comes_back_from_learners_made_by_it(self):
        draw = np.random.default_rng(1)
        rows = [(f"{at // 40:04d}", "ab"[at % 2], 0) for at in range(40_000)]
        made = responses(rows)
        demand, mastery = np.array([0.2, 0.8]), draw.random(len(rows))
        chance = 0.8 - 0.6 * demand[made.concept] * (1 - mastery) + 0.15 * novelty_of(made)
        seen = engagement_of(made._replace(correct=draw.random(len(rows)) < chance), mastery, demand)
        np.testing.assert_allclose(seen[:3], [0.8, 0.6, 0.15], atol=0.03)
        assert 0.01 < seen.r_squared < 0.2
        assert seen.mean == pytest.approx(chance.mean(), abs=0.01)

    def test_engagement_that_rises_with_difficulty_is_held_at_no_effect(self):
        draw = np.random.default_rng(2)
        made = responses([(f"{at // 20:03d}", "a", 0) for at in range(4000)])
        mastery = draw.random(4000)
        right = draw.random(4000) < 0.3 + 0.5 * (1 - mastery)
        assert engagement_of(made._replace(correct=right), mastery, np.array([0.5])).difficulty == 0


class TestLearners:
    def test_halves_share_no_learner_and_do_not_depend_on_who_comes_first(self):
        rows = [(f"l{at}", "a", at % 2) for at in range(101)]
        one, other = halves(responses(rows), 0)
        names = [{half.learners[code] for code in half.learner} for half in (one, other)]
        assert not names[0] & names[1]
        assert (len(names[0]), len(names[1])) == (51, 50)
        reversed_ = responses(rows[::-1])
        again = halves(reversed_, 0)[0]
        assert {again.learners[code] for code in again.learner} == names[0]
        elsewhere = halves(responses(rows), 1)[0]
        assert {elsewhere.learners[code] for code in elsewhere.learner} != names[0]

    def test_a_concept_that_few_met_is_drawn_to_the_mean(self):
        rows = [(f"{at:02d}", "much", 1) for at in range(60)] + [("00", "little", 1), ("00", "little", 0)]
        model = BKT(*(np.array([0.9, 0.1, 0.2]) for _ in range(4)), concepts=("little", "much"))
        drawn = pooled(model, responses(rows))
        np.testing.assert_allclose(drawn.learn, [(0.9 + 20 * 0.2) / 21, (60 * 0.1 + 20 * 0.2) / 80, 0.2])

    def test_no_answer_harms_the_learners_that_judge(self):
        model = harmless(PFA(np.array([-1.0, 1.0]), np.array([0.2, -0.1]), np.array([-0.3, 0.1]), 1.0, ("a",)))
        np.testing.assert_allclose(model[:3], [[-1.0, 1.0], [0.2, 0.0], [0.0, 0.1]])
        assert model.decay == 0.99

    def test_sequences_become_learners_of_their_own(self):
        rows = responses([("x", "a", 1), ("x", "b", 0), ("x", "a", 0), ("y", "a", 1)])
        apart = as_learners(rows, np.zeros(4, np.int32), ("any",))
        assert apart.learner.tolist() == [0, 0, 1, 2]
        assert apart.correct.tolist() == [True, False, False, True]
        assert set(apart.concept.tolist()) == {0}

    def test_groups_differ_as_they_were_made_to(self, canonical):
        settings, each = FitSettings(restarts=2), 8
        quick = list(made_up(60, 1, ("a", "b"), each, prior=0.5, learn=0.5, names="q"))
        slow = list(made_up(60, 2, ("a", "b"), each, prior=0.1, learn=0.1, names="s"))
        kept = canonical(quick + slow, group_pace=["quick"] * len(quick) + ["slow"] * len(slow))
        labels = labels_of(kept, "pace")
        assert labels == labels_of(kept, "group_pace")
        first, second = groups_of(labels, responses_of(kept), settings, np.array([0.3]), np.array([0.3]))
        assert (first.name, second.name) == ("quick", "slow")
        assert (first.share, second.share) == (0.5, 0.5)
        assert first.eta > 1.3 > 0.8 > second.eta
        assert first.K0 > 1.3 > 0.8 > second.K0
        capped = groups_of(labels, responses_of(kept), settings, np.array([0.9]), np.array([0.8]))[0]
        assert (capped.K0, capped.eta) == (pytest.approx(1 / 0.9), pytest.approx(1 / 0.8))

    def test_small_groups_are_one_and_who_has_none_is_unknown(self, canonical):
        rows = list(made_up(12, each=1, concepts=("a",)))
        kept = canonical(rows, group_g=["a"] * 3 + ["b"] * 2 + [None] * 2 + ["c", "d", "e", "f", "g"])
        assert sorted(set(labels_of(kept, "g").values())) == ["a", "b", "c", "d", "other", "unknown"]

    def test_a_group_that_is_not_there_is_refused(self, canonical, table):
        with pytest.raises(InputError, match="the logs have no group 'age'; leave it out"):
            prepare(table, CHAIN, PrepareOptions(minimum=6, group="age"))
        kept = canonical(list(made_up(3)), group_school=["x"] * 54)
        with pytest.raises(InputError, match="choose from school"):
            labels_of(kept, "age")


class TestPrepare:
    def test_the_environments_are_what_the_models_say(self, found):
        tutor, judge = found.tutor, found.judge
        assert (type(tutor), type(judge)) == (PreparedTutor, PreparedJudge)
        assert tutor.curriculum.edges == judge.curriculum.edges == Curriculum.from_raw(CHAIN).edges
        at = {name: place for place, name in enumerate(found.tutor_model.concepts)}
        for place, name in enumerate(tutor.curriculum.concepts):
            assert tutor.eta[place] == pytest.approx(found.tutor_model.learn[at.get(name, -1)], rel=1e-5)
            assert tutor.K0[place] == pytest.approx(found.tutor_model.prior[at.get(name, -1)], rel=1e-5)
        assert (judge.success >= 0).all()
        assert (judge.failure >= 0).all()
        first = float(np.mean(tutor.eta * (1 - tutor.K0)))
        assert tutor.c2_gain == pytest.approx(C2_SHARE * first)
        assert tutor.c4_rate * first == pytest.approx(C4_SHARE)
        assert tutor.c3_demand == pytest.approx(np.median(tutor.curriculum.demand))
        for name in ("K0", "eta", "guess", "slip"):
            np.testing.assert_array_equal(getattr(judge, name), getattr(tutor, name))

    def test_the_numbers_are_near_those_that_made_the_learners(self, found):
        met = [found.tutor.curriculum.index(name) for name in "abc"]
        assert np.abs(found.tutor.K0[met] - 0.3).mean() < 0.15
        assert np.abs(found.tutor.eta[met] - 0.2).mean() < 0.12
        # Half of them judge: without practice a right answer has the chance 0.3·0.8 + 0.7·0.2.
        assert np.abs(1 / (1 + np.exp(-found.judge.ease[met])) - 0.38).mean() < 0.15
        assert found.judge.success[met].mean() > 0.1

    def test_the_document_counts_what_there_is(self, found, table):
        told = found.document.as_json()
        assert told["events"] == {"in the table": 540, "on the graph": 540, "in episodes": 540}
        assert told["episodes"] == {"count": 30, "mean length": 18.0, "horizon": 18}
        assert told["learners"] == {"tutor": 15, "judge": 15}
        assert told["graph"] == {"concepts": 4, "edges": 2, "provenance": {}}
        assert told["from"] == {"logs": "made up"}
        assert found.tutor.horizon == 18
        assert found.tutor.r_difficulty == told["engagement"]["tutor"]["difficulty"]
        assert found.judge.r_difficulty == told["engagement"]["judge"]["difficulty"]

    def test_the_same_input_gives_the_same_bytes(self, found, table, tmp_path):
        found.write(tmp_path / "one")
        again = prepare(table, CHAIN, CHOICES, origin=LogOrigin("made up"))
        again.write(tmp_path / "two")
        again.write(tmp_path / "two")  # over itself
        assert {path.name for path in (tmp_path / "one").iterdir()} == FILES
        for name in FILES:
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name

    def test_the_order_of_the_file_changes_nothing(self, found, tmp_path):
        rows = pl.DataFrame(list(made_up()), schema=["learner", "concept", "order", "correct"], orient="row")
        rows = rows.with_columns(pl.col("correct").cast(pl.Int8), item=pl.lit("i"))
        mapping = {name: name for name in rows.columns}
        for name, frame in (("plain", rows), ("mixed", rows.sample(fraction=1.0, shuffle=True, seed=3))):
            frame.write_csv(tmp_path / f"{name}.csv")
            read = load(tmp_path / f"{name}.csv", "table", ReadOptions(mapping=mapping))
            prepare(read.table, CHAIN, CHOICES).write(tmp_path / name)
        for name in FILES:
            assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "mixed" / name).read_bytes(), name

    def test_what_is_written_is_read_back(self, found, tmp_path):
        folder = tmp_path / "prepared"
        found.write(folder)
        tutor, judge = make(str(folder)), make(str(folder / "judge.json"))
        np.testing.assert_array_equal(tutor.K0, found.tutor.K0)
        np.testing.assert_array_equal(judge.ease, found.judge.ease)
        assert tutor.curriculum == judge.curriculum == Curriculum.read(folder / "curriculum.json")
        assert read_model(folder / "learner.json").concepts == found.tutor_model.concepts
        kept = read_table(folder / "episodes.parquet")
        assert kept.height == found.document.as_json()["events"]["in episodes"]
        assert set(kept["learner"].dtype.categories) == set(kept["learner"].cast(pl.String))
        assert json.loads((folder / "prepared.json").read_text()) == found.document.as_json()

    def test_other_concepts_are_left_out_and_counted(self, canonical, table):
        rows = [*made_up(), *((f"l{at:03d}", "elsewhere", 18, True) for at in range(30))]
        wider = prepare(canonical(rows), CHAIN, CHOICES)
        assert wider.document.as_json()["events"] == {"in the table": 570, "on the graph": 540, "in episodes": 540}
        np.testing.assert_array_equal(wider.tutor.K0, prepare(table, CHAIN, CHOICES).tutor.K0)

    def test_members_put_items_under_concepts(self, canonical, table, found):
        members = {"a1": "a", "a2": "a", "b": "b", "c": "c"}
        rows = [
            (who, f"a{1 + order % 2}" if what == "a" else what, order, right) for who, what, order, right in made_up()
        ]
        grouped = prepare(canonical(rows), CHAIN, CHOICES, members=members)
        for name in ("K0", "eta", "guess", "slip"):
            np.testing.assert_array_equal(getattr(grouped.tutor, name), getattr(found.tutor, name))

    def test_an_event_of_several_concepts_counts_for_each(self, canonical):
        rows = [(who, "a~~b" if what == "a" else what, order, right) for who, what, order, right in made_up()]
        both = prepare(canonical(rows), CHAIN, CHOICES)
        assert both.document.as_json()["events"]["on the graph"] == 540
        kept = responses_of(both.episodes)
        assert kept.rows == 540 + 180
        assert both.tutor_model.concepts == ("a", "b", "c")
        one = prepare(canonical(rows), CHAIN, CHOICES, members={"a": "a", "b": "a", "c": "c"})
        assert responses_of(one.episodes).rows == 540  # under one concept, one event is one row

    def test_a_stated_demand_is_kept_and_used(self, table):
        stated = RawGraph((RawConcept("a", (), 0.9), RawConcept("b", ("a",), 0.8), RawConcept("c", ("b",), 0.1)))
        made = prepare(table, stated, CHOICES)
        np.testing.assert_allclose(made.tutor.curriculum.demand, [0.9, 0.8, 0.1])
        assert made.tutor.c3_demand == pytest.approx(0.8)
        free = prepare(table, RawGraph(tuple(RawConcept(row.name, row.prerequisites) for row in stated.rows)), CHOICES)
        assert len(set(free.tutor.curriculum.demand)) > 1
        assert made.tutor.r_difficulty != free.tutor.r_difficulty

    def test_hints_and_time_reach_demand_and_engagement(self, canonical):
        rows = list(made_up(10))
        begun = datetime(2020, 1, 1)
        clock = [begun + timedelta(minutes=row[2], days=int(row[0][1:])) for row in rows]
        seconds = [90.0 if row[1] == "c" else 30.0 for row in rows]
        made = prepare(canonical(rows, time=clock, hints=[1 if row[1] == "c" else 0 for row in rows], seconds=seconds),
                       CHAIN, CHOICES)  # fmt: skip
        assert made.document.as_json()["demand"]["mean of"] == ["wrong first answers", "events with a hint", "time"]
        demand = dict(zip(made.tutor.curriculum.concepts, made.tutor.curriculum.demand, strict=True))
        assert demand["c"] > max(demand["a"], demand["b"]) + 0.2
        assert made.document.as_json()["engagement"]["tutor"]["mean"] > 0.5  # all but the last went on

    def test_groups_reach_both_environments(self, canonical):
        rows = list(made_up(20))
        made = prepare(canonical(rows, group_half=["x" if row[0] < "l010" else "y" for row in rows]), CHAIN,
                       PrepareOptions(minimum=6, restarts=1, group="half"))  # fmt: skip
        assert made.tutor.group_names == made.judge.group_names == ("x", "y")
        assert [group["share"] for group in made.document.as_json()["groups"]] == [0.5, 0.5]


class TestRefusals:
    def test_no_event_on_the_graph(self, table):
        with pytest.raises(InputError, match="no event is on a concept of the graph; give the graph of these logs"):
            prepare(table, RawGraph((RawConcept("x"), RawConcept("y", ("x",)))), CHOICES)
        with pytest.raises(InputError, match="no event is on a concept of the graph"):
            prepare(table, CHAIN, CHOICES, members={"x": "a"})
        with pytest.raises(InputError, match="name concepts alike: the logs have 'a', the graph 'A'"):
            prepare(table, RawGraph((RawConcept("A"), RawConcept("B", ("A",)))), CHOICES)

    def test_no_concept_at_all(self, canonical):
        rows = [(who, None, order, right) for who, _, order, right in made_up(5)]
        with pytest.raises(InputError, match="no event names a concept"):
            prepare(canonical(rows), CHAIN, CHOICES)

    def test_too_few_learners(self, canonical):
        with pytest.raises(InputError, match="3 learners have 6 events or more on the graph, and 10 are needed"):
            prepare(canonical(list(made_up(3))), CHAIN, CHOICES)

    def test_a_cyclic_graph_is_refused_and_can_be_repaired(self, table, tmp_path):
        (tmp_path / "graph.csv").write_text("name,prerequisites\na,c\nb,a\nc,b\nd,d\n")
        raw = read_raw(tmp_path / "graph.csv")
        with pytest.raises(InputError, match="--repair"):
            prepare(table, raw, CHOICES)
        graph, removed = repaired(raw)
        assert {one.kind for one in removed} == {"cycle", "self-loop"}
        assert graph.demand == {}
        assert len(prepare(table, graph, CHOICES).tutor.curriculum.edges) == 2

    @pytest.mark.parametrize("choice", ["minimum", "episodes", "horizon", "restarts"])
    def test_choices_below_1(self, choice):
        with pytest.raises(InputError, match=f"{choice} is 0"):
            PrepareOptions(**{choice: 0})

    def test_an_invalid_gate_is_refused(self):
        with pytest.raises(InputError, match="theta"):
            PrepareOptions(theta=1.5)

    def test_a_folder_with_something_else_is_left_alone(self, found, tmp_path):
        (tmp_path / "thesis.txt").write_text("mine")
        with pytest.raises(InputError, match="holds something else"):
            found.write(tmp_path)
        with pytest.raises(InputError, match="holds something else"):
            found.write(tmp_path / "thesis.txt")
        assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]

    def test_what_fails_leaves_nothing_half_written(self, found, tmp_path, monkeypatch):
        found.write(tmp_path / "kept")
        before = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(prepared, "describe_environment", full)
        for folder in ("kept", "new"):
            with pytest.raises(OSError, match="No space"):
                found.write(tmp_path / folder)
        assert [path.name for path in tmp_path.iterdir()] == ["kept"]
        assert {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()} == before

    def test_a_horizon_of_ones_own(self, table):
        assert prepare(table, CHAIN, PrepareOptions(minimum=6, restarts=1, horizon=5)).tutor.horizon == 5


def test_held_out_people_judge_too_and_training_can_draw_from_resamples(table, found):
    assert found.tutor.population is None
    assert found.others.population.members == 1
    np.testing.assert_array_equal(found.others.K0, found.tutor.K0)  # the tutor believes what it believed
    assert not np.allclose(found.others.population.K0[0], found.tutor.K0)
    robust, again = (prepare(table, CHAIN, replace(CHOICES, robust=True)).tutor for _ in range(2))
    assert [kind.name for kind in robust.kinds] == ["prepared", "prepared-judge", "prepared-best-lr"]
    resamples = robust.kinds[0].population
    assert resamples.members == RESAMPLES == robust.members - 2
    assert (resamples.K0.std(axis=0)[:3] > 0).all()  # the last is met by nobody
    np.testing.assert_array_equal(resamples.K0, again.kinds[0].population.K0)
    np.testing.assert_array_equal(robust.K0, found.tutor.K0)
    assert robust.shares == again.shares


def test_kinds_have_shares_of_an_ensemble_by_how_well_they_predict(table, found, monkeypatch):
    told = {"bkt": HeldOut(0.6, 0.8), "pfa": HeldOut(0.7, 0.8), "best-lr": HeldOut(0.81, 0.8)}
    monkeypatch.setattr(training_learners, "compare_models", lambda *_: told)
    made = prepare(table, CHAIN, replace(CHOICES, robust=True))
    assert [kind.name for kind in made.tutor.kinds] == ["prepared", "prepared-judge"]
    assert made.tutor.shares == pytest.approx((2 / 3, 1 / 3))
    said = made.document.as_json()["ensemble"]
    assert [said[name]["share"] for name in told] == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert found.document.as_json()["ensemble"] == {}
    useless = {name: HeldOut(0.9, 0.8) for name in told}
    monkeypatch.setattr(training_learners, "compare_models", lambda *_: useless)
    assert prepare(table, CHAIN, replace(CHOICES, robust=True)).tutor.shares == (1.0,)


@pytest.mark.parametrize(("model", "kind"), [("pfa", PreparedJudge), ("best-lr", PreparedBestLR)])
def test_learners_to_train_with_can_be_of_another_kind_than_the_tutor_believes(table, found, model, kind):
    made = prepare(table, CHAIN, replace(CHOICES, model=model))
    assert type(made.tutor) is kind
    assert type(made.others) is PreparedTutor
    np.testing.assert_array_equal(made.tutor.K0, found.tutor.K0)  # what the tutor believes stays
    assert made.document.as_json()["model"] == {"model": model, "held out": {}}
    assert made.document.tutor_engagement != found.document.tutor_engagement
