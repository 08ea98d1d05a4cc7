"""Presets: kernels of public projects in their own layouts, one right and one wrong of each."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
import splatcheck

EXAMPLES = Path(__file__).parents[1] / "examples" / "presets"
CORPUS = Path(__file__).parents[3] / "corpora" / "splat"

# Preset, module, function, a bug that it can have, and options that show the bug.
RASTER = [
    ("gsplat-1.5", "gsplat_1_5", "rasterize_to_pixels_bwd", "clamp passes", {"corpus": CORPUS, "count": 40}),
    ("gsplat-main", "gsplat_main", "rasterize_to_pixels_bwd", "alpha of 1.5", {"corpus": CORPUS, "count": 0}),
    ("inria", "inria", "render_backward", "full off-diagonal", {"count": 5}),
    ("brush", "brush", "rasterize_bwd", "by opacity", {"count": 5}),
    ("gswarp", "gswarp", "backward_render_tiles", "no opacity", {"count": 5}),
    ("fvdb", "fvdb", "rasterize_gaussians_backward", "no opacity", {"count": 5}),
]
# Level, module, function, a bug, and what the first line of the report says of it.
PROJECTIONS = [
    ("project", "gsplat_projection", "fully_fused_projection_fwd", "nothing is beside", "are not left out"),
    (
        "project-backward",
        "gsplat_projection_bwd",
        "fully_fused_projection_bwd",
        "off-diagonal twice",
        "the off-diagonal of v_conics is taken twice",
    ),
]
# Preset, module, function, a bug, and scenes of the corpus that show it.
FULL = [
    ("fastgs", "fastgs", "backward_wrapper", "scale twice", ["two-cameras"]),
    ("fastgs", "fastgs", "backward_wrapper", "zero at the clamp", ["clamped"]),
    ("faster-gs", "faster_gs", "backward_wrapper", "the last is not blended", ["stops"]),
    ("inria", "inria_full", "rasterize_gaussians", "view matrix", ["two-cameras"]),
]


def kernel(module, function, monkeypatch):
    """A function of `examples/presets`."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return getattr(importlib.import_module(module), function)


def text_of(scene):
    return (CORPUS / f"{scene}.toml").read_text()


def clamped():
    """A scene in which alpha is clamped at many pixels, by an opacity whose logit is not beyond all bounds."""
    text = text_of("alpha-far-above-the-clamp-gsplat")
    large = text.replace("scale = [0.75, 0.75, 0.75]", "scale = [12.0, 12.0, 12.0]", 1)
    changed = large.replace('opacity = "0x3f800000"', "opacity = 0.9998", 1)
    assert text != large != changed, "the scene has changed"
    return changed


def stops():
    """A scene in which every pixel stops at the fourth of a few Gaussians."""
    text = text_of("everyone-stops")
    assert "repeat = 300" in text, "the scene has changed"
    return text.replace("repeat = 300", "repeat = 8")


# Scenes that are one of the corpus with a change.
CHANGED = {"clamped": clamped, "stops": stops}


@pytest.mark.parametrize(("preset", "module", "function", "bug", "options"), RASTER)
def test_a_numpy_kernel_in_the_projects_layout(preset, module, function, bug, options, monkeypatch):
    right = kernel(module, function, monkeypatch)
    result = splatcheck.check(right, preset=preset, level="raster", corpus=CORPUS, count=60)
    assert result.verdict == "agree", result
    assert result.model == splatcheck.cases(preset=preset, level="raster").model, "the preset's"
    assert result.judged > 90 and "NOT EXERCISED" in str(result), result
    wrong = splatcheck.check(lambda x, meta: right(x, meta, bug), preset=preset, level="raster", **options)
    assert wrong.verdict == "disagree", f"{bug} is not found: {wrong}"
    if preset == "inria":
        assert re.search(r"Note: v_\w+ is read from the preset's array dL_d\w+", str(wrong)), wrong


def test_a_field_of_the_convention_is_named_where_gradients_are_by_logits(monkeypatch):
    right = kernel("brush", "rasterize_bwd", monkeypatch)
    wrong = splatcheck.check(lambda x, meta: right(x, meta, "sampled at corners"), preset="brush", count=5, corpus=None)
    assert wrong.verdict == "disagree", wrong
    assert "the convention's field pixel_center (where in a pixel it is sampled) is 0.0" in str(wrong), wrong


