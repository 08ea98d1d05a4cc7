"""Kernels that Triton compiles, without a GPU."""

import numpy as np
import pytest
import splatcheck
from splatcheck import Launch

triton = pytest.importorskip("triton", reason="NOT EXERCISED: Triton (pip install triton: a gigabyte)")
tl = pytest.importorskip("triton.language")
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

POINTS = 200
X, W, V = np.random.default_rng(1).normal(size=(3, POINTS)).astype(np.float32)


@triton.jit
def scaled(x, w, y, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + i, tl.load(x + i, mask=i < n) * tl.exp(tl.load(w + i, mask=i < n)), mask=i < n)


@triton.jit
def scaled_backward(x, w, v_y, v_x, v_w, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    v = tl.load(v_y + i, mask=i < n) * tl.exp(tl.load(w + i, mask=i < n))
    tl.store(v_x + i, v, mask=i < n)
    tl.store(v_w + i, v * tl.load(x + i, mask=i < n), mask=i < n)


def launch(kernel, *names):
    signature = dict.fromkeys(kernel.arg_names[:-2], "*fp32") | {"n": "i32", "block": "constexpr"}
    compiled = triton.compile(ASTSource(kernel, signature, constexprs={"block": 128}), target=GPUTarget("cuda", 80, 32))
    threads = 32 * compiled.metadata.num_warps
    # Behind a kernel's own parameters Triton passes memory to work in, which these have no need of.
    return Launch(compiled.asm["ptx"], compiled.name, 2, threads, [*names, np.int32(POINTS), None, None])


@pytest.mark.parametrize("gradients", [("v_x", "v_w"), ("v_w", "v_x")])
def test_a_pair_of_triton(gradients, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    result = splatcheck.gradcheck(
        forward=launch(scaled, "x", "w", "y"),
        backward=launch(scaled_backward, "x", "w", "v_y", *gradients),
        inputs={"x": X, "w": W},
        outputs={"y": POINTS},
        gradients={"y": V, "x": "v_x", "w": "v_w"},
    )
    swapped = gradients[0] == "v_w"
    assert result.verdict == ("disagree" if swapped else "agree"), result
    assert [array.wrong > 0 for array in result.judged.values()] == [swapped, swapped], result
