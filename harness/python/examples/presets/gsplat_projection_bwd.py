"""The backward pass of the projection of presets gsplat-1.5 and gsplat-main in numpy, all cameras added up.
Radii say what the forward pass kept; its conics, and its compensations where there are some, are given again."""

import numpy as np
from gsplat_projection import intrinsics, rotations, seen

f32 = np.float32


def fully_fused_projection_bwd(x, meta, bug=None):
    """The gradients; `bug` makes them wrong on purpose."""
    grads = {f"v_{name}": np.zeros_like(x[name]) for name in ("means", "quats", "scales", "viewmats")}
    for camera in range(len(x["viewmats"])):
        one_camera(x, camera, meta, grads, bug)
    return grads


def one_camera(x, camera, meta, grads, bug):
    kept, view, k = (x["radii"][camera] > 0).all(axis=1), x["viewmats"][camera], x["Ks"][camera]
    own = {name: x[name][kept] for name in ("means", "quats", "scales")}
    position, limited, jacobian, axes = seen(own, (view, k), meta)
    focal, turn, inverse = intrinsics(k)[0], rotations(own["quats"]), 1 / position[:, 2:]
    # From the conic to the covariance and its root J A with A = R_w R(q) diag(s).
    conic = symmetric(x["conics"][camera][kept], 1)
    v_conic = symmetric(x["v_conics"][camera][kept], 1 if bug == "off-diagonal twice" else f32(0.5))
    v_covariance = -(conic @ v_conic @ conic)
    if x.get("v_compensations") is not None:
        factor, v = (x[name][camera][kept] for name in ("compensations", "v_compensations"))
        v_covariance += by_compensations(factor, v, conic, meta["eps2d"])
    v_root = 2 * v_covariance @ (jacobian @ axes)
    v_jacobian, v_axes = v_root @ axes.transpose(0, 2, 1), jacobian.transpose(0, 2, 1) @ v_root
    v_scaled = view[:3, :3].T @ v_axes
    scaled = turn * (scales := own["scales"][:, None])
    grads["v_scales"][kept] += (v_scaled * turn).sum(axis=1)
    grads["v_quats"][kept] += by_quats(own["quats"], v_scaled * scales)
    # To the mean in camera axes.
    slopes, v_mean = -jacobian[:, :, 2] / (focal * inverse), x["v_means2d"][camera][kept]
    v_along, per_depth = v_jacobian[:, :, 2], focal * inverse * inverse
    v_position = np.zeros_like(position)
    v_position[:, :2] = focal * inverse * v_mean - np.where(limited, f32(0), per_depth * v_along)
    v_depth = np.where(limited, f32(1), f32(2)) * slopes * v_along - position[:, :2] * v_mean
    v_position[:, 2] = (per_depth * (v_depth - np.einsum("nii->ni", v_jacobian[:, :, :2]))).sum(axis=1)
    grads["v_means"][kept] += v_position @ view[:3, :3]
    grads["v_viewmats"][camera, :3, :3] = v_position.T @ own["means"] + np.einsum("nik,njk->ij", v_axes, scaled)
    grads["v_viewmats"][camera, :3, 3] = v_position.sum(axis=0)


def by_compensations(factor, v, conic, eps2d):
    """From compensations to covariances, by the inverses of those with the blur."""
    v_ratio, rest = v * f32(0.5) / (factor + f32(1e-6)), 1 - factor * factor
    determinants = conic[:, 0, 0] * conic[:, 1, 1] - conic[:, 0, 1] * conic[:, 1, 0]
    blur = (eps2d * determinants)[:, None, None] * np.eye(2, dtype=f32)
    return v_ratio[:, None, None] * (rest[:, None, None] * conic - blur)


def symmetric(rows, factor):
    """Matrices [N, 2, 2] of rows xx, xy, yy."""
    a, b, c = rows.T
    return np.stack([a, factor * b, factor * b, c], -1).reshape(-1, 2, 2)


def by_quats(quats, v):
    """From rotation matrices to quaternions of any length."""
    unit = quats / (length := np.linalg.norm(quats, axis=1, keepdims=True))
    (w, x, y, z), v = unit.T, v.transpose(1, 2, 0)
    odd, even = v - v.transpose(1, 0, 2), v + v.transpose(1, 0, 2)
    rows = [x * odd[2, 1] + y * odd[0, 2] + z * odd[1, 0]]
    rows += [w * odd[2, 1] + y * even[0, 1] + z * even[0, 2] - x * (even[1, 1] + even[2, 2])]
    rows += [w * odd[0, 2] + x * even[0, 1] + z * even[1, 2] - y * (even[0, 0] + even[2, 2])]
    rows += [w * odd[1, 0] + x * even[0, 2] + y * even[1, 2] - z * (even[0, 0] + even[1, 1])]
    v_unit = 2 * np.stack(rows, -1)
    return (v_unit - unit * (unit * v_unit).sum(axis=1, keepdims=True)) / length