@pytest.mark.parametrize("preset", ["gsplat-1.5", "gsplat-main"])
@pytest.mark.parametrize(("level", "module", "function", "bug", "words"), PROJECTIONS)
def test_a_projection_that_knows_the_size_of_the_image(preset, level, module, function, bug, words, monkeypatch):
    right = kernel(module, function, monkeypatch)
    result = splatcheck.check(right, preset=preset, level=level, corpus=CORPUS, count=60)
    assert result.verdict == "agree", result
    assert result.judged > 90 and result.model == "cuda-fast", result
    wrong = splatcheck.check(lambda x, meta: right(x, meta, bug), preset=preset, level=level, corpus=CORPUS, count=10)
    assert wrong.verdict == "disagree", f"{bug} is not found: {wrong}"
    assert words in str(wrong), wrong


@pytest.mark.parametrize(("preset", "module", "function", "bug", "scenes"), FULL)
def test_a_jax_kernel_from_scene_to_gradients(preset, module, function, bug, scenes, monkeypatch, tmp_path):
    pytest.importorskip("jax", reason="NOT EXERCISED: jax is not installed")
    right = kernel(module, function, monkeypatch)
    others = ["harmonics"]
    for scene in [*others, *scenes]:
        (tmp_path / f"{scene}.toml").write_text(CHANGED[scene]() if scene in CHANGED else text_of(scene))
    options = {"preset": preset, "level": "full", "corpus": tmp_path, "count": 0, "layouts": False}
    result = splatcheck.check(right, **options)
    assert result.verdict == "agree" and result.cases >= 2, result
    for scene in others:
        (tmp_path / f"{scene}.toml").unlink()
    wrong = splatcheck.check(lambda x, meta: right(x, meta, bug), **options)
    assert wrong.verdict == "disagree", f"{bug} is not found: {wrong}"


def test_a_right_jax_kernel_has_no_element_outside_its_bounds(monkeypatch):
    """Drawn scenes, some of whose gradients are sums of terms that cancel in the reals: no automatic
    differentiation loses there more than its bound."""
    pytest.importorskip("jax", reason="NOT EXERCISED: jax is not installed")
    right = kernel("inria_full", "rasterize_gaussians", monkeypatch)
    result = splatcheck.check(right, preset="inria", level="full", corpus=None, count=8, layouts=False)
    assert result.disagree == 0 and not result.findings and result.judged == 8, result


LEVELS = [
    *((preset, level) for preset in ("gsplat-1.5", "gsplat-main") for level in ("raster", "project", "project-backward")),
    ("gsplat-1.5", "full"),
    ("inria", "raster"),
    ("inria", "full"),
    ("fastgs", "full"),
    ("faster-gs", "full"),
    ("brush", "raster"),
]


@pytest.mark.parametrize(("preset", "level"), LEVELS)
def test_what_is_drawn_is_for_the_kernel_and_the_oracle_agrees(preset, level):
    judged = 0
    for case in splatcheck.cases(preset=preset, level=level, count=16):
        assert case.not_for is None
        values = splatcheck.oracle(case)
        if set(values) >= set(case.outputs) and all(values[k].shape == v for k, v in case.outputs.items()):
            whole = lambda name: np.int32 if name == "radii" else np.float32  # noqa: E731
            splatcheck.assert_gradients({name: values[name].astype(whole(name)) for name in case.outputs}, case)
        judged += 1
    assert judged == 16


@pytest.mark.parametrize("channels", [1, 3, 7, 32])
def test_a_preset_of_any_number_of_channels_is_judged_as_often_as_asked(tmp_path, channels):
    own = tmp_path / "own.toml"
    own.write_text(f"""channels = {channels}
convention = "gsplat"
constants = {{ alpha_max = 0.999 }}
[raster]
inputs = [{{ name = "colors" }}, {{ name = "background" }}, {{ name = "v_render_colors" }}]
outputs = [{{ name = "v_means2d" }}, {{ name = "v_conics" }}, {{ name = "v_colors" }}, {{ name = "v_opacities" }}]
""")
    cases = splatcheck.cases(preset=str(own), count=20)
    assert len(list(cases)) == 20
    for case in cases:
        assert case.inputs["colors"].shape[1] == case.inputs["background"].shape[0] == channels
        assert case.metadata["alpha_max"] == np.float32(0.999)
        values = splatcheck.oracle(case)
        assert all(np.isfinite(values[f"bound_{name}"]).all() for name in case.outputs), case
    answers = {case.inputs["colors"].tobytes(): case for case in cases}

    def oracle(inputs, metadata):
        case = answers[inputs["colors"].tobytes()]
        return {name: splatcheck.oracle(case)[name].astype(np.float32) for name in case.outputs}

    result = splatcheck.check(oracle, preset=str(own), count=20, corpus=None)
    assert result.judged == result.asked == 20 and str(result).startswith("agree: 20 cases, "), result
    few = {"corpus": CORPUS, "count": 0, "preset": str(own)}
    if channels == 7:
        result = splatcheck.check(oracle, **few)
        assert result.verdict == "not exercised" and "no element was compared" in str(result), result


