"""`train`, `evaluate`, `certify` and `report` as a user calls them, one after the other on one small run."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mccpo.cli import main
from mccpo.experiments import measuring
from mccpo.experiments.saved_policies import load_policies

CURRICULUM = """{"concepts": [
    {"name": "counting", "demand": 0.2},
    {"name": "sorting", "demand": 0.4},
    {"name": "adding", "demand": 0.6, "prerequisites": ["counting"]}]}"""
CERTIFICATE = "certificates/tutor-15.mc-cpo.json"
FINITE = ["train", "gate", "--seeds", "1", "--episodes", "80"]


def _training(folder: Path) -> list[str]:
    """The call that trains mc-cpo for a moment on a user's curriculum, under budgets that are easily met."""
    call = [
        "train",
        "tutor-15",
        "--curriculum",
        str(folder / "mine.json"),
        "--set",
        "horizon=10,K0=0.6",
        "--seeds",
        "2",
    ]
    return [*call, "--steps", "20000", "--budget", "c2=0.15,c3=2.5,c4=5"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "mine.json").write_text(CURRICULUM)
    assert main([*_training(folder), "--out", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> str:
    """A copy of the run, for a test to change."""
    return str(shutil.copytree(trained, tmp_path / "run"))


def _json(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    return json.loads(capsys.readouterr().out)


def test_train_keeps_what_it_trained(trained: Path) -> None:
    results = json.loads((trained / "results.json").read_text())
    assert set(results["rows"]) == {"mc-cpo"}
    assert results["title"] == "mc-cpo on tutor-15"
    (policies,) = load_policies(trained)
    assert policies.method.name == "mc-cpo"
    assert policies.budgets == {"c2": 0.15, "c3": 2.5, "c4": 5.0}
    assert policies.env.curriculum.concepts == ("counting", "sorting", "adding")
    assert policies.parameters.shape[0] == 2
    assert np.ptp(policies.parameters) > 0


def test_evaluate_judges_the_saved_policies_again(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    own = json.loads(Path(run, "results.json").read_text())["rows"]["mc-cpo"]
    assert main(["evaluate", run, "--json"]) == 0
    fresh = _json(capsys)["rows"]["mc-cpo"]
    assert main(["evaluate", run, "--seed", "0", "--episodes", str(measuring.EVALUATION_EPISODES), "--json"]) == 0
    same = _json(capsys)["rows"]["mc-cpo"]
    assert same == {metric: own[metric] for metric in same}  # the run's own episodes give the run's own numbers
    assert fresh["return"]["per_seed"] != own["return"]["per_seed"]
    assert fresh["return"]["mean"] == pytest.approx(own["return"]["mean"], rel=0.1)
    assert main(["evaluate", run, "--method", "mc-cpo", "--episodes", "20"]) == 0
    assert "mc-cpo" in capsys.readouterr().out


def test_evaluate_keeps_its_result_and_the_report_shows_it(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Judged again" not in Path(run, "report.html").read_text()
    assert main(["evaluate", run, "--episodes", "20", "--json"]) == 0
    printed = _json(capsys)
    kept = Path(run, "evaluations/seed-1.json")
    assert printed.pop("written") == str(kept)
    assert json.loads(kept.read_text())["results"] == printed
    assert "Judged again on fresh episodes (seed 1, 20 episodes of each policy)" in Path(run, "report.html").read_text()
    kept.write_text(kept.read_text().replace('"policies_sha256": "', '"policies_sha256": "0'))
    assert main(["report", run]) == 0
    assert "the evaluation is left out: " in capsys.readouterr().err
    assert "Judged again" not in Path(run, "report.html").read_text()


def test_certify_passes_and_the_report_shows_it(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", run, "--episodes", "400", "--json"]) == 0
    printed = _json(capsys)
    assert printed == json.loads(Path(run, CERTIFICATE).read_text())
    assert printed["passed"] is True
    assert printed["correction"]["claims"] == 2 * 3
    assert "Bound at 95" in Path(run, "report.html").read_text()
    assert main(["report", run, "--out", f"{run}/page.html"]) == 0
    page = Path(run, "page.html").read_text()
    assert "Bound at 95" in page
    assert "Certificate passed: " in page.partition("<table")[0]
    assert "(MC-CPO of tutor-15 in 400 fresh episodes; the chance of error is shared over 2 policies" in page
    assert main(["certify", run, "--episodes", "400"]) == 0
    assert "0 of 8,000 steps taught what was not ready: the mask" in capsys.readouterr().out


def test_a_run_that_is_resumed_shows_its_certificate(
    run: str, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", run, "--episodes", "400"]) == 0
    kept = {name: Path(run, name).read_bytes() for name in ("results.json", "policies.json", CERTIFICATE)}
    assert main([*_training(trained.parent), "--out", run, "--resume"]) == 0
    assert {name: Path(run, name).read_bytes() for name in kept} == kept
    assert "Bound at 95" in Path(run, "report.html").read_text()
    assert "left out" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"confidence": None}, "confidence is None"),
        ({"budgets": {"c3": 3}}, "c3 is a int"),
        ({"part": "tutor-15 κ=0.7"}, "shows the part 'tutor-15 κ=0.7'"),
    ],
)
def test_a_certificate_that_says_nothing_is_left_out_of_the_report(
    run: str, change: dict[str, object], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", run, "--episodes", "1"]) == 3
    path = Path(run, CERTIFICATE)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    capsys.readouterr()
    assert main(["report", run]) == 0
    told = capsys.readouterr().err
    assert "the certificate is left out" in told
    assert what in told
    assert "Bound at" not in Path(run, "report.html").read_text()


def test_certify_that_falls_short_exits_3_and_leaves_its_certificate(
    run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", run, "--episodes", "1"]) == 3
    captured = capsys.readouterr()
    assert "not passed" in captured.out
    assert "above its limit 2.5" in captured.err.splitlines()[-1]
    assert json.loads(Path(run, CERTIFICATE).read_text())["passed"] is False


def test_a_certificate_of_another_run_is_left_out_of_the_report(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    certificate = {"format": "mccpo-certificate/1", "passed": True, "policies_sha256": "0" * 64}
    Path(run, "certificate.json").write_text(json.dumps(certificate))
    assert main(["report", run]) == 0
    assert "other policies" in capsys.readouterr().err
    assert "Bound at" not in Path(run, "report.html").read_text()


@pytest.mark.parametrize(
    ("call", "culprit"),
    [
        (["evaluate", "RUN", "--method", "post-hoc"], "post-hoc"),
        (["evaluate", "RUN", "--part", "tutor-15 κ=0.7"], "κ=0.7"),
        (["evaluate", "RUN", "--episodes", "0"], "episodes is 0"),
        (["evaluate", "RUN", "--episodes", "2.5"], "2.5"),
        (["evaluate", "RUN", "--seed", "-1"], "seed is -1"),
        (["evaluate", "nowhere"], "nowhere"),
        (["certify", "RUN", "--confidence", "95"], "95"),
        (["certify", "RUN", "--policy", "2"], "no policy 2"),
        (["certify", "RUN", "--method", "unconstrained"], "unconstrained"),
        (["certify", "RUN", "--episodes", "0"], "episodes is 0"),
        (["certify", "RUN", "--estimation-error", "-1"], "-1"),
        (["certify", "RUN", "--most-violations", "2"], "2"),
        (["certify", "nowhere"], "nowhere"),
        (["train", "tutor-15", "--methods", "mc-cpo,post-hoc"], "--method"),
        (["train", "tutor-15", "--method", "mc-ppo"], "mc-ppo"),
        (["train", "tutor-15", "--kappa", "0.9,0.7"], "one kappa"),
        (["train", "tutor-51"], "tutor-51"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_input_is_one_line_and_exit_2(
    call: list[str],
    culprit: str,
    run: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([run if word == "RUN" else word for word in call]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1, captured.err
    assert culprit in captured.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    assert not Path(run, CERTIFICATE).exists()


def test_a_damaged_run_is_refused(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(run, "policies.safetensors").write_bytes(b"\x00" * 100)
    for command in ("evaluate", "certify"):
        assert main([command, run]) == 2
        assert "policies.safetensors" in capsys.readouterr().err


def test_a_finite_run_has_nothing_to_evaluate_or_certify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*FINITE, "--out", "run"]) == 0
    for command in ("evaluate", "certify"):
        capsys.readouterr()
        assert main([command, "run"]) == 2
        assert "exact" in capsys.readouterr().err


@pytest.mark.slow
def test_a_policy_that_remembers_is_trained_evaluated_certified_and_not_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, small = str(tmp_path / "run"), ["--set", "concepts=4,horizon=5", "--steps", "300", "--seeds", "1"]
    methods = ["--methods", "unconstrained,mc-cpo-recurrent", "--budget", "c2=1,c3=5,c4=5"]
    assert main(["compare", "tutor-15-answers", *small, *methods, "--out", run]) == 0
    capsys.readouterr()
    assert main(["evaluate", run, "--episodes", "50", "--json"]) == 0
    assert "mc-cpo-recurrent" in capsys.readouterr().out
    assert main(["certify", run, "--method", "mc-cpo-recurrent", "--episodes", "400", "--json"]) in (0, 3)
    assert "mc-cpo-recurrent" in capsys.readouterr().out
    assert main(["serve", run, "--method", "mc-cpo-recurrent", "--no-keys"]) == 2
    assert "cannot be served: it has 'sees', which the service does not know" in capsys.readouterr().err
