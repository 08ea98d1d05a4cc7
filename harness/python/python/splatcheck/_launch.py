"""Launches, and the manifest that they are: `docs/src/gradcheck.md` describes its tables."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays

#: What is text in PTX: itself, its bytes, or a file.
Ptx = str | bytes | os.PathLike[str]

#: Numbers by value, as manifests name them.
_NUMBERS = {
    "bool": "u8",
    "uint8": "u8",
    "uint32": "u32",
    "int32": "i32",
    "uint64": "u64",
    "int64": "i64",
    "float32": "f32",
    "float64": "f64",
}
_DTYPES = {
    "float32": "f32",
    "float16": "f16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint8": "u8",
}


@dataclass(frozen=True)
class Launch:
    """A kernel and how it is launched.

    Raises:
        ValueError: something that cannot be followed, with what would do.
    """

    ptx: Ptx
    """PTX: its text, as ``str`` or ``bytes`` (nvcc, NVRTC, clang; ``compiled.asm["ptx"]`` of Triton; the first
    that ``numba.cuda.compile_ptx`` returns), or a path (``pathlib.Path``)."""
    kernel: str
    """Its entry point: mangled, demangled, or a part that one name of the PTX alone has."""
    grid: int | Sequence[int]
    """Blocks, in x, y, z."""
    block: int | Sequence[int]
    """Threads of a block, in x, y, z."""
    parameters: Sequence[Any]
    """In order: an array's name, a number of numpy with its type (``np.uint32(5)``, ``np.float32(0.5)``),
    ``None`` for a null pointer, or a tuple of these, which is a structure by value that lies as in C."""
    dynamic_shared: int = 0
    """Bytes of dynamic shared memory."""

    def __post_init__(self) -> None:
        expect_text("kernel", self.kernel)
        self._table("")

    def _table(self, file: str) -> str:
        """The launch as an inline table of a manifest."""
        of = f"kernel '{_arrays.short(self.kernel)}'"
        if isinstance(self.parameters, (str, bytes)) or not isinstance(self.parameters, Sequence):
            raise ValueError(f"{of}, parameters are of type {_type(self.parameters)}: expected a list")
        parameters = ", ".join(_parameter(of, one) for one in self.parameters)
        fields = {
            "ptx": _string(file),
            "kernel": _string(self.kernel),
            "grid": _shape(f"{of}, grid", self.grid),
            "block": _shape(f"{of}, block", self.block),
            "dynamic_shared": str(_side(f"{of}, dynamic_shared", self.dynamic_shared)),
            "parameters": f"[{parameters}]",
        }
        return _table(fields)


def launches(role: str, value: Any) -> list[Launch]:
    """One launch or several, as several."""
    all_ = [value] if isinstance(value, Launch) else value
    if not isinstance(all_, Sequence) or not all_ or not all(isinstance(one, Launch) for one in all_):
        raise ValueError(f"{role} is of type {_type(value)}: expected a splatcheck.Launch, or a list of them")
    return list(all_)


def text_of(role: str, ptx: Any) -> str:
    """The text of PTX, which compilers may end with a zero.

    Raises:
        ValueError: it is none, or its file cannot be read.
    """
    if isinstance(ptx, os.PathLike):
        try:
            with open(ptx, "rb") as file:
                ptx = file.read()
        except OSError as error:
            raise ValueError(f"{role}: cannot read {_arrays.short(ptx)}: {error.strerror}") from error
    if isinstance(ptx, (bytes, bytearray)):
        try:
            ptx = bytes(ptx).decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{role}: the PTX is no text in UTF-8 (a cubin?): {error.reason}") from error
    if not isinstance(ptx, str):
        raise ValueError(f"{role} is of type {_type(ptx)}: expected PTX as text, or a pathlib.Path")
    if ".entry" not in ptx:
        raise ValueError(f"{role}: '{_arrays.short(ptx, 40)}' is no PTX: it has no .entry")
    return _encodable(role, ptx).rstrip("\0")


class Files:
    """The files of programs, each text once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def table(self, role: str, all_: list[Launch]) -> str:
        """The launches as an array of a manifest."""
        tables = []
        for number, launch in enumerate(all_, 1):
            text = text_of(role, launch.ptx)
            own = f"{role}.ptx" if len(all_) == 1 else f"{role}-{number}.ptx"
            tables.append(launch._table(self._names.setdefault(text, own)))
        return f"[{', '.join(tables)}]"

    def files(self) -> list[tuple[str, str]]:
        """Names and texts."""
        return [(name, text) for text, name in self._names.items()]


def arrays_of(inputs: Any) -> dict[str, np.ndarray]:
    """The arrays that kernels read, in the types that manifests have."""
    if not isinstance(inputs, Mapping):
        raise ValueError(f"inputs are of type {_type(inputs)}: expected a dict of arrays")
    return {expect_text("inputs", name): to_array("input", name, array) for name, array in inputs.items()}


