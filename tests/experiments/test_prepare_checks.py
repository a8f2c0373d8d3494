"""Inputs of which nothing sensible can come: each is refused in one line, or made with one line of warning."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from mccpo.curriculum import Curriculum, Derivation, RawConcept, RawGraph
from mccpo.env import EVERYONE
from mccpo.errors import InputError
from mccpo.experiments.prepare import PrepareOptions, checks, prepare
from mccpo.experiments.prepare.gate_reach import GateReach, gate_reach
from mccpo.experiments.prepare.held_out import HeldOut, HeldOutLosses, held_out
from mccpo.experiments.prepare.judges import reported
from mccpo.experiments.prepare.parameters import Beliefs, SharedParameters
from mccpo.mastery import BKT, Responses

GOOD = HeldOutLosses(HeldOut(0.5, 0.6), HeldOut(0.5, 0.6))
OPEN = GateReach(locked=5, concepts=10, fewest_lessons=2, expected_lessons=6, flag="theta", asked=0.7, horizon=40)


def events(names, learners=50):
    """Events on these concepts, as a canonical table has them; several concepts of one event are joined."""
    every = sorted(set(names))
    return pl.DataFrame(
        {
            "learner": [f"l{who}" for who in range(learners) for _ in names],
            "concept": pl.Series([*names] * learners, dtype=pl.Enum(every)),
        }
    )


def chain(names, **more):
    needs = [(), *((before,) for before, _ in pairwise(names))]
    return RawGraph(tuple(RawConcept(name, need) for name, need in zip(names, needs, strict=True)), "g.csv", **more)


def refused(check, *arguments, **more):
    with pytest.raises(InputError) as error:
        check(*arguments, **more)
    return str(error.value)


class TestGraph:
    def test_a_graph_without_edges_is_refused(self):
        lone = RawGraph((RawConcept("a"), RawConcept("b")), "g.csv")
        assert refused(checks.refuse_no_edges, lone) == (
            "the graph (g.csv) has no edges, so the gate would lock nothing; say in it what comes before what"
        )
        learnt = RawGraph(lone.rows, "logs", Derivation("responses", "logs"))
        assert refused(checks.refuse_no_edges, learnt).endswith("; give a graph with --graph, or logs of more learners")

    def test_a_graph_with_events_for_few_concepts_is_refused(self):
        curriculum = Curriculum.from_raw(chain([f"c{at}" for at in range(40)]))
        line = refused(checks.refuse_other_graph, events(["c1", "c2", "c3"]), curriculum, "g.csv", renamed=False)
        assert line == (
            "3 of 40 concepts of g.csv have events; give the graph of these logs, or --members item,concept"
        )
        checks.refuse_other_graph(events(["c1~~c2", "c3", "c4"]), curriculum, "g.csv", renamed=False)
        few = Curriculum.from_raw(chain("abc"))
        assert "1 of 3 concepts" in refused(checks.refuse_other_graph, events(["a"]), few, "g.csv", renamed=True)

    def test_numbers_that_match_by_chance_are_refused(self):
        curriculum = Curriculum.from_raw(chain([str(at) for at in range(40)]))
        some = events([str(at) for at in range(19)])
        line = refused(checks.refuse_other_graph, some, curriculum, "g.csv", renamed=False)
        assert line.startswith(
            "19 of 40 concepts of g.csv have events, and names that are bare numbers match by chance;"
        )
        checks.refuse_other_graph(some, curriculum, "g.csv", renamed=True)  # somebody said that they are the same
        checks.refuse_other_graph(events([str(at) for at in range(20)]), curriculum, "g.csv", renamed=False)
        floats = Curriculum.from_raw(chain([f"{at}.0" for at in range(40)]))
        assert "by chance" in refused(checks.refuse_other_graph, events(["1.0", "2.0"]), floats, "g.csv", renamed=False)

    @staticmethod
    def warnings(names, graph, members=None, retained=None):
        table = events(names)
        return [*checks.graph_warnings(table, events(retained or names), graph, Curriculum.from_raw(graph), members)]

    def test_a_graph_that_fits_brings_no_warning(self):
        assert self.warnings("abc", chain("abc")) == []

    def test_few_concepts_in_the_episodes(self):
        (line,) = self.warnings("abcde", chain("abcde"), retained="ab")
        assert line == (
            "2 of 5 concepts of g.csv have events in the episodes, the others take the mean of these; give a graph of "
            "what the logs teach"
        )

    def test_logs_have_many_more_numbers_than_the_graph(self):
        many = [str(at) for at in range(30)]
        (line,) = self.warnings(many, chain(many[:10]), retained=many[:10])
        assert line == (
            "the logs and g.csv share 10 names, all bare numbers, and 20 concepts of the logs are not on the graph; "
            "check that both number the same concepts"
        )
        assert self.warnings(many, chain(many[:10]), dict(zip(many, many, strict=True)), many[:10]) == []

    def test_names_of_the_logs_that_are_spelt_otherwise(self):
        (line,) = self.warnings(["a", "b", "c d"], chain(["a", "b", "c_D"]), retained="ab")
        assert line == (
            "1 concepts of the logs are left out though the graph has one spelt alike, such as 'c d' and 'c_D'; name "
            "them alike, or give --members item,concept"
        )

    def test_names_of_the_graph_that_look_alike(self):
        (line,) = self.warnings(["a b", "a_b"], chain(["a b", "a_b"]))
        assert line == "g.csv has names that look alike: 'a b', 'a_b'; if they mean one concept, give it one name"

    def test_a_demand_that_nobody_chose(self):
        invented = chain("ab").stating({"a": 0.5, "b": 0.5})
        (line,) = self.warnings("ab", invented)
        assert line == "g.csv states the demand 0.5 for every concept; remove it to have demand measured in the logs"
        assert self.warnings("ab", chain("ab").stating({"a": 0.5})) == []


class TestEnvironment:
    def test_a_sensible_value_brings_no_warning(self):
        assert [*checks.environment_warnings(40, OPEN, GOOD, 0.99)] == []

    def test_few_learners(self):
        (line,) = checks.environment_warnings(39, OPEN, GOOD, 0.99)
        assert line.startswith("39 learners make both environments, so a concept's numbers come more from the mean")

    def test_a_gate_that_locks_next_to_nothing(self):
        (line,) = checks.environment_warnings(40, OPEN._replace(locked=4, concepts=100), GOOD, 0.99)
        assert line == (
            "the gate locks 4 of 100 concepts at the start (theta 0.7), so it hardly constrains what is taught; raise "
            "--theta, or give a graph with more edges"
        )

    def test_a_gate_that_opens_for_few_or_nobody(self):
        (line,) = checks.environment_warnings(40, OPEN._replace(expected_lessons=41), GOOD, 0.99)
        assert line == (
            "the gate opens no concept within 40 steps for the average learner (theta 0.7); lower --theta, or raise "
            "--horizon"
        )
        assert refused(checks.refuse_closed_gate, OPEN._replace(fewest_lessons=41)) == (
            "the gate opens no concept within 40 steps, even where every answer is right (theta 0.7); lower --theta, "
            "or raise --horizon"
        )

    def test_a_model_that_is_no_better_than_a_constant(self):
        (line,) = checks.environment_warnings(40, OPEN, GOOD._replace(tutor=HeldOut(0.7, 0.65)), 0.99)
        assert line == (
            "knowledge tracing predicts held-out learners no better than a constant (log-loss 0.700, constant 0.650); "
            "give more logs, or concepts that answers depend on"
        )
        assert len([*checks.environment_warnings(40, OPEN, GOOD._replace(tutor=HeldOut(0.6, 0.6)), 0.99)]) == 1

    def test_a_judge_that_is_no_better_than_a_constant_does_not_judge(self):
        good, bad = reported("judge.json", HeldOut(0.6, 0.65)), reported("judge-best-lr.json", HeldOut(0.7, 0.65))
        missing = reported("judge-recurrent.json", None, "there are too few learners")
        assert (good.refused, missing.refused) == (None, "there are too few learners")
        (line,) = checks.refusals([good, bad, missing])
        assert line == (
            "judge-best-lr.json (Best-LR with items) does not judge: it predicts held-out learners no better than a "
            "constant (log-loss 0.700, constant 0.650); give more logs"
        )

    def test_a_horizon_that_the_discount_hardly_sees(self):
        (line,) = checks.environment_warnings(40, OPEN._replace(horizon=569), GOOD, 0.99)
        assert line == (
            "the horizon is 569, but with the discount 0.99 an episode counts for little after 100 steps, and the last "
            "step for 0.3% of the first; give --horizon 300 or less, or train with --set gamma=0.998"
        )
        assert [*checks.environment_warnings(40, OPEN._replace(horizon=300), GOOD, 0.99)] == []
        assert [*checks.environment_warnings(40, OPEN._replace(horizon=9999), GOOD, 1.0)] == []

    def test_a_horizon_that_the_discount_never_sees(self):
        assert refused(checks.refuse_horizon, 2000) == (
            "the horizon is 2000, and with the discount 0.99 its last step weighs nothing (2e-09 of the first); give "
            "--horizon 300 or less"
        )
        checks.refuse_horizon(1500)


class TestGateReach:
    @staticmethod
    def reach(K0, theta=0.7, horizon=20, eta=0.1, ready=None, doubt=0.0):
        curriculum = Curriculum([("a", "b"), ("b", "c"), ("a", "d"), ("e", "d")], "aebcd")
        values = np.array([K0.get(name, 0.1) for name in curriculum.concepts])
        same = {
            name: np.full(5, value) for name, value in (("eta", eta), ("guess", 0.2), ("slip", 0.1), ("doubt", doubt))
        }
        return gate_reach(SharedParameters(curriculum, Beliefs(values, **same), EVERYONE, theta, ready, horizon))

    def test_worked_out_by_hand(self):
        found = self.reach({"a": 0.5})
        # b needs a alone. One right answer: 0.45/0.55 = 0.82 is enough. On average 1 − 0.5·0.9ⁿ reaches 0.7 for n = 5.
        assert (found.locked, found.concepts) == (3, 5)
        assert (found.fewest_lessons, found.expected_lessons) == (1, 5)

    def test_what_is_open_already(self):
        found = self.reach(dict.fromkeys("abcde", 0.8))
        assert (found.locked, found.fewest_lessons, found.expected_lessons) == (0, 0, 0)
        assert self.reach({"a": 0.8, "b": 0.9}).fewest_lessons == 2  # d waits for e: 0.1, 0.4, 0.78

    def test_a_threshold_that_no_episode_reaches(self):
        found = self.reach({}, theta=0.999999, horizon=3)
        assert found.fewest_lessons == np.inf
        assert found.expected_lessons > 3

    def test_what_is_wholly_in_doubt_never_opens(self):
        found = self.reach({"a": 0.9, "e": 0.9}, ready=0.95, doubt=1.0)
        assert found.fewest_lessons == found.expected_lessons == np.inf

    def test_a_gate_by_confidence_waits_for_all_and_for_what_is_in_doubt(self):
        open_to = self.reach({"a": 0.96, "e": 0.96}, ready=0.95)
        assert (open_to.flag, open_to.asked) == ("ready", 0.95)
        assert open_to.locked == 2  # b opens with a; c needs b, and d needs a and e at once: 0.96² is below 0.95
        doubted = self.reach({"a": 0.96, "e": 0.96}, ready=0.95, doubt=0.5)
        assert doubted.locked == 3
        assert doubted.fewest_lessons >= 1


def test_held_out_log_loss_by_hand():
    """Who always knows and never slips is right; a constant of one half says less."""

    def half(correct):
        rows = len(correct)
        index = np.arange(rows)
        return Responses(index.astype(np.int32), np.zeros(rows, np.int32), np.array(correct), index,
                         np.full(rows, np.nan), tuple(map(str, index)), ("a",))  # fmt: skip

    knows = BKT(*(np.full(2, value) for value in (1.0, 0.0, 0.2, 0.1)), concepts=("a",))
    found = held_out(knows, half([True, False]), half([True, True, False, True]))
    assert found.log_loss == pytest.approx(-(3 * np.log(0.9) + np.log(0.1)) / 4, rel=1e-5)
    assert found.constant == pytest.approx(np.log(2))


def test_episodes_of_too_few_learners_are_refused_at_once():
    with pytest.raises(InputError, match="episodes is 9; give at least 10"):
        PrepareOptions(episodes=9)


def test_what_is_refused_is_refused_before_anything_is_fitted():
    def models(*_):
        raise AssertionError

    table = events("ab", 3)
    with pytest.raises(InputError, match="has no edges"):
        prepare(table, RawGraph((RawConcept("a"),)), models=models)
    with pytest.raises(InputError, match="have events"):
        prepare(table, chain([f"c{at}" for at in range(40)] + ["a", "b"]), models=models)
