"""Cases from what others saved: a snapshot of 3D Gaussian Splatting, a call of gsplat, plain arrays."""

from __future__ import annotations

import math
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _arrays, _snapshot
from ._native import Source
from ._torch_file import TorchFileError, expect_small, load

#: What a case has, with its number of dimensions (harness/workloads/src/splat/files/case_file.rs).
_TENSORS = {
    "means": 2,
    "quats": 2,
    "scales": 2,
    "opacities": 1,
    "colors": 2,
    "sh": 3,
    "viewmats": 3,
    "Ks": 3,
    "backgrounds": 2,
    "v_render_colors": 4,
    "v_render_alphas": 4,
}
_NEEDED = ("means", "quats", "scales", "opacities", "viewmats", "Ks")
#: Arguments of gsplat.rasterization that change what is computed, with their values here and in gsplat.
_FIELDS = {"near_plane": ("near", 0.01), "far_plane": ("far", 1e10), "eps2d": ("eps2d", 0.3)}
#: Those that a case has no place for, with the only value that it stands for.
_ONLY = {
    "radius_clip": (0.0, "clips no Gaussian by its radius"),
    "tile_size": (16, "has tiles of 16"),
    "render_mode": ("RGB", "renders colours alone"),
    "camera_model": ("pinhole", "has pinhole cameras"),
    "covars": (None, "has quats and scales"),
    "distributed": (False, "is on one device"),
}
#: Numbers of a loss that is drawn here: more would be no case.
_LARGEST_LOSS = 1 << 26
#: Those that change nothing of it.
_NOTHING = ("packed", "sparse_grad", "absgrad", "channel_chunk", "segmented")


def import_case(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    forward: str | os.PathLike[str] | None = None,
    convention: str | None = None,
) -> Path:
    """Writes a case file from what another program saved; returns its path.

    Args:
        path: one of

            - ``snapshot_bw.dump``, which 3D Gaussian Splatting writes with ``--debug`` when its backward
              pass fails, or ``snapshot_fw.dump``, with a loss drawn here;
            - the arguments of ``gsplat.rasterization`` as a dictionary, saved by ``torch.save`` (``.pt``) or
              ``numpy.savez`` (``.npz``), with ``width`` and ``height``, and ``v_render_colors`` [C, H, W, D]
              and ``v_render_alphas`` [C, H, W, 1] (a loss drawn here where they are missing);
            - the arrays of a case by its names (``.npz``).
        out: the file to write (``.safetensors``), or a folder, made where it is missing.
        forward: ``snapshot_fw.dump`` of the same call: releases before October 2024 do not hand the
            opacities to their backward pass.
        convention: ``inria`` or ``gsplat``; by the kind of the file where it is None.

    Raises:
        ValueError: the file cannot be a case; the message names what is wrong.
        OSError: a file cannot be read or written.
    """
    name = os.fspath(path)
    for file in (name, *([] if forward is None else [os.fspath(forward)])):
        # To open a pipe is to wait for its writer.
        if os.path.exists(file) and not os.path.isfile(file):
            raise ValueError(f"{_arrays.short(file)}: is a folder, a pipe or a device, expected a file")
    try:
        # What numbers of a file come to is said below, in words.
        with np.errstate(all="ignore"):
            arrays, metadata = _read(name, forward)
            if convention is not None:
                metadata["convention"] = convention
            return _write(Path(path), Path(out), _checked(arrays), metadata)
    except ValueError as error:
        raise ValueError(f"{_arrays.short(name)}: {_arrays.short(error, 2000)}") from error
    except MemoryError as error:
        raise ValueError(f"{_arrays.short(name)}: there is not enough memory for what it holds") from error
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        # Whatever the readers of zip, .npy and pickle say of a damaged file.
        what = f"{type(error).__name__}: {_arrays.short(error)}"
        raise ValueError(f"{_arrays.short(name)}: it cannot be read ({what})") from error


def _read(path: str, forward: Any) -> tuple[dict[str, Any], dict[str, str]]:
    if path.endswith(".npz"):
        with zipfile.ZipFile(path) as archive:
            expect_small(archive, path)
        with np.load(path, allow_pickle=False) as file:
            values = {name: file[name] for name in file.files}
        return _of_call({name: array[()] if array.ndim == 0 else array for name, array in values.items()})
    saved = load(path)
    if isinstance(saved, Mapping):
        return _of_call(dict(saved))
    if isinstance(saved, Sequence) and not isinstance(saved, str):
        return _snapshot.read(saved, None if forward is None else _forward(os.fspath(forward)))
    kind = type(saved).__name__
    raise ValueError(f"it holds something of type {kind}: expected a snapshot's tuple or a dictionary")


def _forward(path: str) -> Sequence[Any]:
    """The snapshot of the forward pass."""
    try:
        saved = load(path)
    except TorchFileError as error:
        raise ValueError(f"--forward {path}: {error}") from error
    if isinstance(saved, Sequence) and not isinstance(saved, str):
        return saved
    raise ValueError(f"--forward {path}: it holds something of type {type(saved).__name__}: expected a tuple")


