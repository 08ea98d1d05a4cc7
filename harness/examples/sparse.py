"""Writes a case of sparse convolution for `splatcheck oracle`: sparse.py CASE.safetensors [SCENE.ply]

The sites are the voxels of a sphere's surface, or those of a trained scene's Gaussians in a box of 64 voxels a side.
"""

import sys

import numpy as np
from safetensors.numpy import save_file


def centres(file: str) -> np.ndarray:
    """The positions of a binary little-endian .ply with one element, whose properties are floats: [N, 3]."""
    header, numbers = open(file, "rb").read().split(b"end_header\n", 1)
    names = [line.split()[2] for line in header.splitlines() if line.startswith(b"property")]
    rows = np.frombuffer(numbers, "<f4").reshape(-1, len(names))
    return rows[:, [names.index(axis) for axis in (b"x", b"y", b"z")]]


if len(sys.argv) > 2:
    means = centres(sys.argv[2])
    # Without the far points that every trained scene has.
    low, high = np.quantile(means, [0.02, 0.98], axis=0)
    voxels = np.floor((means - low) / np.max(high - low) * 64)
    voxels = voxels[((voxels >= 0) & (voxels < 64)).all(axis=1)]
else:
    voxels = np.indices((49, 49, 49)).reshape(3, -1).T - 24
    voxels = voxels[np.abs(np.linalg.norm(voxels, axis=1) - 22) < 0.8]

# A batch and three coordinates a row, each site once.
coords = np.unique(np.insert(voxels, 0, 0, axis=1).astype(np.int32), axis=0)
rng = np.random.default_rng(0)
feats = rng.standard_normal((len(coords), 16), dtype=np.float32)
weights = rng.standard_normal((27, 16, 8), dtype=np.float32)
v_out = rng.standard_normal((len(coords), 8), dtype=np.float32)
metadata = {
    "workload": "sparse",
    "kernel_size": "3,3,3",
    "stride": "1,1,1",
    "padding": "1,1,1",
    "dilation": "1,1,1",
    "submanifold": "true",
}
save_file(
    {"coords": coords, "feats": feats, "weights": weights, "v_out": v_out}, sys.argv[1], metadata
)
