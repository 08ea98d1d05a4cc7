"""Kernels that no oracle knows, judged by their own mathematics, as the commands of these names do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from . import _arrays
from ._launch import Files, Launch, Ptx, arrays_of, expect_text, launches, manifest_of, text_of, to_array
from ._native import Answer, manifest_files

#: Cases that are drawn where nothing is said.
_CASES = 20


@dataclass(frozen=True)
class CheckedArray:
    """What came of one array, in all cases."""

    name: str
    """Its name."""
    of: str
    """What it is the gradient of, or its own name."""
    compared: int
    """Elements that were compared."""
    zeros: int
    """Those of them that are zero on both sides."""
    not_judged: int
    """Elements that nobody can judge: a number was lost on the way."""
    wrong: int
    """Elements that are wrong."""
    distance: float
    """The largest distance between both sides, as a part of their uncertainty."""
    rounding: float
    """The largest error of an f32, as a part of the radius that rounding may take it."""
    right_bits: int | None
    """How many bits of the array's largest number are right in all elements, 0 to 24; of :func:`accuracy` alone."""


class Checked:
    """What :func:`gradcheck`, :func:`compare` or :func:`accuracy` found. True if :attr:`agree`."""

    def __init__(self, answer: Answer, drawn: bool) -> None:
        self._answer = answer
        self._drawn = drawn

    @property
    def verdict(self) -> str:
        """``agree``, ``disagree``, ``not judged`` (of an array nothing could be judged) or, of
        :func:`accuracy`, ``measured``."""
        return self._answer.verdict

    @property
    def agree(self) -> bool:
        """Whether nothing is wrong, and of every array something was judged."""
        return self.verdict in ("agree", "measured")

    def __bool__(self) -> bool:
        return self.agree

    @cached_property
    def text(self) -> str:
        """The report, as the command's."""
        again = "result.save('case.safetensors'), then inputs='case.safetensors'"
        return self._answer.text(again if self._drawn else None)

    def __str__(self) -> str:
        why = self._answer.not_judged
        return self.text if why is None or self.verdict == "disagree" else f"{self.text}{why}\n"

    @property
    def judged(self) -> dict[str, CheckedArray]:
        """What came of each array, by its name; nothing of a kernel that gave no result."""
        return {row[0]: CheckedArray(*row) for row in self._answer.rows}

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """What is known of the first case in float64: of an output ``f32_NAME`` (what the forward kernel wrote),
        ``exact_NAME`` (the same in real arithmetic) and ``radius_NAME`` (how far rounding may take it), of an input
        with a gradient ``gradient_NAME``, its derivatives. The forward kernel runs once more.

        Raises:
            ValueError: a kernel that gives no result.
        """
        all_ = self._answer.exact_arrays()
        return {name: np.frombuffer(data, "<f8").reshape(shape).copy() for name, shape, data in all_}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the first case that disagrees (where it was drawn, made smaller), else the first: ``inputs=`` of
        a call with a manifest, or ``--inputs`` of the command.

        Raises:
            ValueError: the file cannot be written.
        """
        self._answer.write(os.fspath(path))

    def raise_for_findings(self) -> None:
        """Raises what was found.

        Raises:
            AssertionError: something is wrong, or something is not judged; the message is the report.
        """
        __tracebackhide__ = True
        if not self:
            raise AssertionError(str(self))


def gradcheck(
    *,
    forward: Launch | Sequence[Launch] | None = None,
    backward: Launch | Sequence[Launch] | None = None,
    inputs: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    outputs: Mapping[str, Any] | None = None,
    gradients: Mapping[str, Any] | None = None,
    manifest: str | os.PathLike[str] | None = None,
    ptx: Ptx | Sequence[Ptx] | None = None,
    sizes: Mapping[str, int] | None = None,
    cases: int | None = None,
    seed: int = 0,
    schedule: str | Sequence[str] = "lockstep",
) -> Checked:
    """Whether a backward kernel returns the derivatives of a forward kernel.

    Both run on the emulator, without a GPU, and are compared in real arithmetic: see docs/src/gradcheck.md.

    Args:
        forward, backward: a launch each, or several that follow each other.
        inputs: what the kernels read, by name: float32, float16, int32, uint32, int64, uint8 or bool, numpy or anything with
            ``__dlpack__`` or ``__array__`` in the processor's memory. With a manifest the arrays that are not there are drawn, and a
            path is a case that :meth:`Checked.save` or the command wrote.
        outputs: what the forward kernel writes, by name, and arrays that launches share: a shape, of float32 that
            was never written, or an array of zeros, as which it then begins.
        gradients: of an output the gradient that backward is given: an array, which has the name ``v_OUTPUT``, or a
            name, which is then among the inputs, or drawn. Of an input the name of the gradient that backward
            returns, which begins as zeros; ``("v_x", np.float32)`` if its type is not that of the input.
        manifest: a manifest's path, instead of launches, outputs and gradients.
        ptx: the kernels of the manifest, instead of the files that it names.
        sizes: sizes that the manifest draws. Those that stand alone in a shape follow from the inputs.
        cases: how many cases are drawn, where a manifest has no inputs given: 20 without it.
        seed: of what is drawn.
        schedule: ``lockstep``, ``random:SEED`` or ``adversarial:SEED``, or a list of these.

    Raises:
        ValueError: something that cannot be followed, the first, with what would do.
    """
    drawn = _Drawn(sizes, cases, seed, schedule)
    if manifest is not None:
        _only_manifest(forward=forward, backward=backward, outputs=outputs, gradients=gradients)
        return _of_manifest("gradcheck", manifest, [("ptx", ptx)], inputs, drawn)
    _no_manifest(ptx=ptx, sizes=sizes, cases=cases)
    arrays, named = _gradients(inputs, outputs, gradients)
    files = Files()
    tables = {
        "forward": files.table("forward", launches("forward", forward)),
        "backward": files.table("backward", launches("backward", backward)),
    }
    text = manifest_of(arrays, outputs, named, tables)
    return _asked("gradcheck", text, [files.files()], _given(arrays, drawn), drawn)


def compare(
    right: Launch | Sequence[Launch] | Ptx | Sequence[Ptx],
    other: Launch | Sequence[Launch] | Ptx | Sequence[Ptx],
    *,
    inputs: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    outputs: Mapping[str, Any] | None = None,
    manifest: str | os.PathLike[str] | None = None,
    sizes: Mapping[str, int] | None = None,
    cases: int | None = None,
    seed: int = 0,
    schedule: str | Sequence[str] = "lockstep",
) -> Checked:
    """Whether a program computes what another does: another reduction, threshold or block size.

    Args:
        right, other: the launches of both, which share inputs and outputs; with a manifest their PTX.
        inputs, outputs, manifest, sizes, cases, seed, schedule: see :func:`gradcheck`. All outputs are compared.

    Raises:
        ValueError: something that cannot be followed, the first, with what would do.
    """
    drawn = _Drawn(sizes, cases, seed, schedule)
    if manifest is not None:
        _only_manifest(outputs=outputs)
        return _of_manifest("compare", manifest, [("right", right), ("other", other)], inputs, drawn)
    _no_manifest(sizes=sizes, cases=cases)
    arrays, programs = _inputs(inputs, outputs), (Files(), Files())
    tables = {
        "forward": programs[0].table("right", launches("right", right)),
        "other": programs[1].table("other", launches("other", other)),
    }
    text = manifest_of(arrays, outputs, {}, tables)
    files = [program.files() for program in programs]
    return _asked("compare", text, files, _given(arrays, drawn), drawn)


def accuracy(
    program: Launch | Sequence[Launch] | Ptx | Sequence[Ptx] | None = None,
    *,
    inputs: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    outputs: Mapping[str, Any] | None = None,
    manifest: str | os.PathLike[str] | None = None,
    sizes: Mapping[str, int] | None = None,
    cases: int | None = None,
    seed: int = 0,
    schedule: str | Sequence[str] = "lockstep",
) -> Checked:
    """How far the floats of a program are from its own exact values: :attr:`CheckedArray.rounding`, as a part of
    what rounding may do, and :attr:`CheckedArray.right_bits`. The text names the lines that lose digits.

    Args:
        program: its launches; with a manifest its PTX, or nothing for the files that the manifest names.
        inputs, outputs, manifest, sizes, cases, seed, schedule: see :func:`gradcheck`.

    Raises:
        ValueError: something that cannot be followed, the first, with what would do.
    """
    drawn = _Drawn(sizes, cases, seed, schedule)
    if manifest is not None:
        _only_manifest(outputs=outputs)
        return _of_manifest("accuracy", manifest, [("program", program)], inputs, drawn)
    _no_manifest(sizes=sizes, cases=cases)
    arrays, files = _inputs(inputs, outputs), Files()
    tables = {"forward": files.table("program", launches("program", program))}
    text = manifest_of(arrays, outputs, {}, tables)
    return _asked("accuracy", text, [files.files()], _given(arrays, drawn), drawn)


@dataclass(frozen=True)
class _Drawn:
    """What is drawn, and the orders of execution."""

    sizes: Mapping[str, int] | None
    cases: int | None
    seed: int
    schedule: str | Sequence[str]

    def count_and_seed(self) -> tuple[int, int]:
        """Both, checked."""
        count = _CASES if self.cases is None else self.cases
        for name, value, least in (("cases", count, 1), ("seed", self.seed, 0)):
            if not isinstance(value, (int, np.integer)) or not least <= value < 1 << 64:
                raise ValueError(f"{name} is {_arrays.short(value, 40)}: expected a whole number from {least} on")
        return int(count), int(self.seed)

    def orders(self) -> list[str]:
        """The schedules, of which there is one."""
        all_ = [self.schedule] if isinstance(self.schedule, str) else self.schedule
        if not isinstance(all_, Sequence) or not all_:
            raise ValueError("schedule: expected lockstep, random:SEED, adversarial:SEED, or a list of these")
        return [expect_text("schedule", one) for one in all_]

    def metadata(self) -> dict[str, str]:
        """The sizes as a case's metadata."""
        if not isinstance(self.sizes or {}, Mapping):
            raise ValueError(f"sizes are of type {type(self.sizes).__name__}: expected a dict of whole numbers")
        sizes = {expect_text("sizes", name): value for name, value in (self.sizes or {}).items()}
        return {f"size.{name}": str(_arrays.scalar(f"size '{name}'", size, whole=True)) for name, size in sizes.items()}


