"""The pytest plugin, in runs of its own."""

import shutil
from pathlib import Path

import pytest
import splatcheck

TEST = """
    import pytest, splatcheck

    @pytest.mark.splatcheck(level="raster", count=3, seed=5, corpus=None)
    def test_case(splat_case):
        assert splat_case.level == "raster"

    def test_usual(splat_case):
        assert splat_case.inputs
"""

CORPUS = Path(__file__).parents[3] / "corpora/splat"
EXAMPLES = Path(__file__).parents[1] / "examples"
#: Those of splatcheck's own corpus by which something is judged.
OWN = len(list(splatcheck.cases(count=0, corpus="built-in")))


def test_a_test_runs_once_for_each_case(pytester):
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess("-v", "--strict-markers")
    result.assert_outcomes(passed=23 + OWN)
    result.stdout.fnmatch_lines(["*::test_usual[[]raster-tile-corner.0[]]*"])
    result.stdout.fnmatch_lines(["*::test_case[[]raster-5-2[]]*", "*::test_usual[[]raster-0-19[]]*"])


def test_a_file_that_is_no_case_is_a_test_that_fails(pytester):
    shutil.copy(CORPUS / "one-pixel.toml", pytester.path)
    (pytester.path / "half.toml").write_text("purpose = ")
    pytester.makepyfile(TEST.replace("corpus=None", 'corpus="."').split("def test_usual")[0])
    result = pytester.runpytest_subprocess("-v")
    result.assert_outcomes(passed=4, errors=1)
    result.stdout.fnmatch_lines(["*::test_case[[]raster-unread[]] ERROR*", "*1 of 2 files*half.toml*"])


def test_options_go_before_the_marker(pytester):
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess("-v", "--splatcheck-count", "2", "--splatcheck-seed", "9")
    result.assert_outcomes(passed=4 + OWN)
    result.stdout.fnmatch_lines(["*::test_case[[]raster-9-1[]]*"])


def test_processes_of_xdist_share_the_cases(pytester):
    pytest.importorskip("xdist", reason="NOT EXERCISED: pytest-xdist is not installed")
    pytester.makepyfile(TEST)
    pytester.runpytest_subprocess("-n", "2").assert_outcomes(passed=23 + OWN)


@pytest.mark.parametrize(
    ("marker", "words"),
    [
        ('level="rasta"', "there is no level 'rasta'"),
        ("cases=3", "marker splatcheck: cases: expected level, count"),
        ("3", "marker splatcheck: 3: expected level, count"),
        ('count="many"', "marker splatcheck: count is 'many': expected a whole number"),
        ("count=0, corpus=None", "marker splatcheck: there is no case to judge by"),
        ('preset="brush", corpus="."', "marker splatcheck: too few cases are for the kernel, 1 of the 4 asked for"),
    ],
)
def test_a_marker_that_cannot_be_followed_is_an_error(pytester, marker, words):
    for name in ("channels-1", "channels-2", "channels-5", "tile-corner"):
        shutil.copy(CORPUS / f"{name}.toml", pytester.path)
    marker = f"count=0, {marker}" if 'corpus="."' in marker else marker
    pytester.makepyfile(TEST.replace('level="raster", count=3, seed=5, corpus=None', marker))
    result = pytester.runpytest_subprocess()
    assert result.ret != 0 and words in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("count", ["0", "-1", "some"])
def test_a_number_of_cases_that_judges_nothing_is_an_error_of_usage(pytester, count):
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess("--splatcheck-count", count)
    assert result.ret == pytest.ExitCode.USAGE_ERROR, result.ret
    assert "--splatcheck-count" in result.stderr.str(), result.stderr


def test_a_wrong_clamp_is_found_by_few_cases(pytester):
    pytester.makepyfile(
        f"""
import sys
import numpy as np, pytest, splatcheck

sys.path.insert(0, {str(EXAMPLES)!r})
from my_kernel import rasterize_backward

@pytest.mark.splatcheck(count=10)
@pytest.mark.parametrize("alpha_max", [None, 0.999])
def test_clamp(splat_case, alpha_max):
    own = {{}} if alpha_max is None else {{"alpha_max": np.float32(alpha_max)}}
    outputs = rasterize_backward(splat_case.inputs, splat_case.metadata | own)
    splatcheck.assert_gradients(outputs, splat_case)
"""
    )
    result = pytester.runpytest_subprocess("-rf")
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] > 0 and outcomes["passed"] + outcomes["failed"] == 2 * (OWN + 10), outcomes
    failed = [line for line in result.outlines if line.startswith("FAILED ")]
    assert failed and all("0.999" in line for line in failed), failed


@pytest.mark.parametrize("processes", [0, 2])
def test_what_of_a_corpus_is_not_for_the_kernel_is_said(pytester, processes):
    if processes:
        pytest.importorskip("xdist", reason="NOT EXERCISED: pytest-xdist is not installed")
    for name in ("channels-1", "tile-corner", "two-cameras"):
        shutil.copy(CORPUS / f"{name}.toml", pytester.path)
    pytester.makepyfile(
        """
import pytest

@pytest.mark.splatcheck(preset="inria", level="raster", count=2, corpus=".")
def test_case(splat_case):
    assert splat_case.not_for is None
"""
    )
    result = pytester.runpytest_subprocess(*(["-n", str(processes)] if processes else []))
    result.assert_outcomes(passed=5)
    said = [line for line in result.outlines if line.startswith("splatcheck: NOT EXERCISED: ")]
    assert len(said) == 1 and said[0].endswith("::test_case: 1 case with another number of channels than 3"), said
