"""check: a kernel on many cases."""

import multiprocessing
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import splatcheck

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from my_kernel import rasterize_backward  # noqa: E402


def zeros(inputs, metadata):
    """The outputs of a kernel that does nothing."""
    return {f"v_{name}": np.zeros_like(inputs[name]) for name in ("means2d", "conics", "opacities", "colors")}


def test_a_right_kernel_agrees():
    result = splatcheck.check(rasterize_backward, count=20, corpus=None)
    assert result and result.verdict == "agree" and result.cases == result.judged == result.asked == 20, result
    assert str(result).startswith("agree: 20 cases, ") and 0 < result.largest_ratio <= 1
    result.raise_for_findings()


def test_agreement_of_a_kernel_that_does_nothing_is_no_pass(tmp_path):
    shutil.copy(Path(__file__).parents[3] / "corpora/splat/subnormal-gradients.toml", tmp_path)
    result = splatcheck.check(zeros, count=0, corpus=tmp_path)
    assert result.verdict == "not exercised" and not result, result
    assert "a kernel that does nothing would agree" in str(result) and result.gap in str(result), result
    for case in splatcheck.cases(count=0, corpus=tmp_path):
        with pytest.warns(UserWarning, match="not exercised: .*a kernel that does nothing would agree"):
            splatcheck.assert_gradients(zeros(case.inputs, case.metadata), case)


def test_a_file_that_is_no_case_stands_in_nobodys_way_and_is_no_pass(tmp_path):
    corpus = Path(__file__).parents[3] / "corpora/splat"
    shutil.copy(corpus / "one-pixel.toml", tmp_path)
    (tmp_path / "half.toml").write_text("purpose = ")
    result = splatcheck.check(rasterize_backward, count=2, corpus=tmp_path)
    assert result.verdict == "not exercised" and result.judged == 3 and not result, result
    why = "not exercised: no other case is wrong, but 1 of 2 files of the corpus could not be used: "
    assert str(result).startswith(why) and "half.toml" in str(result), result
    wrong = splatcheck.check(zeros, count=2, corpus=tmp_path)
    assert wrong.verdict == "disagree" and "NOT JUDGED: 1 of 2 files" in str(wrong), wrong
    cases = splatcheck.cases(count=2, corpus=tmp_path)
    seen = []
    with pytest.raises(ValueError, match="half.toml"):
        for case in cases:
            seen.append(case)
    assert len(seen) == len(cases) == 3 and "half.toml" in cases.unread


def test_a_lost_lane_is_found():
    result = splatcheck.check(lambda x, m: rasterize_backward(x, m, bug="lost lane"), count=20, corpus=None)
    assert not result and result.verdict == "disagree" and result.disagree > 0
    words = str(result)
    assert words.startswith(f"disagree: the kernel is wrong in {len(result.findings)} of 20 cases"), words
    assert result.findings[0].kind == "outside bounds" and "error / bound" in words
    messages = [finding.message for finding in result.findings[:3]]
    assert all(message.startswith("Looks like: ") for message in messages), words
    assert any("lane 31 of each warp, the last, is left out" in message for message in messages), words
    with pytest.raises(AssertionError, match="disagree: "):
        result.raise_for_findings()


def test_splatchecks_own_cases_come_first_and_find_a_wrong_clamp():
    wrong = lambda x, m: rasterize_backward(x, m | {"alpha_max": np.float32(0.999)})  # noqa: E731
    result = splatcheck.check(wrong, count=10)
    assert result.verdict == "disagree", result
    named = [finding.case.name for finding in result.findings]
    assert any(name.startswith("alpha-") for name in named), named
    own = splatcheck.cases(count=0, corpus="built-in")
    names = [case.name for case in own]
    assert {"tile-corner.0", "two-cameras.1"} <= set(names) and "empty.0" not in names, names
    right = splatcheck.check(rasterize_backward, count=10)
    assert right.verdict == "agree" and right.judged == right.asked == len(names) + 10, right
    assert not right.notes, right