def test_a_preset_that_no_case_can_be_for_is_refused(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text("""channels = 5
[full]
inputs = [{ name = "sh" }]
outputs = [
    { name = "render_colors" }, { name = "v_means" }, { name = "v_quats" }, { name = "v_scales" }, { name = "v_opacities" }, { name = "v_sh" },
]
""")
    with pytest.raises(ValueError, match="own.toml:1: channels is 5: level full takes harmonics alone"):
        splatcheck.check(lambda x, m: {}, preset=str(own), level="full")


def test_what_a_kernel_has_and_is_not_given_is_none():
    case = splatcheck.cases(preset="gsplat-1.5", count=1)[0]
    assert case.preset == "gsplat-1.5" and case.inputs["masks"] is None
    assert case.inputs["means2d"].shape == (1, *case.outputs["v_opacities"][1:], 2)
    assert case.inputs["last_ids"].min() >= 0, "0 stands for none"
    assert "null" not in case.metadata and case.metadata["image_width"] == case.metadata["width"]


def test_cases_in_files_that_are_not_for_a_kernel_say_why():
    cases = splatcheck.cases(preset="inria", count=0, corpus="built-in")
    why = {case.not_for for case in (cases[index] for index in range(len(cases)))}
    assert why == {
        None,
        "with another value of a constant that is built into the kernel",
        "with another number of channels than 3",
        "without a number to compare",
    }
    for case in cases:
        assert case.not_for is None and np.all(case.inputs["dL_dpixels"].shape[0] == 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preset": "gsplat"}, "there is no preset 'gsplat': expected gsplat-1.5, gsplat-main"),
        ({"preset": "brush", "level": "full"}, "preset brush has no level full: it has raster"),
        ({"preset": "fastgs", "level": "raster"}, "preset fastgs has no level raster (its buckets"),
        ({"preset": "nowhere/own.toml"}, "cannot read the file"),
        ({"preset": "inria", "level": "full", "formulation": "brush"}, "level full has no formulation"),
    ],
)
def test_a_preset_that_cannot_be_followed_is_a_value_error(options, words):
    with pytest.raises(ValueError) as error:
        splatcheck.cases(**options)
    assert words in str(error.value), error.value


def test_a_preset_of_ones_own(tmp_path):
    own = tmp_path / "own.toml"
    text = """formulation = "3dgs"
[raster]
inputs = [{ name = "xys", tensor = "means2d", layout = "planar" }]
outputs = [{ name = "all", fields = ["v_means2d", "v_conics", "v_opacities"] }, { name = "v_colors" }]
"""
    own.write_text(text)
    case = splatcheck.cases(preset=str(own), count=1)[0]
    assert set(case.inputs) == {"xys"} and case.inputs["xys"].shape[0] == 2
    assert set(case.outputs) == {"all", "v_colors"}
    own.write_text(text.replace("v_conics", "v_conic"))
    with pytest.raises(ValueError) as error:
        splatcheck.cases(preset=str(own))
    assert f"{own}:4: raster.outputs 'all'.fields is 'v_conic': there are" in str(error.value)


def test_the_marker_takes_a_preset_and_skips_nothing(pytester):
    pytester.makepyfile(
        """
import pytest, splatcheck

@pytest.mark.splatcheck(preset="inria", level="raster", count=12, corpus=None)
def test_zeros(splat_case):
    assert splat_case.preset == "inria" and "conic_opacity" in splat_case.inputs
"""
    )
    pytester.runpytest_subprocess("-rs").assert_outcomes(passed=12)
