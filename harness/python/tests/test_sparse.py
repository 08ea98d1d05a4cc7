"""The oracle of sparse convolution."""

import subprocess
import sys

import numpy as np
import pytest
import splatcheck
from splatcheck import _arrays

NAMES = ["out", "v_feats", "v_weights"]


def line() -> dict:
    """Three sites, of which two are neighbours on the last axis, with a kernel of three offsets along it."""
    return {
        "coords": np.array([[0, 5, 5, -1], [0, 5, 5, 0], [1, 5, 5, 0]], np.int32),
        "feats": np.array([[1, 2], [3, 4], [5, 6]], np.float32),
        "weights": np.array([[[1], [10]], [[100], [1000]], [[0.5], [0.25]]], np.float32),
        "v_out": np.array([[1], [2], [4]], np.float32),
        "kernel_size": (1, 1, 3),
        "stride": (1, 1, 1),
        "padding": (0, 0, 1),
        "dilation": (1, 1, 1),
        "submanifold": True,
    }


def test_a_layer_has_the_map_and_the_sums_that_follow_by_hand():
    layer = line()
    result = splatcheck.oracle(layer)
    assert set(result) == {"out_coords", "pairs", *NAMES, *(f"bound_{name}" for name in NAMES)}
    assert result["pairs"].dtype == result["out_coords"].dtype == np.int32
    # The site before (offset 0) of row 1 is row 0, and of row 0 there is none.
    assert result["pairs"].tolist() == [[0, 0, 1], [1, 0, 0], [1, 1, 1], [1, 2, 2], [2, 1, 0]]
    assert result["out_coords"].tolist() == layer["coords"].tolist()
    assert result["out"].tolist() == [[2102.5], [4321.0], [6500.0]]
    assert result["v_feats"].tolist() == [[102.0, 1020.0], [200.5, 2000.25], [400.0, 4000.0]]
    assert result["v_weights"].tolist() == [[[2.0], [4.0]], [[27.0], [34.0]], [[3.0], [4.0]]]
    for name in NAMES:
        assert result[name].dtype == np.float64, name
        bound = result[f"bound_{name}"]
        assert bound.shape == result[name].shape and (bound >= 0).all(), name


def test_it_is_what_the_command_writes(tmp_path):
    rng = np.random.default_rng(1)
    layer = line()
    layer["coords"] = np.unique(rng.integers(-3, 3, (40, 4)) % [2, 99, 99, 99], axis=0).astype(np.int64)
    layer |= {"kernel_size": [2, 2, 2], "stride": np.array([2, 2, 2]), "padding": [0, 0, 0], "submanifold": False}
    layer["out_coords"] = np.unique(layer["coords"] // [1, 2, 2, 2], axis=0)
    layer["feats"] = rng.standard_normal((len(layer["coords"]), 3)).astype(np.float32)
    layer["weights"] = rng.standard_normal((8, 3, 2)).astype(np.float32)
    layer["v_out"] = rng.standard_normal((len(layer["out_coords"]), 2)).astype(np.float32)
    arrays = {name: layer[name] for name in ("feats", "weights", "v_out")}
    arrays |= {name: layer[name].astype(np.int32) for name in ("coords", "out_coords")}
    metadata = {"kernel_size": "2,2,2", "stride": "2,2,2", "padding": "0,0,0", "dilation": "1,1,1"}
    (tmp_path / "case.safetensors").write_bytes(_arrays.encode(arrays, {"workload": "sparse", **metadata}))
    words = ["oracle", "case.safetensors", "-o", "out.safetensors", "--bounds", "--model", "ieee"]
    subprocess.run([sys.executable, "-m", "splatcheck", *words], cwd=tmp_path, check=True, capture_output=True)
    written, _ = _arrays.decode((tmp_path / "out.safetensors").read_bytes())
    result = splatcheck.oracle(layer, model="ieee")
    assert set(result) == set(written) and len(result["pairs"]) > 10
    for name, array in written.items():
        assert result[name].dtype == array.dtype and np.array_equal(result[name], array), name
    # float32 in another order lies within the bounds.
    out = np.zeros_like(result["out"], np.float32)
    for k, i, o in result["pairs"][::-1]:
        out[o] += layer["feats"][i] @ layer["weights"][k]
    assert (np.abs(out - result["out"]) <= result["bound_out"]).all()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"coords": np.zeros((3, 4), np.int32)}, ValueError, r"coords\[1\] is \[0, 0, 0, 0\]: row 0 is the same site"),
        ({"coords": np.zeros((3, 4), np.float32)}, TypeError, "coords is of type float32: expected whole numbers"),
        ({"coords": np.full((3, 4), 1 << 40)}, ValueError, "coords has a number beyond 32 bits"),
        ({"feats": np.zeros((3, 2))}, TypeError, "feats is of type float64: expected float32"),
        ({"v_out": np.zeros((2, 1), np.float32)}, ValueError, "since the output has 3 sites"),
        ({"weights": None}, TypeError, "weights"),
        ({"stride": (1, 1)}, ValueError, r"stride is \(1, 1\): give three numbers"),
        ({"padding": (0, 0, 0.5)}, ValueError, "padding is 0.5: expected a whole number"),
        ({"submanifold": "yes"}, ValueError, "submanifold is yes: expected True or False"),
        ({"strides": (1, 1, 1)}, ValueError, "'strides': remove it"),
    ],
)
def test_a_bad_layer_is_refused_by_field(change, error, words):
    with pytest.raises(error, match=words):
        splatcheck.oracle(line() | change)
    missing = line()
    del missing["dilation"]
    with pytest.raises(ValueError, match="dilation is missing"):
        splatcheck.oracle(missing)
    with pytest.raises(ValueError, match="there is no model 'gpu'"):
        splatcheck.oracle(line(), model="gpu")
