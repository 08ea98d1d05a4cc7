// The vector-Jacobian product of one Gaussian's projection by one camera. Formulas:
// reference/src/backward/project.rs.

// A Gaussian's gradients, the colour's excepted.
struct GaussianGradient {
    mean: vec3<f32>,
    quat: vec4<f32>,
    scale: vec3<f32>,
    opacity: f32,
}

// One camera's part: of its rotation and its translation.
struct CameraGradient {
    rotation: Mat3,
    translation: vec3<f32>,
}

// From the conic (a, b, c) = (C, -B, A)/det to the covariance (A, B, C), det = AC - B^2.
fn covariance_vjp(covariance: vec3<f32>, det: f32, v: vec3<f32>) -> vec3<f32> {
    let a = covariance.x;
    let b = covariance.y;
    let c = covariance.z;
    let k = 1.0 / (det * det + params.inverse_eps);
    return vec3<f32>(
        k * (b * c * v.y - c * c * v.x - b * b * v.z),
        k * (2.0 * b * c * v.x - (a * c + b * b) * v.y + 2.0 * a * b * v.z),
        k * (a * b * v.y - b * b * v.x - a * a * v.z),
    );
}

// From the compensation sqrt(det/det_blurred) to the covariance without blur.
fn antialias_vjp(p: ptr<function, Projection>, v_compensation: f32) -> vec3<f32> {
    let sharp_det = (*p).sharp_det;
    let det = (*p).det;
    let factor = compensation(sharp_det, det);
    if !(factor > 0.0) {
        return vec3<f32>(0.0);
    }
    let c = (*p).covariance;
    let root = (*p).root;
    let sharp_x = dot3(root[0], root[0]);
    let sharp_y = dot3(root[1], root[1]);
    let v_ratio = v_compensation / (2.0 * factor) / (det * det);
    return vec3<f32>(
        v_ratio * (sharp_y * det - c.z * sharp_det),
        v_ratio * (2.0 * c.y * (sharp_det - det)),
        v_ratio * (sharp_x * det - c.x * sharp_det),
    );
}

// From the rotation matrix to the unit quaternion, by differentiating its entries.
fn quat_vjp(q: vec4<f32>, v: Mat3) -> vec4<f32> {
    let w = q.x;
    let x = q.y;
    let y = q.z;
    let z = q.w;
    let r0 = v.row[0];
    let r1 = v.row[1];
    let r2 = v.row[2];
    let d21 = r2.y - r1.z;
    let d02 = r0.z - r2.x;
    let d10 = r1.x - r0.y;
    let s01 = r0.y + r1.x;
    let s02 = r0.z + r2.x;
    let s12 = r1.z + r2.y;
    return vec4<f32>(
        2.0 * (x * d21 + y * d02 + z * d10),
        2.0 * (w * d21 + y * s01 + z * s02) - 4.0 * (x * (r1.y + r2.z)),
        2.0 * (w * d02 + x * s01 + z * s12) - 4.0 * (y * (r0.x + r2.z)),
        2.0 * (w * d10 + x * s02 + y * s12) - 4.0 * (z * (r0.x + r1.y)),
    );
}

// From J R_w and the projected mean to the mean in camera axes (translation) and to R_w (rotation).
fn screen_vjp(
    camera: Camera,
    p: ptr<function, Projection>,
    v_jacobian: array<vec3<f32>, 2>,
    v_mean2d: vec2<f32>,
) -> CameraGradient {
    let world = rotation_of(camera);
    let mean = (*p).camera_mean;
    let inverse = 1.0 / mean.z;
    let w = mean.z + params.w_eps;
    var v = vec3<f32>(0.0);
    var v_rotation = Mat3();
    for (var i = 0u; i < 2u; i++) {
        let f = camera.focal[i];
        let slope = (*p).slope[i];
        let v_row = v_jacobian[i];
        let turned = times(world, v_row);
        v_rotation.row[i] = v_rotation.row[i] + (f * inverse) * v_row;
        v_rotation.row[2] = v_rotation.row[2] + (-(f * slope) * inverse) * v_row;
        let per_depth = f * inverse * inverse;
        v.z = v.z - turned[i] * per_depth + turned.z * (2.0 * per_depth * slope);
        let v_limited = -(turned.z * per_depth);
        if !(*p).limited[i] {
            v[i] = v[i] + v_limited;
        } else if params.clamp_has_gradient != 0u {
            // The limited coordinate is limit z.
            v.z = v.z + v_limited * slope;
        }
        v[i] = v[i] + v_mean2d[i] * (f / w);
        v.z = v.z - v_mean2d[i] * (f * (mean[i] / (w * w)));
    }
    return CameraGradient(v_rotation, v);
}

