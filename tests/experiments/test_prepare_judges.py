"""Kinds of learners: which are made, which are refused, where they disagree, and which one trains."""

import numpy as np
import pytest

from mccpo.env import PreparedJudge, PreparedTutor
from mccpo.errors import InputError
from mccpo.experiments.certification.judges import judges_of
from mccpo.experiments.prepare import PrepareOptions, agreement, training_learners
from mccpo.experiments.prepare.agreement import KindGain, compare_kinds
from mccpo.experiments.prepare.held_out import HeldOut, held_out
from mccpo.experiments.prepare.judges import first_gain, practice_weights
from mccpo.experiments.prepare.training_learners import choose_model
from mccpo.files import dump_json
from mccpo.mastery import Responses
from mccpo.mastery.fitting import FitSettings, fit, fit_recurrent, predict_recurrent
from mccpo.mastery.fitting.recurrent_fit import interleaved

SETTINGS = FitSettings(restarts=1)
NAMES = ("a", "b", "c")


def answers(learners=40, each=6, items=2, seed=0, hard=(0.3, 0.0, -0.5)):
    """Learners of some ability, who answer on three concepts, on an easy and a hard item of each."""
    draw = np.random.default_rng(seed)
    learner = np.repeat(np.arange(learners), 3 * each)
    concept = np.tile(np.repeat(np.arange(3), each), learners)
    item = draw.integers(0, items, len(learner)) + items * concept
    practised = np.tile(np.arange(each), 3 * learners)
    logit = draw.normal(size=learners)[learner] + np.array(hard)[concept] + 0.3 * practised + 1.5 * (item % items) - 1
    return Responses(
        learner=learner.astype(np.int32),
        concept=concept.astype(np.int32),
        correct=draw.random(len(learner)) < 1 / (1 + np.exp(-logit)),
        event=np.arange(len(learner)),
        time=np.full(len(learner), np.nan),
        learners=tuple(map(str, range(learners))),
        concepts=NAMES,
        item=item.astype(np.int32),
        items=tuple(f"i{at}" for at in range(3 * items)),
    )


def test_weights_of_best_lr_keep_what_the_logs_say_of_items_and_learners():
    made = answers(300)
    weights = practice_weights(fit("best-lr", made, SETTINGS).model, NAMES, made)
    spread = weights.items.max(axis=1) - weights.items.min(axis=1)
    assert (np.abs(spread - 1.5) < 0.6).all()  # an easy and a hard item, so far apart
    assert weights.ability.std() > 0.3
    assert (np.diff(weights.ability) > 0).all()
    assert first_gain(weights) > 0.01  # they learn
    nameless = made._replace(item=None)
    unknown = practice_weights(fit("best-lr", nameless, SETTINGS).model, NAMES, nameless)
    assert not unknown.items.any()


def test_interleaved_answers_on_a_concept_keep_their_order():
    made = answers(5)
    mixed = interleaved(made, np.random.default_rng(1))
    assert (np.diff(mixed.learner) >= 0).all()
    assert (mixed.concept != made.concept).any()
    for learner in range(5):
        for concept in range(3):
            before, after = (one.correct[(one.learner == learner) & (one.concept == concept)] for one in (made, mixed))
            np.testing.assert_array_equal(before, after)


@pytest.mark.slow
def test_a_recurrent_network_learns_from_answers_and_is_the_same_each_time():
    made, others = answers(200, hard=(2.0, 0.0, -2.0)), answers(50, seed=1, hard=(2.0, 0.0, -2.0))
    model, report = fit_recurrent(made)
    loss = held_out(model, made, others)
    assert report.rounds >= 2
    assert loss.beats_constant
    assert loss.auc > 0.75
    for one, other in zip(model, fit_recurrent(made)[0], strict=True):
        np.testing.assert_array_equal(one, other)
    # What is predicted goes by earlier answers alone.
    later = others._replace(correct=np.where(np.arange(others.rows) >= 9, ~others.correct, others.correct))
    said, changed = (predict_recurrent(model, one)[0].correct for one in (others, later))
    np.testing.assert_allclose(said[:10], changed[:10], atol=1e-6)
    assert np.abs(said - changed).max() > 0.1


