"""Arrays on their way in and out: the bytes of a .safetensors, DLPack, ``__array__``."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

_DTYPES = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
}
_NAMES = {"float32": "F32", "float16": "F16", "int32": "I32", "uint32": "U32", "int64": "I64", "uint8": "U8"}

#: Device types of DLPack whose memory the processor reads: CPU, and pinned host memory of CUDA and ROCm.
_HOST = {1, 3, 11}

#: What is done with arrays: kernels return outputs, all others are given.
_VERBS = {"output": "return"}


def decode(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a .safetensors, each in memory of its own, and its metadata."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(data[start:end], dtype=_DTYPES[entry["dtype"]])
        arrays[name] = flat.reshape(entry["shape"]).copy()
    return arrays, metadata


def encode(arrays: dict[str, np.ndarray], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a .safetensors with these arrays."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    parts, place = [], 0
    for name, array in arrays.items():
        part = array.tobytes()
        end = place + len(part)
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [place, end],
        }
        parts.append(part)
        place = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)


def scalar(name: str, value: Any, *, whole: bool = False) -> Any:
    """A number that was read from a file, as ``float``, or ``int`` where it must be whole.

    Raises:
        ValueError: it is none.
    """
    expected = "a whole number" if whole else "a number"
    try:
        number = np.asarray(value)
        fits = number.size == 1 and number.dtype.kind in "biuf" and not np.isnan(number).any()
        if fits and not (whole and (np.isinf(number).any() or (number != np.floor(number)).any())):
            return int(number.item()) if whole else float(number.item())
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} is {short(value)}: expected {expected}")


def short(value: Any, most: int = 200) -> str:
    """A value in one line of so many characters, without what a terminal would obey."""
    text = " ".join(str(value).split())
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: most + 1])
    return text if len(text) <= most else f"{text[:most]}..."


def to_numpy(name: str, value: Any, role: str = "output") -> np.ndarray:
    """An array of any library as one of numpy: by DLPack, then by ``__array__``; ``role`` is what it is called.

    Raises:
        TypeError: it is no array, an element of it is masked, or its memory is a GPU's.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        verb = _VERBS.get(role, "give")
        raise TypeError(f"{role} '{name}' has masked elements, which have no value: {verb} it with .filled(0)")
    if isinstance(value, np.ndarray):
        # Of a class of its own it may have operators of its own.
        return np.asarray(value)
    device = getattr(value, "__dlpack_device__", None)
    if device is not None and device()[0] not in _HOST:
        raise TypeError(_on_a_gpu(f"{role} '{name}'", _VERBS.get(role, "give"), value))
    if getattr(value, "requires_grad", False) is True:
        raise TypeError(f"{role} '{name}' requires a gradient: {_VERBS.get(role, 'give')} it with .detach()")
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            if not hasattr(value, "__array__"):
                raise TypeError(f"{role} '{name}': DLPack gives no array: {error}") from error
    if hasattr(value, "__array__"):
        try:
            return np.asarray(value)
        except (TypeError, ValueError, RuntimeError) as error:
            # As torch's bfloat16, which numpy does not have.
            kind = getattr(value, "dtype", type(value).__name__)
            raise TypeError(f"{role} '{name}' is of type {kind}, of which numpy makes no array: {error}") from error
    raise TypeError(
        f"{role} '{name}' is of type {type(value).__name__}: expected an array (numpy, or anything with "
        "__dlpack__ or __array__)"
    )


def _on_a_gpu(what: str, verb: str, value: Any) -> str:
    device = getattr(value, "device", "another device")
    return (
        f"{what} is on {device}: splatcheck judges on the processor, {verb} it with .cpu() "
        "(torch), .get() (CuPy) or jax.device_get()"
    )


def to_output(name: str, value: Any, dtype: str, shape: tuple[int, ...], notes: list[str]) -> np.ndarray:
    """An output in the type and shape that it must have.

    float64 is rounded to float32, with a note: kernels in numpy get it from ``np.zeros`` unasked, and the
    rounding is one more than none, which every bound has room for.

    Raises:
        TypeError: another type of numbers.
        ValueError: another shape.
    """
    array = to_numpy(name, value)
    if array.shape != shape:
        raise ValueError(f"output '{name}' has shape {list(array.shape)}: expected {list(shape)}")
    if array.dtype.name != dtype:
        array = _converted(name, array, dtype, notes)
    # Of any layout and order of bytes; a number by itself would get a dimension.
    return np.ascontiguousarray(array, dtype=dtype).reshape(shape)


def _converted(name: str, array: np.ndarray, dtype: str, notes: list[str]) -> np.ndarray:
    kind = array.dtype
    if dtype == "float32" and kind == np.float64:
        note = f"output '{name}' is float64: rounded to float32 before it was judged"
        if note not in notes:
            notes.append(note)
        with np.errstate(over="ignore", under="ignore"):
            return array.astype(np.float32)
    if dtype == "int32" and kind.kind in "biu":
        narrow = array.astype(np.int32)
        if np.array_equal(narrow, array):
            return narrow
    raise TypeError(f"output '{name}' is of type {kind.name}: expected {dtype}")