def _of_call(call: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arguments of gsplat.rasterization, by name."""
    metadata = {"convention": "gsplat"}
    for name in ("width", "height"):
        if name not in call:
            raise ValueError(f"'{name}' is missing: save it beside the arrays")
        metadata[name] = str(_arrays.scalar(name, call.pop(name), whole=True))
    if isinstance(call.get("convention"), str):
        metadata["convention"] = call.pop("convention")
    for name, (field, usual) in _FIELDS.items():
        value = _arrays.scalar(name, call.pop(name, usual))
        if value != usual:
            metadata[field] = repr(float(np.float32(value)))
    if str(call.pop("rasterize_mode", "classic")) == "antialiased":
        metadata["antialiased"] = "true"
    for name, (only, words) in _ONLY.items():
        value = call.pop(name, only)
        if value is not None and (np.size(value) != 1 or value != only):
            raise ValueError(f"{name} is {_arrays.short(value)}: a case {words}")
    for name in _NOTHING:
        call.pop(name, None)
    degree = call.pop("sh_degree", None)
    if degree is not None:
        call = _up_to(_arrays.scalar("sh_degree", degree, whole=True), call)
    arrays = {name: value for name, value in call.items() if value is not None}
    unknown = sorted(str(name) for name in set(arrays) - set(_TENSORS))
    if unknown:
        raise ValueError(f"'{_arrays.short(unknown[0])}' is no argument of gsplat.rasterization and no array of a case: "
                         f"expected {', '.join(_TENSORS)}")
    return _with_loss(_checked(arrays), metadata), metadata


def _up_to(degree: int, call: dict[str, Any]) -> dict[str, Any]:
    """With the harmonics up to a degree alone, by gsplat's name for them or the case's own."""
    named = [name for name in ("colors", "sh") if call.get(name) is not None]
    if len(named) > 1:
        raise ValueError("'colors' with sh_degree are harmonics, and so are 'sh': give one of them")
    rest = {name: value for name, value in call.items() if name not in named}
    for name in named:
        given = np.asarray(call[name])
        if given.ndim != 3:
            raise ValueError(f"'{name}' has shape {list(given.shape)}: with sh_degree expected [N, K, 3]")
        rest["sh"] = given[:, : (degree + 1) ** 2]
    return rest


def _with_loss(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> dict[str, np.ndarray]:
    """With a loss where there is none: numbers between -1 and 1, the same for every file of that size."""
    if "v_render_colors" not in arrays:
        cameras, channels = len(arrays["viewmats"]), arrays.get("colors", arrays.get("sh")).shape[-1]
        image = (cameras, int(metadata["height"]), int(metadata["width"]))
        if min(image) < 0 or math.prod(image) * (channels + 1) > _LARGEST_LOSS:
            size = f"{cameras} images of {image[2]}x{image[1]} pixels"
            raise ValueError(f"{size} are no case: give v_render_colors, or other sizes")
        draw = np.random.default_rng(0)
        arrays["v_render_colors"] = draw.uniform(-1, 1, (*image, channels)).astype(np.float32)
        if "v_render_alphas" not in arrays:
            arrays["v_render_alphas"] = draw.uniform(-1, 1, (*image, 1)).astype(np.float32)
    return arrays


def _checked(arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    """In float32, in the order of bytes of the file, with the number of dimensions that a case has."""
    missing = [name for name in _NEEDED if name not in arrays]
    if missing or not ("colors" in arrays or "sh" in arrays):
        raise ValueError(f"'{(missing or ['colors'])[0]}' is missing: a case has {', '.join(_NEEDED)} and "
                         "colors or sh")
    checked = {}
    for name, dimensions in _TENSORS.items():
        if name not in arrays:
            continue
        array = np.asarray(arrays[name])
        if array.dtype.kind not in "fiu":
            raise ValueError(f"'{name}' is of type {array.dtype}: expected numbers")
        if array.ndim != dimensions:
            raise ValueError(f"'{name}' has shape {list(array.shape)}: expected {dimensions} dimensions, "
                             "without those of a batch")
        checked[name] = np.ascontiguousarray(array, dtype="<f4")
        lost = np.isfinite(array) & ~np.isfinite(checked[name])
        if lost.any():
            raise ValueError(f"'{name}' has {array[lost][0]:g}: float32 does not hold it")
    return checked


def _write(path: Path, out: Path, arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> Path:
    """Writes the file once it was read as a case, so that what is wrong with it is said here."""
    if out.suffix != ".safetensors":
        out.mkdir(parents=True, exist_ok=True)
        out /= f"{path.stem}.safetensors"
    data = _arrays.encode(arrays, {"name": out.stem, **metadata})
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        made = Path(folder) / out.name
        made.write_bytes(data)
        try:
            Source(("full", None, []), (None, None), (0, []), None).corpus(folder)
        except ValueError as error:
            # The file's own path says nothing: it is gone.
            raise ValueError(str(error).replace(f"{made}: ", "")) from error
        made.replace(out)
    return out


def main(arguments: Sequence[str]) -> int:
    """``python -m splatcheck import FILE --out DIR``; returns the exit code."""
    import argparse
    import sys

    parser = argparse.ArgumentParser(
        prog="splatcheck import",
        description="Writes a case file from a snapshot of 3D Gaussian Splatting, a saved call of "
        "gsplat.rasterization (.pt, .npz) or the arrays of a case (.npz).",
    )
    parser.add_argument("file", nargs="+", help="what was saved")
    parser.add_argument("--out", required=True, help="the file (.safetensors) or the folder to write to")
    parser.add_argument("--forward", help="snapshot_fw.dump of the same call, for its opacities")
    parser.add_argument("--convention", choices=("inria", "gsplat"), help="the renderer's convention")
    options = parser.parse_args(arguments)
    if len(options.file) > 1 and (options.out.endswith(".safetensors") or options.forward):
        parser.error("several files: give a folder to --out, and no --forward")
    for file in options.file:
        try:
            made = import_case(
                file, options.out, forward=options.forward, convention=options.convention
            )
        except ValueError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        except OSError as error:
            print(f"error: {_arrays.short(file)}: {_arrays.short(error)}", file=sys.stderr)
            return 2
        print(f"{made}: splatcheck check --command 'YOUR PROGRAM' --case {made}")
    return 0
