"""Image and gradients of preset faster-gs in JAX: the projection of fastgs, and a blending of its own. Alpha has no
maximum, an exponent above 0 is 0, and the Gaussian that takes the transmittance below 1e-4 is still blended."""

import fastgs
import gaussians
import jax.numpy as jnp

NAMES = ("means", "scales", "rotations", "opacities", "sh_coefficients_0", "sh_coefficients_rest")


def backward_wrapper(x, meta, bug=None):
    """The image and the gradients; `bug` makes them wrong on purpose."""
    x = {name: jnp.asarray(array) for name, array in x.items()}
    parameters = [x[name] for name in NAMES]
    image, grads = gaussians.differentiated(lambda p: rasterize(p, x, meta, bug), parameters, x["grad_image"])
    return {"image": image} | {f"grad_{k}": v for k, v in zip(NAMES, grads, strict=True)}


def rasterize(parameters, x, meta, bug):
    depths, colors, splats, (ys, xs) = fastgs.projected([*parameters, x["w2c"]], x, meta)

    def pair(center, conic, opacity):
        alpha = opacity * jnp.exp(jnp.minimum(gaussians.power(center, conic, xs, ys), 0))
        return alpha, alpha >= 1 / 255

    image, t = gaussians.blended(ys.shape, depths, colors, splats, pair, bug != "the last is not blended")
    return image + t * x["bg_color"][:, None, None]
