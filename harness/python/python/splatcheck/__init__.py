"""splatcheck judges gradient kernels of 3D Gaussian splatting against an oracle, within derived bounds.

    import splatcheck

    def kernel(inputs, metadata):      # numpy arrays by gsplat's names; returns v_means2d, v_conics, ...
        ...

    splatcheck.check(kernel, level="raster").raise_for_findings()

``cases`` yields what a kernel reads, ``oracle`` what a right one computes, ``assert_gradients`` judges one
result, ``check`` a kernel on many cases. With pytest, a test with the fixture ``splat_case`` runs once for
each case. ``gradcheck``, ``compare`` and ``accuracy`` judge kernels in PTX by their own mathematics.
``python -m splatcheck`` is the command line.
"""

from ._cases import LEVELS, STAGES, Case, Cases, cases, oracle
from ._check import Finding, Result, check
from ._gradcheck import Checked, CheckedArray, accuracy, compare, gradcheck
from ._importing import import_case
from ._judging import assert_gradients
from ._launch import Launch
from ._native import MODELS, __version__

__all__ = [
    "LEVELS",
    "STAGES",
    "MODELS",
    "Case",
    "Cases",
    "Checked",
    "CheckedArray",
    "Finding",
    "Launch",
    "Result",
    "__version__",
    "accuracy",
    "assert_gradients",
    "cases",
    "check",
    "compare",
    "gradcheck",
    "import_case",
    "oracle",
]
