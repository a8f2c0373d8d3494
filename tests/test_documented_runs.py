"""Every call of `mccpo` in the documentation is made, on a small scale, unless `OMITTED` says why it cannot be.

What the pages speak of is made first: a graph, answers, a prepared environment and a run. Steps, seeds and episodes are
few, so that what is learnt is no result. Notebooks run in `test_tutorials.py`.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests import small
from tests.documented import WITH_COMMANDS, calls, page_name

from mccpo.cli import main
from mccpo.experiments import Options

PAGES = [page for page in WITH_COMMANDS if page.parent.name != "tutorials"]
OMITTED = {
    r"^serve ": "runs until it is stopped; tutorial 4 runs it, and tests/cli/test_serve.py",
    r"^(verify|backup|restore|downgrade) ": "needs the record of a service; tests/serve/record and tutorial 4 have one",
    r"^keys revoke ": "needs the id of a key that was made; tests/cli/test_serve.py has one",
    r"decisions\.ndjson": "needs the export of a service; tutorial 4 has one",
    r"statements\.json": "needs statements of a platform; tests/logs reads some",
    r"skill_builder|assist20|statics2011|junyi_sequences|ednet_|\ba09\b|^evaluate run\b|^certify run\b": "needs public "
    "data, which is not in the repository",
    r"metadata/questions\.json|package\.json": "needs files of others; tests/curriculum/derive has some",
    r"^benchmark|maskable-ppo": "takes hours; tests/cli/test_benchmark.py runs small ones",
    r"^reproduce (all|ablation|wrong-edges|held-out)": "takes hours; tests/experiments/paper makes each table, small",
    r"^bench ": "takes minutes and measures speed; tests/bench has tests of the parts",
    r"^pretrain ": "takes hours on an accelerator; tests/methods/pretrained trains a moment",
    r"my-tutor|my-course": "needs the plug-in of the page; tests/test_registry.py installs one",
    r"^compare tutr-15": "is a mistake that its page explains",
    r"^train chain --seeds 1 --episodes 500": "is made by tests/test_examples.py",
}
"""Calls that are not made here, as a pattern, and why."""
FEW = {"--steps": "300", "--seeds": "1", "--episodes": "40", "--rows": "6000", "--learners": "60", "--jobs": "2"}
CONCEPTS = ("counting", "adding", "multiplying")


def omitted(words: list[str]) -> bool:
    return any(re.search(pattern, " ".join(words)) for pattern in OMITTED)


def shortened(words: list[str]) -> list[str]:
    """The call with the small numbers of `FEW`."""
    return [FEW.get(before, word) for before, word in zip(["", *words], words, strict=False)]


def write_answers(path: Path) -> None:
    """Answers of learners who get better by practice, under every name that a page gives their columns."""
    columns = {"learner": ("learner", "student", "who"), "concept": ("concept", "skill"), "time": ("time", "when")}
    columns |= {"correct": ("correct", "right"), "item": ("item", "question")}
    names = [(name, field) for field, several in columns.items() for name in several]
    random = np.random.default_rng(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([name for name, _ in names])
        for learner in range(80):
            known = random.random() < 0.3
            for event in range(45):
                concept = CONCEPTS[event // 15]
                known = (known if event % 15 else random.random() < 0.3) or random.random() < 0.15
                right = random.random() < (0.9 if known else 0.2)
                minutes = f"2026-01-{1 + event // 15:02d} 09:{event % 60:02d}:00"
                row = {"learner": f"l{learner}", "concept": concept, "time": minutes, "correct": int(right)}
                table.writerow([{**row, "item": f"{concept}-{event % 5}"}[field] for _, field in names])


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with what the pages speak of."""
    folder = tmp_path_factory.mktemp("documented")
    with pytest.MonkeyPatch.context() as patch:
        few(patch, folder)
        Path("graph.csv").write_text("prerequisite,concept\ncounting,adding\nadding,multiplying\n")
        Path("course.csv").write_text("name,prerequisites\ncounting,\nadding,counting\nmultiplying,adding\n")
        shutil.copy("graph.csv", "expert.csv")
        write_answers(Path("answers.csv"))
        for call in (
            "logs convert answers.csv --format table --out logs.parquet",
            "prepare logs.parquet --graph graph.csv --out mine --horizon 12 --episodes 40",
            "compare mine --methods mc-cpo --floor learning=0.5 --out runs/mine",
            "logs generate junyi-2020 --out logs --rows 6000 --learners 60",
        ):
            assert main(call.split()) == 0, call
        shutil.copy("logs/Info_Content.csv", "Info_Content.csv")
        derived = "curriculum derive Info_Content.csv --recipe junyi-2020 --out graph.json --members m.csv"
        assert main(derived.split()) == 0
        for name in ("members.csv", "items.csv"):
            shutil.copy("m.csv", name)
        for name in ("RUN", "runs/tutor-15"):
            shutil.copytree("runs/mine", name)
        yield folder


def few(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Works in a folder, with training of a moment and reports without figures."""
    patch.chdir(folder)
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    patch.setenv("MCCPO_SEEDS", FEW["--seeds"])
    patch.setenv("MCCPO_EPISODES", FEW["--episodes"])
    patch.setattr(Options, "neural_plan", small.plan)
    patch.setattr("mccpo.report.page.html.galleries", lambda *_: [])
    patch.setattr("mccpo.report.page.html.opening", lambda *_: None)


def test_each_omission_is_of_a_call_that_is_documented() -> None:
    typed = [" ".join(words) for page in PAGES for words in calls(page)]
    assert [pattern for pattern in OMITTED if not any(re.search(pattern, call) for call in typed)] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_documented_calls_run(
    page: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Done, or a check that failed: with so few steps a certificate need not pass."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    few(monkeypatch, tmp_path)
    for words in calls(page):
        if omitted(words):
            continue
        if "--out" in words:
            free(Path(words[words.index("--out") + 1]))
        assert main(shortened(words)) in (0, 3), f"{words}: {capsys.readouterr().err}"


def free(path: Path) -> None:
    """A place for what a call writes, which an earlier page's call may have written too."""
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
