"""Inputs in other layouts, and kernels that are not the same in every call."""

import sys
from pathlib import Path

import numpy as np
import splatcheck

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from my_kernel import rasterize_backward  # noqa: E402


def test_layouts():
    def flat(inputs, metadata):
        """Takes it for granted that arrays are contiguous, as a kernel that gets pointers may."""
        means = np.lib.stride_tricks.as_strided(inputs["means2d"], strides=(8, 4))
        return rasterize_backward({**inputs, "means2d": means}, metadata)

    result = splatcheck.check(flat, count=12, corpus=None)
    assert {finding.kind for finding in result.findings} == {"layout"}, result
    assert "right with contiguous inputs, wrong with inputs with a gap" in str(result)
    assert splatcheck.check(flat, count=12, corpus=None, layouts=False)

    def strict(inputs, metadata):
        if not all(array.flags.c_contiguous for array in inputs.values()):
            raise RuntimeError("means2d must be contiguous")
        return rasterize_backward(inputs, metadata)

    result = splatcheck.check(strict, count=6, corpus=None)
    assert result and result.notes[0].startswith("the kernel raises RuntimeError for inputs with a gap")

    def writes_beside(inputs, metadata):
        if inputs["means2d"].base is not None:
            inputs["means2d"].base.flat[-1] = 0
        return rasterize_backward(inputs, metadata)

    result = splatcheck.check(writes_beside, count=6, corpus=None)
    assert {finding.kind for finding in result.findings} == {"layout"}, result


def test_a_kernel_that_raises_once_is_not_taken_for_one_of_contiguous_inputs():
    calls = []

    def now_and_then(inputs, metadata):
        """Fails in its third call, whose inputs begin inside a larger array, and in no other."""
        calls.append(inputs)
        if len(calls) == 3:
            raise RuntimeError("an illegal memory access")
        return rasterize_backward(inputs, metadata)

    result = splatcheck.check(now_and_then, count=6, corpus=None)
    assert [finding.kind for finding in result.findings] == ["raised"] and not result, result
    assert "with the same case: the kernel raised RuntimeError: an illegal memory access" in str(result), result


def test_a_kernel_that_is_wrong_once_is_not_wrong_by_the_layout():
    calls = []

    def wrong_once(inputs, metadata):
        """Is wrong in its second call, whose inputs have gaps, and in no other."""
        calls.append(inputs)
        outputs = rasterize_backward(inputs, metadata)
        return {name: 2 * array if len(calls) == 2 else array for name, array in outputs.items()}

    result = splatcheck.check(wrong_once, count=6, corpus=None)
    assert [finding.kind for finding in result.findings] == ["outside bounds"], result
    assert "right with contiguous inputs" not in str(result), result
    assert "wrong once, right when called again with the same case" in str(result), result


def test_repetitions():
    kept = {}

    def adds_up(inputs, metadata):
        outputs = rasterize_backward(inputs, metadata)
        old = kept.setdefault(inputs["means2d"].tobytes(), outputs)
        return outputs if old is outputs else {name: old[name] + outputs[name] for name in old}

    result = splatcheck.check(adds_up, count=3, corpus=None)
    assert [finding.kind for finding in result.findings] == ["wrong later"], result
