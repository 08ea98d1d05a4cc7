"""A program that answers request 3 in the way that its first argument names, and the others rightly."""
import json
import os
import sys
import time

import numpy as np
from safetensors.numpy import save_file

sys.argv[1:], (KIND, *REST) = [], sys.argv[1:]
LINES, sys.stdin = sys.stdin, []
import raster  # noqa: E402  its loop reads nothing

WHEN = {"always": lambda id: True, "odd": lambda id: id % 2}.get((REST or [""])[0], lambda id: id == 3)


def answer(id, **more):
    print(json.dumps({"id": id, "ok": True, **more}), flush=True)


def bad(id, input, output, good):
    """What is done in place of an answer; the outputs where it is done with them."""
    if KIND == "crash":
        sys.exit("the kernel divided by zero")
    if KIND == "abort":
        os.abort()
    if KIND == "hang":
        print("waiting for a lock", file=sys.stderr, flush=True)
        time.sleep(600)
    if KIND == "closed":
        os.close(1)
        time.sleep(600)
    if KIND == "garbage":
        print("loading the model ...", flush=True)
    if KIND == "long-line":
        print("x" * 10_000_000, flush=True)
    if KIND == "binary":
        os.write(1, b"\xff\x00\xfe\n")
    if KIND == "wrong-id":
        answer(id + 1)
    if KIND == "failed":
        print("CUDA error: an illegal memory access", file=sys.stderr, flush=True)
        print(json.dumps({"id": id, "ok": False, "error": "kernel launch failed"}), flush=True)
    if KIND == "not-written":
        answer(id)
    if KIND == "folder":
        os.mkdir(output)
        answer(id)
    if KIND == "link":
        save_file(good, output + ".elsewhere")
        os.symlink(output + ".elsewhere", output)
        answer(id)
    if KIND == "pipe":
        os.mkfifo(output)
        answer(id)
    if KIND == "huge":
        with open(output, "wb") as file:
            file.truncate(1 << 40)
        answer(id)
    if KIND == "no-safetensors":
        with open(output, "wb") as file:
            file.write(b"hello")
        answer(id)
    if KIND == "changes-its-input":
        save_file(good, output)
        with open(input, "ab") as file:
            file.write(b" ")
        answer(id)
    if KIND == "talks-on":
        save_file(good, output)
        answer(id)
        print("done", flush=True)
    if KIND in CHANGES:
        save_file(CHANGES[KIND](good), output)
        answer(id)


CHANGES = {
    "missing": lambda good: {k: v for k, v in good.items() if k != "v_conics"},
    "unknown": lambda good: good | {"v_mean2d": good["v_means2d"]},
    "shape": lambda good: good | {"v_conics": good["v_conics"].reshape(-1)},
    "doubles": lambda good: {k: v.astype(np.float64) for k, v in good.items()},
    "halves": lambda good: good | {"v_colors": good["v_colors"].astype(np.float16)},
    "integers": lambda good: good | {"v_colors": good["v_colors"].astype(np.int32)},
    "not-finite": lambda good: good | {"v_colors": good["v_colors"] * np.nan},
}

assert REST or KIND
for line in LINES:
    request = json.loads(line)
    id, input, output = request["id"], request["input"], request["output"]
    if KIND == "floods":
        for _ in range(200):
            print("warning: " + "y" * 10_000, file=sys.stderr)
    with np.errstate(all="ignore"), raster.safe_open(input, "np") as file:
        good = raster.backward({k: file.get_tensor(k) for k in file.keys()}, file.metadata())
    if KIND not in ("right", "floods") and WHEN(id):
        bad(id, input, output, good)
    else:
        save_file(good, output)
        answer(id)
