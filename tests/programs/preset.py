"""A kernel of harness/python/examples/presets as a program: the file, the function, and a bug, if any."""
import importlib
import json
import pathlib
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness/python/examples/presets"))
MODULE, FUNCTION, *BUG = sys.argv[1:]
kernel = getattr(importlib.import_module(MODULE), FUNCTION)


def number(text):
    for kind in (int, np.float32):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


for line in sys.stdin:
    request = json.loads(line)
    with safe_open(request["input"], "np") as file:
        inputs = {key: file.get_tensor(key) for key in file.keys()}
        metadata = {key: number(text) for key, text in file.metadata().items()}
    outputs = kernel(inputs, metadata, *BUG)
    kinds = {key: np.int32 if np.issubdtype(array.dtype, np.integer) else np.float32 for key, array in outputs.items()}
    arrays = {key: np.ascontiguousarray(array, kinds[key]) for key, array in outputs.items()}
    save_file(arrays, request["output"])
    print(json.dumps({"id": request["id"], "ok": True}), flush=True)
