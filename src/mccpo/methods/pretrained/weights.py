"""The file of the pretrained policy: its numbers, and beside it what they were trained on."""

from __future__ import annotations

from functools import cache
from importlib.resources import files as resources
from pathlib import Path

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mccpo import files
from mccpo.errors import InputError
from mccpo.methods.pretrained.network import conditioned

FILE = "pretrained.safetensors"
CARD = "pretrained.json"
TENSOR = "parameters"


@cache
def pretrained_parameters() -> Float[np.ndarray, " parameters"]:
    """The numbers that are part of the package."""
    return parameters_in(resources(__package__).joinpath(FILE).read_bytes(), FILE)


def parameters_in(content: bytes, name: str) -> Float[np.ndarray, " parameters"]:
    """The numbers of a file; refused where they are not those of the network."""
    fix = "make it with `mccpo pretrain`"
    try:
        parameters = load(content)[TENSOR]
    except (SafetensorError, KeyError) as error:
        raise InputError(f"{name} holds no pretrained policy ({error})", fix=fix) from error
    if parameters.shape != (conditioned().size,) or not np.isfinite(parameters).all():
        raise InputError(f"{name} holds the numbers of another network", fix=fix)
    return parameters.astype(np.float32)


def write_parameters(path: Path, parameters: Float[np.ndarray, " parameters"]) -> None:
    """Writes the file, whole or not at all."""
    files.write_bytes(path, save({TENSOR: np.ascontiguousarray(parameters, np.float32)}))
