"""`--ray` and its kin: which commands have them, and what is refused before anything else is done."""

import pytest

from mccpo.cli import flags, main
from mccpo.cli.app import build_app

COMMANDS = ("benchmark", "reproduce", "compare", "train", "prepare", "fit-learner", "audit")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_that_can_be_shared_have_the_flags(command):
    found = build_app()[command].assemble_argument_collection()
    assert {"--ray", "--cell-cpus", "--cell-gpus"} <= {name for argument in found for name in argument.names}


def refused(capsys, *arguments):
    assert main(list(arguments)) == 2
    return capsys.readouterr().err.strip()


def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(flags, "find_spec", lambda _: None)
    for call in (["benchmark"], ["compare", "gate"], ["reproduce", "gate"], ["train", "gate"]):
        told = refused(capsys, *call, "--ray", "auto")
        assert told.endswith("--ray needs the package ray; pip install 'mccpo[ray]'")
        assert "\n" not in told


def test_what_makes_no_sense_is_refused(capsys, tmp_path):
    assert "leave out --jobs, or --ray" in refused(capsys, "benchmark", "--ray", "auto", "--jobs", "2")
    assert "add --ray" in refused(capsys, "compare", "gate", "--cell-gpus", "1")
    assert "give 1 or more with --cell-cpus" in refused(capsys, "train", "gate", "--ray", "auto", "--cell-cpus", "0")
    (tmp_path / "logs.parquet").touch()
    for command in ("audit", "fit-learner"):
        told = refused(capsys, command, str(tmp_path / "logs.parquet"), "--ray", "auto")
        assert "name a folder that the nodes share with --out" in told
