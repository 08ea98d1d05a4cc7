"""The judge: a kernel's outputs against the oracle's, each element within its bound."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _arrays
from ._cases import Case, expect_case, expect_model
from ._native import Judged


def assert_gradients(
    actual: Mapping[str, Any],
    case: Case,
    *,
    model: str | None = None,
    formulation: str | None = None,
    extra_roundings: int | None = None,
) -> None:
    """Asserts that a kernel's outputs for a case lie within their bounds, as ``splatcheck judge`` does.

    Nothing is to be tuned: the bound of each element follows from the case, the arithmetic and the
    expression. It holds for sums in any order.

    Args:
        actual: the outputs by name, as :class:`Case` lists them, or as the case's preset has them: numpy arrays, or anything with
            ``__dlpack__`` or ``__array__`` in the processor's memory, float32. float64 is rounded to
            float32 first.
        case: the case that they are of.
        model: the arithmetic that the kernel promises: ``cuda`` (CUDA C++ as compiled by default; also for
            numpy, whose float32 exp is an ulp or two off), ``cuda-fast``, ``wgsl``, ``wgsl-exp0``, or
            ``ieee`` (every operation correctly rounded, exp too); the preset's, else ``cuda``, where it is
            None.
        formulation: the expression of alpha's gradient, at level raster; the case's own where it is None.
            With ``any`` the outputs may lie within the bounds of one of them, the case's own first, then
            those that :func:`check` tries. It is chosen for this case alone: that one of them holds on all
            cases is what ``check(formulation="any")`` says.
        extra_roundings: how often the kernel rounds a term on its way into an intermediate of that
            expression, 0 to 64; as the formulation states where it is None.

    Raises:
        AssertionError: an element lies outside its bound (a NaN does); the message begins with what the
            kernel may have got wrong, and names the formulation and the worst element.
        TypeError: an output is no array, of another type of numbers, or on a GPU.
        ValueError: an output is missing, not expected, or has another shape; the case has no number to
            compare; or an option is not known.

    Warns:
        UserWarning: most outputs agree with a kernel that does nothing, or no bound is finite.
    """
    __tracebackhide__ = True
    expect_case(case)
    model = expect_model(model, case._native.model)
    accepts_any = formulation == "any"
    if accepts_any and case.formulation is None:
        raise ValueError(f"formulation is 'any': level {case.level} has no formulations")
    notes: list[str] = []
    case = case._judged_in(None if accepts_any else formulation, extra_roundings)
    judged = judge(actual, case, model, notes)
    # Exact zeros say little of a kernel, and are right of one that returns them.
    if judged.elements + judged.zeros == 0:
        why = "it has no Gaussian" if case._native.empty else "no element of an output can be"
        raise ValueError(f"nothing to compare: {_subject(case, model)}: {why}")
    agreed = judged if judged.verdict != "disagree" else None
    if agreed is None and accepts_any:
        # The last group has terms of less precision: who asks for any does not accept them.
        others = [name for group in case._native.formulations()[:-1] for name, *_ in group]
        tried = (judge(actual, case._judged_in(name, extra_roundings), model, []) for name in others)
        agreed = next((one for one in tried if one.verdict != "disagree"), None)
        notes.append(f"formulation any: outside the bounds of the {len(others)} others as well")
    if agreed is None:
        raise AssertionError(message(judged, case, model, notes, diagnose(actual, case, model)))
    if agreed.gap is not None:
        # One case of many may say nothing of a right kernel; of one output most cases say something.
        why = "; ".join([agreed.gap, *agreed.not_judged])
        warnings.warn(f"not exercised: {_subject(case, model)}: {why}", stacklevel=2)


def judge(actual: Any, case: Case, model: str, notes: list[str]) -> Judged:
    """What the outputs come to; notes are added to ``notes``."""
    return case._native.judge(_arrays.encode(checked(actual, case, notes)), model)


def diagnose(actual: Any, case: Case, model: str, before: Any = None) -> list[str]:
    """What the kernel may have got wrong, the best hypothesis first; ``before``, if known, is what it returned
    for the case just before."""
    first = None if before is None else _arrays.encode(checked(before, case, []))
    return case._native.diagnose(first, _arrays.encode(checked(actual, case, [])), model)


def checked(actual: Any, case: Case, notes: list[str]) -> dict[str, np.ndarray]:
    """The outputs as arrays of the types and shapes that they must have; what is not compared is a note."""
    ports = case._native.outputs()
    if not isinstance(actual, Mapping):
        kind, names = type(actual).__name__, ", ".join(name for name, *_, need in ports if need == "always")
        raise TypeError(f"the kernel returned {kind}: expected a dict of arrays with {names}")
    unknown = [name for name in actual if name not in {port[0] for port in ports}]
    if unknown:
        names = ", ".join(name if need == "always" else f"{name} (if you like)" for name, *_, need in ports)
        raise ValueError(f"output '{unknown[0]}' is not expected: there are {names}")
    arrays = {}
    left_out = case._native.not_compared()
    for name, dtype, shape, need in ports:
        if actual.get(name) is not None:
            arrays[name] = _arrays.to_output(name, actual[name], dtype, tuple(shape), notes)
        elif need == "always":
            raise ValueError(f"output '{name}' is missing: expected {dtype} {list(shape)}")
        elif name in actual and need != "never":
            # As the gradient of a tensor that nothing reached: who names an output has meant it to be judged.
            raise ValueError(f"output '{name}' is None: expected {dtype} {list(shape)}, or leave it out")
        elif need == "optional":
            left_out.append(f"{name}: the result has none")
    said = (f"NOT COMPARED: {what}" for what in left_out)
    notes += [note for note in said if note not in notes]
    return arrays


def message(
    judged: Judged,
    case: Case,
    model: str,
    notes: list[str],
    diagnosis: list[str],
) -> str:
    """What is said of outputs that disagree: first what the kernel may have got wrong."""
    total = judged.elements + judged.zeros
    share = judged.disagree / total
    lines = diagnosis[:1] and [_sentence(diagnosis[0])]
    lines += [
        f"Outputs are outside their bounds: {_subject(case, model)}",
        "",
        f"Elements outside their bounds: {judged.disagree} / {total} ({share:.1%})",
    ]
    if judged.worst is not None:
        worst = judged.worst
        place = f"{worst.output}[{', '.join(map(str, worst.index))}]"
        lines += [
            f"Worst error / bound: {worst.ratio:.4g} at {place} (up to 1 allowed)",
            f"  value  {worst.value!r}",
            f"  oracle {worst.oracle!r}",
            f"  bound  {worst.bound!r}",
        ]
        # What a sum consists of, and how many terms the error is worth: the rest is said above.
        read_from = case._native.read_from(worst.output)
        notes = [*notes, *([read_from] if read_from else [])]
        terms = worst.text.partition("; ")[2]
        lines += [f"  {terms}"] if terms else []
    lines += [_sentence(line) for line in diagnosis[1:]]
    return "\n".join(lines + [f"Note: {note}" for note in notes])


def _sentence(line: str) -> str:
    return line[:1].upper() + line[1:]


def _subject(case: Case, model: str) -> str:
    words = f"level {case.level}, case {case.name}, model {model}"
    return words if case.formulation is None else f"{words}, formulation {case.formulation}"
