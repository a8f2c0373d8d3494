"""Floors as users ask for them: in short, in sentences, and from one run to the next."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import HORIZON, PLAN

from mccpo.env import FLOORS, Constraints, make
from mccpo.errors import DoesNotApply, InputError
from mccpo.exact import Values
from mccpo.experiments import Floor, Options, Session, api, measuring, parse_floor, pose, pose_finite
from mccpo.experiments.asked.floor_sentences import FLOOR_FORMS, split_sentences
from mccpo.experiments.asked.floors import check_asked
from mccpo.experiments.asked.requirements import parse
from mccpo.experiments.problem import Problem
from mccpo.experiments.saved_policies import read_policies, write_policies

# In short.


@pytest.mark.parametrize(
    ("text", "floor"),
    [
        ("learning=0.8", Floor("learning", 0.8)),
        (" learning = 0.8 ", Floor("learning", 0.8)),
        ("learning=80%", Floor("learning", 0.8)),
        ("learning=1", Floor("learning", 1.0)),
        ("learning=abs:0.8", Floor("learning", 0.8, relative=False)),
        ("learning-total=2.5", Floor("learning-total", 2.5, relative=False)),
        ("mastered=6", Floor("mastered", 6.0, relative=False)),
        ("mastered=abs:1", Floor("mastered", 1.0, relative=False)),
        ("engagement=9e-1", Floor("engagement", 0.9)),
    ],
)
def test_numbers_up_to_one_are_shares_and_larger_ones_amounts(text, floor):
    assert parse_floor(text) == floor
    assert parse_floor(str(floor)) == floor


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not understood"),
        ("learning", "not understood"),
        ("learning=", "not understood"),
        ("learning=much", "not understood"),
        ("learning=nan", "not understood"),
        ("learning=0.8=0.9", "not understood"),
        ("learning=%", "not understood"),
        ("=0.8", "unknown floor ''"),
        ("learnin=0.8", "unknown floor 'learnin'"),
        ("c4=0.8", "unknown floor 'c4'"),
        ("learning=0", "the floor of learning is 0"),
        ("learning=-0.5", "the floor of learning is -0.5"),
        ("learning=inf", "the floor of learning is inf"),
        ("learning=120%", "1.2 of what can be reached"),
    ],
)
def test_nonsense_is_refused_in_one_line(text, what):
    with pytest.raises(InputError) as refused:
        parse_floor(text)
    assert what in refused.value.what
    assert refused.value.fix
    assert "\n" not in str(refused.value)


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=30))
def test_every_text_is_a_floor_or_refused_in_one_line(text):
    told = ""
    try:
        assert parse_floor(text).name in FLOORS
    except InputError as refused:
        told = str(refused)
    assert len(told.splitlines()) <= 1


@given(
    name=st.sampled_from(FLOORS), number=st.floats(1e-6, 1e6, allow_nan=False).map(lambda x: float(f"{x:g}")),
    relative=st.booleans(),
)  # fmt: skip
def test_a_floor_is_told_as_it_is_asked_for(name, number, relative):
    relative = relative and number <= 1
    assert parse_floor(str(Floor(name, number, relative))) == Floor(name, number, relative)


def test_a_share_refers_to_what_can_be_reached_and_an_amount_stands_alone():
    assert Floor("learning", 0.8).amount({"learning": 2.0}) == pytest.approx(1.6)
    assert Floor("mastered", 6.0, relative=False).amount({"mastered": 2.0}) == 6.0


def test_a_floor_is_given_once():
    with pytest.raises(InputError, match="the floor of learning is given twice"):
        check_asked([parse_floor("learning=0.8"), parse_floor("learning=0.9")], make("chain"))


# In sentences.


@pytest.mark.parametrize(
    ("sentence", "floor"),
    [
        ("learners gain at least 80 % of what can be learnt", Floor("learning", 0.8)),
        ("Gain at least 80% of what can be learnt.", Floor("learning", 0.8)),
        ("  learners  master at least 6 concepts", Floor("mastered", 6.0, relative=False)),
        ("master at least 1 concept", Floor("mastered", 1.0, relative=False)),
        ("master at least 2.5 concepts", Floor("mastered", 2.5, relative=False)),
        ("The tutor keeps at least 90 % of the engagement", Floor("engagement", 0.9)),
        ("keep 90% of the engagement", Floor("engagement", 0.9)),
    ],
)
def test_a_sentence_asks_for_a_floor(sentence, floor):
    said, others = split_sentences([sentence])
    assert [entry.floor for entry in said] == [floor]
    assert said[0].text == sentence
    assert others == ()


def test_every_form_is_understood_and_everything_else_is_left_to_others():
    others = ("mastery progress in at least 60 % of steps", "learners master some concepts", "")
    said, rest = split_sentences([*FLOOR_FORMS, *others])
    assert [entry.floor.name for entry in said] == ["learning", "mastered", "engagement"]
    assert rest == others


@pytest.mark.parametrize("sentence", ["gain at least 0 % of what can be learnt", "keep 101 % of the engagement"])
def test_a_sentence_that_asks_for_nothing_or_too_much_is_refused(sentence):
    with pytest.raises(InputError) as refused:
        split_sentences([sentence])
    assert "\n" not in str(refused.value)


def test_what_is_no_rule_is_told_all_that_can_be_said():
    with pytest.raises(InputError) as refused:
        parse("learners are happy")
    assert all(form in refused.value.fix for form in FLOOR_FORMS)
    assert "\n" not in str(refused.value)


def test_a_floor_is_shown_back_with_what_can_be_reached():
    ((said,), _) = split_sentences(["learners gain at least 80 % of what can be learnt"])
    shown = said.explain(Constraints(floors={"learning": 1.6}, reach={"learning": 2.0}))
    assert shown.startswith("learning ≥ 1.6 (learners gain at least 80 % of what can be learnt)")
    assert "of the 2 that is known to be reached" in shown


# On finite environments.


def test_the_shares_of_a_chain_are_of_its_exact_optima():
    held = pose_finite(make("chain"), floors=(parse_floor("learning=0.8"), parse_floor("engagement=0.5")))
    whole = 0.8 * sum(0.99**t for t in range(5))  # the next concept at every step, mastered four times in five
    assert held.constraints.floors["learning"] == pytest.approx(0.8 * whole)
    assert held.constraints.floors["engagement"] == pytest.approx(0.5 * held.anchor.ret)
    assert held.constraints.budgets == {}
    assert held.optimum.values.learning == pytest.approx(0.8 * whole)
    assert held.optimum_metrics["satisfaction_strict"] == 1.0


def test_floors_take_the_place_of_budgets_that_nobody_asked_for():
    chain = make("chain")
    floors = (parse_floor("learning=0.5"),)
    assert pose_finite(chain, floors=floors).budgets == {}
    assert set(pose_finite(chain, floors=floors, kappa=0.9).budgets) == {"c4"}
    assert pose_finite(chain, floors=floors, budgets={"c4": 3.0}).budgets == {"c4": 3.0}
    assert pose_finite(chain, objective="learning").budgets == {}
    assert set(pose_finite(chain).budgets) == {"c4"}


def test_a_floor_out_of_reach_is_refused_with_what_can_be_reached():
    with pytest.raises(InputError) as refused:
        pose_finite(make("chain"), floors=(parse_floor("mastered=5"),))
    assert "no policy meets mastered ≥ 5: the most that can be reached is mastered 4.0000" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_learning_as_the_objective_teaches_all_that_can_be_taught():
    held = pose_finite(make("chain"), objective="learning")
    assert held.optimum.values.gain == pytest.approx(4.0)
    assert held.optimum.values.mastered == pytest.approx(4.0)


def test_a_table_with_floors_shows_them_and_what_was_reached():
    results = api.compare(
        "chain", ["unconstrained", "mc-cpo", "random-ready"], floors={"learning": 0.8}, seeds=2, episodes=20_000
    )
    table = results.as_json()
    assert table["floors"]["learning"] == pytest.approx(0.8 * 0.8 * sum(0.99**t for t in range(5)))
    assert table["optimum"]["learning"] == pytest.approx(table["floors"]["learning"])
    rows = table["rows"]
    assert rows["mc-cpo"]["learning"]["mean"] > rows["unconstrained"]["learning"]["mean"]
    assert rows["mc-cpo"]["learning"]["mean"] == pytest.approx(table["floors"]["learning"], rel=0.1)
    assert rows["mc-cpo"]["lambda_learning"]["mean"] > 0
    assert table["optimum"]["lambda_learning"] > 0
    assert results.parse(table).as_json() == table


def test_the_exact_front_is_within_the_floors():
    """What stands beside methods that are held to floors must be held to them, too."""
    table = api.compare("chain", ["mc-cpo"], kappa=0.9, floors={"learning": 0.8}, seeds=1, episodes=80).as_json()
    assert all(point["learning"] >= 0.999 * table["floors"]["learning"] for point in table["front_optimum"])
    assert table["front_optimum"]


def test_methods_that_know_no_floors_say_so():
    with pytest.raises(DoesNotApply, match="lyapunov-lp goes by budgets, and knows no floors"):
        api.compare("chain", ["lyapunov-lp"], floors={"learning": 0.8}, seeds=1, episodes=80)


# On others, in small.


@pytest.fixture(scope="module")
def tutor():
    """A tutor with floors on all there is, as it is posed: its anchors have been trained for a moment."""
    floors = tuple(parse_floor(text) for text in ("learning=0.8", "mastered=0.5", "engagement=0.3"))
    return pose(make("tutor-15", horizon=HORIZON, K0=0.62, eta=0.2), PLAN, floors=floors)


def test_the_reachable_maximum_is_at_least_that_of_every_anchor(tutor):
    assert tutor.reach["engagement"] == tutor.anchor.ret
    for name in ("learning", "mastered"):
        assert tutor.reach[name] >= tutor.anchor.reached(name)
    held = tutor.constraints()
    assert held.budgets == {}
    assert held.floors == pytest.approx({
        "learning": 0.8 * tutor.reach["learning"],
        "mastered": 0.5 * tutor.reach["mastered"],
        "engagement": 0.3 * tutor.reach["engagement"],
    })  # fmt: skip


def test_methods_of_both_kinds_are_trained_under_floors_and_act_without_them(tutor, tmp_path):
    kept, stages = [], []
    session = Session(keep=kept.append, progress=lambda stage, _: stages.append(stage.label))
    outcome = measuring.run(tutor, ["unconstrained", "mc-cpo", "crpo", "zpdes"], tutor.constraints(), "part", session)
    row = outcome.rows["mc-cpo"]
    assert {"learning", "mastered", "dK", "lambda_learning", "lambda_mastered", "lambda_engagement"} <= row.keys()
    assert "J_learning" not in row
    assert {"lambda_learning"} & outcome.rows["unconstrained"].keys() == set()
    write_policies(tmp_path, kept)
    for before, after in zip(kept, read_policies(tmp_path), strict=True):
        assert after.floors == before.floors == tutor.constraints().floors
        np.testing.assert_array_equal(after.parameters, before.parameters)
    assert {one.method.name: one.method.shared for one in kept} == {
        "unconstrained": False, "mc-cpo": True, "crpo": False, "zpdes": False
    }  # fmt: skip
    assert {"learning", "mastered"} <= set(vars(kept[0].anchor))


def test_policies_that_were_trained_to_teach_can_be_opened_again(tmp_path):
    """Where learning is made as large as can be, no budget need be asked for."""
    env = make("tutor-15", horizon=HORIZON)
    problem = pose(env, PLAN, objective="learning")
    policies = api.train(problem)
    assert (policies.budgets, policies.floors) == ({}, {})
    write_policies(tmp_path, [policies])
    (again,) = read_policies(tmp_path)
    assert again.budgets == {}


def test_a_conditioned_method_knows_no_floors():
    """It is refused before anything is trained, so that no anchors are needed."""
    env, nothing = make("tutor-15", horizon=HORIZON), Values(0.0, {}, 0.0, 0.0, 0.0, 0.0, 0.0)
    posed = Problem(env.name, env, env, nothing, nothing, plan=PLAN)
    with pytest.raises(DoesNotApply, match="knows no floors"):
        measuring.train(posed, ["ccpo"], Constraints(floors={"learning": 0.1}), "part", Session(), 0.9)


def test_an_objective_that_nobody_knows_is_refused():
    with pytest.raises(InputError, match="the objective is 'joy'; choose from engagement, learning"):
        Options(objective="joy")


def test_what_a_policy_reaches_of_each_floor():
    values = Values(3.0, {}, 4.0, 0.5, 0.0, 1.0, 0.0, learning=0.4, mastered=2.0)
    assert {name: values.reached(name) for name in FLOORS} == {
        "learning": 0.4, "learning-total": 0.5, "mastered": 2.0, "engagement": 3.0
    }  # fmt: skip
