"""gradcheck, compare and accuracy: kernels in PTX that no oracle knows."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import splatcheck
from splatcheck import Launch

EXAMPLES = Path(__file__).parents[2] / "examples/gradcheck"
MANIFEST = EXAMPLES / "pair.toml"
PAIR, BROKEN = EXAMPLES / "pair.ptx", EXAMPLES / "pair_broken.ptx"
RANDOM = np.random.default_rng(7)
POINTS = 100
X, W = RANDOM.normal(size=(2, POINTS)).astype(np.float32)
CELLS = RANDOM.integers(0, 8, POINTS).astype(np.int32)
GIVEN = RANDOM.normal(size=8).astype(np.float32)


def forward(ptx=PAIR, *, count=POINTS, block=32, kernel="splat", **more):
    parameters = ["x", "w", "cells", "y", np.uint32(count)]
    return Launch(ptx, **dict(kernel=kernel, grid=-(-POINTS // block), block=block, parameters=parameters) | more)


def backward(ptx=PAIR, **more):
    parameters = ["x", "w", "cells", "v_y", "v_x", "v_w", np.uint32(POINTS)]
    fields = dict(kernel="splat_backward", grid=(4,), block=(32, 1, 1), parameters=parameters)
    return Launch(ptx, **fields | more)


def asked(**more):
    return dict(
        forward=forward(),
        backward=backward(),
        inputs={"x": X, "w": W, "cells": CELLS},
        outputs={"y": np.zeros(8, np.float32)},
        gradients={"y": GIVEN, "x": "v_x", "w": "v_w"},
    ) | more


def test_a_right_pair_agrees():
    result = splatcheck.gradcheck(**asked())
    assert result and result.agree and result.verdict == "agree", result
    result.raise_for_findings()
    assert result.text.startswith("agree: 1 run, 200 derivatives compared, 0 of them zero on both sides\n"), result
    assert list(result.judged) == ["v_w", "v_x"]
    row = result.judged["v_w"]
    assert (row.of, row.compared, row.zeros, row.wrong, row.not_judged) == ("w", 100, 0, 0, 0)
    assert 0 <= row.distance <= 1 and 0 < row.rounding <= 1
    for order in ("random:3", ["lockstep", "adversarial:5"]):
        assert splatcheck.gradcheck(**asked(schedule=order)), order


def test_arrays_in_half_precision_are_followed():
    half, count = EXAMPLES / "half.ptx", 40
    table = RANDOM.normal(size=(8, 2)).astype(np.float16)
    x = RANDOM.random(count).astype(np.float32)
    given = RANDOM.normal(size=(count, 2)).astype(np.float16)
    result = splatcheck.gradcheck(
        forward=Launch(half, "interpolate", 2, 32, ["table", "x", "y", np.int32(count)]),
        backward=Launch(
            half, "interpolate_backward", 2, 32, ["table", "x", "v_y", "v_table", "v_x", np.int32(count)]
        ),
        inputs={"table": table, "x": x},
        outputs={"y": np.zeros((count, 2), np.float16)},
        gradients={"y": given, "table": "v_table", "x": ("v_x", np.float32)},
    )
    assert result.agree, result
    assert result.judged["v_table"].compared == 16
    assert result.arrays["exact_y"].shape == (count, 2)
    with pytest.raises(ValueError, match="'v_x': 'i4' is no type of gradients: expected float32 or float16"):
        splatcheck.gradcheck(**asked(gradients={"y": GIVEN, "x": ("v_x", "i4"), "w": "v_w"}))


def test_exact_arrays_are_those_of_the_mathematics():
    arrays = splatcheck.gradcheck(**asked()).arrays
    assert sorted(arrays) == ["exact_y", "f32_y", "gradient_w", "gradient_x", "radius_y"]
    assert all(array.dtype == np.float64 for array in arrays.values())
    x, w, v = X.astype(np.float64), W.astype(np.float64), GIVEN.astype(np.float64)[CELLS]
    falloff = np.exp(-0.5 * x * x)
    y = np.bincount(CELLS, w * falloff + 0.5 * w * w, minlength=8)
    assert np.allclose(arrays["exact_y"], y, rtol=1e-6)
    assert np.all(np.abs(arrays["f32_y"] - arrays["exact_y"]) <= arrays["radius_y"])
    assert np.allclose(arrays["gradient_w"], (falloff + w) * v, rtol=1e-5, atol=1e-6)
    assert np.allclose(arrays["gradient_x"], -x * w * falloff * v, rtol=1e-5, atol=1e-6)


def test_a_missing_part_is_named_with_its_line():
    result = splatcheck.gradcheck(**asked(forward=forward(BROKEN), backward=backward(BROKEN)))
    assert not result and result.verdict == "disagree" and result.judged["v_w"].wrong == 100
    assert "looks like: v_w lacks what the third operand contributes at pair.cu:9 " in result.text
    assert "run it again" not in result.text, "the arrays are the caller's"
    with pytest.raises(AssertionError, match="disagree: 1 of 1 run, 200 derivatives") as raised:
        result.raise_for_findings()
    assert str(raised.value) == str(result) == result.text


def test_what_is_not_judged_does_not_agree():
    result = splatcheck.gradcheck(**asked(forward=forward(count=0), backward=backward()))
    assert result.verdict == "disagree", result
    zero = backward(parameters=["x", "w", "cells", "v_y", "v_x", "v_w", np.uint32(0)])
    result = splatcheck.gradcheck(**asked(forward=forward(count=0), backward=zero))
    assert not result and not result.agree and result.verdict == "not judged"
    assert result.text.startswith("not judged: 1 run, ")
    assert "NOT EXERCISED: v_w: all 100 derivatives are zero" in result.text
    with pytest.raises(AssertionError, match="\nnot judged: v_w, v_x: of all cases no derivative could be compared"):
        result.raise_for_findings()


def test_a_kernel_without_a_result_disagrees():
    never_written = splatcheck.gradcheck(**asked(outputs={"y": 8}))
    assert never_written.verdict == "disagree" and not never_written.judged, never_written
    assert "DISAGREE no result (case 0): y: 32 bytes were never written, the first in y[" in never_written.text
    beyond = forward(parameters=["x", "w", "cells", "y", np.uint32(1000)], grid=32)
    assert "DISAGREE no result" in str(splatcheck.gradcheck(**asked(forward=beyond)))


def test_given_gradients_may_be_among_the_inputs_or_drawn():
    arrays = asked()["inputs"] | {"v_y": GIVEN}
    named = {"y": "v_y", "x": "v_x", "w": "v_w"}
    first = splatcheck.gradcheck(**asked()).arrays["gradient_x"]
    assert np.array_equal(splatcheck.gradcheck(**asked(inputs=arrays, gradients=named)).arrays["gradient_x"], first)
    one, again, other = (splatcheck.gradcheck(**asked(gradients=named, seed=seed)) for seed in (0, 0, 1))
    assert one and other and np.array_equal(one.arrays["gradient_x"], again.arrays["gradient_x"])
    assert not np.array_equal(one.arrays["gradient_x"], other.arrays["gradient_x"])


def test_a_manifest_is_asked_as_by_the_command(tmp_path):
    words = ["gradcheck", BROKEN, "--manifest", MANIFEST, "--cases", "3", "--out", tmp_path]
    command = subprocess.run([sys.executable, "-m", "splatcheck", *words], capture_output=True, text=True)
    assert command.returncode == 1, command
    result = splatcheck.gradcheck(manifest=MANIFEST, ptx=BROKEN.read_text(), cases=3)
    both = (result.text, command.stdout)
    ways = ("  run it again: ", "  after a change: ")
    mine, its = ([line for line in text.splitlines() if not line.startswith(ways)] for text in both)
    assert mine == its
    assert splatcheck.gradcheck(manifest=str(MANIFEST)).text.startswith("agree: 20 runs, 2414 derivatives compared")
    file = tmp_path / "case.safetensors"
    result.save(file)
    assert "run it again: result.save('case.safetensors'), then inputs='case.safetensors'" in result.text
    again = splatcheck.gradcheck(manifest=MANIFEST, ptx=[BROKEN], inputs=file)
    assert again.verdict == "disagree" and again.judged["v_w"].compared == 1, "made smaller"
    assert splatcheck.gradcheck(manifest=MANIFEST, inputs=str(file))


def test_arrays_of_ones_own_give_a_manifest_its_sizes():
    result = splatcheck.gradcheck(manifest=MANIFEST, inputs={"x": X[:50]})
    assert result and result.judged["v_x"].compared == 50, "w, cells and v_y are drawn"
    result = splatcheck.gradcheck(manifest=MANIFEST, sizes={"N": 3})
    assert result and result.judged["v_x"].compared == 3, result
    assert splatcheck.compare(PAIR, PAIR.read_bytes(), manifest=MANIFEST, cases=2), "a program is itself"
    broken = splatcheck.compare(PAIR, BROKEN.read_bytes(), manifest=MANIFEST, cases=2)
    assert not broken and broken.judged["v_w"].wrong > 0, "their gradients differ"
    assert splatcheck.accuracy(manifest=MANIFEST, cases=2).verdict == "measured"


def test_programs_with_launches_of_their_own_are_compared():
    asked_ = dict(inputs={"x": X, "w": W, "cells": CELLS}, outputs={"y": np.zeros(8, np.float32)})
    result = splatcheck.compare(forward(), forward(block=64), **asked_)
    assert result and result.judged["y"].compared == 8 and "elements compared" in result.text, result
    fewer = splatcheck.compare(forward(), [forward(count=90)], **asked_)
    assert fewer.verdict == "disagree" and fewer.judged["y"].wrong > 0, fewer
    twice = splatcheck.compare(forward(), [forward(), forward(BROKEN)], **asked_)
    assert twice.verdict == "disagree" and twice.judged["y"].wrong == 8, twice
    measured = splatcheck.accuracy(forward(), **asked_)
    assert measured and measured.verdict == "measured" and measured.text.startswith("measured 1 run, 8 elements")
    assert 0 < measured.judged["y"].rounding <= 1 and "exact_y" in measured.arrays
    assert 20 <= measured.judged["y"].right_bits <= 24 and result.judged["y"].right_bits is None


def test_launches_find_their_kernel_in_their_own_ptx():
    one, other = (PAIR.read_text().replace(f".entry {name}(", ".entry kernel(") for name in ("splat", "splat_backward"))
    both = forward(one, kernel="kernel"), backward(other, kernel="kernel")
    assert splatcheck.gradcheck(**asked(forward=both[0], backward=both[1]))
    for ptx in (PAIR.read_bytes(), PAIR.read_text() + "\0", bytearray(PAIR.read_bytes() + b"\0")):
        assert splatcheck.gradcheck(**asked(forward=forward(ptx))), type(ptx)


def test_arrays_of_any_layout_and_order_of_bytes():
    gapped = np.zeros((POINTS, 2), np.float32)
    gapped[:, 1] = X
    arrays = {"x": gapped[:, 1], "w": W.astype(">f4"), "cells": CELLS}
    first = splatcheck.gradcheck(**asked()).arrays["gradient_x"]
    assert np.array_equal(splatcheck.gradcheck(**asked(inputs=arrays)).arrays["gradient_x"], first)


REFUSED = {
    "kernel 'k', parameters: 5 is of type int: expected an array's name": lambda: forward(kernel="k", parameters=[5]),
    "kernel 'splat', grid has 4 numbers: expected 1 to 3": lambda: forward(grid=(1, 1, 1, 1)),
    "kernel 'splat', block is 3.5: expected whole numbers": lambda: Launch(PAIR, "splat", 1, 3.5, []),
    "kernel 'splat', grid is -1: expected 0 to": lambda: forward(grid=-1),
    "kernel: None is of type NoneType: expected a name": lambda: forward(kernel=None),
    "kernel 'splat', parameters are of type str": lambda: forward(parameters="x"),
    "forward is of type NoneType: expected a splatcheck.Launch": dict(forward=None),
    "backward is of type list: expected a splatcheck.Launch": dict(backward=[]),
    "forward: '.version 8' is no PTX: it has no .entry": lambda: asked(forward=forward(".version 8")),
    "forward: cannot read ": lambda: asked(forward=forward(Path("/no/such.ptx"))),
    "forward: the PTX is no text in UTF-8": lambda: asked(forward=forward(b"\xff.entry")),
    "forward is of type int: expected PTX as text": lambda: asked(forward=forward(3)),
    "forward.ptx: ": lambda: asked(forward=forward(".version 7.8\n.visible .entry splat(")),
    "entry 'splat' is refused: 1 instruction": lambda: asked(
        forward=forward(PAIR.read_text().replace("ld.param.u64", "ld.nonsense", 1))
    ),
    "nothing": lambda: asked(forward=forward(kernel="nothing")),
    "inputs: missing": dict(inputs=None),
    "outputs: missing": dict(outputs=None),
    "inputs are of type list": dict(inputs=[X]),
    "input 'x' is of type float64: expected float32, float16, int32, uint32, int64, uint8 or bool": lambda: given(x=X.astype(np.float64)),
    "input 'x' is of type str: expected an array": lambda: given(x="X"),
    "tensor 'v_y'": dict(gradients={"y": GIVEN[:3], "x": "v_x", "w": "v_w"}),
    "has parameters of [8, 8, 8, 8, 4] bytes, the manifest gives [8, 8, 8, 8, 8]": lambda: asked(
        forward=forward(parameters=["x", "w", "cells", "y", np.uint64(2**64 - 1)])
    ),
    "'z': expected one of": lambda: asked(forward=forward(parameters=["x", "z", "cells", "y", np.uint32(1)])),
    "struct = []": lambda: asked(forward=forward(parameters=["x", "w", "cells", "y", ()])),
    "output 'y' is not zero throughout": dict(outputs={"y": np.ones(8, np.float32)}),
    "output 'y', its shape is -8": dict(outputs={"y": -8}),
    "output 'y' is of type complex64": dict(outputs={"y": np.zeros(8, np.complex64)}),
    "outputs are of type int": dict(outputs=8),
    "[outputs.unused] is an array that no kernel has": dict(outputs={"y": np.zeros(8, np.float32), "unused": 3}),
    "gradients are of type NoneType": dict(gradients=None),
    "'x' is an input: expected the name": dict(gradients={"y": GIVEN, "x": X}),
    "'w' is an input: backward returns it": dict(gradients={"y": GIVEN, "x": "w"}),
    "[gradients], cells is an array of whole numbers": dict(gradients={"y": GIVEN, "cells": "v_x", "w": "v_w"}),
    "[gradients], z is no array": dict(gradients={"z": GIVEN, "x": "v_x", "w": "v_w"}),
    "gradients: 3 is of type int: expected a name": dict(gradients={3: GIVEN}),
    "gradients: '' is of type str: expected a name": dict(gradients={"y": ""}),
    "none of an output": dict(gradients={"x": "v_x", "w": "v_w"}),
    "cases: only with a manifest": dict(cases=3),
    "seed is -1": dict(seed=-1),
    "schedule": dict(schedule="sometimes"),
    "forward: the manifest says it": dict(manifest=MANIFEST),
}


def given(**arrays):
    return asked(inputs=asked()["inputs"] | arrays)


@pytest.mark.parametrize("says", REFUSED)
def test_what_cannot_be_followed_is_refused_in_one_sentence(says):
    wrong = REFUSED[says]
    with pytest.raises(ValueError) as raised:
        made = wrong() if callable(wrong) else asked(**wrong)
        splatcheck.gradcheck(**made)
    words = str(raised.value)
    assert says in words and "\n" not in words, words


MANIFESTS = {
    "manifest: cannot read": dict(manifest="/no/such.toml"),
    "manifest is of type int": dict(manifest=3),
    "manifest: a path has no zero byte": dict(manifest="\0"),
    "'z' is no input and no given gradient: expected one of cells, w, x, v_y": dict(inputs={"z": X}),
    "the shape of tensor 'x' is [100]: must be [3]": dict(inputs={"x": X, "w": W[:3]}),
    "tensor 'cells'": dict(inputs={"cells": X}),
    "'M' is no size that is drawn: expected one of N": dict(sizes={"M": 3}),
    "size 'N' is 3.5: expected a whole number": dict(sizes={"N": 3.5}),
    "the case is ": dict(sizes={"N": -3}),
    "cases is 0: expected a whole number from 1 on": dict(cases=0),
    "cases: with inputs or sizes there is one case": dict(cases=2, sizes={"N": 3}),
    "inputs: cannot read": dict(inputs="/no/such.safetensors"),
    "truncated": dict(inputs=PAIR),
}


@pytest.mark.parametrize("says", MANIFESTS)
def test_manifests_and_their_cases_are_refused_in_one_sentence(says):
    with pytest.raises(ValueError) as raised:
        splatcheck.gradcheck(**dict(manifest=MANIFEST) | MANIFESTS[says])
    words = str(raised.value)
    assert says in words and "\n" not in words, words


def test_odd_names_stay_names():
    for name in ("a \"quoted\" \\ name", "new\nline", "größe", "\x7f"):
        arrays = {name: X, "w": W, "cells": CELLS}
        first = forward(parameters=[name, "w", "cells", "y", np.uint32(POINTS)])
        then = backward(parameters=[name, "w", "cells", "v_y", "v_x", "v_w", np.uint32(POINTS)])
        named = {"y": GIVEN, name: "v_x", "w": "v_w"}
        assert splatcheck.gradcheck(**asked(forward=first, backward=then, inputs=arrays, gradients=named))
    with pytest.raises(ValueError, match="is no text"):
        forward(parameters=["\ud800"])


def test_the_example_of_the_page_is_that_of_the_package():
    example = (Path(__file__).parents[1] / "examples/test_my_cuda_kernel.py").read_text()
    page = (Path(__file__).parents[3] / "docs/src/gradcheck.md").read_text()
    assert f"```python\n{example}```" in page and len(example.splitlines()) == 20


def test_a_case_of_numpy_is_read(tmp_path):
    np.savez(tmp_path / "mine.npz", x=X, w=W.astype(np.float64), cells=CELLS.astype(np.int64), note=np.array("mine"))
    result = splatcheck.gradcheck(manifest=MANIFEST, inputs=str(tmp_path / "mine.npz"))
    assert result and result.judged["v_x"].compared == POINTS, result
    np.savez(tmp_path / "short.npz", x=X, w=W[1:], cells=CELLS)
    with pytest.raises(ValueError, match="tensor 'w'"):
        splatcheck.gradcheck(manifest=MANIFEST, inputs=str(tmp_path / "short.npz"))


def gather(name, source, target, move):
    """y = mask[1] ? x[index[1]] : 0, or its transpose."""
    return f"""
