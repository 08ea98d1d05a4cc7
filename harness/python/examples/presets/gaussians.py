"""What the kernels in JAX have in common: rotations, colours from real spherical harmonics, splats, blending,
and the gradients."""

import jax
import jax.numpy as jnp


def differentiated(function, parameters, v_outputs):
    """The outputs of a function and its gradients by the parameters."""

    @jax.jit
    def both(parameters):
        outputs, vjp = jax.vjp(function, parameters)
        return outputs, vjp(v_outputs)[0]

    return both(parameters)


def rotations(quats):
    """Rotation matrices [N, 3, 3] of quaternions wxyz [N, 4] of any length."""
    a, b, c, d = (quats / jnp.linalg.norm(quats, axis=1, keepdims=True)).T
    rows = (1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c))
    rows += (2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b))
    rows += (2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c))
    return jnp.stack(rows, -1).reshape(-1, 3, 3)


def colors(sh, directions):
    """max(0, harmonics + 0.5) for coefficients [N, K, 3] and vectors [N, 3]: Sloan, JCGT 2013, A2."""
    x, y, z = (directions / jnp.linalg.norm(directions, axis=1, keepdims=True)).T
    xx, yy, zz = x * x, y * y, z * z
    basis = [0.28209479177387814 * jnp.ones_like(x)]
    basis += [0.4886025119029199 * k for k in (-y, z, -x)]
    basis += [1.0925484305920792 * x * y, -1.0925484305920792 * y * z]
    basis += [0.31539156525252005 * (2 * zz - xx - yy), -1.0925484305920792 * x * z]
    basis += [0.5462742152960396 * (xx - yy), -0.5900435899266435 * y * (3 * xx - yy)]
    basis += [2.890611442640554 * x * y * z, -0.4570457994644658 * y * (4 * zz - xx - yy)]
    basis += [0.3731763325901154 * z * (2 * zz - 3 * xx - 3 * yy)]
    basis += [-0.4570457994644658 * x * (4 * zz - xx - yy), 1.445305721320277 * z * (xx - yy)]
    basis += [-0.5900435899266435 * x * (xx - 3 * yy)]
    return jnp.maximum(0, jnp.einsum("kn,nkc->nc", jnp.stack(basis[: sh.shape[1]]), sh) + 0.5)


def splats(slopes, z, focal, turn, axes):
    """Covariances (a, b, c) [N, 2, 2] with their blur, their determinants and inverses [N, 3]."""
    (sx, sy), (fx, fy), zero = slopes, focal, jnp.zeros_like(z)
    jacobian = jnp.stack([fx / z, zero, -fx * sx / z, zero, fy / z, -fy * sy / z], -1).reshape(-1, 2, 3)
    root = jacobian @ turn @ axes
    (a, b), (_, c) = jnp.moveaxis(root @ root.transpose(0, 2, 1) + 0.3 * jnp.eye(2), 0, 2)
    det = a * c - b * b
    return (a, b, c), det, jnp.stack([c, -b, a], -1) / jnp.where(det != 0, det, 1.0)[:, None]


def power(center, conic, xs, ys):
    """The exponent of a splat at every pixel."""
    (dx, dy), (a, b, c) = (center[0] - xs, center[1] - ys), conic
    return -0.5 * (a * dx * dx + c * dy * dy) - b * dx * dy


def blended(size, depths, colors, splats, pair, last_counts=False):
    """Image [3, H, W] and transmittance, front to back while that is 1e-4 or more; `pair` gives a splat's alpha
    at every pixel, and where it counts. Whether the splat that takes it below is blended, `last_counts` says."""

    def step(state, one):
        (image, t, going), (color, splat) = state, one
        alpha, counts = pair(*splat)
        counts &= going
        going = going & ~(counts & (t * (1 - alpha) < 1e-4))
        alpha = jnp.where(counts if last_counts else counts & going, alpha, 0.0)
        return (image + alpha * t * color[:, None, None], t * (1 - alpha), going), None

    order = jnp.argsort(depths, stable=True)
    start = jnp.zeros((3, *size)), jnp.ones(size), jnp.ones(size, bool)
    (image, t, _), _ = jax.lax.scan(step, start, jax.tree.map(lambda k: k[order], (colors, splats)))
    return image, t
