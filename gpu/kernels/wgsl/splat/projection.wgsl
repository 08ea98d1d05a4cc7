// The projection of one Gaussian by one camera, which forward and backward projection share: EWA
// splatting (Zwicker et al. 2001; Kerbl et al. 2023, equations (5) and (6)), grouped as in
// reference/src/project.rs. Every difference between conventions is a setting.
//
// WORKGROUP_SIZE and the bindings are declared in front of this text from the table in
// gpu/src/stages.rs. One kernel serves every number of channels: nothing holds an array of them.
//
// Non-finite inputs: nothing is promised about values (WGSL lets a compiler assume that
// there are none); the kernels still terminate and write only their own outputs.

// Mirrors `ProjectParams` in gpu/src/projection/records.rs.
struct Params {
    gaussians: u32,
    cameras: u32,
    // Channels D; 3 with harmonics.
    channels: u32,
    // Harmonics per channel: 1, 4, 9 or 16; 0 where colours are given directly.
    coefficients: u32,
    threshold: u32,
    // 1: z <= near is culled; 0: z < near.
    near_inclusive: u32,
    // 1: the field-of-view clamp carries a gradient to z; 0: a clamped coordinate is a constant.
    clamp_has_gradient: u32,
    antialiased: u32,
    eps2d: f32,
    near: f32,
    far: f32,
    inverse_eps: f32,
    w_eps: f32,
}

// Mirrors `Camera` in gpu/src/projection.rs.
struct Camera {
    // World to camera, the upper three rows.
    viewmat: array<vec4<f32>, 3>,
    focal: vec2<f32>,
    // Added to f x/z: the principal point in the convention's pixel coordinates.
    principal: vec2<f32>,
    // Limits of x/z and y/z before the Jacobian is taken.
    low: vec2<f32>,
    high: vec2<f32>,
}

fn rotation_of(camera: Camera) -> Mat3 {
    let v = camera.viewmat;
    return Mat3(array<vec3<f32>, 3>(v[0].xyz, v[1].xyz, v[2].xyz));
}

fn translation_of(camera: Camera) -> vec3<f32> {
    return vec3<f32>(camera.viewmat[0].w, camera.viewmat[1].w, camera.viewmat[2].w);
}

// One Gaussian as it was given. `geometry` and its gradients are rows [N,11]: mean (3), quat (4),
// scale (3), opacity (1), which keeps the stages within the 8 storage buffers that every WebGPU
// device binds.
struct Gaussian {
    mean: vec3<f32>,
    quat: vec4<f32>,
    scale: vec3<f32>,
    opacity: f32,
}

const QUAT: u32 = 3u;
const SCALE: u32 = 7u;
const OPACITY: u32 = 10u;
const GEOMETRY: u32 = 11u;

// Values of a row of the rasterization's inputs before the colour, see pair.wgsl.
const COLOR: u32 = 6u;

fn vec3_of_geometry(at: u32) -> vec3<f32> {
    return vec3<f32>(geometry[at], geometry[at + 1u], geometry[at + 2u]);
}

fn load_gaussian(id: u32) -> Gaussian {
    let at = id * GEOMETRY;
    let quat = vec4<f32>(vec3_of_geometry(at + QUAT), geometry[at + QUAT + 3u]);
    let scale = vec3_of_geometry(at + SCALE);
    return Gaussian(vec3_of_geometry(at), quat, scale, geometry[at + OPACITY]);
}

// Numbers of a Gaussian's colour as it was given.
fn color_stride() -> u32 {
    return select(3u * params.coefficients, params.channels, params.coefficients == 0u);
}

struct Projection {
    camera_mean: vec3<f32>,
    // w x y z
    unit_quat: vec4<f32>,
    quat_norm: f32,
    // R(q)
    rotation: Mat3,
    // R(q) diag(s)
    scaled: Mat3,
    // x/z and y/z as limited for the Jacobian, and whether each was limited.
    slope: vec2<f32>,
    limited: vec2<bool>,
    // J R_w and J R_w R(q) diag(s)
    jacobian: array<vec3<f32>, 2>,
    root: array<vec3<f32>, 2>,
    // 2D covariance with the blur: xx, xy, yy.
    covariance: vec3<f32>,
    // Determinants of the 2D covariance without and with the blur.
    sharp_det: f32,
    det: f32,
}

// The rotation matrix of a unit quaternion w x y z.
fn quat_rotation(q: vec4<f32>) -> Mat3 {
    let w = q.x;
    let x = q.y;
    let y = q.z;
    let z = q.w;
    return Mat3(array<vec3<f32>, 3>(
        vec3<f32>(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        vec3<f32>(2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        vec3<f32>(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    ));
}

// a c - b^2
fn determinant_of(m: vec3<f32>) -> f32 {
    return m.x * m.z - m.y * m.y;
}

// sqrt(max(0, det/det_blurred)): the opacity's factor in antialiased mode (Yu et al. 2024).
fn compensation(sharp_det: f32, det: f32) -> f32 {
    let ratio = sharp_det / det;
    if ratio > 0.0 {
        return sqrt(ratio);
    }
    return 0.0;
}

fn within_depths(z: f32) -> bool {
    let beyond_near = select(z >= params.near, z > params.near, params.near_inclusive != 0u);
    return beyond_near && z <= params.far;
}

// Projects a Gaussian; false where it is culled by depth or has no area.
fn project_one(g: Gaussian, camera: Camera, p: ptr<function, Projection>) -> bool {
    let world = rotation_of(camera);
    let mean = times(world, g.mean) + translation_of(camera);
    (*p).camera_mean = mean;
    if !within_depths(mean.z) {
        return false;
    }
    let q = g.quat;
    let norm = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    let rotation = quat_rotation(q / norm);
    let scaled = Mat3(array<vec3<f32>, 3>(
        rotation.row[0] * g.scale,
        rotation.row[1] * g.scale,
        rotation.row[2] * g.scale,
    ));
    (*p).quat_norm = norm;
    (*p).unit_quat = q / norm;
    (*p).rotation = rotation;
    (*p).scaled = scaled;

    let slope = mean.xy / mean.z;
    (*p).limited = (slope < camera.low) | (camera.high < slope);
    (*p).slope = min(camera.high, max(camera.low, slope));
    // Row i of J: f/z at column i, -f slope/z at column 2, and an exact 0.
    let across = camera.focal / mean.z;
    let along = -(camera.focal * (*p).slope) / mean.z;
    let first = across.x * world.row[0] + along.x * world.row[2];
    let second = across.y * world.row[1] + along.y * world.row[2];
    let root_x = row_times(first, scaled);
    let root_y = row_times(second, scaled);
    (*p).jacobian = array<vec3<f32>, 2>(first, second);
    (*p).root = array<vec3<f32>, 2>(root_x, root_y);

    let sharp = vec3<f32>(dot3(root_x, root_x), dot3(root_x, root_y), dot3(root_y, root_y));
    let blurred = vec3<f32>(sharp.x + params.eps2d, sharp.y, sharp.z + params.eps2d);
    (*p).covariance = blurred;
    (*p).sharp_det = determinant_of(sharp);
    (*p).det = determinant_of(blurred);
    return (*p).det > 0.0;
}

struct Direction {
    // From the camera, which is at -R^T t, to the Gaussian.
    unit: vec3<f32>,
    distance: f32,
}

fn direction(mean: vec3<f32>, camera: Camera) -> Direction {
    let offset = mean + times(transposed(rotation_of(camera)), translation_of(camera));
    let distance = sqrt(dot3(offset, offset));
    return Direction((1.0 / distance) * offset, distance);
}
