"""Image and gradients of preset inria at level full in JAX, by automatic differentiation.

The view matrix is transposed, points go through the projection matrix to normalized device coordinates, and
a Gaussian is seen in the tiles of a square about it. Where the convention's gradient is not the derivative,
at alpha's clamp and at that of the field of view, `stop_gradient` says so."""

import gaussians
import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import stop_gradient

TILE = 16


def rasterize_gaussians(x, meta, bug=None):
    """The image and the gradients; `bug` makes them wrong on purpose."""
    colors = "sh" if x.get("sh") is not None else "colors_precomp"
    names = {"means3D": "dL_dmeans3D", "opacities": "dL_dopacity", "scales": "dL_dscales"}
    names |= {"rotations": "dL_drotations", colors: "dL_dsh" if colors == "sh" else "dL_dcolors"}
    x = {name: jnp.asarray(array) for name, array in x.items() if array is not None}

    @jax.jit
    def differentiate(parameters):
        image, vjp = jax.vjp(lambda p: rasterize(x | p, meta, bug), parameters)
        return image, vjp(x["dL_dout_color"])[0]

    image, grads = differentiate({name: x[name] for name in names})
    return {"color": image} | {names[k]: v for k, v in grads.items()}


def rasterize(x, meta, bug):
    """Image [3, H, W]."""
    w, h, means = meta["image_width"], meta["image_height"], x["means3D"]
    tangents = jnp.array([meta["tanfovx"], meta["tanfovy"]])
    focal = jnp.array([w, h], jnp.float32) / (2 * tangents)
    position = means @ x["viewmatrix"][:3, :3] + x["viewmatrix"][3, :3]
    seen = position[:, 2] > 0.2
    z = jnp.where(seen, position[:, 2], 1.0)
    clip = means @ x["projmatrix"][:3] + x["projmatrix"][3]
    ndc = clip[:, :2] / jnp.where(seen, clip[:, 3], 1.0)[:, None]
    centers = ((ndc + 1) * jnp.array([w, h]) - 1) * 0.5
    slopes, limits = position[:, :2] / z[:, None], 1.3 * tangents
    limited = stop_gradient(jnp.clip(slopes, -limits, limits) * z[:, None]) / z[:, None]
    sx, sy = jnp.where((slopes < -limits) | (slopes > limits), limited, slopes).T
    (fx, fy), zero = focal, jnp.zeros_like(z)
    jacobian = jnp.stack([fx / z, zero, -fx * sx / z, zero, fy / z, -fy * sy / z], -1).reshape(-1, 2, 3)
    axes = gaussians.rotations(x["rotations"]) * x["scales"][:, None]
    root = jacobian @ (x["viewmatrix"][:3, :3] if bug == "view matrix" else x["viewmatrix"][:3, :3].T) @ axes
    covariance = root @ root.transpose(0, 2, 1) + 0.3 * jnp.eye(2)
    a, b, c = covariance[:, 0, 0], covariance[:, 0, 1], covariance[:, 1, 1]
    det = a * c - b * b
    conics = jnp.stack([c, -b, a], -1) / jnp.where(det != 0, det, 1.0)[:, None]
    mid = 0.5 * (a + c)
    radius = jnp.ceil(3 * jnp.sqrt(mid + jnp.sqrt(jnp.maximum(0.1, mid * mid - det))))[:, None]
    tiles = stop_gradient(jnp.stack([(centers - radius) // TILE, (centers + radius + TILE - 1) // TILE], 1))
    opacities = jnp.where(seen & (det != 0), x["opacities"][:, 0], 0.0)
    offset = means - x["campos"]
    unit = offset / jnp.linalg.norm(offset, axis=1, keepdims=True)
    colors = gaussians.colors(x["sh"], unit) if "sh" in x else x["colors_precomp"]
    ys, xs = np.indices((h, w))

    def step(state, one):
        (image, t, going), (mx, my), (a, b, c), opacity, color, ((x0, y0), (x1, y1)) = state, *one
        dx, dy = mx - xs, my - ys
        power = -0.5 * (a * dx * dx + c * dy * dy) - b * dx * dy
        full = opacity * jnp.exp(jnp.minimum(power, 0))
        alpha = full + stop_gradient(jnp.minimum(0.99, full) - full)
        counts = going & (power <= 0) & (alpha >= 1 / 255)
        counts &= (x0 <= xs // TILE) & (xs // TILE < x1) & (y0 <= ys // TILE) & (ys // TILE < y1)
        going = going & ~(counts & (t * (1 - alpha) < 1e-4))
        alpha = jnp.where(counts & going, alpha, 0.0)
        return (image + alpha * t * color[:, None, None], t * (1 - alpha), going), None

    order = jnp.argsort(position[:, 2], stable=True)
    start = jnp.zeros((3, h, w)), jnp.ones((h, w)), jnp.ones((h, w), bool)
    splats = (centers, conics, opacities, colors, tiles)
    (image, t, _), _ = jax.lax.scan(step, start, tuple(k[order] for k in splats))
    return image + t * x["bg"][:, None, None]
