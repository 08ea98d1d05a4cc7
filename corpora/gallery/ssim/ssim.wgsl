// The kernels of ssim.cu in WGSL, as Brush has them: a workgroup is a tile of a channel.

const BUG = 0u;

const RADIUS = 5;
const TAPS = 11;
const TILE = 8;
const SIDE = 18;
// Numbers of a halo of the tile: each of its rows, summed over the window along x.
const ROWS = 144;

@group(0) @binding(0) var<storage, read> render: array<f32>; // [C,H,W]
@group(0) @binding(1) var<storage, read> photograph: array<u32>; // [C,H,W] bytes, 0 to 255
@group(0) @binding(2) var<storage, read> window: array<f32>; // [11]
@group(0) @binding(3) var<uniform> lambda: f32;
@group(0) @binding(4) var<uniform> c1: f32; // 0.01^2
@group(0) @binding(5) var<uniform> c2: f32; // 0.03^2
@group(0) @binding(6) var<uniform> height: i32;
@group(0) @binding(7) var<uniform> width: i32;
@group(0) @binding(8) var<storage, read_write> loss_map: array<f32>; // [C,H,W]
@group(0) @binding(9) var<storage, read_write> d_mu: array<f32>; // [C,H,W] of SSIM by mu_x
@group(0) @binding(10) var<storage, read_write> d_sigma_xx: array<f32>; // [C,H,W]
@group(0) @binding(11) var<storage, read_write> d_sigma_xy: array<f32>; // [C,H,W]
@group(0) @binding(12) var<storage, read> v_loss_map: array<f32>; // [C,H,W]
@group(0) @binding(13) var<storage, read_write> v_render: array<f32>; // [C,H,W]

var<workgroup> rows: array<array<f32, ROWS>, 5>;

fn has(y: i32, x: i32) -> bool {
    return y >= 0 && x >= 0 && y < height && x < width;
}

fn at(channel: u32, y: i32, x: i32) -> i32 {
    return (i32(channel) * height + y) * width + x;
}

fn intensity(pixel: i32) -> f32 {
    return f32(photograph[pixel]) / 255.0;
}

// The sum over the window down a column of the tile.
fn down(quantity: u32, local: vec3<u32>, flipped: bool) -> f32 {
    var sum = 0.0;
    for (var k = 0; k < TAPS; k++) {
        sum += window[select(k, TAPS - 1 - k, flipped)] * rows[quantity][(i32(local.y) + k) * TILE + i32(local.x)];
    }
    return sum;
}

@compute @workgroup_size(8, 8)
fn ssim(@builtin(workgroup_id) tile: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let top = i32(tile.y) * TILE;
    let left = i32(tile.x) * TILE;
    for (var i = i32(local.y) * TILE + i32(local.x); i < ROWS; i += TILE * TILE) {
        let y = top + i / TILE - RADIUS;
        var sums: array<f32, 5>;
        for (var k = 0; k < TAPS; k++) {
            let x = left + i % TILE + k - RADIUS;
            if has(y, x) {
                let pixel = at(tile.z, y, x);
                let a = render[pixel];
                let b = intensity(pixel);
                let w = window[k];
                sums[0] += w * a;
                sums[1] += w * b;
                sums[2] += w * a * a;
                sums[3] += w * b * b;
                sums[4] += w * a * b;
            }
        }
        for (var q = 0u; q < 5u; q++) {
            rows[q][i] = sums[q];
        }
    }
    workgroupBarrier();
    let y = top + i32(local.y);
    let x = left + i32(local.x);
    if !has(y, x) {
        return;
    }
    let pixel = at(tile.z, y, x);
    let mu_x = down(0u, local, false);
    let mu_y = down(1u, local, false);
    let sigma_xx = down(2u, local, false) - mu_x * mu_x;
    let sigma_yy = down(3u, local, false) - mu_y * mu_y;
    let both = down(4u, local, false);
    let sigma_xy = both - mu_x * mu_y; // bug 1
    let a = mu_x * mu_x + mu_y * mu_y + c1;
    let b = sigma_xx + sigma_yy + c2;
    let c = 2.0 * mu_x * mu_y + c1;
    let d = 2.0 * sigma_xy + c2;
    let similarity = c * d / (a * b);
    let l1 = abs(render[pixel] - intensity(pixel)); // bug 2
    loss_map[pixel] = lambda * (1.0 - similarity) + (1.0 - lambda) * l1;
    let by_xx = -similarity / b;
    let by_xy = 2.0 * c / (a * b);
    d_sigma_xx[pixel] = by_xx;
    d_sigma_xy[pixel] = by_xy;
    var by_mu = 2.0 * mu_y * d / (a * b) - 2.0 * mu_x * similarity / a - 2.0 * mu_x * by_xx;
    // Bug 1: the covariance is taken for a number that mu_x has no part in.
    if BUG != 1u {
        by_mu -= mu_y * by_xy;
    }
    d_mu[pixel] = by_mu;
}

// A pixel gathers from all whose windows reach it: the same stencil with the window turned round.
@compute @workgroup_size(8, 8)
fn ssim_backward(@builtin(workgroup_id) tile: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let top = i32(tile.y) * TILE;
    let left = i32(tile.x) * TILE;
    for (var i = i32(local.y) * TILE + i32(local.x); i < ROWS; i += TILE * TILE) {
        let y = top + i / TILE - RADIUS;
        var sums: array<f32, 3>;
        for (var k = 0; k < TAPS; k++) {
            let x = left + i % TILE + k - RADIUS;
            if has(y, x) {
                let pixel = at(tile.z, y, x);
                let v = -lambda * v_loss_map[pixel] * window[TAPS - 1 - k];
                sums[0] += v * d_mu[pixel];
                sums[1] += v * d_sigma_xx[pixel];
                sums[2] += v * d_sigma_xy[pixel];
            }
        }
        for (var q = 0u; q < 3u; q++) {
            rows[q][i] = sums[q];
        }
    }
    workgroupBarrier();
    let y = top + i32(local.y);
    let x = left + i32(local.x);
    if !has(y, x) {
        return;
    }
    let pixel = at(tile.z, y, x);
    let a = render[pixel];
    let b = intensity(pixel);
    let v = down(0u, local, true) + 2.0 * a * down(1u, local, true) + b * down(2u, local, true);
    // Bug 2: the sign of y - x.
    let l1 = (1.0 - lambda) * sign(a - b) * v_loss_map[pixel];
    v_render[pixel] = v + select(l1, -l1, BUG == 2u);
}
