"""A kernel on many cases."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ._cases import OWN_CORPUS, Case, Cases, draw, expect_model
from ._judging import checked, diagnose, judge, message
from ._layouts import CONTIGUOUS, LAYOUTS, lay_out
from ._native import Judged, Total

#: What :func:`check` calls: see there.
Kernel = Callable[..., Mapping[str, Any]]

#: What a kernel raises that is its failure: it may not end the process that judges it.
_FAILURES = (Exception, SystemExit, GeneratorExit)
#: Findings that are shown, with a diagnosis of each.
_SHOWN = 3
#: Findings after which no more cases are run: more of the same say nothing new.
_ENOUGH = 20


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a kernel on one case."""

    case: Case
    """The case; ``case.save("case.safetensors")`` keeps it."""
    kind: str
    """``outside bounds``, ``bad output``, ``raised``, ``changed its input``, ``layout`` (wrong only where
    inputs are not contiguous) or ``wrong later`` (wrong when called again)."""
    message: str
    """What was wrong, in words: the tensor, what was expected."""
    error: BaseException | None = None
    """What the kernel raised, where it did."""
    outputs: Mapping[str, Any] | None = field(default=None, repr=False)
    """What the kernel returned, where it lies outside its bounds."""

    def __str__(self) -> str:
        return f"case {self.case.name}: {self.message}"


@dataclass
class Result:
    """What :func:`check` found. True if nothing is wrong and something was judged."""

    level: str
    """The level of the cases."""
    model: str
    """The arithmetic that the kernel promised."""
    asked: int = 0
    """Cases that were asked for: ``count`` and those of the corpus."""
    cases: int = 0
    """Cases that the kernel was called with."""
    judged: int = 0
    """Cases of which an element was compared."""
    elements: int = 0
    """Elements of outputs that were compared."""
    disagree: int = 0
    """Elements outside their bounds."""
    inconclusive: int = 0
    """Elements whose bound is infinite: nothing can be said of them."""
    not_compared: int = 0
    """Elements of what rounding decides whether it is there."""
    largest_ratio: float = 0.0
    """The largest error / bound of the elements within theirs."""
    findings: list[Finding] = field(default_factory=list)
    """What is wrong, at most one finding a case."""
    notes: list[str] = field(default_factory=list)
    """What should be known beside it, as that float64 was rounded, or which outputs were not compared."""
    unread: str | None = None
    """Which files of the corpus could not be read, and why."""
    _total: Total = field(default_factory=Total, init=False, repr=False, compare=False)

    @property
    def gap(self) -> str | None:
        """Why agreement would be no pass: outputs on which a kernel that does nothing would agree, or without a finite
        bound. ``None`` where it is one."""
        return self._total.gap

    @property
    def verdict(self) -> str:
        """``agree``, ``disagree``, ``inconclusive`` or ``not exercised``: fewer than half of the cases that
        were asked for were judged, or none, a file of the corpus could not be read, or there is a :attr:`gap`."""
        if self.findings:
            return "disagree"
        if not self.elements or 2 * self.judged < self.asked or self.unread or self.gap:
            return "not exercised"
        return "inconclusive" if self.inconclusive else "agree"

    def __bool__(self) -> bool:
        return self.verdict in ("agree", "inconclusive")

    def raise_for_findings(self) -> None:
        """Raises what was found, and what the kernel raised first as its cause.

        Raises:
            AssertionError: there are findings, or nothing was judged.
        """
        __tracebackhide__ = True
        if not self:
            cause = next((finding.error for finding in self.findings if finding.error), None)
            raise AssertionError(str(self)) from cause

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [str(finding) for finding in self.findings[:_SHOWN]]
        if len(self.findings) > _SHOWN:
            lines.append(f"... and {_counted(len(self.findings) - _SHOWN, 'more finding')}")
        notes = [f"NOT JUDGED: {self.unread}"] if self.unread and self.findings else []
        return "\n".join(lines + [f"Note: {note}" for note in notes + self.notes])

    def _headline(self) -> str:
        subject = f"level {self.level}, model {self.model}"
        few = self.judged < self.asked
        cases = f"{self.judged} of the {_counted(self.asked, 'case')} asked for"
        match self.verdict:
            case "agree":
                judged = cases if few else _counted(self.judged, "case")
                ratio = f"largest error / bound {self.largest_ratio:.3g}"
                return f"agree: {judged}, {_counted(self.elements, 'element')}, {ratio} ({subject})"
            case "inconclusive":
                what = f"{self.inconclusive} of {_counted(self.elements, 'element')} without a finite bound"
                judged = f", in {cases}" if few else ""
                return f"inconclusive: {what}, all others agree{judged} ({subject})"
            case "disagree":
                bad = len(self.findings)
                return f"disagree: the kernel is wrong in {bad} of {_counted(self.cases, 'case')} ({subject})"
            case _:
                what = f"too few were judged, {cases}" if self.elements else "no element was compared"
                if self.elements and 2 * self.judged >= self.asked:
                    what = f"no other case is wrong, but {self.unread}" if self.unread else f"{self.gap}"
                return f"not exercised: {what} ({subject})"


