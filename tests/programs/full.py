"""Images and gradients of a case as splatcheck's own oracle has them in f64, rounded to f32: the first
argument is splatcheck, the second the tensor that is changed, if any."""
import json
import subprocess
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

SPLATCHECK, *CHANGED = sys.argv[1:]
LEFT_OUT = "v_backgrounds"

for line in sys.stdin:
    request = json.loads(line)
    result = request["output"] + ".oracle.safetensors"
    subprocess.run([SPLATCHECK, "oracle", request["input"], "-o", result], check=True, stdout=sys.stderr)
    outputs = {k: v.astype(np.float32) for k, v in load_file(result).items() if k != LEFT_OUT}
    for name in CHANGED:
        if name in outputs and outputs[name].size:
            flat = outputs[name].reshape(-1)
            flat[-1] += np.abs(flat).max() * np.float32(0.01) + np.float32(1e-3)
    save_file(outputs, request["output"])
    print(json.dumps({"id": request["id"], "ok": True}), flush=True)