def test_fewer_than_half_of_what_was_asked_for_is_no_agreement(tmp_path):
    corpus = Path(__file__).parents[3] / "corpora/splat"
    own = tmp_path / "own.toml"
    own.write_text("""channels = 3
[raster]
inputs = [{ name = "means2d" }]
outputs = [{ name = "v_means2d" }, { name = "v_conics" }, { name = "v_colors" }, { name = "v_opacities" }]
""")
    folder = tmp_path / "cases"
    folder.mkdir()
    for name in ("channels-1", "channels-2", "channels-5", "tile-corner", "empty"):
        shutil.copy(corpus / f"{name}.toml", folder)
    case = next(iter(splatcheck.cases(preset=str(own), count=0, corpus=folder)))
    right = {name: splatcheck.oracle(case)[name].astype(np.float32) for name in case.outputs}
    options = dict(preset=str(own), count=0, corpus=folder, layouts=False)
    answer = lambda inputs, metadata: right if len(inputs["means2d"]) else zeros_of(0)  # noqa: E731
    zeros_of = lambda n: {name: np.zeros((n, *array.shape[1:]), np.float32) for name, array in right.items()}  # noqa: E731
    few = splatcheck.check(answer, **options)
    assert few.verdict == "not exercised" and (few.judged, few.asked) == (1, 4), few
    assert str(few).startswith("not exercised: too few were judged, 1 of the 4 cases asked for ("), few
    assert few.notes == ["NOT EXERCISED: 3 cases with another number of channels than 3"], few
    for name in ("channels-1", "channels-2"):
        (folder / f"{name}.toml").unlink()
    half = splatcheck.check(answer, **options)
    assert half and str(half).startswith("agree: 1 of the 2 cases asked for, "), half
    assert half.notes == ["NOT EXERCISED: 1 case with another number of channels than 3"], half
    (folder / "channels-5.toml").unlink()
    assert str(splatcheck.check(answer, **options)).startswith("agree: 1 case, ")


@pytest.mark.parametrize("status", [0, None, "gone"])
def test_a_kernel_that_ends_the_process_has_failed(status):
    result = splatcheck.check(lambda x, m: sys.exit(status), count=2, corpus=None)
    assert [finding.kind for finding in result.findings] == ["raised", "raised"], result
    assert "the kernel raised SystemExit" in str(result)
    with pytest.raises(AssertionError) as raised:
        result.raise_for_findings()
    assert isinstance(raised.value.__cause__, SystemExit)
    calls = []

    def at_last(inputs, metadata):
        calls.append(1)
        if len(calls) > 1:
            sys.exit(0)
        return zeros(inputs, metadata)

    assert splatcheck.check(at_last, count=3, corpus=None).verdict == "disagree", "also when it is diagnosed"


def test_an_interrupt_is_the_users():
    def interrupted(inputs, metadata):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        splatcheck.check(interrupted, count=2)


def verdict_to(queue):
    queue.put(splatcheck.check(rasterize_backward, count=3).verdict)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT EXERCISED: this system does not fork")
def test_a_child_that_was_forked_judges():
    assert splatcheck.check(rasterize_backward, count=3).verdict == "agree"
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def child():
        verdict_to(queue)
        grandchild = context.Process(target=verdict_to, args=(queue,))
        grandchild.start()
        grandchild.join(60)
        os._exit(grandchild.exitcode if grandchild.exitcode is not None else 1)

    process = context.Process(target=child)
    process.start()
    process.join(120)
    ended = process.exitcode
    process.kill()
    assert ended == 0, "it waits for threads that only its parent has"
    assert [queue.get(), queue.get()] == ["agree", "agree"]
    assert splatcheck.check(rasterize_backward, count=3).verdict == "agree", "and the parent goes on"


def test_a_kernel_may_take_its_arrays_by_name():
    def named(means2d, conics, opacities, colors, width, *, tile_size, bug=None):
        assert means2d.shape[1] == 2 and width > 0 and tile_size > 0 and bug is None
        return zeros(dict(means2d=means2d, conics=conics, opacities=opacities, colors=colors), {})

    def all_named(**inputs):
        assert {"width", "means2d"} <= set(inputs)
        return zeros(inputs, {})

    for kernel in (named, all_named):
        result = splatcheck.check(kernel, count=2, corpus=None)
        assert {finding.kind for finding in result.findings} <= {"outside bounds"}, result


def test_a_kernel_that_changes_its_inputs_is_found():
    def changes(inputs, metadata):
        outputs = rasterize_backward(inputs, metadata)
        inputs["opacities"][:] = 0
        inputs.clear()
        return outputs

    result = splatcheck.check(changes, count=2, corpus=None)
    kinds = {(finding.kind, finding.message) for finding in result.findings}
    assert kinds == {("changed its input", "the kernel changed its input 'opacities'")}, result


def test_what_a_kernel_raises_is_a_finding_with_its_cause():
    def raises(inputs, metadata):
        raise RuntimeError("an illegal memory access")

    result = splatcheck.check(raises, count=50, corpus=None)
    assert len(result.findings) == 20 and result.notes[0] == "stopped after 20 findings"
    assert result.notes[1].startswith("formulation: does not agree under image (fastgs) and "), result.notes
    assert "the kernel raised RuntimeError: an illegal memory access" in str(result)
    with pytest.raises(AssertionError) as raised:
        result.raise_for_findings()
    assert isinstance(raised.value.__cause__, RuntimeError)


