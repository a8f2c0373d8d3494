"""Every example in the page on Python and in a docstring runs as it is printed."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import mccpo
from mccpo.cli import main

ROOT = Path(__file__).parents[1]
PEERS = ("peers.maskable_ppo", "peers.pandas_logs", "peers.pybkt")  # which run in environments of their own
ELSEWHERE = ("__main__", "migrations.env", *PEERS)  # the first two run when imported
MODULES = [
    module.name for module in pkgutil.walk_packages(mccpo.__path__, "mccpo.") if not module.name.endswith(ELSEWHERE)
]


@pytest.mark.parametrize("name", ["mccpo", *MODULES])
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_page_on_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for call in re.findall(r"^\$ mccpo (.*)$", page, re.MULTILINE):
        assert main(call.split()) == 0
    tried = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False)
    assert tried.attempted > 5
    assert tried.failed == 0


def test_public_names_are_there_and_documented() -> None:
    for name in mccpo.__all__:
        value = getattr(mccpo, name)
        assert name in ("METHODS", "__version__") or value.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mccpo.nothing  # noqa: B018
