"""Stages of other workloads in numpy, float32, one number at a time: the first argument names the stage, a second
one makes it wrong on purpose.

  scatter: each element's values are added to the row that its key names; a key of -1 names none.
  spherical_harmonics: degree 0 and 1 alone, the sum of each function of the unit direction times its coefficients.
"""
import json
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

f32 = np.float32
STAGE, BUG = (sys.argv[1:] + [""])[:2]


def scatter(x, _meta):
    sums = np.zeros_like(x["initial"]) if BUG == "initial" else x["initial"].copy()
    for key, values in zip(x["keys"], x["values"]):
        if key >= 0:
            sums[key] += values
    return {"sums": sums}


def spherical_harmonics(x, meta):
    assert int(meta["degree"]) <= 1, "cases have the constant K that was asked for"
    colors = np.zeros((len(x["dirs"]), 3), dtype=f32)
    for color, (dx, dy, dz), row in zip(colors, x["dirs"], x["coeffs"]):
        length = f32(1) if BUG == "length" else np.sqrt(dx * dx + dy * dy + dz * dz)
        c = f32(0.48860251190292)
        basis = [f32(0.2820947917738781), -c * (dy / length), c * (dz / length), -c * (dx / length)]
        for b, coefficient in zip(basis, row):
            color += b * coefficient
    return {"colors": colors}


for line in sys.stdin:
    request = json.loads(line)
    with safe_open(request["input"], framework="np") as file:
        inputs = {name: file.get_tensor(name) for name in file.keys()}
        meta = file.metadata()
    save_file(globals()[STAGE](inputs, meta), request["output"])
    print(json.dumps({"id": request["id"], "ok": True}), flush=True)
