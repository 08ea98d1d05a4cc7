"""Everything that can be wrong with what a kernel returns."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import splatcheck

CASE = splatcheck.cases(count=1)[0]


def right():
    """What the oracle returns, rounded to float32."""
    return {name: splatcheck.oracle(CASE)[name].astype(np.float32) for name in CASE.outputs}


def judge(**changed):
    outputs = {**right(), **changed}
    return splatcheck.assert_gradients({k: v for k, v in outputs.items() if v is not ...}, CASE)


class Foreign:
    """An array of another library."""

    def __init__(self, array, device=(1, 0), dlpack=True):
        self.array, self.where = array, device
        self.device = "cuda:0" if device[0] == 2 else "cpu"
        if dlpack:
            self.__class__ = Exported

    def __array__(self, dtype=None, copy=None):
        return self.array


class Exported(Foreign):
    """One that speaks DLPack."""

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.where


def test_the_oracle_agrees_with_itself():
    judge()


@pytest.mark.parametrize("dlpack", [True, False])
def test_arrays_of_other_libraries_are_taken(dlpack):
    judge(v_colors=Foreign(right()["v_colors"], dlpack=dlpack))
    with pytest.raises(AssertionError, match=r"v_colors\["):
        judge(v_colors=Foreign(right()["v_colors"] + 1, dlpack=dlpack))


def test_arrays_of_jax_are_taken():
    jax = pytest.importorskip("jax", reason="NOT EXERCISED: jax is not installed")
    arrays = {name: jax.numpy.asarray(array) for name, array in right().items()}
    judge(**arrays)
    with pytest.raises(TypeError, match="output 'v_colors' is of type bfloat16: expected float32"):
        judge(v_colors=arrays["v_colors"].astype(jax.numpy.bfloat16))


def test_layouts_are_no_matter():
    v = right()["v_means2d"]
    wide = np.zeros((2 * len(v), 4), np.float32)
    wide[::2, 1:3] = v
    judge(v_means2d=wide[::2, 1:3])
    judge(v_means2d=np.asfortranarray(v), v_conics=right()["v_conics"][::-1][::-1])
    judge(v_colors=right()["v_colors"].astype(">f4"))


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (..., ValueError, "output 'v_conics' is missing: expected float32"),
        (None, ValueError, "output 'v_conics' is missing: expected float32"),
        ([[0.0] * 3], TypeError, "output 'v_conics' is of type list: expected an array"),
        (np.zeros((1, 2), np.float32), ValueError, r"output 'v_conics' has shape \[1, 2\]: expected"),
        (np.zeros((), np.float32), ValueError, r"output 'v_conics' has shape \[\]: expected"),
        ("zeros", TypeError, "output 'v_conics' is of type str: expected an array"),
    ],
)
def test_what_is_no_output_is_refused_by_name(value, error, words):
    with pytest.raises(error, match=words):
        judge(v_conics=value)


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.complex64, bool, object])
def test_other_types_of_numbers_are_refused(dtype):
    name = np.dtype(dtype).name
    with pytest.raises(TypeError, match=f"output 'v_conics' is of type {name}: expected float32"):
        judge(v_conics=np.zeros(CASE.outputs["v_conics"], dtype))


def test_an_output_that_nobody_asked_for_is_refused():
    with pytest.raises(ValueError, match="output 'v_mean2d' is not expected: there are v_means2d") as error:
        judge(v_mean2d=right()["v_means2d"])
    assert "render_alphas (if you like)" in str(error.value), error.value
    with pytest.raises(TypeError) as error:
        splatcheck.assert_gradients((), CASE)
    names = "v_means2d, v_conics, v_opacities, v_colors"
    assert str(error.value) == f"the kernel returned tuple: expected a dict of arrays with {names}"


def test_a_case_without_a_number_to_compare_is_no_agreement(tmp_path):
    shutil.copy(Path(__file__).parents[3] / "corpora/splat/empty.toml", tmp_path)
    cases = splatcheck.cases(count=0, corpus=tmp_path)
    assert list(cases) == [] and cases[0].not_for == "without a number to compare"
    nothing = {name: np.zeros(shape, np.float32) for name, shape in cases[0].outputs.items() if name.startswith("v_")}
    for formulation in (None, "any", "brush"):
        with pytest.raises(ValueError, match="nothing to compare: .* case empty.0, .*: it has no Gaussian"):
            splatcheck.assert_gradients(nothing, cases[0], formulation=formulation)
    assert splatcheck.check(lambda x, m: nothing, count=0, corpus=tmp_path).verdict == "not exercised"
    raises = splatcheck.check(lambda x, m: 1 / len(x["means2d"]), count=0, corpus=tmp_path)
    said = "the kernel raises ZeroDivisionError where there is no Gaussian: not judged"
    assert raises.verdict == "not exercised" and raises.notes == [said], "as automatic differentiation may"
    wrong = splatcheck.check(lambda x, m: {}, count=0, corpus=tmp_path)
    assert [finding.kind for finding in wrong.findings] == ["bad output"], "what it returns there is judged"


def test_a_gpu_array_is_told_what_to_do():
    with pytest.raises(TypeError, match=r"'v_conics' is on cuda:0: .*\.cpu\(\)"):
        judge(v_conics=Foreign(right()["v_conics"], device=(2, 0)))


def test_a_tensor_with_a_gradient_is_told_what_to_do():
    tensor = Foreign(right()["v_conics"])
    tensor.requires_grad = True
    with pytest.raises(TypeError, match=r"'v_conics' requires a gradient: .*\.detach\(\)"):
        judge(v_conics=tensor)


def test_doubles_are_rounded_and_said_to_be():
    doubles = {name: array.astype(np.float64) for name, array in right().items()}
    judge(**doubles)
    result = splatcheck.check(lambda x, m: doubles, count=1, corpus=None)
    assert result and result.notes[0].startswith("output 'v_means2d' is float64: rounded"), result


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e30])
def test_what_is_not_finite_is_outside_every_bound(wrong):
    colors = right()["v_colors"].copy()
    colors[0, 0] = wrong
    with pytest.raises(AssertionError, match=r"at v_colors\[0, 0\] \(up to 1 allowed\)"):
        judge(v_colors=colors)


def test_masked_elements_are_refused_and_other_arrays_of_numpy_are_taken():
    colors = right()["v_colors"]
    judge(v_colors=np.ma.masked_array(colors), v_opacities=right()["v_opacities"].view(np.recarray))
    hidden = np.ma.masked_array(colors, mask=colors == colors)
    with pytest.raises(TypeError, match=r"'v_colors' has masked elements, .* return it with .filled\(0\)"):
        judge(v_colors=hidden)
    with pytest.raises(AssertionError, match=r"v_colors\["):
        judge(v_colors=hidden.filled(0))


def test_the_message_has_the_worst_element_and_how_many_differ():
    colors = right()["v_colors"].copy()
    colors.flat[:2] += [1, 2]
    with pytest.raises(AssertionError) as raised:
        judge(v_colors=colors)
    words = str(raised.value)
    total = sum(np.prod(shape, dtype=int) for shape in CASE.outputs.values())
    assert f"Elements outside their bounds: 2 / {total}" in words, words
    for part in ("Worst error / bound: ", "  value  ", "  oracle ", "  bound  ", CASE.name, "formulation 3dgs"):
        assert part in words, words
