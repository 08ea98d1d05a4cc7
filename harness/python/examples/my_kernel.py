"""The backward rasterization in numpy, float32: a tile's pixels at once, its Gaussians back to front.

The formulation is that of 3D Gaussian Splatting (``3dgs``): alpha = min(alpha_max, opacity exp(power)) and
power = -(a dx^2 + c dy^2) / 2 - b dx dy; a pair counts where power <= 0 and alpha >= alpha_min.
"""

import numpy as np


def rasterize_backward(inputs, metadata, bug=None):
    """Gradients of means2d, conics, opacities and colors."""
    names = ("means2d", "conics", "opacities", "colors")
    grads = {f"v_{name}": np.zeros_like(inputs[name]) for name in names}
    width, height, tile = (metadata[key] for key in ("width", "height", "tile_size"))
    with np.errstate(all="ignore"):
        for t in range(len(inputs["tile_offsets"]) - 1):
            row, column = divmod(t, -(-width // tile))
            ys = np.arange(row * tile, min((row + 1) * tile, height))
            xs = np.arange(column * tile, min((column + 1) * tile, width))
            one_tile(inputs, metadata, grads, t, np.ix_(ys, xs), bug)
    return grads


def one_tile(inputs, metadata, grads, t, pixels, bug):
    """Adds what the pixels of a tile contribute."""
    ys, xs = pixels
    v, v_alpha_image = inputs["v_render_colors"][pixels], inputs["v_render_alphas"][pixels]
    last, transmittance = inputs["last_ids"][pixels], inputs["render_transmittance"][pixels]
    final = transmittance
    from_background = (v * inputs["background"]).sum(axis=-1)
    behind = np.zeros_like(v)
    center, cut = metadata["pixel_center"], metadata["alpha_min"]
    px, py = xs.astype(np.float32) + center, ys.astype(np.float32) + center
    start, end = inputs["tile_offsets"][t : t + 2]
    for i in range(end - 1, start - 1, -1):
        g = inputs["flatten_ids"][i]
        (x, y), (a, b, c) = inputs["means2d"][g], inputs["conics"][g]
        opacity, color = inputs["opacities"][g], inputs["colors"][g]
        dx, dy = x - px, y - py
        power = np.float32(-0.5) * (a * dx * dx + c * dy * dy) - b * dx * dy
        gauss = np.exp(power)
        full = opacity * gauss
        alpha = np.minimum(metadata["alpha_max"], full)
        counts = (power <= 0) & (alpha >= cut) & (i <= last)
        if bug == "lost lane":
            counts &= (ys * metadata["tile_size"] + xs) % 32 != 31
        alpha = np.where(counts, alpha, np.float32(0))
        transmittance = transmittance / (1 - alpha)
        grads["v_colors"][g] += ((alpha * transmittance)[..., None] * v).sum(axis=(0, 1))
        v_alpha = ((color - behind) * transmittance[..., None] * v).sum(axis=-1)
        v_alpha += final / (1 - alpha) * (v_alpha_image - from_background)
        behind = alpha[..., None] * color + (1 - alpha)[..., None] * behind
        if metadata["clamp_stops_gradient"]:
            counts = counts & (full <= metadata["alpha_max"])
        v_alpha = np.where(counts, v_alpha, np.float32(0))
        gauss = np.where(counts, gauss, np.float32(0))
        v_power = opacity * v_alpha * gauss
        half = np.float32(0.5)
        grads["v_opacities"][g] += (gauss * v_alpha).sum()
        grads["v_conics"][g] += [
            (factor * v_power).sum() for factor in (-half * dx * dx, -dx * dy, -half * dy * dy)
        ]
        grads["v_means2d"][g] += [
            (factor * v_power).sum() for factor in (-(a * dx + b * dy), -(c * dy + b * dx))
        ]
