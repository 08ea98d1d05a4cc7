"""What ``torch.save`` wrote, without torch and without running what a pickle asks for."""

from __future__ import annotations

import collections
import math
import os
import pickle
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

#: Types of torch's storages, as numpy reads them: little-endian, as every machine that runs CUDA writes.
_STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}

#: Bytes of a file, once unpacked: more would be no case.
_LARGEST = 1 << 33
#: Unless it is no more than so many times the file itself: a small file may not fill the memory.
_SMALL, _TIMES = 1 << 28, 4
#: Numbers and texts in its lists and dictionaries, beside those of tensors.
_VALUES = 1 << 18


class TorchFileError(ValueError):
    """The file is none that torch.save writes for tensors."""


def load(path: str) -> Any:
    """Tuples, lists, dictionaries and numbers of a file of ``torch.save``, tensors as numpy arrays.

    Nothing but tensors is made: a file that names any other class or function is refused. The format is
    that of torch 1.6 and later, a zip archive with a pickle and one file for each storage
    (https://docs.pytorch.org/docs/stable/notes/serialization.html).

    Raises:
        TorchFileError: it is no such file; the message says why.
        OSError: it cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _expect_few(_load(archive, expect_small(archive, path)))
    except zipfile.BadZipFile as error:
        raise TorchFileError(f"{error}: expected what torch.save of torch 1.6 or later writes") from error
    except (pickle.UnpicklingError, EOFError, IndexError, KeyError, AttributeError, TypeError) as error:
        raise TorchFileError(f"its pickle cannot be read: {error}") from error


def _expect_few(saved: Any) -> Any:
    """What was read, of no more values than a case has: a pickle of a few bytes can name a list ten times in a
    list, that one ten times in another, and so on."""
    left, open_ = _VALUES, [saved]
    while open_:
        value = open_.pop()
        left -= 1
        if left < 0:
            raise TorchFileError(f"its lists and dictionaries have more than {_VALUES} values: that is no case")
        if isinstance(value, Mapping):
            open_.extend(value.values())
        elif isinstance(value, (list, tuple, set, frozenset)):
            open_.extend(value)
    return saved


def expect_small(archive: zipfile.ZipFile, path: str) -> int:
    """How many bytes what the archive holds may come to.

    Raises:
        TorchFileError: it holds more.
    """
    most = min(_LARGEST, max(_SMALL, _TIMES * os.path.getsize(path)))
    if sum(info.file_size for info in archive.infolist()) > most:
        raise TorchFileError(f"it unpacks to more than {most} bytes: that is no case")
    return most


def _load(archive: zipfile.ZipFile, most: int) -> Any:
    pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise TorchFileError("it has no data.pkl: expected what torch.save writes")
    folder = pickles[0].removesuffix("data.pkl")
    if f"{folder}byteorder" in archive.namelist() and archive.read(f"{folder}byteorder") != b"little":
        raise TorchFileError("its numbers are not little-endian")
    with archive.open(pickles[0]) as file:
        return _Tensors(file, archive, folder, most).load()


class _StorageType:
    """Stands for a class such as ``torch.FloatStorage``."""

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)


def _parameter(tensor: np.ndarray, *_: Any) -> np.ndarray:
    return tensor


class _Tensors(pickle.Unpickler):
    """Makes arrays, of no more than so many bytes together, and refuses everything else."""

    def __init__(self, file: BinaryIO, archive: zipfile.ZipFile, folder: str, most: int) -> None:
        super().__init__(file)
        self._archive = archive
        self._folder = folder
        self._most = most

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch._utils" and name in ("_rebuild_tensor_v2", "_rebuild_parameter"):
            return self._tensor if name == "_rebuild_tensor_v2" else _parameter
        if module in ("torch", "torch.storage") and name in _STORAGES:
            return _StorageType(_STORAGES[name])
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        raise TorchFileError(
            f"it holds a {module}.{name}: expected tensors, numbers, tuples and dictionaries"
        )

    def persistent_load(self, pid: Any) -> np.ndarray:
        kind, storage, key, _, count = pid
        if kind != "storage" or not isinstance(storage, _StorageType):
            raise TorchFileError("it refers to something that is no storage of numbers")
        data = self._archive.read(f"{self._folder}data/{key}")
        if len(data) < count * storage.dtype.itemsize:
            raise TorchFileError(f"storage {key} has {len(data)} bytes for {count} numbers")
        return np.frombuffer(data, storage.dtype, count)

    def _tensor(
        self, storage: np.ndarray, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any
    ) -> np.ndarray:
        """The arguments of ``torch._utils._rebuild_tensor_v2``: storage, offset, size, stride, ..."""
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if any(n < 0 for n in size) or any(step < 0 for step in stride) or offset < 0:
            raise TorchFileError(f"a tensor has size {size}, stride {stride}, offset {offset}")
        if 0 in size:
            return np.zeros(size, storage.dtype)
        if last >= storage.size:
            raise TorchFileError(f"a tensor of size {size} reaches beyond its {storage.size} numbers")
        self._most -= math.prod(size) * storage.itemsize
        if self._most < 0:
            raise TorchFileError("its tensors are larger than the file: that is no case")
        steps = [step * storage.itemsize for step in stride]
        return np.lib.stride_tricks.as_strided(storage[offset:], size, steps, writeable=False).copy()
