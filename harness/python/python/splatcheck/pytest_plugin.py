"""The pytest plugin: a test with the fixture ``splat_case`` runs once for each case.

    @pytest.mark.splatcheck(level="raster", count=50, seed=1)
    def test_my_kernel(splat_case):
        actual = my_kernel(**splat_case.inputs)
        splatcheck.assert_gradients(actual, splat_case)

The marker takes what ``splatcheck.cases`` takes; ``--splatcheck-count`` and ``--splatcheck-seed`` go before
it. A case is a function of these options and its number, so that the processes of pytest-xdist have the
same tests and each draws only the cases of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from . import Case

_OPTIONS = ("level", "count", "seed", "generator", "corpus", "convention", "preset", "formulation")


@dataclass(frozen=True)
class _Numbered:
    """A case that is not drawn yet."""

    options: dict[str, Any]
    number: int

    def draw(self) -> Case:
        from . import cases

        return cases(**self.options)[self.number]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of the command line."""
    group = parser.getgroup("splatcheck", "cases of Gaussian splatting")
    group.addoption(
        "--splatcheck-count", type=_count, metavar="N", help="cases of each test [default: its marker's]"
    )
    group.addoption(
        "--splatcheck-seed", type=_count, metavar="S", help="seed of the cases [default: its marker's]"
    )


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
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
    from . import cases

    try:
        drawn = cases(**options)
    except (TypeError, ValueError) as error:
        where = metafunc.definition.nodeid
        raise pytest.Collector.CollectError(f"{where}: marker splatcheck: {error}") from error
    level, seed = drawn.level, options.get("seed", 0)
    metafunc.parametrize(
        "splat_case",
        [_Numbered(options, index) for index in range(len(drawn))],
        ids=[f"{level}-{seed}-{index}" for index in range(len(drawn))],
        indirect=True,
    )


def _options(metafunc: pytest.Metafunc) -> dict[str, Any]:
    marker = metafunc.definition.get_closest_marker("splatcheck")
    options: dict[str, Any] = {"count": 20}
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
    """A case: see ``splatcheck.Case``. The test runs once for each of those that its marker names.

    It is skipped, with the reason, for a case that is not for the kernel of the marker's preset.
    """
    numbered: _Numbered = request.param
    case = numbered.draw()
    if case.not_for is not None:
        pytest.skip(f"NOT EXERCISED: one of the cases {case.not_for}")
    return case
