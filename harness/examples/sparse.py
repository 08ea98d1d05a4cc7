"""Writes a case of sparse convolution for `splatcheck oracle`: sparse.py CASE.safetensors"""

import sys

import numpy as np
from safetensors.numpy import save_file

rng = np.random.default_rng(0)
# A batch and three coordinates a row, each site once.
coords = np.unique(rng.integers([0, -8, -8, -8], [2, 8, 8, 8], (500, 4), dtype=np.int32), axis=0)
feats = rng.standard_normal((len(coords), 4), dtype=np.float32)
weights = rng.standard_normal((27, 4, 8), dtype=np.float32)
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
