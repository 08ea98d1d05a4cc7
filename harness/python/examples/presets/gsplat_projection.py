"""The projection of presets gsplat-1.5 and gsplat-main in numpy: fully_fused_projection of all cameras.

It is given the size of the image, and leaves out what lies beside it: the radii are 0 there, and of the other
arrays nothing is written. With calc_compensations radii are those of the opacities times the compensations."""

import numpy as np

f32 = np.float32
ALPHA_MIN, EXTENT = f32(1 / 255), f32(3.33)


def fully_fused_projection_fwd(x, meta, bug=None):
    """Radii, means, depths, conics and compensations [C, N, ...]; `bug` makes them wrong on purpose."""
    with np.errstate(all="ignore"):
        cameras = [one_camera(x, camera, meta, bug) for camera in zip(x["viewmats"], x["Ks"], strict=True)]
    return {name: np.stack([camera[name] for camera in cameras]) for name in cameras[0]}


def one_camera(x, camera, meta, bug):
    position, _, jacobian, axes = seen(x, camera, meta)
    root, (focal, center) = jacobian @ axes, intrinsics(camera[1])
    (a, b), (_, c) = np.moveaxis(root @ root.transpose(0, 2, 1), 0, 2)
    sharp, (a, c) = a * c - b * b, (a + meta["eps2d"], c + meta["eps2d"])
    det, z, opacities = a * c - b * b, position[:, 2], x["opacities"]
    compensations = np.sqrt(np.maximum(0, sharp / det))
    if meta["calc_compensations"]:
        opacities = opacities * compensations
    means = focal * position[:, :2] / z[:, None] + center
    extent = np.minimum(EXTENT, np.sqrt(2 * np.log(opacities / ALPHA_MIN)))
    radii = np.ceil(extent[:, None] * np.sqrt(np.stack([a, c], -1)))
    kept = (z >= meta["near_plane"]) & (z <= meta["far_plane"]) & (det > 0) & (opacities >= ALPHA_MIN)
    kept &= (radii > meta["radius_clip"]).any(axis=1)
    size = np.array([meta["image_width"], meta["image_height"]], f32)
    if bug != "nothing is beside":
        kept &= ((means + radii > 0) & (means - radii < size)).all(axis=1)
    rows = {"means2d": means, "depths": z, "conics": np.stack([c, -b, a], -1) / det[:, None]}
    rows["compensations"] = compensations
    written = {name: np.where(kept.reshape(-1, *[1] * (k.ndim - 1)), k, f32(np.nan)) for name, k in rows.items()}
    return {"radii": np.where(kept[:, None], radii, 0).astype(np.int32)} | written


def intrinsics(k):
    """Focal lengths and principal point."""
    return np.array([k[0, 0], k[1, 1]], f32), k[:2, 2]


def seen(x, camera, meta):
    """Means in camera axes, whether a slope is limited [N, 2], Jacobians [N, 2, 3], axes turned and scaled."""
    (view, k), size = camera, np.array([meta["image_width"], meta["image_height"]], f32)
    (focal, center), position = intrinsics(k), x["means"] @ view[:3, :3].T + view[:3, 3]
    slopes, margin = position[:, :2] / position[:, 2:], f32(0.3) * (f32(0.5) * size / focal)
    limited = np.clip(slopes, -(center / focal + margin), (size - center) / focal + margin)
    scale = focal / position[:, 2:]
    jacobian = np.zeros((len(position), 2, 3), f32)
    jacobian[:, 0, 0], jacobian[:, 1, 1], jacobian[:, :, 2] = *scale.T, -limited * scale
    return position, limited != slopes, jacobian, view[:3, :3] @ (rotations(x["quats"]) * x["scales"][:, None])


def rotations(quats):
    """Rotation matrices [N, 3, 3] of quaternions wxyz of any length."""
    a, b, c, d = (quats / np.linalg.norm(quats, axis=1, keepdims=True)).T
    rows = (1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c))
    rows += (2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b))
    rows += (2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c))
    return np.stack(rows, -1).reshape(-1, 3, 3)