.visible .entry {name}(.param .u64 {source}, .param .u64 index, .param .u64 mask, .param .u64 {target})
{{
    .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .pred %p<2>;
    ld.param.u64 %d1, [{source}]; ld.param.u64 %d2, [index]; ld.param.u64 %d3, [mask]; ld.param.u64 %d4, [{target}];
    ld.global.u64 %d5, [%d2+8]; shl.b64 %d5, %d5, 2; {move}
    ld.global.u8 %r1, [%d3+1]; setp.ne.s32 %p1, %r1, 0; mov.f32 %f1, 0f00000000;
    @%p1 ld.global.f32 %f1, [%d1]; st.global.f32 [%d4], %f1; ret;
}}
"""


@pytest.mark.parametrize("seen", [True, False])
def test_indices_of_64_bits_and_masks_are_arrays(seen):
    kernels = gather("pick", "x", "y", "add.s64 %d1, %d1, %d5;") + gather("put", "v_y", "v_x", "add.s64 %d4, %d4, %d5;")
    ptx = ".version 8.0\n.target sm_75\n.address_size 64\n" + kernels
    result = splatcheck.gradcheck(
        forward=Launch(ptx, "pick", 1, 1, ["x", "index", "mask", "y"]),
        backward=Launch(ptx, "put", 1, 1, ["v_y", "index", "mask", "v_x"]),
        inputs={"x": X[:5], "index": np.array([9, 3], np.int64), "mask": np.array([not seen, seen])},
        outputs={"y": 1},
        gradients={"y": GIVEN[:1], "x": "v_x"},
    )
    assert result.verdict == ("agree" if seen else "not judged"), result
    assert np.count_nonzero(result.arrays["gradient_x"]) == seen
