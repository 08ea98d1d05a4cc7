"""The pytest plugin, in runs of its own."""

import pytest

TEST = """
    import pytest, splatcheck

    @pytest.mark.splatcheck(level="raster", count=3, seed=5)
    def test_case(splat_case):
        assert splat_case.level == "raster"

    def test_usual(splat_case):
        assert splat_case.inputs
"""


def test_a_test_runs_once_for_each_case(pytester):
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess("-v", "--strict-markers")
    result.assert_outcomes(passed=23)
    result.stdout.fnmatch_lines(["*::test_case[[]raster-5-2[]]*", "*::test_usual[[]raster-0-19[]]*"])


def test_options_go_before_the_marker(pytester):
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess("-v", "--splatcheck-count", "2", "--splatcheck-seed", "9")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*::test_case[[]raster-9-1[]]*"])


def test_processes_of_xdist_share_the_cases(pytester):
    pytest.importorskip("xdist", reason="NOT EXERCISED: pytest-xdist is not installed")
    pytester.makepyfile(TEST)
    pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=23)


@pytest.mark.parametrize(
    ("marker", "words"),
    [
        ('level="rasta"', "there is no level 'rasta'"),
        ("cases=3", "marker splatcheck: cases: expected level, count"),
        ("3", "marker splatcheck: 3: expected level, count"),
        ('count="many"', "marker splatcheck: count is 'many': expected a whole number"),
    ],
)
def test_a_marker_that_cannot_be_followed_is_an_error(pytester, marker, words):
    pytester.makepyfile(TEST.replace('level="raster", count=3, seed=5', marker))
    result = pytester.runpytest_subprocess()
    assert result.ret != 0 and words in result.stdout.str() + result.stderr.str()
