// The kernels of surfels.cu in WGSL, for a device with 19 storage buffers a stage (WebGPU promises 8). A subgroup
// adds up by the language's own sum where at least `threshold` of its lanes meet a surfel, and all the same one.
const BUG = 0u;

const NO_SURFEL = 0xffffffffu;

@group(0) @binding(0) var<storage, read> pixels: array<vec2<f32>>; // [P,2] on the plane z = 1
@group(0) @binding(1) var<storage, read> means: array<f32>; // [S,3]
@group(0) @binding(2) var<storage, read> tangents: array<f32>; // [S,2,3]
@group(0) @binding(3) var<storage, read> colors: array<f32>; // [S,3]
@group(0) @binding(4) var<storage, read> opacities: array<f32>; // [S]
@group(0) @binding(5) var<storage, read> offsets: array<i32>; // [P+1]
@group(0) @binding(6) var<storage, read> ids: array<i32>; // [H]
@group(0) @binding(7) var<uniform> camera_distance: f32;
@group(0) @binding(8) var<uniform> near: f32;
@group(0) @binding(9) var<uniform> far: f32;
@group(0) @binding(10) var<uniform> focal: f32;
@group(0) @binding(11) var<storage, read_write> render_colors: array<f32>; // [P,3]
@group(0) @binding(12) var<storage, read_write> render_normals: array<f32>; // [P,3]
@group(0) @binding(13) var<storage, read_write> sums: array<vec4<f32>>; // [P,4] of w, w z, w m and w m^2
@group(0) @binding(14) var<storage, read_write> render_distort: array<f32>; // [P]
@group(0) @binding(15) var<storage, read> v_render_colors: array<f32>; // [P,3]
@group(0) @binding(16) var<storage, read> v_render_normals: array<f32>; // [P,3]
@group(0) @binding(17) var<storage, read> v_sums: array<vec4<f32>>; // [P,4]
@group(0) @binding(18) var<storage, read> v_render_distort: array<f32>; // [P]
@group(0) @binding(19) var<storage, read_write> v_means: array<atomic<u32>>; // [S,3]
@group(0) @binding(20) var<storage, read_write> v_tangents: array<atomic<u32>>; // [S,2,3]
@group(0) @binding(21) var<storage, read_write> v_colors: array<atomic<u32>>; // [S,3]
@group(0) @binding(22) var<storage, read_write> v_opacities: array<atomic<u32>>; // [S]
@group(0) @binding(23) var<uniform> count: u32;
@group(0) @binding(24) var<uniform> surfel_count: u32;
@group(0) @binding(25) var<uniform> threshold: u32;

struct Meeting {
    met: bool,
    filtered: bool,
    mean: vec3<f32>,
    tangent_u: vec3<f32>,
    tangent_v: vec3<f32>,
    plane_x: vec3<f32>,
    plane_y: vec3<f32>,
    normal: vec3<f32>,
    down: f32,
    u: f32,
    v: f32,
    falloff: f32,
    alpha: f32,
    z: f32,
    m: f32,
    area: f32,
    side: f32,
}

// Whether the ray through a pixel meets a surfel, and how.
fn meet(pixel: vec2<f32>, s: u32) -> Meeting {
    var k: Meeting;
    k.mean = vec3<f32>(means[3u * s], means[3u * s + 1u], means[3u * s + 2u] + camera_distance);
    k.tangent_u = vec3<f32>(tangents[6u * s], tangents[6u * s + 1u], tangents[6u * s + 2u]);
    k.tangent_v = vec3<f32>(tangents[6u * s + 3u], tangents[6u * s + 4u], tangents[6u * s + 5u]);
    let depths = vec3<f32>(k.tangent_u.z, k.tangent_v.z, k.mean.z);
    k.plane_x = pixel.x * depths - vec3<f32>(k.tangent_u.x, k.tangent_v.x, k.mean.x);
    k.plane_y = pixel.y * depths - vec3<f32>(k.tangent_u.y, k.tangent_v.y, k.mean.y);
    let line = cross(k.plane_x, k.plane_y);
    k.down = line.z;
    k.u = line.x / line.z;
    k.v = line.y / line.z;
    let d = pixel - k.mean.xy / k.mean.z;
    let rho = k.u * k.u + k.v * k.v;
    let filter_rho = 2.0 * focal * focal * dot(d, d);
    k.filtered = !(rho <= filter_rho);
    if k.filtered {
        k.z = k.mean.z;
        k.falloff = exp(-0.5 * filter_rho);
    } else {
        k.z = k.mean.z + k.u * k.tangent_u.z + k.v * k.tangent_v.z;
        k.falloff = exp(-0.5 * rho);
    }
    k.alpha = min(0.99, opacities[s] * k.falloff);
    k.met = k.alpha >= 1.0 / 255.0 && k.z > near;
    k.m = far / (far - near) * (1.0 - near / k.z); // bug 2
    let normal = cross(k.tangent_u, k.tangent_v);
    k.area = sqrt(dot(normal, normal)); // bug 1
    k.side = select(1.0, -1.0, dot(normal, k.mean) > 0.0);
    k.normal = k.side * normal / k.area;
    return k;
}

