"""The rooms of the house, in the order in which data flows: the layers that `lint-imports` checks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import mccpo

SOURCE = Path(mccpo.__file__).parent
_SETTINGS = Path(__file__).parents[2] / "pyproject.toml"


def rooms() -> list[str]:
    """Every package of mccpo, those first on which the others build; one that no layer names comes last."""
    contracts = tomllib.loads(_SETTINGS.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    house = next(each["layers"] for each in contracts if each["type"] == "layers" and "mccpo.cli" in each["layers"])
    named = [name for layer in reversed(house) for name in re.findall(r"mccpo\.(\w+)", layer)]
    packages = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
    return [name for name in named if name in packages] + [name for name in packages if name not in named]
