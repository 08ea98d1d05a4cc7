"""The backward rasterization of preset gsplat-1.5 in numpy: a tile's pixels at once, Gaussians back to front.

Arrays are those of gsplat's rasterize_to_pixels_3dgs_bwd for one image. The light that arrives from behind
is kept in a buffer, and the transmittance is known as 1 - render_alphas (formulation gsplat-1.5)."""

import numpy as np

f32 = np.float32
ALPHA_MAX, ALPHA_MIN = f32(0.999), f32(1 / 255)


def rasterize_to_pixels_bwd(x, meta, bug=None):
    """The gradients; `bug` makes them wrong on purpose."""
    return backward(x, meta, (ALPHA_MAX, f32(0)), bug)


def backward(x, meta, constants, bug=None):
    """The gradients with this maximum of alpha and this least divisor."""
    grads = {f"v_{k}": np.zeros_like(x[k]) for k in ("means2d", "conics", "colors", "opacities")}
    grads["v_means2d_abs"] = np.zeros_like(x["means2d"])
    width, height, tile = (meta[k] for k in ("image_width", "image_height", "tile_size"))
    ends = np.append(x["tile_offsets"][0], len(x["flatten_ids"]))
    with np.errstate(all="ignore"):
        for t in range(len(ends) - 1):
            row, column = divmod(t, x["tile_offsets"].shape[2])
            ys = np.arange(row * tile, min((row + 1) * tile, height))
            xs = np.arange(column * tile, min((column + 1) * tile, width))
            one_tile(x, grads, ends[t : t + 2], np.ix_(ys, xs), constants, bug)
    return grads


def one_tile(x, grads, bounds, pixels, constants, bug):
    """Adds what the pixels of a tile contribute."""
    (start, end), (ys, xs), (alpha_max, least) = bounds, pixels, constants
    v, v_alphas = x["v_render_colors"][0][pixels], x["v_render_alphas"][0, ..., 0][pixels]
    last, final_t = x["last_ids"][0][pixels], 1 - x["render_alphas"][0, ..., 0][pixels]
    background = (x["backgrounds"][0] * v).sum(axis=-1)
    transmittance, buffer = final_t, np.zeros_like(v)
    for i in range(end - 1, start - 1, -1):
        g = x["flatten_ids"][i]
        (mx, my), (a, b, c) = x["means2d"][0, g], x["conics"][0, g]
        opacity, color = x["opacities"][0, g], x["colors"][0, g]
        dx, dy = mx - (xs.astype(f32) + f32(0.5)), my - (ys.astype(f32) + f32(0.5))
        sigma = f32(0.5) * (a * dx * dx + c * dy * dy) + b * dx * dy
        vis = np.exp(-sigma)
        alpha = np.minimum(alpha_max, opacity * vis)
        valid = (sigma >= 0) & (alpha >= ALPHA_MIN) & (i <= last)
        alpha = np.where(valid, alpha, f32(0))
        ra = 1 / np.maximum(least, 1 - alpha)
        transmittance, fac = transmittance * ra, alpha * (transmittance * ra)
        grads["v_colors"][0, g] += (fac[..., None] * v).sum(axis=(0, 1))
        v_alpha = ((color * transmittance[..., None] - buffer * ra[..., None]) * v).sum(axis=-1)
        v_alpha += final_t * ra * v_alphas - final_t * ra * background
        buffer = buffer + fac[..., None] * color
        passes = valid if bug == "clamp passes" else valid & (opacity * vis <= alpha_max)
        v_alpha, vis = np.where(passes, v_alpha, f32(0)), np.where(passes, vis, f32(0))
        v_sigma = -opacity * vis * v_alpha
        grads["v_opacities"][0, g] += (vis * v_alpha).sum()
        half = f32(0.5) * v_sigma
        grads["v_conics"][0, g] += [k.sum() for k in (half * dx * dx, v_sigma * dx * dy, half * dy * dy)]
        v_means2d = [v_sigma * k for k in (a * dx + b * dy, b * dx + c * dy)]
        grads["v_means2d"][0, g] += [v.sum() for v in v_means2d]
        magnitudes = v_means2d if bug == "magnitudes cancel" else np.abs(v_means2d)
        grads["v_means2d_abs"][0, g] += [v.sum() for v in magnitudes]
