"""Tests a pair of CUDA kernels, without a GPU."""

import numpy as np
import pytest
from splatcheck import Launch, gradcheck

WRONG = pytest.mark.xfail(raises=AssertionError, strict=True, reason="v_w lacks a part on purpose")


@pytest.mark.parametrize("name", ["pair.ptx", pytest.param("pair_broken.ptx", marks=WRONG)])
def test_my_pair(name, request):
    ptx = request.path.parents[2] / "examples/gradcheck" / name  # nvcc --ptx -lineinfo pair.cu
    x, w = np.random.default_rng(0).normal(size=(2, 100)).astype(np.float32)
    inputs = {"x": x, "w": w, "cells": np.arange(100, dtype=np.int32) % 8}
    gradcheck(
        forward=Launch(ptx, "splat", 4, 32, ["x", "w", "cells", "y", np.uint32(100)]),
        backward=Launch(ptx, "splat_backward", 4, 32, [*inputs, "v_y", "v_x", "v_w", np.uint32(100)]),
        inputs=inputs, outputs={"y": np.zeros(8, np.float32)},
        gradients={"y": "v_y", "x": "v_x", "w": "v_w"},
    ).raise_for_findings()
