"""Kernels that Numba compiles, without a GPU."""

import math

import numpy as np
import pytest
import splatcheck
from splatcheck import Launch

try:
    from numba import cuda, float32, int32
except Exception as error:
    # Without NVIDIA's libraries it raises what is no ImportError.
    pytest.skip(f"NOT EXERCISED: Numba for CUDA (tests/setup installs it): {error}", allow_module_level=True)

POINTS, ROWS = 37, 3
RANDOM = np.random.default_rng(1)
X, V = RANDOM.normal(size=(2, ROWS, POINTS)).astype(np.float32)
W = RANDOM.normal(size=POINTS).astype(np.float32)


def scaled(x, w, y):
    i = cuda.grid(1)
    if i < w.size:
        for row in range(x.shape[0]):
            y[row, i] = x[row, i] * math.exp(w[i])


def scaled_backward(x, w, v_y, v_x, v_w):
    i = cuda.grid(1)
    if i < w.size:
        e = math.exp(w[i])
        for row in range(x.shape[0]):
            v_x[row, i] = e * v_y[row, i]
            cuda.atomic.add(v_w, i, x[row, i] * e * v_y[row, i])


def last_row_lost(x, w, v_y, v_x, v_w):
    i = cuda.grid(1)
    if i < w.size:
        e = math.exp(w[i])
        for row in range(x.shape[0]):
            v_x[row, i] = e * v_y[row, i]
            if row < x.shape[0] - 1:
                cuda.atomic.add(v_w, i, x[row, i] * e * v_y[row, i])


def array(name, shape):
    """What Numba passes of an array: two pointers, items, bytes of one, data, shape, strides."""
    strides = np.zeros(shape, np.float32).strides
    sides = [np.int64(side) for side in (*shape, *strides)]
    return [None, None, np.int64(math.prod(shape)), np.int64(4), name, *sides]


def launch(kernel, *names):
    matrix, vector = float32[:, ::1], float32[::1]
    is_vector = [name in ("w", "v_w") for name in names]
    ptx, _ = cuda.compile_ptx(kernel, tuple(vector if one else matrix for one in is_vector), cc=(7, 5))
    shapes = [(POINTS,) if one else (ROWS, POINTS) for one in is_vector]
    parameters = [part for name, shape in zip(names, shapes, strict=True) for part in array(name, shape)]
    return Launch(ptx, kernel.__name__, 2, 32, parameters)


def asked(backward):
    return splatcheck.gradcheck(
        forward=launch(scaled, "x", "w", "y"),
        backward=launch(backward, "x", "w", "v_y", "v_x", "v_w"),
        inputs={"x": X, "w": W},
        outputs={"y": (ROWS, POINTS)},
        gradients={"y": V, "x": "v_x", "w": "v_w"},
    )


def test_a_pair_of_numba_agrees():
    result = asked(scaled_backward)
    assert result and result.judged["v_w"].compared == POINTS and result.judged["v_x"].compared == X.size, result
    exact = (X * np.exp(W.astype(np.float64)) * V).sum(axis=0)
    assert np.allclose(result.arrays["gradient_w"], exact, rtol=1e-5, atol=1e-6)


def test_a_lost_row_is_found():
    result = asked(last_row_lost)
    assert result.verdict == "disagree" and result.judged["v_w"].wrong == POINTS, result
    assert not result.judged["v_x"].wrong, result


def test_numbers_by_value_and_another_order_of_a_sum():
    def summed(x, y, n, scale):
        total = float32(0.0)
        for i in range(n):
            total += scale * x[i]
        y[0] = total

    def backwards(x, y, n, scale):
        total = float32(0.0)
        for i in range(n):
            total += scale * x[n - 1 - i]
        y[0] = total

    def launch_of(kernel, count):
        types = (float32[::1], float32[::1], int32, float32)
        ptx, _ = cuda.compile_ptx(kernel, types, cc=(7, 5))
        numbers = [np.int32(count), np.float32(0.1)]
        return Launch(ptx, kernel.__name__, 1, 1, [*array("x", (POINTS,)), *array("y", (1,)), *numbers])

    arrays = dict(inputs={"x": W}, outputs={"y": 1})
    assert splatcheck.compare(launch_of(summed, POINTS), launch_of(backwards, POINTS), **arrays)
    fewer = splatcheck.compare(launch_of(summed, POINTS), launch_of(summed, POINTS - 1), **arrays)
    assert fewer.verdict == "disagree", fewer
    measured = splatcheck.accuracy(launch_of(summed, POINTS), **arrays)
    assert measured and 0 < measured.judged["y"].rounding <= 1, measured
