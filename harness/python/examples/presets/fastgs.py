"""Image and gradients of preset fastgs in JAX: parameters as they are trained, by automatic differentiation.
Every pixel meets every Gaussian, front to back: the image does not depend on tiles."""

import gaussians
import jax
import jax.numpy as jnp
import numpy as np

NAMES = ("means", "scales_raw", "rotations_raw", "opacities_raw", "sh_coefficients_0", "sh_coefficients_rest", "w2c")


def backward_wrapper(x, meta, bug=None):
    """The image, its alphas and the gradients; `bug` makes them wrong on purpose."""
    x = {name: jnp.asarray(array) for name, array in x.items()}
    parameters, v = [x[name] for name in NAMES], (x["grad_image"], x["grad_alpha"])
    outputs, grads = gaussians.differentiated(lambda p: rasterize(p, x, meta, bug), parameters, v)
    image, alpha = outputs
    return {"image": image, "alpha": alpha} | {f"grad_{k}": v for k, v in zip(NAMES, grads, strict=True)}


def projected(parameters, x, meta, bug=None):
    """Depths, colours, splats (centre, conic, opacity) and pixels."""
    (means, scales, quats, logits, dc, rest, w2c), (h, w) = parameters, x["grad_image"].shape[1:]
    fx, fy, cx, cy = x["K"][0, 0], x["K"][1, 1], x["K"][0, 2], x["K"][1, 2]
    turn, shift = w2c[:3, :3], w2c[:3, 3]
    position = means @ turn.T + shift
    seen = (position[:, 2] >= meta["near_plane"]) & (position[:, 2] <= meta["far_plane"])
    tx, ty, tz = jnp.where(seen[:, None], position, 1.0).T
    axes = gaussians.rotations(quats) * jnp.exp(scales * (2 if bug == "scale twice" else 1))[:, None]
    sx = jnp.clip(tx / tz, -(cx / fx + 0.15 * w / fx), (w - cx) / fx + 0.15 * w / fx)
    sy = jnp.clip(ty / tz, -(cy / fy + 0.15 * h / fy), (h - cy) / fy + 0.15 * h / fy)
    _, det, conics = gaussians.splats((sx, sy), tz, (fx, fy), turn, axes)
    opacities = jax.nn.sigmoid(logits[:, 0]) * (seen & (det > 0))
    colors = gaussians.colors(jnp.concatenate([dc, rest], axis=1), means + turn.T @ shift)
    ys, xs = (jnp.asarray(k, jnp.float32) + 0.5 for k in np.indices((h, w)))
    centers = jnp.stack([fx * tx / tz + cx, fy * ty / tz + cy], -1)
    return position[:, 2], colors, (centers, conics, opacities), (ys, xs)


def rasterize(parameters, x, meta, bug):
    depths, colors, splats, (ys, xs) = projected(parameters, x, meta, bug)

    def pair(center, conic, opacity):
        power = gaussians.power(center, conic, xs, ys)
        raw = opacity * jnp.exp(jnp.minimum(power, 0))
        alpha = jnp.minimum(0.999, raw)
        if bug != "zero at the clamp":  # d alpha = alpha d ln(raw), with alpha clamped
            gradient = raw * jax.lax.stop_gradient(alpha / jnp.where(raw > 0, raw, 1.0))
            alpha = gradient + jax.lax.stop_gradient(alpha - gradient)
        return alpha, (power <= 0) & (alpha >= 1 / 255)

    image, t = gaussians.blended(ys.shape, depths, colors, splats, pair)
    return image + t * x["bg_color"][:, None, None], (1 - t)[None]
