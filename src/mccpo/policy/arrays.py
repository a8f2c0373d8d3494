"""Arrays of either kind: the functions of this room take those of NumPy and of JAX, and give back the same kind."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""An array of NumPy or JAX; where a shape is empty, a plain number will do."""

_OF_NUMPY = (np.ndarray, np.generic, float, int)


def namespace(*values: Array) -> Any:
    """The module with the functions for these values: `jax.numpy` where any is an array of JAX, else `numpy`.

    >>> namespace(0.5, np.ones(3)).__name__
    'numpy'
    """
    for value in values:
        if not isinstance(value, _OF_NUMPY):
            return value.__array_namespace__()
    return np