fn color_of(s: u32) -> vec3<f32> {
    return vec3<f32>(colors[3u * s], colors[3u * s + 1u], colors[3u * s + 2u]);
}

@compute @workgroup_size(64)
fn surfels(@builtin(global_invocation_id) id: vec3<u32>) {
    let p = id.x;
    if p >= count {
        return;
    }
    var transmittance = 1.0;
    var distort = 0.0;
    var color = vec3<f32>();
    var normal = vec3<f32>();
    var sum = vec4<f32>();
    for (var i = offsets[p]; i < offsets[p + 1u]; i++) {
        let s = u32(ids[i]);
        let k = meet(pixels[p], s);
        if k.met {
            let w = k.alpha * transmittance;
            transmittance *= 1.0 - k.alpha;
            color += w * color_of(s);
            normal += w * k.normal;
            distort += w * (k.m * k.m * sum.x - 2.0 * k.m * sum.z + sum.w);
            sum += w * vec4<f32>(1.0, k.z, k.m, k.m * k.m);
        }
    }
    for (var c = 0u; c < 3u; c++) {
        render_colors[3u * p + c] = color[c];
        render_normals[3u * p + c] = normal[c];
    }
    sums[p] = sum;
    render_distort[p] = distort;
}

// WGSL has no addition of floats to memory, and no function has a pointer into it: one for each array.
fn add_to_means(k: u32, value: f32) {
    var old = atomicLoad(&v_means[k]);
    loop {
        let result = atomicCompareExchangeWeak(&v_means[k], old, bitcast<u32>(bitcast<f32>(old) + value));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn add_to_tangents(k: u32, value: f32) {
    var old = atomicLoad(&v_tangents[k]);
    loop {
        let result = atomicCompareExchangeWeak(&v_tangents[k], old, bitcast<u32>(bitcast<f32>(old) + value));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn add_to_colors(k: u32, value: f32) {
    var old = atomicLoad(&v_colors[k]);
    loop {
        let result = atomicCompareExchangeWeak(&v_colors[k], old, bitcast<u32>(bitcast<f32>(old) + value));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn add_to_opacities(k: u32, value: f32) {
    var old = atomicLoad(&v_opacities[k]);
    loop {
        let result = atomicCompareExchangeWeak(&v_opacities[k], old, bitcast<u32>(bitcast<f32>(old) + value));
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

// One lane per pixel. At each step it is at the next surfel of its own list.
@compute @workgroup_size(64)
fn surfels_backward(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let p = id.x;
    var i = 0;
    var end = 0;
    // A pixel is a sum of w g. `behind` is that sum over the surfels that are still to come.
    var transmittance = 1.0;
    var behind = 0.0;
    var v_distort = 0.0;
    var v_color = vec3<f32>();
    var v_normal = vec3<f32>();
    var sum = vec4<f32>();
    var v_sum = vec4<f32>();
    var pixel = vec2<f32>();
    if p < count {
        i = offsets[p];
        end = offsets[p + 1u];
        pixel = pixels[p];
        v_color = vec3<f32>(v_render_colors[3u * p], v_render_colors[3u * p + 1u], v_render_colors[3u * p + 2u]);
        v_normal = vec3<f32>(v_render_normals[3u * p], v_render_normals[3u * p + 1u], v_render_normals[3u * p + 2u]);
        v_distort = v_render_distort[p];
        sum = sums[p];
        v_sum = v_sums[p];
        let color = vec3<f32>(render_colors[3u * p], render_colors[3u * p + 1u], render_colors[3u * p + 2u]);
        let normal = vec3<f32>(render_normals[3u * p], render_normals[3u * p + 1u], render_normals[3u * p + 2u]);
        behind = dot(v_color, color) + dot(v_normal, normal) + 2.0 * v_distort * render_distort[p] + dot(v_sum, sum);
    }
    while subgroupAny(i < end) {
        var v_mean = vec3<f32>();
        var v_tangent: array<f32, 6>;
        var v_own = vec3<f32>();
        var v_opacity = 0.0;
        var s = NO_SURFEL;
        var met = false;
        var k: Meeting;
        if i < end {
            s = min(u32(ids[i]), surfel_count - 1u);
            k = meet(pixel, s);
            met = k.met;
        }
        if met {
            let w = k.alpha * transmittance;
            // The derivative of the loss by w: of distortion, that is the sum of w_j (m - m_j)^2.
            let g = dot(v_color, color_of(s)) + dot(v_normal, k.normal)
                + dot(v_sum, vec4<f32>(1.0, k.z, k.m, k.m * k.m))
                + v_distort * (k.m * k.m * sum.x - 2.0 * k.m * sum.z + sum.w);
            behind -= w * g;
            let v_alpha = transmittance * g - behind / (1.0 - k.alpha);
            transmittance *= 1.0 - k.alpha;
            v_own = w * v_color;
            var v_rho = 0.0;
            if opacities[s] * k.falloff <= 0.99 {
                v_opacity = v_alpha * k.falloff;
                v_rho = -0.5 * v_alpha * k.alpha;
            }
            var v_z = w * v_sum.y;
            // Bug 2: depth has no part in the mapped depth.
            if BUG != 2u {
                let v_m = w * (v_sum.z + 2.0 * k.m * v_sum.w + 2.0 * v_distort * (k.m * sum.x - sum.z));
                v_z += v_m * far * near / ((far - near) * k.z * k.z);
            }
            var v_u = vec3<f32>();
            var v_v = vec3<f32>();
            v_mean = vec3<f32>(0.0, 0.0, v_z);
            if k.filtered {
                let scale = -4.0 * focal * focal * v_rho / k.mean.z;
                let d = pixel - k.mean.xy / k.mean.z;
                v_mean += scale * vec3<f32>(d, -dot(d, k.mean.xy) / k.mean.z);
            } else {
                let by_u = 2.0 * k.u * v_rho + v_z * k.tangent_u.z;
                let by_v = 2.0 * k.v * v_rho + v_z * k.tangent_v.z;
                let v_line = vec3<f32>(by_u, by_v, -(by_u * k.u + by_v * k.v)) / k.down;
                let by_x = cross(k.plane_y, v_line);
                let by_y = cross(v_line, k.plane_x);
                let depths = pixel.x * by_x + pixel.y * by_y;
                v_u = vec3<f32>(-by_x.x, -by_y.x, depths.x + v_z * k.u);
                v_v = vec3<f32>(-by_x.y, -by_y.y, depths.y + v_z * k.v);
                v_mean += vec3<f32>(-by_x.z, -by_y.z, depths.z);
            }
            // Bug 1: the length of the normal is taken for a constant.
            let along = select(dot(k.normal, v_normal), 0.0, BUG == 1u);
            let v_cross = k.side * w / k.area * (v_normal - along * k.normal);
            v_u += cross(k.tangent_v, v_cross);
            v_v += cross(v_cross, k.tangent_u);
            v_tangent = array<f32, 6>(v_u.x, v_u.y, v_u.z, v_v.x, v_v.y, v_v.z);
        }
        // The same in all lanes of the subgroup.
        let first = subgroupMin(select(NO_SURFEL, s, met));
        let alike = first == subgroupMax(select(0u, s, met));
        let reduces = alike && subgroupAdd(u32(met)) >= max(threshold, 1u);
        let sends = select(met, lane == 0u, reduces);
        let key = select(s, first, reduces);
        for (var c = 0u; c < 3u; c++) {
            var of_mean = v_mean[c];
            var of_color = v_own[c];
            if reduces {
                of_mean = subgroupAdd(of_mean);
                of_color = subgroupAdd(of_color);
            }
            if sends {
                add_to_means(3u * key + c, of_mean);
                add_to_colors(3u * key + c, of_color);
            }
        }
        for (var c = 0u; c < 6u; c++) {
            var of_tangent = v_tangent[c];
            if reduces {
                of_tangent = subgroupAdd(of_tangent);
            }
            if sends {
                add_to_tangents(6u * key + c, of_tangent);
            }
        }
        if reduces {
            v_opacity = subgroupAdd(v_opacity);
        }
        if sends {
            add_to_opacities(key, v_opacity);
        }
        i++;
    }
}