def _only_manifest(**others: Any) -> None:
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name}: the manifest says it, give either")


def _no_manifest(**others: Any) -> None:
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name}: only with a manifest, give manifest='pair.toml'")


def _inputs(inputs: Any, outputs: Any) -> dict[str, np.ndarray]:
    """The inputs of launches, which a path cannot say: it has no types."""
    if inputs is None or outputs is None:
        missing = "inputs" if inputs is None else "outputs"
        raise ValueError(f"{missing}: missing, launches have both; or give manifest='pair.toml'")
    return arrays_of(inputs)


def _gradients(inputs: Any, outputs: Any, gradients: Any) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, Any]]]:
    """The arrays that are given, with given gradients among them, and the names and types of all gradients."""
    arrays = _inputs(inputs, outputs)
    if not isinstance(gradients, Mapping):
        kind = type(gradients).__name__
        raise ValueError(f"gradients are of type {kind}: expected a dict, as {{'y': v_y, 'x': 'v_x'}}")
    named: dict[str, tuple[str, Any]] = {}
    for key, gradient in gradients.items():
        of = expect_text("gradients", key)
        gradient, dtype = gradient if isinstance(gradient, tuple) and len(gradient) == 2 else (gradient, None)
        name = expect_text("gradients", gradient) if isinstance(gradient, str) else f"v_{of}"
        named[of] = (name, dtype)
        if isinstance(gradient, str):
            continue
        if of in arrays:
            raise ValueError(f"gradients: '{of}' is an input: expected the name of the array that backward returns")
        if name in arrays:
            raise ValueError(f"gradients: '{name}' is an input too: give the gradient of '{of}' once")
        arrays[name] = to_array("gradient", name, gradient)
        named[of] = (name, arrays[name].dtype)
    returned = [name for of, (name, _) in named.items() if of in arrays and name in arrays]
    if returned:
        raise ValueError(f"gradients: '{returned[0]}' is an input: backward returns it, and it begins as zeros")
    return arrays, named


