"""A layer of sparse convolution on its way to the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _arrays
from ._native import sparse_oracle

_WHOLE = ("coords", "out_coords")
_FLOATS = ("feats", "weights", "v_out")
_NUMBERS = ("kernel_size", "stride", "padding", "dilation")
_FLAGS = ("transposed", "submanifold")


def oracle(layer: Mapping[str, Any], model: str) -> dict[str, np.ndarray]:
    """The kernel map, the sums and their bounds by name."""
    arrays, metadata = {}, {"workload": "sparse"}
    for name, value in layer.items():
        if name in _WHOLE + _FLOATS:
            arrays[name] = _array(name, value)
        elif name in _NUMBERS:
            metadata[name] = ",".join(str(_arrays.scalar(name, number, whole=True)) for number in _three(name, value))
        elif name in _FLAGS:
            metadata[name] = str(_flag(name, value)).lower()
        else:
            known = ", ".join(_WHOLE + _FLOATS + _NUMBERS + _FLAGS)
            raise ValueError(f"the layer has '{_arrays.short(name)}': remove it; a layer has {known}")
    return _arrays.decode(sparse_oracle(_arrays.encode(arrays, metadata), model))[0]


def _array(name: str, value: Any) -> np.ndarray:
    array = _arrays.to_numpy(name, value, "array")
    if name in _FLOATS:
        if array.dtype != np.float32:
            raise TypeError(f"{name} is of type {array.dtype.name}: expected float32")
        return np.ascontiguousarray(array, dtype="<f4")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} is of type {array.dtype.name}: expected whole numbers")
    narrow = np.ascontiguousarray(array, dtype="<i4")
    if not np.array_equal(narrow, array):
        raise ValueError(f"{name} has a number beyond 32 bits: every coordinate is an int32")
    return narrow


def _three(name: str, value: Any) -> list[Any]:
    numbers = np.ravel(value).tolist()
    if len(numbers) != 3:
        raise ValueError(f"{name} is {_arrays.short(value)}: give three numbers, as in (3, 3, 3)")
    return numbers


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {_arrays.short(value)}: expected True or False")
    return bool(value)
