"""What the kernels in JAX have in common: rotations, and colours from real spherical harmonics."""

import jax.numpy as jnp


def rotations(quats):
    """Rotation matrices [N, 3, 3] of quaternions wxyz [N, 4] of any length."""
    a, b, c, d = (quats / jnp.linalg.norm(quats, axis=1, keepdims=True)).T
    rows = (1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c))
    rows += (2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b))
    rows += (2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c))
    return jnp.stack(rows, -1).reshape(-1, 3, 3)


def colors(sh, directions):
    """max(0, harmonics + 0.5) for coefficients [N, K, 3] and unit vectors [N, 3]: Sloan, JCGT 2013, A2."""
    x, y, z = directions.T
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