def test_what_is_no_output_is_a_finding():
    result = splatcheck.check(lambda x, m: {**zeros(x, m), "v_colors": None}, count=1, corpus=None)
    assert result.findings[0].kind == "bad output" and "'v_colors' is missing" in str(result)
    assert not result.notes, "what is not returned is no matter of formulations"
    assert str(result).startswith("disagree: the kernel is wrong in 1 of 1 case ("), result
    nothing = splatcheck.check(zeros, count=0, corpus=None)
    assert nothing.verdict == "not exercised"
    with pytest.raises(AssertionError, match="not exercised: no element was compared"):
        nothing.raise_for_findings()


def of_oracle(cases):
    """A kernel that returns what the oracle does for these cases."""
    answers = {case.inputs["means"].tobytes(): case for case in cases}

    def kernel(inputs, metadata):
        case = answers[inputs["means"].tobytes()]
        return {name: splatcheck.oracle(case)[name].astype(np.float32) for name in case.outputs}

    return kernel


@pytest.mark.parametrize("raising", ["always", "later"])
def test_a_kernel_is_not_wrong_later_where_it_was_not_right_before(tmp_path, raising):
    """Automatic differentiation may raise where there is no Gaussian: that is no finding, at first nor at last."""
    for name in ("empty", "tile-corner"):
        shutil.copy(Path(__file__).parents[3] / f"corpora/splat/{name}.toml", tmp_path)
    drawn = splatcheck.cases("full", count=0, corpus=tmp_path)
    right, calls = of_oracle(drawn[index] for index in range(len(drawn))), []

    def kernel(inputs, metadata):
        calls.append(len(inputs["means"]))
        if not calls[-1] and (raising == "always" or len(calls) > 1):
            raise RuntimeError("no gradient")
        return right(inputs, metadata)

    result = splatcheck.check(kernel, "full", count=0, corpus=tmp_path, layouts=False)
    assert not result.findings and result.judged == (1 if raising == "always" else 2), result
    assert "the kernel raises RuntimeError where there is no Gaussian: not judged" in result.notes, result
    again = calls[1] if raising == "always" else 0
    assert calls == [0, calls[1], again], "the first on which it was right comes again"


def test_outputs_that_are_not_there_are_said_to_be_not_compared():
    case = {"level": "full", "count": 3, "corpus": None}
    right = of_oracle(splatcheck.cases(**case))
    whole = splatcheck.check(right, **case)
    assert whole and not whole.notes, whole
    without = lambda x, m: {name: array for name, array in right(x, m).items() if name != "v_viewmats"}  # noqa: E731
    result = splatcheck.check(without, **case)
    assert result and result.notes == ["NOT COMPARED: v_viewmats: the result has none"], result
    result = splatcheck.check(lambda x, m: {**right(x, m), "v_viewmats": None}, **case)
    assert {finding.kind for finding in result.findings} == {"bad output"}, result
    assert "output 'v_viewmats' is None: expected float32 [" in str(result), result


