"""Cases and the oracle."""

import sys
from pathlib import Path

import numpy as np
import pytest
import splatcheck

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from my_kernel import rasterize_backward  # noqa: E402

SHAPES = {
    "raster": ["means2d", "conics", "flatten_ids", "v_render_colors", "last_ids"],
    "project": ["means", "quats", "scales", "viewmats"],
    "project-backward": ["means", "v_means2d"],
    "full": ["means", "Ks", "v_render_colors"],
}


@pytest.mark.parametrize("level", splatcheck.LEVELS)
def test_every_level_has_inputs_and_an_oracle_that_agrees(level):
    for case in splatcheck.cases(level, count=6):
        assert case.level == level
        assert set(SHAPES[level]) <= set(case.inputs), case.inputs.keys()
        for name, array in case.inputs.items():
            assert array.dtype in (np.float32, np.int32), name
            assert array.flags.writeable and array.flags.c_contiguous, name
        numbers = splatcheck.oracle(case)
        for name, shape in case.outputs.items():
            assert numbers[name].dtype == np.float64 and numbers[name].shape == shape, name
            assert numbers[f"bound_{name}"].shape == shape and (numbers[f"bound_{name}"] >= 0).all()
        actual = {name: numbers[name].astype(np.float32) for name in case.outputs}
        if level == "project":
            actual["visible"] = actual["visible"].astype(bool)
        splatcheck.assert_gradients(actual, case)


def test_metadata_are_numbers():
    meta = splatcheck.cases(count=1)[0].metadata
    assert all(type(meta[key]) is int for key in ("width", "height", "tile_size")), meta
    assert all(type(meta[key]) is np.float32 for key in ("alpha_max", "alpha_min", "pixel_center")), meta
    assert meta["level"] == "raster" and meta["formulation"] == "behind", meta


def test_a_case_is_a_function_of_seed_and_number():
    one, other = splatcheck.cases(count=9, seed=3), splatcheck.cases(count=4, seed=3)
    for name, array in one[2].inputs.items():
        np.testing.assert_array_equal(array, other[2].inputs[name])
    assert one[2].name == other[2].name == one[-7].name
    assert one[2].name != splatcheck.cases(count=9, seed=4)[2].name
    assert len(one) == len(list(one)) == 9 and len(one[2:4]) == 2
    with pytest.raises(IndexError):
        one[9]


def test_what_is_drawn_has_a_number_to_compare():
    for generator in (None, "lengths", "typical"):
        cases = splatcheck.cases(count=60, generator=generator)
        assert all(len(case.inputs["means2d"]) > 0 for case in (cases[i] for i in range(60))), generator
        assert len(list(cases)) == len(cases) == 60


def test_generators_conventions_formulations_and_corpora():
    drawn = splatcheck.cases(count=3, generator="lanes", convention="gsplat")
    assert [case.name.startswith("lanes-0-") for case in drawn] == [True] * 3
    for name in ("gsplat-1.5", "brush", "slang", "fastgs", "buffer,final_t=stored"):
        again = splatcheck.cases(count=1, formulation=name)[0].formulation
        assert splatcheck.cases(count=1, formulation=again)[0].formulation == again, name
    assert "checkpoints" in splatcheck.cases(count=1, formulation="fastgs")[0].inputs
    assert drawn[0].formulation == "3dgs" and splatcheck.cases("full", 1)[0].formulation is None