class TestDisagreement:
    def test_kinds_that_gain_alike_agree(self):
        gains = [KindGain(rule, file, 0.5, gain) for rule in agreement.RULES for file, gain in (("x", 0.1), ("y", 0.2))]
        assert not list(agreement._disagreements(gains, {}))

    def test_a_factor_between_kinds_is_said_with_what_may_be_its_cause(self):
        quick, flat = PreparedTutor(eta=0.5), PreparedJudge(success=0.0, failure=0.0)
        gains = [
            KindGain(rule, file, 0.5, gain) for rule in agreement.RULES for file, gain in (("x", 0.4), ("y", 0.01))
        ]
        lines = list(agreement._disagreements(gains, {"x": quick, "y": flat}))
        assert len(lines) == len(agreement.RULES)
        assert lines[0] == (
            "with random-ready, learners of x gain 40.0% right answers and those of y 1.0%, so that what holds for one "
            "kind may not hold for the other; in y, practice adds next to nothing on 100% of concepts; in x, 100% of "
            "concepts are learnt in two lessons or fewer"
        )

    @pytest.mark.slow
    def test_rules_are_played_with_every_kind(self):
        kinds = {
            "quick": PreparedTutor(eta=0.5, K0=0.1, horizon=30),
            "flat": PreparedJudge(success=0.0, failure=0.0, ease=-1.0, horizon=30),
        }
        found = compare_kinds(kinds, episodes=16)
        gain = {(one.rule, one.file): one.gain for one in found.gains}
        assert all(gain[rule, "quick"] > 0.1 for rule in agreement.RULES)
        assert all(gain[rule, "flat"] == pytest.approx(0.0, abs=1e-6) for rule in agreement.RULES)
        assert len(found.disagreements) == len(agreement.RULES)


class TestModel:
    def test_a_model_that_nothing_simulates_is_refused(self):
        with pytest.raises(
            InputError, match="no environment simulates learners of 'elo'; choose from bkt, pfa, best-lr"
        ):
            PrepareOptions(model="elo")
        with pytest.raises(InputError, match="robust draws learners of several kinds"):
            PrepareOptions(model="pfa", robust=True)
        with pytest.raises(InputError, match="a recurrent network takes 100 learners, and there are 40"):
            choose_model("recurrent", answers(), SETTINGS)

    def test_the_best_has_the_lowest_log_loss(self, monkeypatch):
        said = {"BKT": 0.6, "PFA": 0.5, "BestLR": 0.55}
        monkeypatch.setattr(
            training_learners, "held_out", lambda model, *_: HeldOut(said[type(model).__name__], 0.7, 0.7)
        )
        found = choose_model("best", answers(), SETTINGS)
        assert found.model == "pfa"
        assert {name: loss.log_loss for name, loss in found.compared.items()} == {
            "bkt": 0.6,
            "pfa": 0.5,
            "best-lr": 0.55,
        }


class TestJudgesOfARun:
    @pytest.fixture
    def run(self, tmp_path):
        run = tmp_path / "run"
        run.mkdir()
        (run / "manifest.json").write_text(dump_json({"finished": True}))
        (run / "results.json").write_text(dump_json({"table": str(tmp_path / "mine")}))
        return run

    def test_they_are_the_folders_members_that_were_not_refused(self, run, tmp_path):
        folder = tmp_path / "mine"
        folder.mkdir()
        for name in ("tutor.json", "judge.json", "judge-others.json"):
            (folder / name).write_text("{}")
        assert [path.name for path in judges_of(run, str(folder)).files] == ["judge.json", "judge-others.json"]
        refused = [{"file": "judge.json", "refused": "it is bad"}, {"file": "judge-others.json", "refused": None}]
        (folder / "prepared.json").write_text(dump_json({"judges": refused}))
        found = judges_of(run, f"{folder} κ = 0.5")
        assert [path.name for path in found.files] == ["judge-others.json"]
        assert found.notes == ("judge.json does not judge: it is bad",)

    def test_a_folder_that_is_gone_is_said(self, run, tmp_path):
        found = judges_of(run, str(tmp_path / "mine"))
        assert not found.files
        assert "is not here: nobody but its own learners judges" in found.notes[0]

    def test_a_missing_folder_elsewhere_is_reported_as_missing(self, run):
        (run / "results.json").write_text(dump_json({"table": "mine"}))
        assert judges_of(run, "mine").notes[0].startswith("mine, where the run was trained, is not here")

    def test_an_environment_by_name_has_none(self, run):
        (run / "results.json").write_text(dump_json({"table": "tutor-15"}))
        assert judges_of(run, "tutor-15") == ((), ())

    def test_a_run_of_several_tables_is_read(self, run):
        tables = {name: {"table": name} for name in ("tutor-15", "tutor-25")}
        (run / "results.json").write_text(dump_json({"tables": tables}))
        assert judges_of(run, "tutor-25 κ=0.9") == ((), ())
