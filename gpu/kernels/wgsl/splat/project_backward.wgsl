// Stage `project_backward`: one lane a Gaussian, which walks all cameras. So the gradients of a
// Gaussian from several cameras add up in its own lane, in the order of the cameras, and only the
// twelve numbers of each camera are contended: every Gaussian adds to the same ones.
// These go through the reduction into `gradients`, here the cameras' [C,4,4], with the Gaussians
// that the camera sees as contributing lanes.
//
// All lanes of a workgroup make the same number of steps: lanes without a Gaussian, or whose
// Gaussian is culled, stay with exact zeros, so that every subgroup operation sees the whole
// subgroup.

// Place of the camera's gradient in `gradients`; the same in all lanes.
var<private> camera_row: u32;

// Where the reductions add the sums of a batch's only row.
fn row_of(k: u32) -> u32 {
    return camera_row;
}

// The harmonics' gradient, added to those of the Gaussian in `v_colors` [K,3], and through the
// direction of view to the mean and to the camera, whose position is -R_w^T t.
fn harmonics_vjp(
    camera: Camera,
    mean: vec3<f32>,
    first: u32,
    v_color: vec3<f32>,
    out: ptr<function, GaussianGradient>,
    v_camera: ptr<function, CameraGradient>,
) {
    let toward = direction(mean, camera);
    let d = toward.unit;
    let unclamped = sh_unclamped(first, d, params.coefficients);
    // max(0, .): no gradient where clamped, by selection.
    let v = select(vec3<f32>(0.0), v_color, unclamped > vec3<f32>(0.0));
    let basis = sh_basis(d, params.coefficients);
    let gradient = sh_basis_gradient(d, params.coefficients);
    var v_direction = vec3<f32>(0.0);
    for (var k = 0u; k < params.coefficients; k++) {
        for (var c = 0u; c < 3u; c++) {
            let at = first + 3u * k + c;
            v_colors[at] = v_colors[at] + basis[k] * v[c];
        }
        // The first is constant.
        if k > 0u {
            v_direction = v_direction + dot3(harmonic(first, k), v) * gradient[k];
        }
    }
    let v_offset = normalize3_vjp(d, toward.distance, v_direction);
    (*out).mean = (*out).mean + v_offset;
    // offset = mean + R_w^T t, so R_w[i][j] gets t[i] v[j] and t gets R_w v.
    let t = translation_of(camera);
    (*v_camera).translation = (*v_camera).translation + times(rotation_of(camera), v_offset);
    for (var i = 0u; i < 3u; i++) {
        (*v_camera).rotation.row[i] = (*v_camera).rotation.row[i] + t[i] * v_offset;
    }
}

// Adds what the colour seen by one camera makes of the gradient in `v_gaussians` from `row` on.
fn color_vjp(
    camera: Camera,
    mean: vec3<f32>,
    first: u32,
    row: u32,
    out: ptr<function, GaussianGradient>,
    v_camera: ptr<function, CameraGradient>,
) {
    if params.coefficients == 0u {
        for (var d = 0u; d < params.channels; d++) {
            v_colors[first + d] = v_colors[first + d] + v_gaussians[row + d];
        }
        return;
    }
    let v = vec3<f32>(v_gaussians[row], v_gaussians[row + 1u], v_gaussians[row + 2u]);
    harmonics_vjp(camera, mean, first, v, out, v_camera);
}

// The upper three rows of the [4,4].
fn upper_rows(v_camera: CameraGradient) -> array<f32, VALUES> {
    let r = v_camera.rotation.row;
    let t = v_camera.translation;
    return array<f32, VALUES>(
        r[0].x, r[0].y, r[0].z, t.x,
        r[1].x, r[1].y, r[1].z, t.y,
        r[2].x, r[2].y, r[2].z, t.z,
    );
}

fn store(id: u32, sum: GaussianGradient) {
    let at = id * GEOMETRY;
    for (var i = 0u; i < 3u; i++) {
        v_geometry[at + i] = sum.mean[i];
        v_geometry[at + SCALE + i] = sum.scale[i];
    }
    for (var i = 0u; i < 4u; i++) {
        v_geometry[at + QUAT + i] = sum.quat[i];
    }
    v_geometry[at + OPACITY] = sum.opacity;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn project_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    let id = group.x * WORKGROUP_SIZE + lane;
    let exists = id < params.gaussians;
    let first = id * color_stride();
    var g: Gaussian;
    var sum: GaussianGradient;
    if exists {
        g = load_gaussian(id);
        // Written before it is added to; only this lane touches it.
        for (var i = 0u; i < color_stride(); i++) {
            v_colors[first + i] = 0.0;
        }
    }
    for (var index = 0u; index < params.cameras; index++) {
        camera_row = 16u * index;
        // The previous camera's sums have been read.
        workgroupBarrier();
        begin_batch(lane);
        workgroupBarrier();

        let camera = cameras[index];
        // Exact zeros where the lane does not contribute.
        var values = array<f32, VALUES>();
        var p: Projection;
        var contributes = false;
        if exists {
            contributes = project_one(g, camera, &p);
        }
        if contributes {
            let row = (index * params.gaussians + id) * (COLOR + params.channels);
            var v_camera: CameraGradient;
            var one = geometry_vjp(camera, g, &p, row, &v_camera);
            color_vjp(camera, g.mean, first, row + COLOR, &one, &v_camera);
            sum = GaussianGradient(
                sum.mean + one.mean,
                sum.quat + one.quat,
                sum.scale + one.scale,
                sum.opacity + one.opacity,
            );
            values = upper_rows(v_camera);
        }
        // One ballot gives both the group and its size; the camera is the same in all
        // lanes, so the lanes that contribute are the lanes that match.
        let contributing = subgroupBallot(contributes);
        if any(contributing != vec4<u32>(0u)) {
            let row = camera_row;
            add_up(0u, row, contributes, contributing, subgroup_lane, subgroup_size, &values);
        }
        end_batch(lane, 1u);
    }
    if exists {
        store(id, sum);
    }
}
