"""The backward rasterization of preset brush in numpy: a tile's pixels at once, Gaussians front to back again.

A splat is a row of nine numbers (mean, conic, colour, opacity), a pixel one of four (colour, opacity). What is
left of the rendered image lies behind a Gaussian, and opacities' gradients are by their logits."""

import numpy as np

f32 = np.float32
ALPHA_MAX, ALPHA_MIN, T_MIN = f32(0.999), f32(1 / 255), f32(1e-4)


def rasterize_bwd(x, meta, bug=None):
    """The gradients; `bug` makes them wrong on purpose."""
    n, (height, width, tile) = len(x["projected"]), (meta["height"], meta["width"], meta["tile_size"])
    grads = {"v_splats": np.zeros((n, 8), f32), "v_opac": np.zeros(n, f32)}
    with np.errstate(all="ignore"):
        for t, bounds in enumerate(x["tile_offsets"]):
            row, column = divmod(t, -(-width // tile))
            ys = np.arange(row * tile, min((row + 1) * tile, height))
            xs = np.arange(column * tile, min((column + 1) * tile, width))
            one_tile(x, grads, bounds, np.ix_(ys, xs), bug)
    return grads


def one_tile(x, grads, bounds, pixels, bug):
    """Adds what the pixels of a tile contribute."""
    ys, xs = pixels
    out, v_out, background = x["out_img"][pixels], x["v_output"][pixels], x["background"]
    final_t, v = 1 - out[..., 3], v_out[..., :3]
    center = f32(0) if bug == "sampled at corners" else f32(0.5)
    rest = out[..., :3] - final_t[..., None] * background
    v_final = (v_out[..., 3] - (background * v).sum(axis=-1)) * final_t
    t, going = np.ones_like(final_t), np.ones(final_t.shape, bool)
    for g in x["compact_gid_from_isect"][slice(*bounds)]:
        mx, my, a, b, c, *color, opacity = x["projected"][g]
        color = np.maximum(f32(color), f32(0))
        dx, dy = mx - (xs.astype(f32) + center), my - (ys.astype(f32) + center)
        sigma = f32(0.5) * (a * dx * dx + c * dy * dy) + b * dx * dy
        full = opacity * np.exp(-sigma)
        alpha = np.minimum(ALPHA_MAX, full)
        counts = going & (sigma >= 0) & (alpha >= ALPHA_MIN)
        next_t = t * (1 - alpha)
        going = going & ~(counts & (next_t <= T_MIN))
        counts &= going
        weight = np.where(counts, alpha * t, f32(0))
        rest = rest - weight[..., None] * color
        ra = 1 / (1 - alpha)
        v_alpha = ((color * t[..., None] - rest * ra[..., None]) * v).sum(axis=-1) + v_final * ra
        passes = counts & (full <= ALPHA_MAX)
        v_alpha, alpha = np.where(passes, v_alpha, f32(0)), np.where(passes, alpha, f32(0))
        v_sigma = -alpha * v_alpha
        rows = [v_sigma * (a * dx + b * dy), v_sigma * (b * dx + c * dy)]
        rows += [f32(0.5) * v_sigma * dx * dx, v_sigma * dx * dy, f32(0.5) * v_sigma * dy * dy]
        grads["v_splats"][g, :5] += [row.sum() for row in rows]
        grads["v_splats"][g, 5:] += (weight[..., None] * v).sum(axis=(0, 1))
        by_logit = 1 if bug == "by opacity" else 1 - opacity
        grads["v_opac"][g] += (alpha * by_logit * v_alpha).sum()
        t = np.where(counts, next_t, t)
