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

    @jax.jit
    def differentiate(parameters):
        outputs, vjp = jax.vjp(lambda p: rasterize(p, x, meta, bug), parameters)
        return outputs, vjp((x["grad_image"], x["grad_alpha"]))[0]

    (image, alpha), grads = differentiate([x[name] for name in NAMES])
    return {"image": image, "alpha": alpha} | {f"grad_{k}": v for k, v in zip(NAMES, grads, strict=True)}


def rasterize(parameters, x, meta, bug):
    (means, scales, quats, logits, dc, rest, w2c), (h, w) = parameters, x["grad_image"].shape[1:]
    fx, fy, cx, cy = x["K"][0, 0], x["K"][1, 1], x["K"][0, 2], x["K"][1, 2]
    turn, shift = w2c[:3, :3], w2c[:3, 3]
    position = means @ turn.T + shift
    seen = (position[:, 2] >= meta["near_plane"]) & (position[:, 2] <= meta["far_plane"])
    tx, ty, tz = jnp.where(seen[:, None], position, 1.0).T
    axes = gaussians.rotations(quats) * jnp.exp(scales * (2 if bug == "scale twice" else 1))[:, None]
    sx = jnp.clip(tx / tz, -(cx / fx + 0.15 * w / fx), (w - cx) / fx + 0.15 * w / fx)
    sy = jnp.clip(ty / tz, -(cy / fy + 0.15 * h / fy), (h - cy) / fy + 0.15 * h / fy)
    jacobian = jnp.stack([fx / tz, zero := jnp.zeros_like(tz), -fx * sx / tz, zero, fy / tz, -fy * sy / tz], -1).reshape(-1, 2, 3)
    root = jacobian @ turn @ axes
    (xx, xy), (_, yy) = jnp.moveaxis(root @ root.transpose(0, 2, 1) + 0.3 * jnp.eye(2), 0, 2)
    det = xx * yy - xy * xy
    conics = jnp.stack([yy, -xy, xx], -1) / jnp.where(det > 0, det, 1.0)[:, None]
    opacities = jax.nn.sigmoid(logits[:, 0]) * (seen & (det > 0))
    offset = means + turn.T @ shift
    unit = offset / jnp.linalg.norm(offset, axis=1, keepdims=True)
    colors = gaussians.colors(jnp.concatenate([dc, rest], axis=1), unit)
    ys, xs = (jnp.asarray(k, jnp.float32) + 0.5 for k in np.indices((h, w)))

    def step(state, one):
        (image, t, going), (mx, my), (a, b, c), opacity, color = state, *one
        dx, dy = mx - xs, my - ys
        power = -0.5 * (a * dx * dx + c * dy * dy) - b * dx * dy
        alpha = jnp.minimum(0.999, opacity * jnp.exp(jnp.minimum(power, 0)))
        counts = going & (power <= 0) & (alpha >= 1 / 255)
        going = going & ~(counts & (t * (1 - alpha) < 1e-4))
        alpha = jnp.where(counts & going, alpha, 0.0)
        return (image + alpha * t * color[:, None, None], t * (1 - alpha), going), None

    splats = (jnp.stack([fx * tx / tz + cx, fy * ty / tz + cy], -1), conics, opacities, colors)
    order = jnp.argsort(position[:, 2], stable=True)
    start = jnp.zeros((3, h, w)), jnp.ones((h, w)), jnp.ones((h, w), bool)
    (image, t, _), _ = jax.lax.scan(step, start, tuple(k[order] for k in splats))
    return image + t * x["bg_color"][:, None, None], (1 - t)[None]
