"""The estimator on learners whose graph is known, on learners who have none, and its statistics against scipy's."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from mccpo.curriculum import Curriculum, render_json
from mccpo.curriculum.derive import LearnChoices, Scores, compare_graphs, learn_graph
from mccpo.curriculum.derive.partial_order import pair_statistics
from mccpo.curriculum.derive.scores import answered_before
from mccpo.errors import InputError

TRUTH = Curriculum.from_edges([("a", "b"), ("b", "c"), ("a", "d"), ("d", "e"), ("f", "g"), ("g", "h")], "abcdefgh")


def learners(graph=TRUTH, count=1500, missing=0.3, error=0.08, seed=0):
    """Scores of learners who know a concept only if they know what it needs; answers are wrong at a rate of `error`."""
    random = np.random.default_rng(seed)
    n = len(graph)
    knows = np.zeros((count, n), bool)
    for v in range(n):
        ready = knows[:, graph.prerequisites.dense[v]].all(axis=1)
        knows[:, v] = ready & (random.random(count) < 0.75)
    right = knows ^ (random.random((count, n)) < error)
    met = random.random((count, n)) >= missing
    learner, concept = np.nonzero(met)
    height = {name: depth for depth, layer in enumerate(graph.layers) for name in layer}
    first = np.array([height[name] for name in graph.concepts])[concept] + random.normal(0, 1, len(concept))
    return Scores(learner, concept, right[met].astype(float), first, graph.concepts)


def test_a_known_graph_is_found_with_its_directions():
    derived = learn_graph(learners(), LearnChoices(weigh="none"), "made.parquet")
    found = compare_graphs(Curriculum.from_raw(derived.graph), TRUTH)
    assert found.orientation == 1.0
    assert found.edges.right >= 5
    assert found.closure.precision == 1.0
    assert derived.graph.derived is not None
    assert derived.graph.derived.recipe == "responses"
    support = derived.graph.evidence["a", "b"].support
    assert support["learners"] > 500
    assert support["association_q"] < 1e-6
    assert support["prerequisite_known_if_concept_known"] > 0.85


@pytest.mark.parametrize("orient", ["order", "responses+order"])
def test_the_order_of_first_answers_can_tell_the_direction(orient):
    found = compare_graphs(Curriculum.from_raw(learn_graph(learners(), LearnChoices(orient=orient)).graph), TRUTH)
    assert found.orientation == 1.0
    assert found.edges.right >= 5


def test_concepts_that_have_nothing_to_do_with_one_another_get_no_edges():
    alone = Curriculum.from_edges([], [f"c{number}" for number in range(40)])
    assert learn_graph(learners(alone, seed=1)).graph.edges == ()


def able_learners(count=4000, n=20, seed=2):
    """Learners who differ in ability and concepts that differ in difficulty, and nothing else."""
    random = np.random.default_rng(seed)
    chance = 1 / (1 + np.exp(-1.2 * (random.normal(size=(count, 1)) - np.linspace(-1.5, 1.5, n))))
    learner, concept = np.divmod(np.arange(count * n), n)
    score = (random.random((count, n)) < chance).astype(float).ravel()
    return Scores(learner, concept, score, None, tuple(f"c{number:02}" for number in range(n)))


def test_strata_of_ability_tell_prerequisites_from_mere_difficulty():
    scores = able_learners()
    assert pair_statistics(scores, LearnChoices()).passed.sum() > 30  # an able learner knows more of everything
    assert pair_statistics(scores, LearnChoices(strata=8)).passed.sum() == 0
    assert any(
        note.startswith("0 of these are associated among learners of equal ability")
        for note in learn_graph(scores).notes
    )
    found = compare_graphs(Curriculum.from_raw(learn_graph(learners(), LearnChoices(strata=3)).graph), TRUTH)
    assert found.edges.right >= 5


def test_statistics_of_a_pair_match_its_table():
    scores = learners(count=200)
    pairs = pair_statistics(scores, LearnChoices(min_learners=10))
    dense = np.full((200, 8), np.nan)
    dense[scores.learner, scores.concept] = scores.score
    u, v = 0, 1
    both = dense[~np.isnan(dense[:, [u, v]]).any(axis=1)][:, [u, v]]  # who answered only one is not counted
    table = np.array([[np.sum((both == pattern).all(axis=1)) for pattern in row] for row in (
        ([1, 1], [1, 0]), ([0, 1], [0, 0]),
    )])  # fmt: skip
    assert pairs.learners[u, v] == len(both)
    chi2 = stats.chi2_contingency(table, correction=False).statistic
    assert pairs.association[u, v] ** 2 == pytest.approx(chi2 * (len(both) - 1) / len(both))
    assert pairs.known_if_known[u, v] == pytest.approx(table[0, 0] / table[:, 0].sum())
    assert pairs.unknown_if_unknown[u, v] == pytest.approx(table[1, 1] / table[1].sum())
    tested = stats.binomtest(int(table[0, 1]), int(table[0, 1] + table[1, 0])).pvalue
    assert 2 * stats.norm.sf(abs(pairs.direction[u, v])) == pytest.approx(tested, rel=1e-6)


def test_first_answers_are_counted_by_learner_and_ties_are_not():
    scores = Scores(
        np.array([0, 0, 0, 1, 1]),
        np.array([0, 1, 2, 0, 1]),
        np.ones(5),
        np.array([3.0, 1.0, 1.0, 0.0, 5.0]),
        ("a", "b", "c"),
    )
    assert answered_before(scores).tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]


def test_cap_and_learners_are_respected():
    scores = learners()
    assert max(len(row.prerequisites) for row in learn_graph(scores, LearnChoices(max_prerequisites=1)).graph.rows) == 1
    assert learn_graph(scores, LearnChoices(min_learners=10_000)).graph.edges == ()


def test_wrong_input_is_refused():
    scores = learners(count=50)
    with pytest.raises(InputError, match="no order"):
        learn_graph(scores._replace(first=None), LearnChoices(orient="order"))
    with pytest.raises(InputError, match="two scores"):
        learn_graph(scores._replace(concept=np.zeros_like(scores.concept)))
    with pytest.raises(InputError, match="outside 0 to 1"):
        learn_graph(scores._replace(score=scores.score * 2))
    with pytest.raises(InputError, match="no responses"):
        learn_graph(Scores(*(np.array([], int),) * 2, np.array([]), None, ("a",)))
    with pytest.raises(InputError, match="false_discoveries is 0"):
        learn_graph(scores, replace(LearnChoices(), false_discoveries=0.0))
    with pytest.raises(InputError, match="strata is 0"):
        learn_graph(scores, LearnChoices(strata=0))


def test_the_same_scores_give_the_same_bytes():
    scores = learners()
    shuffled = np.random.default_rng(9).permutation(len(scores.learner))
    again = Scores(*(column[shuffled] for column in scores[:4]), scores.concepts)
    assert render_json(learn_graph(scores).graph) == render_json(learn_graph(again).graph)