def _given(arrays: dict[str, np.ndarray], drawn: _Drawn) -> tuple[bytes, bool]:
    return _arrays.encode(arrays, drawn.metadata()), False


def _of_manifest(
    question: str, manifest: Any, programs: list[tuple[str, Any]], inputs: Any, drawn: _Drawn
) -> Checked:
    """The question of a manifest's file."""
    path = _path("manifest", manifest)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error.reason
        raise ValueError(f"manifest: cannot read {_arrays.short(path)}: {why}") from error
    files = [_files(role, ptx, path, text) for role, ptx in programs]
    given = None
    if isinstance(inputs, (str, os.PathLike)):
        case = _path("inputs", inputs)
        try:
            given = case.read_bytes(), True
        except OSError as error:
            raise ValueError(f"inputs: cannot read {_arrays.short(case)}: {error.strerror}") from error
    elif inputs is not None or drawn.sizes is not None:
        given = _arrays.encode(arrays_of(inputs or {}), drawn.metadata()), False
    if given is not None and drawn.cases is not None:
        raise ValueError("cases: with inputs or sizes there is one case, leave it out")
    return _asked(question, text, files, given, drawn)


def _files(role: str, ptx: Any, manifest: Path, text: str) -> list[tuple[str, str]]:
    """Names and texts of a program: those that are given, or those that the manifest names."""
    if ptx is None:
        all_: list[Any] = [manifest.parent / name for name in manifest_files(text)]
        if not all_:
            raise ValueError(f"{role}: missing, and the manifest names no file: ptx = \"pair.ptx\"")
    else:
        all_ = list(ptx) if isinstance(ptx, (list, tuple)) else [ptx]
    files = []
    for number, one in enumerate(all_, 1):
        name = str(one) if isinstance(one, os.PathLike) else f"{role}-{number}.ptx"
        files.append((name, text_of(role, one)))
    return files


def _path(what: str, value: Any) -> Path:
    if not isinstance(value, (str, os.PathLike)):
        raise ValueError(f"{what} is of type {type(value).__name__}: expected a path")
    if "\0" in os.fspath(value):
        raise ValueError(f"{what}: a path has no zero byte")
    return Path(value)


def _asked(
    question: str,
    manifest: str,
    programs: list[list[tuple[str, str]]],
    given: tuple[bytes, bool] | None,
    drawn: _Drawn,
) -> Checked:
    answer = Answer((question, manifest), programs, given, drawn.count_and_seed(), drawn.orders())
    return Checked(answer, given is None)