// Everything but the colour. The Gaussian's row of the rasterization's gradients begins at `row`.
fn geometry_vjp(
    camera: Camera,
    g: Gaussian,
    p: ptr<function, Projection>,
    row: u32,
    v_camera: ptr<function, CameraGradient>,
) -> GaussianGradient {
    var out: GaussianGradient;
    let v_mean2d = vec2<f32>(v_gaussians[row], v_gaussians[row + 1u]);
    let v_conic =
        vec3<f32>(v_gaussians[row + 2u], v_gaussians[row + 3u], v_gaussians[row + 4u]);
    let v_opacity = v_gaussians[row + 5u];
    var v_cov = covariance_vjp((*p).covariance, (*p).det, v_conic);
    out.opacity = v_opacity;
    if params.antialiased != 0u {
        out.opacity = v_opacity * compensation((*p).sharp_det, (*p).det);
        v_cov = v_cov + antialias_vjp(p, g.opacity * v_opacity);
    }
    // covariance = root root^T + blur
    let root = (*p).root;
    let v_root_x = (2.0 * v_cov.x) * root[0] + v_cov.y * root[1];
    let v_root_y = (2.0 * v_cov.z) * root[1] + v_cov.y * root[0];
    // root = jacobian M, M = R(q) diag(s)
    let scaled_columns = transposed((*p).scaled);
    let v_jacobian = array<vec3<f32>, 2>(
        row_times(v_root_x, scaled_columns),
        row_times(v_root_y, scaled_columns),
    );
    let j0 = (*p).jacobian[0];
    let j1 = (*p).jacobian[1];
    let v_scaled = Mat3(array<vec3<f32>, 3>(
        j0.x * v_root_x + j1.x * v_root_y,
        j0.y * v_root_x + j1.y * v_root_y,
        j0.z * v_root_x + j1.z * v_root_y,
    ));
    let v_columns = transposed(v_scaled);
    let columns = transposed((*p).rotation);
    out.scale = vec3<f32>(
        dot3(v_columns.row[0], columns.row[0]),
        dot3(v_columns.row[1], columns.row[1]),
        dot3(v_columns.row[2], columns.row[2]),
    );
    let v_rotation = Mat3(array<vec3<f32>, 3>(
        v_scaled.row[0] * g.scale,
        v_scaled.row[1] * g.scale,
        v_scaled.row[2] * g.scale,
    ));
    let v_unit = quat_vjp((*p).unit_quat, v_rotation);
    out.quat = normalize4_vjp((*p).unit_quat, (*p).quat_norm, v_unit);
    // camera_mean = R_w mean + t
    let v_lens = screen_vjp(camera, p, v_jacobian, v_mean2d);
    let v_mean = v_lens.translation;
    *v_camera = CameraGradient(
        Mat3(array<vec3<f32>, 3>(
            v_lens.rotation.row[0] + v_mean.x * g.mean,
            v_lens.rotation.row[1] + v_mean.y * g.mean,
            v_lens.rotation.row[2] + v_mean.z * g.mean,
        )),
        v_mean,
    );
    out.mean = times(transposed(rotation_of(camera)), v_mean);
    return out;
}
