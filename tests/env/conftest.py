"""A package of somebody else's that adds environments."""

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
def their_package(install, monkeypatch):
    """The package above, installed; what importing it registers is forgotten afterwards."""
    folder = install(MODULE, POINTS)
    (folder / "their_broken_package.py").write_text("raise RuntimeError('no\\nlicence')")
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
