"""A package of somebody else's that adds environments."""

import sys

import pytest

from mccpo.env import registry

MODULE = """
from typing import ClassVar

from mccpo import register_environment
from mccpo.env import Chain, Gate, TutorBKT

class Easy(Gate):
    '''A gate of another package.'''
    name: ClassVar[str] = "easy"

class Named(Chain):
    name: ClassVar[str] = "calls-itself-so"

@register_environment("decorated", test={"horizon": 7})
class Decorated(Chain):
    name: ClassVar[str] = "decorated"

class Unregistered(TutorBKT):
    name: ClassVar[str] = "unregistered"

def course(R: float = 0.7):
    return Gate(R=R)

def hidden():
    return Unregistered()

def nothing():
    return 3

def anything(**settings):
    return Gate(**settings)

def demanding(R):
    return Gate(R=R)

number = 5
"""
POINTS = """
[mccpo.environments]
easy = their_package:Easy
named = their_package:Named
decorated = their_package:Decorated
their-course = their_package:course
hidden = their_package:hidden
nothing = their_package:nothing
number = their_package:number
anything = their_package:anything
demanding = their_package:demanding
missing = their_package:Missing
broken = their_broken_package:Course
gate = their_package:Easy
"""


@pytest.fixture
def their_package(tmp_path, monkeypatch):
    """A distribution that is installed, as far as Python can tell."""
    about = tmp_path / "their_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (tmp_path / "their_package.py").write_text(MODULE)
    (tmp_path / "their_broken_package.py").write_text("raise RuntimeError('no\\nlicence')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    yield tmp_path
    sys.modules.pop("their_package", None)
