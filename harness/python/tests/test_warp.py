"""Kernels that Warp compiles, with the adjoints that it makes of them, without a GPU."""

import numpy as np
import pytest
import splatcheck
from splatcheck import Launch

wp = pytest.importorskip("warp", reason="NOT EXERCISED: Warp (tests/setup installs it)")

POINTS, CELLS = 37, 4
RANDOM = np.random.default_rng(1)
X, W = RANDOM.normal(size=(2, POINTS)).astype(np.float32)
GIVEN = RANDOM.normal(size=CELLS).astype(np.float32)


@wp.func
def weight(w: float):
    return wp.exp(w)


@wp.func_grad(weight)
def weight_backward(w: float, adj_ret: float):
    wp.adjoint[w] += adj_ret  # without the factor exp(w)


@wp.kernel
def scatter(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, i % 4, x[i] * wp.exp(w[i]))


@wp.kernel
def wrong_scatter(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, i % 4, x[i] * weight(w[i]))


@pytest.fixture(scope="module")
def ptx(tmp_path_factory):
    wp.config.quiet = True
    wp.config.kernel_cache_dir = str(tmp_path_factory.mktemp("cache"))
    folder = tmp_path_factory.mktemp("ptx")
    module = wp.get_module(__name__)
    wp.compile_aot_module(module, device=None, arch=75, module_dir=folder, use_ptx=True, strip_hash=True)
    (file,) = folder.glob("*.ptx")
    return file


def array(name, count):
    """What Warp passes of an array of one dimension: data, gradient, shape, strides, dimensions."""
    four = lambda first: (np.int32(first), *[np.int32(0)] * 3)  # noqa: E731
    return (name, None, four(count), four(4), np.int32(1))


def asked(ptx, kernel):
    # Its shape, its number of threads, and how many share a place.
    bounds = (np.uint32(POINTS), np.uint64(POINTS), np.uint64(1))
    primal = [array("x", POINTS), array("w", POINTS), array("y", CELLS)]
    adjoint = [array("v_x", POINTS), array("v_w", POINTS), array("v_y", CELLS)]
    return splatcheck.gradcheck(
        forward=Launch(ptx, f"{kernel}_cuda_kernel_forward", 2, 32, [bounds, *primal]),
        backward=Launch(ptx, f"{kernel}_cuda_kernel_backward", 2, 32, [bounds, *primal, *adjoint]),
        inputs={"x": X, "w": W},
        outputs={"y": np.zeros(CELLS, np.float32)},
        gradients={"y": GIVEN, "x": "v_x", "w": "v_w"},
    )


def test_an_adjoint_of_warp_agrees(ptx):
    result = asked(ptx, "scatter")
    assert result and result.judged["v_w"].compared == result.judged["v_x"].compared == POINTS, result
    exact = np.bincount(np.arange(POINTS) % CELLS, X * np.exp(W.astype(np.float64)))
    assert np.allclose(result.arrays["exact_y"], exact, rtol=1e-5, atol=1e-6)


def test_a_wrong_gradient_of_a_function_is_found(ptx):
    result = asked(ptx, "wrong_scatter")
    assert result.verdict == "disagree" and result.judged["v_w"].wrong > POINTS // 2, result
    assert not result.judged["v_x"].wrong, result


def test_a_structure_of_another_size_is_refused(ptx):
    parameters = [(np.uint32(1),), array("x", POINTS), array("w", POINTS), array("y", CELLS)]
    launch = Launch(ptx, "scatter_cuda_kernel_forward", 2, 32, parameters)
    with pytest.raises(ValueError, match=r"has parameters of \[24, 56, .* bytes, the manifest gives \[4, 56, "):
        splatcheck.accuracy(launch, inputs={"x": X, "w": W}, outputs={"y": 4})
