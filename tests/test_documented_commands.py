"""Every call of `mccpo` in the documentation is one that mccpo takes, and the names in it stand for something."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.documented import DOCS, WITH_COMMANDS, calls, page_name

from mccpo.cli import main
from mccpo.cli.app import build_app
from mccpo.cli.flags import Training
from mccpo.curriculum.derive import RECIPES
from mccpo.env import environment_names, needs_data
from mccpo.errors import InputError
from mccpo.experiments import FROM_LOGS, GROUPS, TABLES
from mccpo.experiments.benchmark import SUITES
from mccpo.experiments.compare import check
from mccpo.logs.sources.registry import SOURCES
from mccpo.methods import METHODS

KNOWN = {
    "environments": environment_names(),
    "methods": list(METHODS),
    "tables": [*TABLES, *FROM_LOGS, *GROUPS, "all"],
    "suites": list(SUITES),
    "formats": list(SOURCES),
    "recipes": list(RECIPES),
}
KINDS = {
    "environment": "environments",
    "environments": "environments",
    "envs": "environments",
    "method": "methods",
    "methods": "methods",
    "table": "tables",
    "suite": "suites",
    "format": "formats",
    "recipe": "recipes",
}
"""Which argument of a command names what."""
WRONG = {("compare", "tutr-15")}
"""Calls whose mistake is what their page explains."""


def arguments(words: list[str]) -> dict[str, Any]:
    """What a call gives, by name, with the flags that commands share."""
    _, bound, _ = build_app().parse_args(words, print_error=False, exit_on_error=False)
    given: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        given |= (
            {each.name: getattr(value, each.name) for each in fields(value)} if is_dataclass(value) else {name: value}
        )
    return given


def names(value: object) -> list[str]:
    """The names in an argument: several, or one text with commas."""
    several = [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]
    return [name for each in several for name in each.split(",") if name]


def unknown(given: dict[str, Any], own: Iterable[str]) -> list[str]:
    """The names in a call that neither mccpo nor the page's reader has."""
    asked = [(KINDS[key], name) for key, value in given.items() if key in KINDS and value for name in names(value)]
    return [f"{kind}: {name}" for kind, name in asked if name not in KNOWN[kind] and name not in own]


@cache
def own_names() -> frozenset[str]:
    """What the reader makes: folders that `prepare` writes, and what the plug-in of a page registers."""
    made = {
        str(arguments(words).get("out")) for page in WITH_COMMANDS for words in calls(page) if words[0] == "prepare"
    }
    plug_in = (DOCS / "how-to/write-a-plug-in.md").read_text("utf-8")
    return frozenset(made | set(re.findall(r"^(my-\w+) = ", plug_in, re.MULTILINE)))


def refused(words: list[str]) -> str | None:
    """Why `compare` would not begin, where it can be asked: on an environment that needs no file and no data set."""
    _, bound, _ = build_app().parse_args(words, print_error=False, exit_on_error=False)
    given = bound.arguments
    named = [name for name in given["environments"] if name in environment_names() and not needs_data(name)]
    if not named:
        return None
    asked = {name: given[name] for name in ("ready", "objective") if name in given}
    flags: Training = given.get("flags", Training())
    try:
        options = flags.options(requirements=given.get("require") or (), floors=given.get("floor") or (), **asked)
        for name in named:
            check(name, options)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=page_name)
def test_commands_exist_with_their_options(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They are only asked what they would do, so that a wrong name, option or value is refused."""
    monkeypatch.chdir(tmp_path)
    for call in calls(page):
        words = [word for word in call if word != "--print-config"]
        assert main([*words, "--print-config"]) == 0, f"{call}: {capsys.readouterr().err}"
        if tuple(words) not in WRONG:
            assert unknown(arguments(words), own_names()) == [], words
            assert words[0] != "compare" or refused(words) is None, words


def test_a_wrong_command_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "runs/mine", "--nowhere", "--print-config"]) == 2
    assert main(["certifie", "--print-config"]) == 2


def test_a_wrong_name_is_found() -> None:
    found = [
        unknown(arguments(words), own_names())
        for words in (
            ["compare", "music"],
            ["compare", "gate", "--methods", "mc-cpo,magic"],
            ["benchmark", "--envs", "gate,music"],
            ["train", "gate", "--method", "magic"],
        )
    ]
    assert found == [["environments: music"], ["methods: magic"], ["environments: music"], ["methods: magic"]]
    assert unknown(arguments(["reproduce", "magic"]), ()) == ["tables: magic"]
    assert "fun" in (refused(["compare", "tutor-15", "--floor", "fun=0.5"]) or "")
