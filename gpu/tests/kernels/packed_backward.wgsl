// A backward rasterization with bindings of its own, structured as kernels of WebGPU projects are: a row of
// nine numbers a Gaussian (mean, conic, colour, opacity), RGBA images, ranges of the tiles' lists, gradients
// added to bits by compare-exchange. One workgroup a tile, one lane a pixel; the walk is front to back and
// keeps what is left of the rendered image. Each subgroup adds up what its lanes have, and one lane sends it.

struct Uniforms {
    size: vec2<u32>,
    tiles_x: u32,
    // Aligned to 16 bytes, as every vec3.
    background: vec3<f32>,
    alpha_max: f32,
    alpha_min: f32,
    transmittance_min: f32,
    pixel_center: f32,
    stop_when_equal: u32,
    clamp_stops_gradient: u32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> projected: array<f32>;
@group(0) @binding(2) var<storage, read> global_from_isect: array<u32>;
@group(0) @binding(3) var<storage, read> tile_ranges: array<vec2<u32>>;
@group(1) @binding(0) var<storage, read> out_img: array<vec4<f32>>;
@group(1) @binding(1) var<storage, read> v_output: array<vec4<f32>>;
@group(1) @binding(2) var<storage, read_write> v_splats: array<atomic<u32>>;

override TILE_WIDTH: u32;
// Numbers of a Gaussian's row, and of its row of gradients.
const ROW: u32 = 9u;
const V_ROW: u32 = 10u;

fn add(index: u32, value: f32) {
    var old = atomicLoad(&v_splats[index]);
    loop {
        let sum = bitcast<u32>(bitcast<f32>(old) + value);
        let result = atomicCompareExchangeWeak(&v_splats[index], old, sum);
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

fn total(v: vec3<f32>) -> f32 {
    return (v.x + v.y) + v.z;
}

@compute @workgroup_size(TILE_WIDTH * TILE_WIDTH)
fn rasterize_backward(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(subgroup_invocation_id) lane: u32,
) {
    let pixel = tile.xy * TILE_WIDTH + vec2<u32>(local % TILE_WIDTH, local / TILE_WIDTH);
    let point = vec2<f32>(pixel) + uniforms.pixel_center;
    let range = tile_ranges[tile.y * uniforms.tiles_x + tile.x];

    var done = true;
    var transmittance = 1.0;
    var v = vec4<f32>();
    var remainder = vec3<f32>();
    var end = 0.0;
    if all(pixel < uniforms.size) {
        done = false;
        let place = pixel.y * uniforms.size.x + pixel.x;
        v = v_output[place];
        let last = 1.0 - out_img[place].a;
        remainder = out_img[place].rgb - last * uniforms.background;
        end = (v.a - total(uniforms.background * v.rgb)) * last;
    }

    for (var i = range.x; i < range.y; i++) {
        let splat = global_from_isect[i];
        let row = splat * ROW;
        let d = vec2<f32>(projected[row], projected[row + 1u]) - point;
        let conic = vec3<f32>(projected[row + 2u], projected[row + 3u], projected[row + 4u]);
        let color = vec3<f32>(projected[row + 5u], projected[row + 6u], projected[row + 7u]);
        let sigma = 0.5 * ((conic.x * d.x) * d.x + (conic.z * d.y) * d.y) + (conic.y * d.x) * d.y;
        let gauss = exp(-sigma);
        let unclamped = projected[row + 8u] * gauss;
        let alpha = min(uniforms.alpha_max, unclamped);
        let next = transmittance * (1.0 - alpha);
        var contributes = !done && sigma >= 0.0 && alpha >= uniforms.alpha_min;
        if contributes && (next < uniforms.transmittance_min
            || (uniforms.stop_when_equal != 0u && next == uniforms.transmittance_min)) {
            done = true;
            contributes = false;
        }
        if !subgroupAny(contributes) {
            continue;
        }
        var values = array<f32, ROW>();
        if contributes {
            let reciprocal = 1.0 / (1.0 - alpha);
            let weight = alpha * transmittance;
            let v_color = weight * v.rgb;
            let left = remainder - color * weight;
            let terms = (color * transmittance - left * reciprocal) * v.rgb;
            let v_alpha = total(terms) + end * reciprocal;
            remainder = left;
            transmittance = next;
            values[5] = v_color.x;
            values[6] = v_color.y;
            values[7] = v_color.z;
            if uniforms.clamp_stops_gradient == 0u || unclamped <= uniforms.alpha_max {
                let v_power = unclamped * v_alpha;
                values[0] = -(v_power * (conic.x * d.x + conic.y * d.y));
                values[1] = -(v_power * (conic.y * d.x + conic.z * d.y));
                values[2] = (-0.5 * v_power) * (d.x * d.x);
                values[3] = -v_power * (d.x * d.y);
                values[4] = (-0.5 * v_power) * (d.y * d.y);
                values[8] = gauss * v_alpha;
            }
        }
        for (var k = 0u; k < ROW; k++) {
            let sum = subgroupAdd(values[k]);
            if lane == 0u {
                add(splat * V_ROW + k, sum);
            }
        }
    }
}