def to_array(role: str, name: str, value: Any) -> np.ndarray:
    """An array of any library in the processor's memory, of a type that manifests have.

    Raises:
        ValueError: it is none.
    """
    try:
        array = _arrays.to_numpy(name, value, role)
    except TypeError as error:
        raise ValueError(str(error)) from error
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    if array.dtype.name not in _DTYPES:
        known = "float32, float16, int32, uint32, int64, uint8 or bool"
        raise ValueError(f"{role} '{name}' is of type {array.dtype.name}: expected {known}")
    # Of any layout and order of bytes; a number by itself would get a dimension.
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


def manifest_of(
    inputs: dict[str, np.ndarray], outputs: Any, gradients: dict[str, tuple[str, Any]], tables: dict[str, str]
) -> str:
    """The manifest of arrays and launches; given gradients may be among the inputs. A gradient has a name and a type,
    or None, with which it has that of what it is of."""
    if not isinstance(outputs, Mapping):
        raise ValueError(f"outputs are of type {_type(outputs)}: expected a dict of shapes, or of arrays of zeros")
    read = {}
    given = {name for name, _ in gradients.values()}
    for name, array in inputs.items():
        if name not in given:
            fields = {"dtype": _string(_DTYPES[array.dtype.name]), "shape": str(list(array.shape))}
            # Whole numbers must say how they are drawn, which these are not.
            read[name] = _table(fields | ({} if array.dtype.kind == "f" else {"draw": "{ value = 0 }"}))
    written = {expect_text("outputs", name): _output(name, value) for name, value in outputs.items()}
    all_ = {
        "inputs": _table(read),
        "outputs": _table(written),
        "gradients": _table({of: _gradient(name, dtype) for of, (name, dtype) in gradients.items()}),
        **tables,
    }
    return "".join(f"{name} = {table}\n" for name, table in all_.items())


def _gradient(name: str, dtype: Any) -> str:
    if dtype is None:
        return _string(name)
    try:
        kind = {"float32": "f32", "float16": "f16"}[np.dtype(dtype).name]
    except (TypeError, KeyError) as error:
        raise ValueError(f"gradient '{name}': {dtype!r} is no type of gradients: expected float32 or float16") from error
    return _table({"name": _string(name), "dtype": _string(kind)})


def _output(name: str, value: Any) -> str:
    if isinstance(value, (int, np.integer, tuple, list)):
        return _table({"shape": _shape(f"output '{name}', its shape", value, most=None)})
    array = to_array("output", name, value)
    if np.any(array != 0):
        raise ValueError(
            f"output '{name}' is not zero throughout: outputs begin as zeros, or, where a shape is given, as "
            "numbers that were never written"
        )
    dtype, shape = _string(_DTYPES[array.dtype.name]), str(list(array.shape))
    return _table({"dtype": dtype, "shape": shape, "begins": '"zeros"'})


def _parameter(of: str, value: Any) -> str:
    if isinstance(value, str):
        return _string(expect_text(f"{of}, parameters", value))
    if value is None:
        return "{ null = true }"
    if isinstance(value, tuple):
        return f"{{ struct = [{', '.join(_parameter(of, one) for one in value)}] }}"
    kind = _NUMBERS.get(value.dtype.name) if isinstance(value, np.generic) else None
    if kind is None:
        raise ValueError(
            f"{of}, parameters: {_arrays.short(value, 40)} is of type {_type(value)}: expected an array's name, a "
            "number with its type (np.uint32(5), np.float32(0.5)), None for a null pointer, or a tuple for a structure"
        )
    number = value.item()
    if kind in ("f32", "f64"):
        return f"{{ {kind} = {number!r} }}"
    number = int(number)
    if number >= 1 << 63:
        # The same bits: a manifest has no larger numbers.
        kind, number = "i64", number - (1 << 64)
    return f"{{ {kind} = {number} }}"


def _shape(what: str, value: Any, most: int | None = 3) -> str:
    """Sides as an array of a manifest."""
    sides = value if isinstance(value, (tuple, list)) else [value]
    if most is not None and not 1 <= len(sides) <= most:
        raise ValueError(f"{what} has {len(sides)} numbers: expected 1 to {most}")
    return str([_side(what, side) for side in sides])


def _side(what: str, value: Any) -> int:
    try:
        side = operator.index(value)
    except TypeError:
        raise ValueError(f"{what} is {_arrays.short(value, 40)}: expected whole numbers") from None
    if not 0 <= side < 1 << 32:
        raise ValueError(f"{what} is {side}: expected 0 to 2^32 - 1")
    return side


def expect_text(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{what}: {_arrays.short(repr(value), 40)} is of type {_type(value)}: expected a name")
    return _encodable(what, value)


def _encodable(what: str, text: str) -> str:
    """A text that has no half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what}: {_arrays.short(ascii(text), 40)} is no text: {error.reason}") from error
    return text


def _string(text: str) -> str:
    """As in TOML, whose escapes are JSON's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _table(fields: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{_string(name)} = {value}' for name, value in fields.items())} }}"


def _type(value: Any) -> str:
    return type(value).__name__
