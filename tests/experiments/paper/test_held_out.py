"""The pretrained policy on curricula that it was not trained on: the table, its cases, mixtures of rules."""

import pytest
from tests import small

from mccpo.env import Constraints
from mccpo.errors import InputError
from mccpo.evaluation import summarise
from mccpo.experiments import Options, Session
from mccpo.experiments.paper import held_out
from mccpo.runs.results import Setting


def row(ret, learning, c2=0.0):
    return {"return": summarise([ret]), "learning": summarise([learning]), "J_c2": summarise([c2])}


def test_the_best_mixture_of_rules_lies_between_two_of_them():
    rules = [row(40.0, 2.0), row(30.0, 4.0), row(20.0, 3.0)]
    assert held_out.mixture(rules, Constraints(floors={"learning": 3.0})) == pytest.approx(35.0)
    assert held_out.mixture(rules, Constraints(floors={"learning": 5.0})) is None
    assert held_out.mixture([], Constraints(floors={"learning": 1.0})) is None
    dear = [row(40.0, 2.0, c2=4.0), row(30.0, 4.0, c2=0.0)]
    assert held_out.mixture(dear, Constraints(budgets={"c2": 1.0})) == pytest.approx(32.5)


def test_every_drawn_graph_has_its_size_and_the_same_seed_gives_the_same():
    drawn = [case for case in held_out.cases() if case.name.split("-")[-1] in ("5", "8", "12", "16", "20")]
    assert len(list(held_out.cases())) >= 20
    for case in drawn:
        env, judges = case.build()
        assert judges == ()
        if not case.name.startswith(("assist", "junyi", "tutor")):
            assert len(env.curriculum) == int(case.name.split("-")[-1])
            assert env.curriculum.edges == case.build()[0].curriculum.edges


@pytest.mark.slow
def test_a_case_has_all_floors_and_budgets_beside_rules_and_their_mixtures(monkeypatch):
    monkeypatch.setattr(Options, "neural_plan", small.plan)
    monkeypatch.setattr("mccpo.methods.pretrained.price_search.EPISODES", 2)
    monkeypatch.setattr("mccpo.methods.pretrained.method.FINAL", 16)
    monkeypatch.setattr(held_out, "FLOORS", (0.5,))
    monkeypatch.setattr(held_out, "KAPPAS", (0.9,))
    monkeypatch.setattr(held_out, "RULES", ("random-ready",))
    options = Options(methods=("pretrained", "random-ready"), seeds=1, parameters={"cases": "strands-5"})
    results = held_out.produce(options, Session()).results
    assert [setting.name for setting in results.settings] == ["strands-5, learning=0.5", "strands-5, κ=0.9"]
    assert set(results.settings[0].rows) == {"pretrained", "random-ready"}
    assert results.settings[0].floors["learning"] > 0
    assert "of 2 settings" in results.finding


def test_the_finding_speaks_of_judges_only_where_there_are_any():
    met = {"satisfaction_strict": summarise([1.0]), "return": summarise([1.0])}
    alone = Setting("a case", {}, {"pretrained": met | {"true_violation_rate": summarise([0.02])}})
    judged = Setting("another", {}, {"pretrained": met | {"judged_violation_rate": summarise([0.03])}})
    assert "judge" not in held_out.finding([alone])
    assert "At most 2.0% of lessons are unready in truth, 3.0% with the worst judge's" in held_out.finding(
        [alone, judged]
    )


def test_an_unknown_case_is_refused():
    with pytest.raises(InputError, match="no case 'nothing'"):
        held_out.produce(Options(parameters={"cases": "nothing"}), Session())
