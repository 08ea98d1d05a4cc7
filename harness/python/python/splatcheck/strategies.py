"""Hypothesis strategies of cases. They need the package ``hypothesis``.

    from hypothesis import given
    from splatcheck.strategies import splat_cases

    @given(splat_cases(level="raster", generators=["lanes", "finish"]))
    def test_my_kernel(case): ...

What Hypothesis draws, stores and makes smaller is a generator, a seed and a number, of which a case is a
function: a failing example is small in its seed and number. ``splatcheck check`` and ``fuzz`` make the scene
itself smaller.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ._cases import Case, cases

#: Seeds and numbers are drawn below this.
_END = 1 << 16


def splat_cases(
    level: str | None = None,
    generators: Sequence[str | None] = (None,),
    *,
    convention: str | None = None,
    preset: str | None = None,
    formulation: str | None = None,
) -> st.SearchStrategy[Case]:
    """Cases of a level, from one of these generators; ``None`` draws as ``splatcheck check`` does. Each is for
    the preset's kernel, and has a number to compare.

    Raises:
        ValueError: an option cannot be followed.
    """
    kernel = {"preset": preset, "formulation": formulation}
    for generator in generators:
        cases(level, 0, 0, generator, None, convention, **kernel)

    def numbered(generator: str | None, seed: int, number: int) -> Case:
        return cases(level, number + 1, seed, generator, None, convention, **kernel)[number]

    numbers = st.integers(0, _END - 1)
    return st.builds(numbered, st.sampled_from(list(generators)), numbers, numbers)
