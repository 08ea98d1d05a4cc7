"""Real tensors of PyTorch: as a kernel's arrays, and in files that torch.save wrote.

A torch that pip installs weighs gigabytes, with CUDA's libraries; Debian's package python3-torch has the
processor alone. tests/setup installs it, and it is found here where Debian puts it, behind everything of
the environment.
"""

import sys

import numpy as np
import pytest
import splatcheck
import test_arrays
from test_arrays import CASE
from test_importing import read_back, scene

sys.path.append("/usr/lib/python3/dist-packages")
torch = pytest.importorskip("torch", reason="NOT EXERCISED: torch (tests/setup installs python3-torch)")


def tensor(array):
    return torch.from_numpy(np.array(array))


def snapshots(x, meta):
    """What 3D Gaussian Splatting saves in front of its backward pass, 21 values, and of its forward pass, 19."""
    width, height = meta["width"], meta["height"]
    tan = [float(side / (2 * focal)) for side, focal in zip((width, height), np.diag(x["Ks"][0])[:2])]
    view = tensor(x["viewmats"][0]).transpose(0, 1)
    empty, buffer = torch.Tensor([]), torch.zeros(8, dtype=torch.uint8)
    background, means, opacities = tensor(x["backgrounds"][0]), tensor(x["means"]), tensor(x["opacities"])[:, None]
    shape = [tensor(x["scales"]), tensor(x["quats"]), 1.0, empty, view, view @ view, *tan]
    colors = [tensor(x["sh"]), int(np.sqrt(x["sh"].shape[1])) - 1, tensor(np.zeros(3, np.float32))]
    radii, image = torch.zeros(len(x["means"]), dtype=torch.int32), tensor(x["v_render_colors"][0]).permute(2, 0, 1)
    backward = (background, means, radii, empty, *shape, image, *colors, buffer, 7, buffer, buffer, True)
    forward = (background, means, empty, opacities, *shape, height, width, *colors, False, True)
    return backward, forward


def test_a_snapshot_that_torch_saved_becomes_the_case_that_it_was(tmp_path):
    x, meta = scene()
    backward, forward = snapshots(x, meta)
    torch.save(backward, tmp_path / "snapshot_bw.dump")
    torch.save(forward, tmp_path / "snapshot_fw.dump")
    made = splatcheck.import_case(
        tmp_path / "snapshot_bw.dump", tmp_path / "cases", forward=tmp_path / "snapshot_fw.dump"
    )
    arrays, metadata = read_back(made)
    assert metadata["convention"] == "inria"
    for name in ("means", "quats", "scales", "opacities", "sh", "viewmats", "backgrounds", "v_render_colors"):
        assert np.array_equal(arrays[name], x[name]), name


def test_a_call_that_torch_saved_becomes_its_case(tmp_path):
    x, meta = scene(harmonics=False)
    names = ("means", "quats", "scales", "opacities", "colors", "viewmats", "Ks", "backgrounds")
    call = {name: tensor(x[name]).requires_grad_() for name in names}
    call |= {"width": meta["width"], "height": meta["height"], "v_render_colors": tensor(x["v_render_colors"])}
    torch.save(call, tmp_path / "call.pt")
    arrays, metadata = read_back(splatcheck.import_case(tmp_path / "call.pt", tmp_path / "cases"))
    assert metadata["convention"] == "gsplat"
    for name in (*names, "v_render_colors"):
        assert np.array_equal(arrays[name], x[name]), name


def right():
    """What the oracle returns, rounded to float32, as tensors."""
    return {name: tensor(array) for name, array in test_arrays.right().items()}


def test_tensors_are_taken_however_they_lie():
    turned = {name: value.t().contiguous().t() if value.ndim == 2 else value for name, value in right().items()}
    assert not turned["v_means2d"].is_contiguous()
    splatcheck.assert_gradients(turned, CASE)
    turned["v_colors"][-1, 0] += 1
    with pytest.raises(AssertionError, match="v_colors"):
        splatcheck.assert_gradients(turned, CASE)


def test_what_a_tensor_cannot_be_is_said_with_its_name():
    def refused(words, change):
        outputs = right()
        outputs["v_conics"] = change(outputs["v_conics"])
        with pytest.raises(TypeError, match=words):
            splatcheck.assert_gradients(outputs, CASE)

    refused("output 'v_conics' requires a gradient: return it with .detach()", lambda t: t.requires_grad_())
    refused("output 'v_conics' is of type torch.bfloat16, of which numpy makes no array", lambda t: t.bfloat16())
    refused("output 'v_conics' is of type float16: expected float32", lambda t: t.half())


def loss(parameters, inputs, metadata, lost):
    """The loss of an image: all its pixels at once, the Gaussians of all tiles front to back."""
    ys, xs = np.indices((metadata["height"], metadata["width"]))
    size = metadata["tile_size"]
    first = tensor(inputs["tile_offsets"][ys // size * -(-metadata["width"] // size) + xs // size])
    px, py = (tensor(axis.astype(np.float32)) + metadata["pixel_center"] for axis in (xs, ys))
    last, v = tensor(inputs["last_ids"]), tensor(inputs["v_render_colors"])
    image, transmittance = torch.zeros_like(v), torch.ones(v.shape[:2])
    for place, id in enumerate(inputs["flatten_ids"].tolist()):
        (x, y), (a, b, c), opacity, color = (parameter[id] for parameter in parameters)
        dx, dy = x - px, y - py
        power = -0.5 * (a * dx * dx + c * dy * dy) - b * dx * dy
        full = opacity * torch.exp(power)
        alpha = torch.where(full > metadata["alpha_max"], torch.tensor(metadata["alpha_max"]), full)
        if not metadata["clamp_stops_gradient"]:
            alpha = full + (alpha - full).detach()
        counts = (power <= 0) & (alpha >= metadata["alpha_min"]) & (first <= place) & (place <= last)
        alpha = torch.where(counts & torch.tensor(place != lost), alpha, torch.zeros(()))
        image = image + (alpha * transmittance)[..., None] * color
        transmittance = transmittance * (1 - alpha)
    image = image + transmittance[..., None] * tensor(inputs["background"])
    return (image * v).sum() + ((1 - transmittance) * tensor(inputs["v_render_alphas"])).sum()


def rasterize_backward(inputs, metadata, lost=-1):
    """Gradients of means2d, conics, opacities and colors by torch's automatic differentiation."""
    names = ("means2d", "conics", "opacities", "colors")
    parameters = [tensor(inputs[name]).requires_grad_() for name in names]
    loss(parameters, inputs, metadata, lost).backward()
    gradient = lambda parameter: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    return {f"v_{name}": gradient(parameter) for name, parameter in zip(names, parameters)}


def test_a_rasterizer_by_automatic_differentiation_agrees_and_a_wrong_one_is_found():
    splatcheck.check(rasterize_backward, count=10, formulation="state,final_t=recomputed").raise_for_findings()
    lost = lambda inputs, metadata: rasterize_backward(inputs, metadata, lost=0)
    with pytest.raises(AssertionError, match="disagree: "):
        splatcheck.check(lost, count=10, formulation="state,final_t=recomputed").raise_for_findings()
