"""Tests a kernel: run `pytest` in this folder."""

import pytest
import splatcheck
from my_kernel import rasterize_backward


def test_my_kernel():
    splatcheck.check(rasterize_backward, level="raster", count=50).raise_for_findings()


@pytest.mark.splatcheck(level="raster", count=10, seed=1)
def test_my_kernel_on_a_case(splat_case):
    actual = rasterize_backward(splat_case.inputs, splat_case.metadata)
    splatcheck.assert_gradients(actual, splat_case)


@pytest.mark.xfail(raises=AssertionError, strict=True, reason="lane 31 of each warp is lost on purpose")
def test_a_kernel_with_a_bug():
    splatcheck.check(lambda x, m: rasterize_backward(x, m, bug="lost lane")).raise_for_findings()
