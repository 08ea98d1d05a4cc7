"""Answers every request with zeros: what remains is the time of the harness."""
import json
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

for line in sys.stdin:
    request = json.loads(line)
    with safe_open(request["input"], "np") as file:
        names = ("means2d", "conics", "opacities", "colors")
        zeros = {"v_" + k: np.zeros(file.get_slice(k).get_shape(), np.float32) for k in names}
    save_file(zeros, request["output"])
    print(json.dumps({"id": request["id"], "ok": True}), flush=True)
