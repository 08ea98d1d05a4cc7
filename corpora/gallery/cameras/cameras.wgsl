// The kernels of cameras.cu in WGSL. The lanes of a subgroup add up by the language's own sum where at least
// `threshold` of them see a point, else each by itself.

const BUG = 0u;

@group(0) @binding(0) var<storage, read> points: array<f32>; // [N,3]
@group(0) @binding(1) var<uniform> intrinsics: vec4<f32>; // fx, fy, cx, cy
@group(0) @binding(2) var<uniform> distortion: vec4<f32>; // k1, k2, p1, p2
@group(0) @binding(3) var<uniform> pose: array<vec4<f32>, 3>; // from the world to the camera
@group(0) @binding(4) var<uniform> near_plane: f32;
@group(0) @binding(5) var<uniform> n: u32;
@group(0) @binding(6) var<storage, read_write> means2d: array<f32>; // [N,2], zeros where culled
@group(0) @binding(7) var<storage, read_write> depths: array<f32>; // [N], zeros where culled
@group(0) @binding(8) var<uniform> threshold: u32;
@group(0) @binding(9) var<storage, read> v_means2d: array<f32>; // [N,2]
@group(0) @binding(10) var<storage, read> v_depths: array<f32>; // [N]
@group(0) @binding(11) var<storage, read_write> v_points: array<f32>; // [N,3]
@group(0) @binding(12) var<storage, read_write> v_intrinsics: array<atomic<u32>>; // [4]
@group(0) @binding(13) var<storage, read_write> v_distortion: array<atomic<u32>>; // [4]
@group(0) @binding(14) var<storage, read_write> v_pose: array<atomic<u32>>; // [3,4]

fn point(i: u32) -> vec3<f32> {
    return vec3<f32>(points[3u * i], points[3u * i + 1u], points[3u * i + 2u]);
}

// The point in the frame of the camera.
fn in_camera(of_world: vec3<f32>) -> vec3<f32> {
    let p = vec4<f32>(of_world, 1.0);
    return vec3<f32>(dot(pose[0], p), dot(pose[1], p), dot(pose[2], p));
}

@compute @workgroup_size(64)
fn project(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= n {
        return;
    }
    let p = in_camera(point(i));
    if p.z <= near_plane {
        return;
    }
    let x = p.x / p.z;
    let y = p.y / p.z;
    let r2 = x * x + y * y;
    let slope = distortion.x + distortion.y * r2; // bug 2
    let radial = 1.0 + r2 * slope;
    let tangential = 2.0 * distortion.z * x * y; // bug 1
    let distorted_x = x * radial + tangential + distortion.w * (r2 + 2.0 * x * x);
    let distorted_y = y * radial + distortion.z * (r2 + 2.0 * y * y) + 2.0 * distortion.w * x * y;
    means2d[2u * i] = intrinsics.x * distorted_x + intrinsics.z;
    means2d[2u * i + 1u] = intrinsics.y * distorted_y + intrinsics.w;
    depths[i] = p.z;
}

// WGSL has no addition of floats to memory, and no function has a pointer into it: one for each array.
fn add_to_intrinsics(k: u32, value: f32) {
    var old = atomicLoad(&v_intrinsics[k]);
    loop {
        let result = atomicCompareExchangeWeak(&v_intrinsics[k], old, bitcast<u32>(bitcast<f32>(old) + value));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn add_to_distortion(k: u32, value: f32) {
    var old = atomicLoad(&v_distortion[k]);
    loop {
        let result = atomicCompareExchangeWeak(&v_distortion[k], old, bitcast<u32>(bitcast<f32>(old) + value));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn add_to_pose(k: u32, value: f32) {
    var old = atomicLoad(&v_pose[k]);
    loop {
        let result = atomicCompareExchangeWeak(&v_pose[k], old, bitcast<u32>(bitcast<f32>(old) + value));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

@compute @workgroup_size(64)
fn project_backward(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let i = id.x;
    // Exact zeros in lanes that do not contribute: they take part in every sum of the subgroup.
    var of_intrinsics = vec4<f32>();
    var of_distortion = vec4<f32>();
    var v_camera = vec3<f32>();
    var world = vec3<f32>();
    var contributes = false;
    if i < n {
        world = point(i);
        contributes = in_camera(world).z > near_plane;
    }
    if contributes {
        let p = in_camera(world);
        let inverse = 1.0 / p.z;
        let x = p.x * inverse;
        let y = p.y * inverse;
        let xx = x * x;
        let xy = x * y;
        let yy = y * y;
        let r2 = xx + yy;
        let k1 = distortion.x;
        let k2 = distortion.y;
        let p1 = distortion.z;
        let p2 = distortion.w;
        let radial = 1.0 + r2 * (k1 + k2 * r2);
        let v_u = v_means2d[2u * i];
        let v_v = v_means2d[2u * i + 1u];
        of_intrinsics = vec4<f32>(
            v_u * (x * radial + 2.0 * p1 * xy + p2 * (r2 + 2.0 * xx)),
            v_v * (y * radial + p1 * (r2 + 2.0 * yy) + 2.0 * p2 * xy),
            v_u,
            v_v,
        );
        // By the distorted coordinates, and by r2 and radial behind them.
        let v_dx = v_u * intrinsics.x;
        let v_dy = v_v * intrinsics.y;
        let v_radial = v_dx * x + v_dy * y;
        of_distortion = vec4<f32>(
            v_radial * r2,
            v_radial * r2 * r2,
            v_dx * 2.0 * xy + v_dy * (r2 + 2.0 * yy),
            v_dx * (r2 + 2.0 * xx) + v_dy * 2.0 * xy,
        );
        // Bug 2: the factor 2 of the derivative of r2^2 is forgotten.
        let twice = select(2.0, 1.0, BUG == 2u);
        let v_r2 = v_radial * (k1 + twice * k2 * r2) + v_dx * p2 + v_dy * p1;
        var v_x = v_dx * (radial + 4.0 * p2 * x) + v_dy * 2.0 * p2 * y + 2.0 * x * v_r2;
        // Bug 1: the tangential term 2 p1 x y is taken for a function of y alone.
        if BUG != 1u {
            v_x += v_dx * 2.0 * p1 * y;
        }
        let v_y = v_dx * 2.0 * p1 * x + v_dy * (radial + 4.0 * p1 * y + 2.0 * p2 * x) + 2.0 * y * v_r2;
        v_camera = vec3<f32>(v_x * inverse, v_y * inverse, v_depths[i] - (v_x * x + v_y * y) * inverse);
        for (var k = 0u; k < 3u; k++) {
            v_points[3u * i + k] = pose[0][k] * v_camera.x + pose[1][k] * v_camera.y + pose[2][k] * v_camera.z;
        }
    }
    // The same in all lanes of the subgroup.
    let reduces = subgroupAdd(u32(contributes)) >= threshold;
    let sends = select(contributes, lane == 0u, reduces);
    for (var k = 0u; k < 4u; k++) {
        var focal = of_intrinsics[k];
        var lens = of_distortion[k];
        if reduces {
            focal = subgroupAdd(focal);
            lens = subgroupAdd(lens);
        }
        if sends {
            add_to_intrinsics(k, focal);
            add_to_distortion(k, lens);
        }
    }
    let of_world = vec4<f32>(world, 1.0);
    for (var k = 0u; k < 12u; k++) {
        var value = v_camera[k / 4u] * of_world[k % 4u];
        if reduces {
            value = subgroupAdd(value);
        }
        if sends {
            add_to_pose(k, value);
        }
    }
}
