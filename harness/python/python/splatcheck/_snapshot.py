"""The snapshots of 3D Gaussian Splatting: the arguments of a pass that failed, as a tuple.

Their order is that of the call in its Python module (``diff_gaussian_rasterization``), whose debug mode
saves them: facts, listed here by number. The release of October 2024 handed the opacities and a gradient of
depth to the backward pass as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _arrays

#: Names of what a snapshot holds, by how much it holds; ``_`` is what a case does not have.
_FORMS = {
    19: "background means colors opacities scales quats modifier covariances viewmatrix _ tan_x tan_y "
    "height width sh degree _ _ _",
    20: "background means colors opacities scales quats modifier covariances viewmatrix _ tan_x tan_y "
    "height width sh degree _ _ antialiased _",
    21: "background means _ colors scales quats modifier covariances viewmatrix _ tan_x tan_y "
    "v_render_colors sh degree _ _ _ _ _ _",
    24: "background means _ colors opacities scales quats modifier covariances viewmatrix _ tan_x tan_y "
    "v_render_colors v_depths sh degree _ _ _ _ _ antialiased _",
}


def read(snapshot: Sequence[Any], forward: Sequence[Any] | None) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of a case and its metadata.

    Raises:
        ValueError: it is no snapshot, or of something that a case cannot be.
    """
    values = _named(snapshot)
    if forward is not None:
        values = {**_named(forward), **values}
    if "opacities" not in values:
        raise ValueError("this release's backward pass gets no opacities: give --forward snapshot_fw.dump "
                         "of the same call")
    if np.size(values["covariances"]) > 0:
        raise ValueError("it has covariances for scales and rotations: a case has scales and rotations")
    if np.any(values.get("v_depths", 0)):
        raise ValueError("its loss is one of depths too: a case has colours and alphas")
    height, width = _size(values)
    metadata = {"convention": "inria", "width": str(width), "height": str(height)}
    if values.get("antialiased") is True:
        metadata["antialiased"] = "true"
    return _arrays_of(values, height, width), metadata


def _named(snapshot: Sequence[Any]) -> dict[str, Any]:
    form = _FORMS.get(len(snapshot))
    if form is None:
        known = ", ".join(map(str, _FORMS))
        raise ValueError(f"it is a tuple of {len(snapshot)}: a snapshot has {known}")
    named = {name: value for name, value in zip(form.split(), snapshot, strict=True) if name != "_"}
    for name in ("means", "scales", "quats", "viewmatrix", "background"):
        if not isinstance(named[name], np.ndarray):
            raise ValueError(f"its {name} is a {type(named[name]).__name__}: this is no snapshot")
    return named


def _size(values: dict[str, Any]) -> tuple[int, int]:
    if "v_render_colors" in values:
        shape = np.shape(values["v_render_colors"])
        if len(shape) != 3:
            raise ValueError(f"the gradient of its image has shape {list(shape)}: expected [3, H, W]")
        return shape[1], shape[2]
    height, width = (_arrays.scalar(f"its {name}", values[name], whole=True) for name in ("height", "width"))
    return height, width


def _arrays_of(values: dict[str, Any], height: int, width: int) -> dict[str, Any]:
    one = np.float32(1)
    tan_x, tan_y, modifier = (
        np.float32(_arrays.scalar(f"its {name}", values[name])) for name in ("tan_x", "tan_y", "modifier")
    )
    if not (tan_x > 0 and tan_y > 0):
        raise ValueError(f"its tan_x and tan_y are {tan_x} and {tan_y}: expected numbers above 0")
    focal_x = np.float32(width) / (np.float32(2) * tan_x)
    focal_y = np.float32(height) / (np.float32(2) * tan_y)
    intrinsics = np.array(
        [[focal_x, 0, width / 2], [0, focal_y, height / 2], [0, 0, one]], dtype=np.float32
    )
    loss = values.get("v_render_colors")
    if loss is None:
        loss = np.random.default_rng(0).uniform(-1, 1, (3, height, width)).astype(np.float32)
    arrays = {
        "means": values["means"],
        "quats": values["quats"],
        # As its kernels do: one product, in float32.
        "scales": modifier * values["scales"],
        "opacities": np.reshape(values["opacities"], -1),
        # Theirs are for row vectors.
        "viewmats": np.transpose(values["viewmatrix"])[None],
        "Ks": intrinsics[None],
        "backgrounds": np.reshape(values["background"], (1, -1)),
        "v_render_colors": np.transpose(loss, (1, 2, 0))[None],
        # Its loss is one of colours alone.
        "v_render_alphas": np.zeros((1, height, width, 1), np.float32),
    }
    if np.size(values["sh"]) > 0:
        degree = _arrays.scalar("its degree", values["degree"], whole=True)
        arrays["sh"] = np.asarray(values["sh"])[:, : (degree + 1) ** 2]
    else:
        arrays["colors"] = values["colors"]
    return arrays
