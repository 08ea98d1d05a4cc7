"""The pytest plugin: a test with the fixture ``splat_case`` runs once for each case.

    @pytest.mark.splatcheck(level="raster", count=50, seed=1)
    def test_my_kernel(splat_case):
        actual = my_kernel(**splat_case.inputs)
        splatcheck.assert_gradients(actual, splat_case)

The marker takes what ``splatcheck.cases`` takes, and splatcheck's own corpus unless it names one
(``corpus=None``: none); ``--splatcheck-count`` and ``--splatcheck-seed`` override it. A case is a
function of these options and its number, so that the processes of pytest-xdist have the same tests and each
draws only the cases of its own. No test is made of a case by which nothing is judged: those of a corpus that
are not for the marker's preset are counted at the end of the run, and where more than half of what was asked
for would be missing, or all, the marker is an error. A file of the corpus that cannot be read is a test that fails.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from . import Case, Cases

_OPTIONS = (
    "level",
    "count",
    "seed",
    "generator",
    "corpus",
    "convention",
    "preset",
    "formulation",
    "constants",
)


#: What was left out, by the marker's test.
_LEFT_OUT: pytest.StashKey[dict[str, dict[str, int]]] = pytest.StashKey()
#: Under which name a process of pytest-xdist hands it on.
_HANDED_ON = "splatcheck_left_out"


@dataclass(frozen=True)
class _Numbered:
    """A case that is not drawn yet."""

    drawn: Cases
    number: int


@dataclass(frozen=True)
class _Unread:
    """A file of the corpus that is no case: a test that fails, beside those of the others."""

    why: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of the command line."""
    group = parser.getgroup("splatcheck", "cases of Gaussian splatting")
    group.addoption(
        "--splatcheck-count", type=_count, metavar="N", help="cases of each test [default: its marker's]"
    )
    group.addoption(
        "--splatcheck-seed", type=_seed, metavar="S", help="seed of the cases [default: its marker's]"
    )


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number, 0 or more")
    return int(text)


def _count(text: str) -> int:
    if _seed(text) == 0:
        raise argparse.ArgumentTypeError("0 cases judge nothing: expected 1 or more")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.stash[_LEFT_OUT] = {}
    config.addinivalue_line(
        "markers",
        "splatcheck(level='raster', count=20, seed=0, ...): the cases of the fixture splat_case, as "
        "splatcheck.cases takes them",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes a test of each case."""
    if "splat_case" not in metafunc.fixturenames:
        return
    options = _options(metafunc)
    where = metafunc.definition.nodeid
    try:
        drawn, numbers = _judged(options)
    except (TypeError, ValueError) as error:
        raise pytest.Collector.CollectError(f"{where}: marker splatcheck: {error}") from error
    filed = len(drawn) - options["count"]
    not_for = (drawn[number]._native.not_for for number in range(filed))
    metafunc.config.stash[_LEFT_OUT][where] = dict(Counter(why for why in not_for if why is not None))
    level, seed = drawn.level, options.get("seed", 0)
    tests = [
        (_Numbered(drawn, i), f"{level}-{drawn[i].name}" if i < filed else f"{level}-{seed}-{i - filed}")
        for i in numbers
    ]
    if drawn.unread is not None:
        tests.append((_Unread(drawn.unread), f"{level}-unread"))
    params, ids = zip(*tests, strict=True)
    metafunc.parametrize("splat_case", params, ids=ids, indirect=True)


def _judged(options: dict[str, Any]) -> tuple[Cases, list[int]]:
    """The cases, and the numbers of those by which something is judged.

    Raises:
        ValueError: they are too few; an option cannot be followed.
    """
    from . import cases

    drawn = cases(**options)
    numbers = drawn._judged
    if not numbers:
        raise ValueError(f"there is no case to judge by, of {len(drawn)}")
    if 2 * len(numbers) < drawn._asked:
        raise ValueError(f"too few cases are for the kernel, {len(numbers)} of the {drawn._asked} asked for")
    # Whether its generators have any.
    drawn[numbers[-1]]
    return drawn, numbers


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands on what was left out, where this is a process of pytest-xdist: another one writes the summary."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_HANDED_ON] = session.config.stash[_LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object | None) -> None:
    """Takes what a process of pytest-xdist left out; every one of them made the same tests."""
    node.config.stash[_LEFT_OUT].update(getattr(node, "workeroutput", {}).get(_HANDED_ON, {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Says which cases of a corpus were not for a test's kernel."""
    for where, left_out in config.stash[_LEFT_OUT].items():
        for why, count in sorted(left_out.items()):
            cases = "case" if count == 1 else "cases"
            terminalreporter.write_line(f"splatcheck: NOT EXERCISED: {where}: {count} {cases} {why}")


def _options(metafunc: pytest.Metafunc) -> dict[str, Any]:
    marker = metafunc.definition.get_closest_marker("splatcheck")
    from ._cases import OWN_CORPUS

    options: dict[str, Any] = {"count": 20, "corpus": OWN_CORPUS}
    if marker is not None:
        options.update(marker.kwargs)
        if marker.args or set(options) - set(_OPTIONS):
            wrong = ", ".join(map(repr, marker.args)) or ", ".join(set(options) - set(_OPTIONS))
            expected = ", ".join(_OPTIONS)
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid}: marker splatcheck: {wrong}: expected {expected}, by keyword"
            )
    for name in ("count", "seed"):
        given = metafunc.config.getoption(f"splatcheck_{name}")
        if given is not None:
            options[name] = given
    return options


@pytest.fixture
def splat_case(request: pytest.FixtureRequest) -> Case:
    """A case: see ``splatcheck.Case``. The test runs once for each of those that its marker names."""
    param: _Numbered | _Unread = request.param
    if isinstance(param, _Unread):
        pytest.fail(param.why, pytrace=False)
    return param.drawn[param.number]
