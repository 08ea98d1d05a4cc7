"""The backward rasterization of preset inria in numpy: a tile's pixels at once, Gaussians back to front.

Arrays are those of the device code of 3D Gaussian Splatting: opacities packed behind the conics, CHW gradients
of the image, contributors counted from 1, means' gradients by normalized device coordinates, half of the
conics' off-diagonal. There is no gradient of the opacity to start from (formulation 3dgs)."""

import numpy as np

f32 = np.float32
ALPHA_MAX, ALPHA_MIN = f32(0.99), f32(1 / 255)
TILE = 16


def render_backward(x, meta, bug=None):
    """The gradients; `bug` makes them wrong on purpose."""
    n, (width, height) = len(x["colors"]), (meta["W"], meta["H"])
    shapes = {"mean2D": (n, 3), "conic2D": (n, 2, 2), "opacity": (n, 1), "colors": x["colors"].shape}
    grads = {f"dL_d{name}": np.zeros(shape, f32) for name, shape in shapes.items()}
    with np.errstate(all="ignore"):
        for t, (start, end) in enumerate(x["ranges"]):
            row, column = divmod(t, -(-width // TILE))
            ys = np.arange(row * TILE, min((row + 1) * TILE, height))
            xs = np.arange(column * TILE, min((column + 1) * TILE, width))
            one_tile(x, grads, (start, end), np.ix_(ys, xs), f32([width, height]) / 2, bug)
    return grads


def one_tile(x, grads, bounds, pixels, half_sides, bug):
    """Adds what the pixels of a tile contribute."""
    (start, end), (ys, xs) = bounds, pixels
    v = np.moveaxis(x["dL_dpixels"], 0, 2)[pixels]
    contributors, final_t = x["n_contrib"][pixels], x["final_Ts"][pixels]
    transmittance, behind = final_t, np.zeros_like(v)
    background = (x["bg_color"] * v).sum(axis=-1)
    for place in range(end - start, 0, -1):
        g = x["point_list"][start + place - 1]
        (mx, my), (a, b, c, opacity) = x["points_xy_image"][g], x["conic_opacity"][g]
        dx, dy, color = mx - xs.astype(f32), my - ys.astype(f32), x["colors"][g]
        power = f32(-0.5) * (a * dx * dx + c * dy * dy) - b * dx * dy
        gauss = np.exp(power)
        alpha = np.minimum(ALPHA_MAX, opacity * gauss)
        counts = (power <= 0) & (alpha >= ALPHA_MIN) & (place <= contributors)
        alpha = np.where(counts, alpha, f32(0))
        transmittance = transmittance / (1 - alpha)
        grads["dL_dcolors"][g] += ((alpha * transmittance)[..., None] * v).sum(axis=(0, 1))
        v_alpha = ((color - behind) * transmittance[..., None] * v).sum(axis=-1)
        v_alpha -= final_t / (1 - alpha) * background
        behind = alpha[..., None] * color + (1 - alpha)[..., None] * behind
        v_alpha, gauss = np.where(counts, v_alpha, f32(0)), np.where(counts, gauss, f32(0))
        v_gauss = opacity * v_alpha * gauss
        grads["dL_dopacity"][g, 0] += (gauss * v_alpha).sum()
        full = 1 if bug == "full off-diagonal" else f32(0.5)
        for place2d, k in (((0, 0), dx * dx * f32(0.5)), ((0, 1), dx * dy * full), ((1, 1), dy * dy * f32(0.5))):
            grads["dL_dconic2D"][(g, *place2d)] -= (k * v_gauss).sum()
        for axis, k in enumerate((a * dx + b * dy, c * dy + b * dx)):
            grads["dL_dmean2D"][g, axis] -= (k * v_gauss * half_sides[axis]).sum()