def test_what_a_preset_leaves_out_is_said_to_be_not_compared(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text("""[full]
inputs = [{ name = "means" }, { name = "colors" }]
outputs = [
    { name = "render_colors" }, { name = "v_means" }, { name = "v_quats" }, { name = "v_scales" }, { name = "v_opacities" }, { name = "v_colors" },
]
""")
    drawn = {"preset": str(own), "count": 2, "corpus": None}
    result = splatcheck.check(of_oracle(splatcheck.cases(**drawn)), **drawn)
    assert result.elements and "NOT COMPARED: v_viewmats: the preset names no array for it" in result.notes, result


def test_outputs_on_which_a_kernel_that_does_nothing_would_agree_are_noted(tmp_path):
    shutil.copy(Path(__file__).parents[3] / "corpora/splat/subnormal-gradients.toml", tmp_path)
    result = splatcheck.check(rasterize_backward, count=0, corpus=tmp_path)
    noted = [note.partition(": a kernel")[0] for note in result.notes]
    assert "NOT EXERCISED: v_means2d" in noted and len(noted) > 1, result
    for case in splatcheck.cases(count=0, corpus=tmp_path):
        with pytest.warns(UserWarning, match="not exercised: .*; v_means2d: a kernel that does nothing would agree"):
            splatcheck.assert_gradients(zeros(case.inputs, case.metadata), case)


def test_a_trivial_kernel_is_asked_a_hundred_times_a_second(tmp_path):
    scene = Path(__file__).parents[3] / "corpora/splat/tile-corner.toml"
    small = scene.read_text().replace("= 32", "= 16")
    assert "width = 16" in small and "height = 16" in small, "the scene has changed"
    for i in range(100):
        (tmp_path / f"c{i}.toml").write_text(small)
    asked = []

    def trivial(inputs, metadata):
        asked.append(metadata["width"])
        return rasterize_zeros(inputs)

    def rasterize_zeros(inputs):
        return zeros(inputs, {})

    best = 0.0
    for _ in range(3):
        asked.clear()
        start = time.process_time()
        cases = splatcheck.cases(count=0, corpus=tmp_path)
        for case in cases:
            outputs = trivial(case.inputs, case.metadata)
            with pytest.raises(AssertionError):
                splatcheck.assert_gradients(outputs, case)
        best = max(best, len(asked) / (time.process_time() - start))
        if best >= 100:
            break
    print(f"{best:.0f} cases a second")
    assert best >= 100 and set(asked) == {16}, f"{best:.0f} cases a second"


def test_a_kernel_of_another_formulation_is_told_so():
    def of_opacities(inputs, metadata):
        left = np.float32(1) - inputs["render_alphas"]
        return rasterize_backward(inputs | {"render_transmittance": left}, metadata)

    wrong = splatcheck.check(of_opacities, count=30, corpus=None)
    agrees = [note for note in wrong.notes if note.startswith("formulation: agrees under ")]
    assert not wrong and len(agrees) == 1 and "behind, final_t = one-minus-alpha" in agrees[0], wrong
    first = wrong.findings[0].message
    assert first.startswith("Looks like: another formulation: agrees on all cases under "), wrong
    anyone = splatcheck.check(of_opacities, count=30, corpus=None, formulation="any")
    assert anyone and "one-minus-alpha" in anyone.notes[0] and "agrees" not in anyone.notes[0], anyone
    own = splatcheck.check(of_opacities, count=30, corpus=None, formulation="behind,final_t=one-minus-alpha")
    assert own and not own.notes, own
    lost = splatcheck.check(lambda x, m: rasterize_backward(x, m, bug="lost lane"), count=20, corpus=None, formulation="any")
    assert not lost and "formulation: none of the " in str(lost), lost
    with pytest.raises(ValueError, match="level full has no formulations"):
        splatcheck.check(of_opacities, "full", formulation="any")


def from_checkpoints(inputs, metadata, bug=None):
    """The backward rasterization that begins at checkpoints, of every 32 entries of a tile's list."""
    grads, tile = zeros(inputs, metadata), metadata["tile_size"]
    with np.errstate(all="ignore"):
        for t, (start, end) in enumerate(zip(inputs["tile_offsets"], inputs["tile_offsets"][1:], strict=False)):
            row, column = divmod(t, -(-metadata["width"] // tile))
            ys = np.arange(row * tile, min((row + 1) * tile, metadata["height"]))
            xs = np.arange(column * tile, min((column + 1) * tile, metadata["width"]))
            for bucket, first in enumerate(range(start, end, 32)):
                number = inputs["checkpoint_offsets"][t] + (0 if bug == "first checkpoint" else bucket)
                state = inputs["checkpoints"][number].reshape(tile, tile, -1)[: len(ys), : len(xs)]
                entries = range(first, min(first + 32, end))
                one_bucket(inputs, metadata, grads, np.ix_(ys, xs), entries, state)
    return grads


def one_bucket(inputs, metadata, grads, pixels, entries, state):
    """Adds what these entries contribute to the pixels of a tile: what is left of the image is replayed."""
    ys, xs = pixels
    v, half = inputs["v_render_colors"][pixels], np.float32(0.5)
    final, t = inputs["render_transmittance"][pixels], state[..., 0]
    rest = inputs["render_colors"][pixels] - final[..., None] * inputs["background"] - state[..., 1:]
    behind = final * (inputs["v_render_alphas"][pixels] - (v * inputs["background"]).sum(axis=-1))
    px, py = (k.astype(np.float32) + metadata["pixel_center"] for k in (xs, ys))
    for i in entries:
        g = inputs["flatten_ids"][i]
        (x, y), (a, b, c) = inputs["means2d"][g], inputs["conics"][g]
        opacity, color = inputs["opacities"][g], inputs["colors"][g]
        dx, dy = x - px, y - py
        power = -half * (a * dx * dx + c * dy * dy) - b * dx * dy
        gauss = np.exp(power)
        alpha = np.minimum(metadata["alpha_max"], opacity * gauss)
        counts = (power <= 0) & (alpha >= metadata["alpha_min"]) & (i <= inputs["last_ids"][pixels])
        alpha = np.where(counts, alpha, np.float32(0))
        rest = rest - (alpha * t)[..., None] * color
        reciprocal = 1 / (1 - alpha)
        v_alpha = ((color * t[..., None] - rest * reciprocal[..., None]) * v).sum(axis=-1) + behind * reciprocal
        grads["v_colors"][g] += ((alpha * t)[..., None] * v).sum(axis=(0, 1))
        t = t * (1 - alpha)
        if metadata["clamp_stops_gradient"]:
            counts = counts & (opacity * gauss <= metadata["alpha_max"])
        v_alpha, gauss = (np.where(counts, k, np.float32(0)) for k in (v_alpha, gauss))
        v_power = opacity * v_alpha * gauss
        grads["v_opacities"][g] += (gauss * v_alpha).sum()
        grads["v_conics"][g] += [(k * v_power).sum() for k in (-half * dx * dx, -dx * dy, -half * dy * dy)]
        grads["v_means2d"][g] += [(k * v_power).sum() for k in (-(a * dx + b * dy), -(c * dy + b * dx))]


def test_a_kernel_that_lacks_checkpoints_is_given_them(tmp_path):
    shutil.copy(Path(__file__).parents[3] / "corpora/splat/list-of-255.toml", tmp_path)
    drawn = {"corpus": tmp_path, "count": 2}
    right = splatcheck.check(from_checkpoints, formulation="fastgs", **drawn)
    assert right and any(len(case.inputs["checkpoints"]) > 2 for case in splatcheck.cases(formulation="fastgs", **drawn))
    lacks = splatcheck.check(from_checkpoints, **drawn)
    assert not lacks and lacks.findings[0].kind == "raised" and "checkpoint_offsets" in str(lacks), lacks
    assert lacks.notes == ["formulation: agrees under image (fastgs)"], lacks
    anyone = splatcheck.check(from_checkpoints, formulation="any", **drawn)
    assert anyone and anyone.notes == ["formulation: image (fastgs)"], anyone
    wrong = splatcheck.check(lambda x, m: from_checkpoints(x, m, "first checkpoint"), formulation="any", **drawn)
    told = "formulation: does not agree under image (fastgs) and image, divide = direct either, given "
    assert not wrong and wrong.notes == [told + "checkpoint_offsets and checkpoints"], wrong


def test_a_kernel_that_raises_now_and_then_is_not_explained_by_a_formulation():
    calls = []

    def now_and_then(inputs, metadata):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("once")
        return rasterize_backward(inputs, metadata)

    result = splatcheck.check(now_and_then, count=4, corpus=None, formulation="any", layouts=False)
    assert [one.kind for one in result.findings] == ["raised"] and not result.notes, result


def test_an_image_that_a_raster_kernel_returns_is_judged():
    case = splatcheck.cases(count=1)[0]
    oracle = splatcheck.oracle(case)
    right = {name: oracle[name].astype(np.float32) for name in case.outputs}
    assert {"render_colors", "render_alphas"} <= set(right)
    splatcheck.assert_gradients(right, case)
    alone = {name: array for name, array in right.items() if name.startswith("v_")}
    splatcheck.assert_gradients(alone, case)
    wrong = right | {"render_colors": right["render_colors"] + np.float32(0.01)}
    with pytest.raises(AssertionError, match=r"at render_colors\["):
        splatcheck.assert_gradients(wrong, case)
    with pytest.raises(ValueError, match="'render_alphas' has shape"):
        splatcheck.assert_gradients(right | {"render_alphas": right["render_alphas"].T[:1]}, case)


def test_a_kernel_that_adds_to_what_the_previous_run_left_is_told_so():
    left = {}

    def hoards(inputs, metadata):
        for name, array in rasterize_backward(inputs, metadata).items():
            buffer = left.setdefault((name, array.shape), np.zeros_like(array))
            buffer += array
        return {name: left[name, array.shape] for name, array in zeros(inputs, metadata).items()}

    result = splatcheck.check(hoards, corpus=None, count=12, generator="lanes")
    assert not result, result
    words = "Looks like: the previous run's values are added: what it left in the outputs is not cleared"
    assert all(found.message.startswith(words) for found in result.findings[:3] if found.kind == "outside bounds")
    assert words.lower() in str(result).lower(), result