def _counted(count: int, one: str) -> str:
    """A number of things, as ``1 case`` and ``2 cases``."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def check(
    fn: Kernel,
    level: str | None = None,
    count: int = 100,
    seed: int = 0,
    *,
    preset: str | None = None,
    model: str | None = None,
    formulation: str | None = None,
    extra_roundings: int | None = None,
    convention: str | None = None,
    generator: str | Sequence[str] | None = None,
    corpus: str | os.PathLike[str] | None = OWN_CORPUS,
    constants: Mapping[str, int | str] | None = None,
    layouts: bool = True,
) -> Result:
    """Calls a kernel with cases and judges what it returns.

    The inputs of a case are, in turn, contiguous, have gaps between their elements, or begin inside a larger
    array; the gaps hold NaN. A kernel that raises there twice, and is right with contiguous inputs, takes no
    others, which is a note; one that returns something wrong, or raises once, is a finding. At the end the
    first case comes once more: a kernel that is right once and wrong later adds to what it returned before,
    or keeps a state.

    Args:
        fn: the kernel. It is called ``fn(inputs, metadata)`` with a dict of arrays and one of numbers, or,
            where its parameters have such names, by keyword: ``fn(means2d, conics, width, ...)`` (all
            inputs and numbers where it has ``**kwargs``). It returns a dict of arrays with the level's
            outputs: see :class:`Case`. What it may return is in :func:`assert_gradients`.
        level, count, seed, preset, convention, generator, corpus, constants: see :func:`cases`. ``count`` cases
            are drawn and judged, beside those that come with splatcheck (``corpus=None`` leaves these out, a folder
            takes their place). What of a corpus is not for the preset's kernel is counted in the notes.
        formulation: see :func:`cases`; or ``any``, the first that all results agree under. Where the kernel
            disagrees, the notes say under which others it agrees, at level raster; one that raises is tried
            where it gets what it may lack (``checkpoints``, under ``fastgs``).
        model, extra_roundings: see :func:`assert_gradients`.
        layouts: False for contiguous inputs alone.

    Returns:
        the verdict, with a finding for each case on which the kernel is wrong, raised, returned something
        else, or changed its inputs. After 20 findings no more cases are run. A kernel that ends the
        process (``SystemExit``) raised; ``KeyboardInterrupt`` is yours, and passes.

    Raises:
        ValueError: an option cannot be followed.
        TypeError: ``fn`` cannot be called.
    """
    if not callable(fn):
        raise TypeError(f"fn is of type {type(fn).__name__}: expected a function")
    if model is not None:
        expect_model(model)
    asked = None if formulation == "any" else formulation
    drawn = draw((level, preset, constants), count, (seed, generator), corpus, convention, (asked, extra_roundings))
    if formulation == "any" and drawn.level != "raster":
        raise ValueError(f"formulation is 'any': level {drawn.level} has no formulations")
    kernel = _Kernel(fn, expect_model(model, drawn.model), layouts, (None, None))
    result = _all(kernel, drawn)
    tried = _others(kernel, drawn, result, (formulation == "any", extra_roundings))
    agreeing = [(one.words, one.result) for one in tried if one.result is not None]
    if formulation == "any" and agreeing:
        words, result = agreeing[0]
        result.notes.append(f"formulation: {words}")
    elif agreeing:
        others = "; under ".join(words for words, _ in agreeing)
        result.notes.append(f"formulation: agrees under {others}")
        first = f"Looks like: another formulation: agrees on all cases under {others}\n"
        result.findings = [replace(one, message=first + one.message) for one in result.findings]
    elif tried and all(one.more for one in tried):
        names, more = (" and ".join(all) for all in ([one.words for one in tried], tried[0].more))
        result.notes.append(f"formulation: does not agree under {names} either, given {more}")
    elif tried:
        result.notes.append(f"formulation: none of the {len(tried)} others agrees either")
    return result


@dataclass(frozen=True)
class _Kernel:
    """A kernel and by what it is judged."""

    fn: Kernel
    model: str
    layouts: bool
    expression: tuple[str | None, int | None]
    """A formulation and extra roundings, in place of the cases' own."""


