"""Kernels of stages of other workloads: arrays are the stage's own, and constants say what they are made for."""

import numpy as np
import pytest
import splatcheck

f32 = np.float32


def scatter(keys, values, initial):
    sums = initial.copy()
    np.add.at(sums, keys[keys >= 0], values[keys >= 0])
    return {"sums": sums}


def harmonics(dirs, coeffs):
    """Degrees 0 and 1."""
    x, y, z = (dirs / np.sqrt((dirs * dirs).sum(-1, keepdims=True))).T
    c = f32(0.48860251190292)
    basis = np.stack([np.full_like(x, 0.2820947917738781), -c * y, c * z, -c * x])
    return {"colors": np.einsum("kn,nkc->nc", basis, coeffs).astype(f32)}


def cell(positions, scales):
    """Of each point on each level the lower vertex and the fraction, for cells about half integers."""
    at = positions[:, None, :] * scales[None, :, None] + f32(0.5)
    lower = np.floor(at)
    return lower.astype(np.int64), at - lower


def grid_forward(positions, table, scales, resolutions, offsets):
    """Points of a line, linear, prime hash: the hash of one coordinate is itself."""
    lower, fraction = cell(positions, scales)
    features = np.zeros((*lower.shape[:2], table.shape[1]), f32)
    for level, (first, end) in enumerate(zip(offsets[:-1], offsets[1:])):
        for side in (0, 1):
            vertex = (lower[:, level, 0] + side) & 0xFFFFFFFF
            weight = fraction[:, level, 0] if side else 1 - fraction[:, level, 0]
            features[:, level] += weight[:, None] * table[first + vertex % (end - first)]
    return {"features": features}


LINE = {
    "d": 1,
    "lattice": "cubic",
    "interpolation": "linear",
    "hash": "prime",
    "position_offset": "half",
    "right_corner": "floor-plus-one",
    "outside": "wraps",
}


@pytest.mark.parametrize(
    ("kernel", "level", "constants"),
    [
        (scatter, "scatter", None),
        (harmonics, "spherical_harmonics", {"K": 4}),
        (grid_forward, "grid_forward", LINE),
    ],
)
def test_right_kernels_agree(kernel, level, constants):
    result = splatcheck.check(kernel, level, count=20, constants=constants)
    assert result and result.verdict == "agree" and result.elements > 0, result
    assert result.judged >= 20, result


def test_wrong_kernels_are_found_and_named():
    def from_zero(keys, values, initial):
        return scatter(keys, values, np.zeros_like(initial))

    result = splatcheck.check(from_zero, "scatter", count=20)
    assert result.verdict == "disagree", result
    assert "what the rows held before is lost" in str(result), result

    def backwards(dirs, coeffs):
        return harmonics(-dirs, coeffs)

    result = splatcheck.check(backwards, "spherical_harmonics", count=10, constants={"K": 4})
    assert result.verdict == "disagree", result
    assert "directions are taken from the Gaussian to the camera" in str(result), result

    def whole_cells(positions, **inputs):
        return grid_forward(positions - f32(0.5) / inputs["scales"].max(), **inputs)

    result = splatcheck.check(whole_cells, "grid_forward", count=10, constants=LINE)
    assert result.verdict == "disagree", result


def test_cases_have_the_constants_that_are_built_in():
    for case in splatcheck.cases("grid_backward", count=5, constants={"d": 3, "F": 2}):
        assert case.inputs["positions"].shape[1] == 3 and case.inputs["v_features"].shape[2] == 2
        assert case.outputs["v_table"] == (case.metadata["entries"], 2), case
    for constants, words in [
        ({"d": 7}, "expected 1 to 4"),
        ({"D": 3}, "there are lattice"),
        ({"hash": "xor"}, "expected 'prime' or 'rolling'"),
    ]:
        with pytest.raises(ValueError, match=words):
            splatcheck.cases("grid_backward", count=1, constants=constants)
    with pytest.raises(ValueError, match="there is no level 'grids': expected one of raster"):
        splatcheck.cases("grids")
    assert set(splatcheck.STAGES).isdisjoint(splatcheck.LEVELS)
    assert all(splatcheck.cases(stage, count=1).level == stage for stage in splatcheck.STAGES)


def test_the_oracle_has_values_and_bounds_of_every_stage():
    for stage in splatcheck.STAGES:
        case = splatcheck.cases(stage, count=1, seed=3)[0]
        numbers = splatcheck.oracle(case)
        for name, shape in case.outputs.items():
            assert numbers[name].shape == numbers[f"bound_{name}"].shape == shape, (stage, name)
