"""Models as JSON: parameters by concept and item, the same bytes for the same model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mccpo import files
from mccpo.errors import InputError
from mccpo.files import dump_json, read_json
from mccpo.mastery.best_lr import BestLR
from mccpo.mastery.bkt import BKT, BKTForget
from mccpo.mastery.elo import Elo
from mccpo.mastery.ema import EMA
from mccpo.mastery.model import MasteryModel
from mccpo.mastery.pfa import PFA
from mccpo.mastery.response_model import ResponseModel, Weights

_KINDS: Mapping[str, Any] = {"ema": EMA, "bkt": BKT, "bkt-forget": BKTForget, "pfa": PFA}
_RESPONSE_KINDS: Mapping[str, type[Elo] | type[BestLR]] = {"elo": Elo, "best-lr": BestLR}
_FIX = "fit it again with `mccpo fit-learner`"
_PROBABILITIES = ("prior", "learn", "guess", "slip", "forget", "start")
_SETTINGS = ("alpha", "pause", "decay")

MASTERY_MODELS = tuple(_KINDS)
"""The names of the models that know concepts alone."""
RESPONSE_MODELS = tuple(_RESPONSE_KINDS)
"""The names of the models that know items and the whole history of a learner."""
MODELS = (*MASTERY_MODELS, *RESPONSE_MODELS)
"""The names of the models."""


def model_name(model: MasteryModel | ResponseModel) -> str:
    """The name that stands for the kind of model.

    >>> from mccpo.mastery import EMA
    >>> model_name(EMA(start=np.array([0.5])))
    'ema'
    """
    return next(name for name, kind in {**_KINDS, **_RESPONSE_KINDS}.items() if type(model) is kind)


def model_to_json(model: MasteryModel | ResponseModel) -> dict[str, Any]:
    """The model as a JSON object. `unseen` are the parameters of concepts that it was not fitted to.

    A response model has `shared` weights and those of its `items` beside those of its concepts, and none for what it
    was not fitted to.

    >>> from mccpo.mastery import EMA
    >>> model_to_json(EMA(start=np.array([0.2, 0.3]), concepts=("adding",)))["concepts"]
    {'adding': {'start': 0.2}}
    """
    if isinstance(model, ResponseModel):
        return _response_to_json(model)
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


def model_from_json(document: Mapping[str, Any], where: str = "the model") -> MasteryModel | ResponseModel:
    """The model of a JSON object; InputError where it is none.

    >>> document = {"model": "ema", "alpha": 0.1, "concepts": {"adding": {"start": 0.2}}, "unseen": {"start": 0.3}}
    >>> model_from_json(document).alpha
    0.1
    """
    name = str(document.get("model"))
    if name in _RESPONSE_KINDS:
        return _response_from_json(_RESPONSE_KINDS[name], document, where)
    kind = _KINDS.get(name)
    if kind is None:
        raise InputError(f"{where} names no known model", fix=_FIX)
    try:
        concepts = document["concepts"]
        rows = [*concepts.values(), document["unseen"]]
        names = [name for name in kind._fields if name not in (*_SETTINGS, "concepts")]
        arrays = {name: np.array([row[name] for row in rows], float) for name in names}
        settings = {name: float(document[name]) for name in _SETTINGS if name in kind._fields}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where} is not complete ({error})", fix=_FIX) from error
    for name, values in arrays.items():
        inside = (values >= 0) & (values <= 1) if name in _PROBABILITIES else np.isfinite(values)
        if not inside.all():
            culprit = [*concepts, "unseen"][int(np.flatnonzero(~inside)[0])]
            raise InputError(f"{where} has {name} {values[~inside][0]:g} for {culprit!r}", fix=_FIX)
    return kind(**arrays, **settings, concepts=tuple(concepts))


def _response_to_json(model: ResponseModel) -> dict[str, Any]:
    weights = model.weights
    rows = [dict(zip(model.OWN, map(float, row), strict=True)) for row in weights.own[:-1]]
    return {
        "model": model_name(model),
        "shared": dict(zip(model.SHARED, map(float, weights.shared), strict=True)),
        "concepts": dict(zip(weights.concepts, rows, strict=True)),
        "items": dict(zip(weights.items, map(float, weights.ease[:-1]), strict=True)),
    }


def _response_from_json(kind: type[Elo] | type[BestLR], document: Mapping[str, Any], where: str) -> Elo | BestLR:
    try:
        concepts, items = document["concepts"], document["items"]
        shared = np.array([document["shared"][name] for name in kind.SHARED], float)
        own = np.array([[row[name] for name in kind.OWN] for row in concepts.values()], float)
        ease = np.array(list(items.values()), float)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where} is not complete ({error})", fix=_FIX) from error
    if not all(np.isfinite(values).all() for values in (shared, own, ease)):
        raise InputError(f"{where} has a weight that is not a number", fix=_FIX)
    nothing = np.zeros((1, len(kind.OWN)))
    table = np.concatenate([own.reshape(-1, len(kind.OWN)), nothing])
    return kind(Weights(shared, table, np.append(ease, 0.0), tuple(concepts), tuple(items)))


def write_model(model: MasteryModel | ResponseModel, path: Path) -> None:
    """Writes the model, whole or not at all.

    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from mccpo.mastery.bkt import BKT
    >>> with TemporaryDirectory() as folder:
    ...     numbers = np.array([[0.4, 0.4], [0.1, 0.1], [0.2, 0.2], [0.1, 0.1]])  # last: of other concepts
    ...     write_model(BKT(*numbers, concepts=("adding",)), Path(folder) / "model.json")
    ...     read_model(Path(folder) / "model.json").concepts
    ('adding',)
    """
    files.write_text(path, dump_json(model_to_json(model), indent=1) + "\n")


def read_model(path: Path) -> MasteryModel | ResponseModel:
    """Reads a model that `write_model` wrote.

    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from mccpo.mastery.bkt import BKT
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.json"
    ...     write_model(BKT(*np.array([[0.4], [0.1], [0.2], [0.1]]), concepts=()), path)
    ...     read_model(path).slip.tolist()
    [0.1]
    """
    return model_from_json(read_json(path, fix="fit one with `mccpo fit-learner`"), str(path))
