"""Image and gradients of preset inria at level full in JAX, by automatic differentiation.

The view matrix is transposed, points go through the projection matrix to normalized device coordinates, and
a Gaussian is seen in the tiles of a square about it. Where the convention's gradient is not the derivative,
at alpha's clamp and at that of the field of view, `stop_gradient` says so."""

import gaussians
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
    parameters, v = {name: x[name] for name in names}, x["dL_dout_color"]
    image, grads = gaussians.differentiated(lambda p: rasterize(x | p, meta, bug), parameters, v)
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
    slopes = jnp.where((slopes < -limits) | (slopes > limits), limited, slopes).T
    axes = gaussians.rotations(x["rotations"]) * x["scales"][:, None]
    turn = x["viewmatrix"][:3, :3] if bug == "view matrix" else x["viewmatrix"][:3, :3].T
    (a, _, c), det, conics = gaussians.splats(slopes, z, focal, turn, axes)
    mid = 0.5 * (a + c)
    radius = jnp.ceil(3 * jnp.sqrt(mid + jnp.sqrt(jnp.maximum(0.1, mid * mid - det))))[:, None]
    tiles = stop_gradient(jnp.stack([(centers - radius) // TILE, (centers + radius + TILE - 1) // TILE], 1))
    opacities = jnp.where(seen & (det != 0), x["opacities"][:, 0], 0.0)
    colors = gaussians.colors(x["sh"], means - x["campos"]) if "sh" in x else x["colors_precomp"]
    ys, xs = np.indices((h, w))

    def pair(center, conic, opacity, corners):
        (x0, y0), (x1, y1) = corners
        power = gaussians.power(center, conic, xs, ys)
        full = opacity * jnp.exp(jnp.minimum(power, 0))
        alpha = full + stop_gradient(jnp.minimum(0.99, full) - full)
        inside = (x0 <= xs // TILE) & (xs // TILE < x1) & (y0 <= ys // TILE) & (ys // TILE < y1)
        return alpha, inside & (power <= 0) & (alpha >= 1 / 255)

    splats = (centers, conics, opacities, tiles)
    image, t = gaussians.blended((h, w), position[:, 2], colors, splats, pair)
    return image + t * x["bg"][:, None, None]