def test_a_saved_case_is_read_again(tmp_path):
    case = splatcheck.cases(count=1, seed=5)[0]
    case.save(tmp_path / "kept.safetensors")
    with pytest.raises(ValueError, match="must end with .safetensors"):
        case.save(tmp_path / "kept.txt")
    with pytest.raises(ValueError, match="/nowhere"):
        case.save("/nowhere/kept.safetensors")
    again = splatcheck.cases(count=0, corpus=tmp_path)
    assert again[0].name.startswith("kept.")
    np.testing.assert_array_equal(again[0].inputs["flatten_ids"].shape, case.inputs["flatten_ids"].shape)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": "rasta"}, "there is no level 'rasta'"),
        ({"generator": "nobody"}, "there is no generator 'nobody': expected one of"),
        ({"convention": "mine"}, "there is no convention 'mine': expected inria or gsplat"),
        ({"formulation": "mine"}, "mine"),
        ({"level": "full", "formulation": "any"}, "formulation is 'any': "),
        ({"level": "full", "formulation": "brush"}, "level full has no formulation"),
        ({"corpus": "/nowhere"}, "/nowhere"),
        ({"count": -1}, "count is -1: expected a whole number, 0 or more"),
        ({"count": 2.5}, "count is 2.5: expected a whole number"),
        ({"seed": 1 << 64}, "expected a number below"),
        ({"seed": -1}, "seed is -1: expected a whole number"),
    ],
)
def test_options_that_cannot_be_followed_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        splatcheck.cases(**options)
    with pytest.raises(ValueError, match=words):
        splatcheck.check(lambda x, m: {}, **options)


def test_another_model_or_formulation_judges_by_other_bounds():
    case = splatcheck.cases(count=1)[0]
    with pytest.raises(ValueError, match="there is no model 'gpu': expected one of"):
        splatcheck.oracle(case, model="gpu")
    with pytest.raises(ValueError, match="there is no model 'gpu': expected one of"):
        splatcheck.check(lambda x, m: {}, model="gpu")
    with pytest.raises(ValueError, match="there is no model 'gpu': expected one of"):
        splatcheck.assert_gradients({}, case, model="gpu")
    for wrong in (lambda: splatcheck.oracle("x"), lambda: splatcheck.assert_gradients({}, None)):
        with pytest.raises(TypeError, match="case is of type"):
            wrong()
    with pytest.raises(TypeError, match="fn is of type int: expected a function"):
        splatcheck.check(5)
    ieee, fast = (splatcheck.oracle(case, model=name)["bound_v_conics"] for name in ("ieee", "cuda-fast"))
    assert (ieee <= fast).all() and (ieee < fast).any()
    actual = {name: splatcheck.oracle(case)[name].astype(np.float32) for name in case.outputs}
    splatcheck.assert_gradients(actual, case, model="ieee", formulation="brush", extra_roundings=3)
    for wrong in (65, -1, 2.5, "3", 1 << 40):
        with pytest.raises(ValueError, match="0 to 64"):
            splatcheck.assert_gradients(actual, case, extra_roundings=wrong)
        with pytest.raises(ValueError, match="0 to 64"):
            splatcheck.check(rasterize_backward, extra_roundings=wrong)


def test_any_formulation_may_hold_a_result():
    with pytest.raises(ValueError, match="formulation is 'any': a case holds what a kernel reads in one"):
        splatcheck.cases(formulation="any")
    full = splatcheck.cases("full", 1)[0]
    with pytest.raises(ValueError, match="formulation is 'any': level full has no formulations"):
        splatcheck.assert_gradients({}, full, formulation="any")
    taken = 0
    for case in splatcheck.cases(count=30):
        # Two roundings away from what the kernel is given: the bounds of 3dgs have none there.
        left = np.float32(1) - case.inputs["render_alphas"]
        outputs = rasterize_backward(case.inputs | {"render_transmittance": left}, case.metadata)
        splatcheck.assert_gradients(outputs, case, formulation="any")
        try:
            splatcheck.assert_gradients(outputs, case)
        except AssertionError as error:
            taken += "formulation 3dgs" in str(error)
    assert taken > 0, "another formulation is needed"
    outputs["v_colors"] = outputs["v_colors"] + np.float32(1)
    with pytest.raises(AssertionError) as raised:
        splatcheck.assert_gradients(outputs, case, formulation="any")
    words = str(raised.value)
    assert "formulation 3dgs" in words and "Note: formulation any: outside the bounds of the " in words, words
    with pytest.raises(AssertionError, match="formulation brush"):
        splatcheck.assert_gradients(outputs, case, formulation="brush")