def _all(kernel: _Kernel, drawn: Cases) -> Result:
    """Calls the kernel with all cases."""
    result = Result(drawn.level, kernel.model, drawn._asked, unread=drawn.unread)
    left_out: Counter[str] = Counter()
    first = None
    for index in range(len(drawn)):
        case = drawn[index]._judged_in(*kernel.expression)
        why = case._native.not_for
        if why is not None:
            left_out[why] += 1
            continue
        layout = LAYOUTS[result.cases % len(LAYOUTS)] if kernel.layouts else CONTIGUOUS
        judged, found = _one(kernel, case, layout, result)
        found = _excused(found, result)
        if found is not None or not case._native.empty:
            result.cases += 1
        if found is not None:
            result.findings.append(found)
        elif judged is not None and judged.elements + judged.zeros > 0:
            # Only of a case on which it was right can it be said that it is wrong later.
            first = first or case
        if len(result.findings) == _ENOUGH:
            result.notes.append(f"stopped after {_ENOUGH} findings")
            break
    else:
        if first is not None:
            _again(kernel, first, result)
    notes = [f"{_counted(number, 'case')} {why}" for why, number in sorted(left_out.items())]
    result.notes += [f"NOT EXERCISED: {note}" for note in notes + result._total.not_judged]
    return result


@dataclass(frozen=True)
class _Tried:
    """A formulation that was tried."""

    words: str
    """The formulation, in words."""
    more: list[str]
    """Inputs that a kernel has there alone."""
    result: Result | None
    """That of all cases, where the kernel agrees."""


def _others(
    kernel: _Kernel, drawn: Cases, result: Result, asked: tuple[bool, int | None]
) -> list[_Tried]:
    """The other formulations that may explain what was found, and whether the kernel agrees under them.

    What was found is judged first: it is little, and tells most of them. A kernel that raised on every case may
    have looked for an input that another formulation gives.
    """
    accepts_any, extra_roundings = asked
    explained = {"outside bounds", "bad output", "raised"}
    if not result.findings or any(one.kind not in explained for one in result.findings):
        return []
    differ = all(one.outputs is not None for one in result.findings)
    if not differ and (result.elements or any(one.kind != "raised" for one in result.findings)):
        # What is not given is missed every time, and whoever misses it raises.
        return []
    tried: list[_Tried] = []
    groups = result.findings[0].case._native.formulations()
    # The last group has terms of less precision: who asks for any does not accept them.
    for group in groups[:-1] if accepts_any or not differ else groups:
        for name, words, more in group:
            if not differ and not more:
                continue
            other = replace(kernel, expression=(name, extra_roundings))
            right = all(_explained(other, one, bool(more)) for one in result.findings)
            agrees = _all(other, drawn) if right else None
            tried.append(_Tried(words, more, agrees or None))
        if any(one.result is not None for one in tried):
            break
    return tried


def _explained(kernel: _Kernel, finding: Finding, gives_more: bool) -> bool:
    """Whether nothing is wrong in the kernel's expression with what was found."""
    case = finding.case._judged_in(*kernel.expression)
    if finding.outputs is None or gives_more:
        return _run(kernel, case, CONTIGUOUS, Result(case.level, kernel.model))[1] is None
    return judge(finding.outputs, case, kernel.model, []).verdict != "disagree"


def _again(kernel: _Kernel, case: Case, result: Result) -> None:
    """Calls the kernel once more with the first case on which it was right."""
    _, found = _run(kernel, case, CONTIGUOUS, result)
    found = _excused(found, result)
    if found is not None:
        words = f"right at first, wrong when called again with the same case: {found.message}"
        result.findings.append(Finding(case, "wrong later", words, found.error))


