// Stage `project`: one lane a Gaussian, one row of workgroups a camera. Every output of every
// Gaussian is written, zeros where it is culled, so that none is ever read as poison.

// The colour seen from the camera: given directly, or max(0, harmonics + 0.5).
fn write_color(id: u32, mean: vec3<f32>, camera: Camera, at: u32) {
    let first = id * color_stride();
    if params.coefficients == 0u {
        for (var d = 0u; d < params.channels; d++) {
            gaussians[at + d] = colors[first + d];
        }
        return;
    }
    let toward = direction(mean, camera).unit;
    let color = sh_unclamped(first, toward, params.coefficients);
    for (var d = 0u; d < 3u; d++) {
        gaussians[at + d] = select(color[d], 0.0, color[d] < 0.0);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn project(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let id = group.x * WORKGROUP_SIZE + lane;
    if id >= params.gaussians {
        return;
    }
    let camera = cameras[group.y];
    let at = group.y * params.gaussians + id;
    let stride = COLOR + params.channels;
    let row = at * stride;
    let g = load_gaussian(id);
    var p: Projection;
    let seen = project_one(g, camera, &p);
    visible[at] = u32(seen);
    if !seen {
        for (var v = 0u; v < 4u; v++) {
            footprints[4u * at + v] = 0.0;
        }
        for (var v = 0u; v < stride; v++) {
            gaussians[row + v] = 0.0;
        }
        return;
    }
    footprints[4u * at] = p.covariance.x;
    footprints[4u * at + 1u] = p.covariance.y;
    footprints[4u * at + 2u] = p.covariance.z;
    footprints[4u * at + 3u] = p.camera_mean.z;
    let w = p.camera_mean.z + params.w_eps;
    let mean2d = camera.focal * (p.camera_mean.xy / w) + camera.principal;
    gaussians[row] = mean2d.x;
    gaussians[row + 1u] = mean2d.y;
    gaussians[row + 2u] = p.covariance.z / p.det;
    gaussians[row + 3u] = -p.covariance.y / p.det;
    gaussians[row + 4u] = p.covariance.x / p.det;
    var opacity = g.opacity;
    if params.antialiased != 0u {
        opacity = g.opacity * compensation(p.sharp_det, p.det);
    }
    gaussians[row + 5u] = opacity;
    write_color(id, g.mean, camera, row + COLOR);
}
