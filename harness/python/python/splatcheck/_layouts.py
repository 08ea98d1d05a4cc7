"""Inputs as they lie in memory: a kernel may not take for granted that they are contiguous."""

from __future__ import annotations

import numpy as np

#: How inputs lie in memory, in words that follow "inputs"; cases have each in turn.
CONTIGUOUS = "one after another"
GAPS = "with a gap behind each element (not contiguous)"
OFFSET = "that begin inside a larger array (storage offset)"
LAYOUTS = (CONTIGUOUS, GAPS, OFFSET)


def lay_out(array: np.ndarray, layout: str) -> tuple[np.ndarray, np.ndarray]:
    """The array in that layout, and the memory that it lies in, which holds NaN beside it (indices: 0)."""
    beside = np.nan if array.dtype.kind == "f" else 0
    if layout == GAPS and array.ndim > 0:
        memory = np.full((*array.shape[:-1], 2 * array.shape[-1]), beside, array.dtype)
        laid = memory[..., ::2]
    elif layout == OFFSET:
        memory = np.full(array.size + 3, beside, array.dtype)
        laid = memory[1 : 1 + array.size].reshape(array.shape)
    else:
        memory = laid = np.empty_like(array)
    laid[...] = array
    return laid, memory
