"""Models as JSON: parameters by concept, the same bytes for the same model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mccpo import files
from mccpo.errors import InputError
from mccpo.files import dump_json, read_json
from mccpo.mastery.bkt import BKT, BKTForget
from mccpo.mastery.ema import EMA
from mccpo.mastery.model import MasteryModel
from mccpo.mastery.pfa import PFA

_KINDS: Mapping[str, Any] = {"ema": EMA, "bkt": BKT, "bkt-forget": BKTForget, "pfa": PFA}
_PROBABILITIES = ("prior", "learn", "guess", "slip", "forget", "start")
_SETTINGS = ("alpha", "pause", "decay")

MODELS = tuple(_KINDS)
"""The names of the models."""


def model_name(model: MasteryModel) -> str:
    """The name that stands for the kind of model."""
    return next(name for name, kind in _KINDS.items() if type(model) is kind)


def model_to_json(model: MasteryModel) -> dict[str, Any]:
    """The model as a JSON object. `unseen` are the parameters of concepts that it was not fitted to."""
    fields = model._asdict()  # type: ignore[attr-defined]
    names = [name for name in fields if name not in (*_SETTINGS, "concepts")]
    table = np.stack([fields[name] for name in names], axis=1)
    rows = [dict(zip(names, map(float, row), strict=True)) for row in table]
    return {
        "model": model_name(model),
        **{name: float(fields[name]) for name in _SETTINGS if name in fields},
        "unseen": rows[-1],
        "concepts": dict(zip(model.concepts, rows[:-1], strict=True)),
    }


def model_from_json(document: Mapping[str, Any], where: str = "the model") -> MasteryModel:
    """The model of a JSON object; InputError where it is none."""
    fix = "fit it again with `mccpo fit-learner`"
    kind = _KINDS.get(str(document.get("model")))
    if kind is None:
        raise InputError(f"{where} names no known model", fix=fix)
    try:
        concepts = document["concepts"]
        rows = [*concepts.values(), document["unseen"]]
        names = [name for name in kind._fields if name not in (*_SETTINGS, "concepts")]
        arrays = {name: np.array([row[name] for row in rows], float) for name in names}
        settings = {name: float(document[name]) for name in _SETTINGS if name in kind._fields}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where} is not complete ({error})", fix=fix) from error
    for name, values in arrays.items():
        inside = (values >= 0) & (values <= 1) if name in _PROBABILITIES else np.isfinite(values)
        if not inside.all():
            culprit = [*concepts, "unseen"][int(np.flatnonzero(~inside)[0])]
            raise InputError(f"{where} has {name} {values[~inside][0]:g} for {culprit!r}", fix=fix)
    return kind(**arrays, **settings, concepts=tuple(concepts))


def write_model(model: MasteryModel, path: Path) -> None:
    """Writes the model, whole or not at all."""
    files.write_text(path, dump_json(model_to_json(model), indent=1) + "\n")


def read_model(path: Path) -> MasteryModel:
    """Reads a model that `write_model` wrote."""
    return model_from_json(read_json(path, fix="fit one with `mccpo fit-learner`"), str(path))