def _one(
    kernel: _Kernel, case: Case, layout: str, result: Result
) -> tuple[Judged | None, Finding | None]:
    """Calls the kernel with a case, and where it is wrong with contiguous inputs; what its outputs came to, and what
    is wrong."""
    judged, found = _run(kernel, case, layout, result)
    if found is not None and layout != CONTIGUOUS:
        plain, plain_found = _run(kernel, case, CONTIGUOUS, result)
        if plain_found is not None:
            judged, found = plain, plain_found
        elif _run(kernel, case, layout, result)[1] is None:
            # It is not the layout: the kernel fails now and then.
            words = f"wrong once, right when called again with the same case: {found.message}"
            found = replace(found, message=words)
        elif found.kind == "raised":
            _note(result, f"the kernel raises {type(found.error).__name__} for inputs {layout}: not judged")
            judged, found = plain, None
        else:
            words = f"right with contiguous inputs, wrong with inputs {layout}: {found.message}"
            found = Finding(case, "layout", words, found.error)
    if judged is not None:
        result._total.add(judged)
        result.judged += judged.elements + judged.zeros > 0
        result.elements += judged.elements
        result.disagree += judged.disagree
        result.inconclusive += judged.inconclusive
        result.not_compared += judged.not_compared
        result.largest_ratio = max(result.largest_ratio, judged.largest_ratio)
    return judged, found


def _excused(found: Finding | None, result: Result) -> Finding | None:
    """What is wrong: in a scene without Gaussians automatic differentiation may have no gradient to give, and
    raises, which is a note."""
    if found is None or found.kind != "raised" or not isinstance(found.error, Exception):
        return found
    if found.case._native.has_gaussians:
        return found
    _note(result, f"the kernel raises {type(found.error).__name__} where there is no Gaussian: not judged")
    return None


def _note(result: Result, note: str) -> None:
    if note not in result.notes:
        result.notes.append(note)


def _run(
    kernel: _Kernel, case: Case, layout: str, result: Result
) -> tuple[Judged | None, Finding | None]:
    """Calls the kernel with a case in a layout; what its outputs came to, and what is wrong."""
    laid = {name: lay_out(array, layout) for name, array in case._fresh().items()}
    before = {name: memory.tobytes() for name, (_, memory) in laid.items()}
    try:
        actual = _called(kernel, case, {name: array for name, (array, _) in laid.items()})
    except _FAILURES as error:
        kind = type(error).__name__
        return None, Finding(case, "raised", f"the kernel raised {kind}: {error}", error)
    for name, (_, memory) in laid.items():
        if memory.tobytes() != before[name]:
            return None, Finding(case, "changed its input", f"the kernel changed its input '{name}'")
    try:
        judged = judge(actual, case, kernel.model, result.notes)
    except (TypeError, ValueError) as error:
        return None, Finding(case, "bad output", str(error), error)
    if judged.verdict == "disagree":
        # The kernel may return the same memory again.
        outputs = {name: array.copy() for name, array in checked(actual, case, []).items()}
        # Those that are shown: see Result.__str__.
        shown = len(result.findings) < _SHOWN
        found = _diagnosed(kernel, case, outputs) if shown else []
        words = message(judged, case, kernel.model, [], found)
        return judged, Finding(case, "outside bounds", words, outputs=outputs)
    return judged, None


def _called(kernel: _Kernel, case: Case, arrays: dict[str, Any]) -> Any:
    """What the kernel returns, which may take arrays out of the dict that it gets, or put others in."""
    arguments, keywords = _arguments(
        kernel.fn, arrays | dict.fromkeys(case._nulls), dict(case.metadata)
    )
    return kernel.fn(*arguments, **keywords)


def _diagnosed(kernel: _Kernel, case: Case, outputs: dict[str, Any]) -> list[str]:
    """What the kernel may have got wrong: it is called again, since it may have added to what it had left."""
    try:
        again = _called(kernel, case, case._fresh())
        found = diagnose(again, case, kernel.model, outputs)
    except _FAILURES:
        # What the kernel does then is no finding of this call.
        found = []
    return found or diagnose(outputs, case, kernel.model)


def _arguments(
    fn: Kernel, inputs: dict[str, Any], metadata: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """By keyword, where the parameters have the names of inputs and numbers; else inputs and metadata."""
    known = {**metadata, **inputs, "metadata": metadata}
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return (inputs, metadata), {}
    if any(p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) for p in parameters):
        return (inputs, metadata), {}
    rest = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
    if not all(p.name in known or p.default is not p.empty for p in named):
        return (inputs, metadata), {}
    if rest:
        own = {"metadata": metadata} if any(p.name == "metadata" for p in named) else {}
        return (), {**metadata, **inputs, **own}
    if any(p.name in inputs for p in named):
        return (), {p.name: known[p.name] for p in named if p.name in known}
    return (inputs, metadata), {}
