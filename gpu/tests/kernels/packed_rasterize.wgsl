// The image of one camera in WGSL with bindings of its own: one invocation a pixel, Gaussians in packed rows,
// pixels of colour and opacity, and how many entries of its tile's list a pixel walks up to its last
// contributor. Three channels.

struct Uniforms {
    width: u32,
    height: u32,
    tiles_x: u32,
    background: vec3f,
    alpha_max: f32,
    alpha_min: f32,
    transmittance_min: f32,
    pixel_center: f32,
    stop_when_equal: u32,
}

struct Splat {
    mean: vec2f,
    opacity: f32,
    conic_xx: f32,
    conic_xy: f32,
    conic_yy: f32,
    red: f32,
    green: f32,
    blue: f32,
    pad: f32,
}

@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var<storage, read> splats: array<Splat>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<storage, read> ranges: array<vec2u>;
@group(0) @binding(4) var<storage, read_write> image: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> walked: array<u32>;

@compute @workgroup_size(16, 16)
fn render(@builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) tile: vec3u) {
    if id.x >= uniforms.width || id.y >= uniforms.height {
        return;
    }
    let point = vec2f(id.xy) + uniforms.pixel_center;
    let range = ranges[tile.y * uniforms.tiles_x + tile.x];
    var color = vec3f();
    var transmittance = 1.0;
    var last = 0u;
    for (var i = range.x; i < range.y; i++) {
        let splat = splats[ids[i]];
        let d = splat.mean - point;
        let power = -(0.5 * ((splat.conic_xx * d.x) * d.x + (splat.conic_yy * d.y) * d.y)
            + (splat.conic_xy * d.x) * d.y);
        let alpha = min(uniforms.alpha_max, splat.opacity * exp(power));
        if power > 0.0 || alpha < uniforms.alpha_min {
            continue;
        }
        let next = transmittance * (1.0 - alpha);
        let stops = next < uniforms.transmittance_min
            || (uniforms.stop_when_equal != 0u && next == uniforms.transmittance_min);
        if stops {
            break;
        }
        color += vec3f(splat.red, splat.green, splat.blue) * (alpha * transmittance);
        transmittance = next;
        last = i + 1u - range.x;
    }
    let place = id.y * uniforms.width + id.x;
    image[place] = vec4f(color + transmittance * uniforms.background, 1.0 - transmittance);
    walked[place] = last;
}
