"""The strategies of Hypothesis."""

import pytest
import splatcheck

hypothesis = pytest.importorskip("hypothesis", reason="NOT EXERCISED: hypothesis is not installed")
from splatcheck.strategies import splat_cases  # noqa: E402


def test_cases_are_those_of_generator_seed_and_number():
    seen = []

    @hypothesis.settings(max_examples=20, deadline=None, database=None, derandomize=True)
    @hypothesis.given(splat_cases(generators=["lanes", None]))
    def see(case):
        seen.append(case.name)
        generator, seed, number = case.name.rsplit(".", 1)[0].rsplit("-", 2)
        # What check draws is of several generators; of these the number alone chooses.
        named = generator if generator == "lanes" else None
        again = splatcheck.cases(count=int(number) + 1, seed=int(seed), generator=named)[int(number)]
        assert again.name == case.name

    see()
    assert {name.split("-")[0] for name in seen} > {"lanes"}, seen


def test_options_that_cannot_be_followed_are_named():
    with pytest.raises(ValueError, match="there is no generator 'nobody'"):
        splat_cases(generators=["nobody"])
