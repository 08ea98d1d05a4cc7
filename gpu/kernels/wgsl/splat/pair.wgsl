// What both rasterization kernels share: the settings, the batch of Gaussians in workgroup memory
// and the arithmetic of one (pixel, Gaussian) pair. One text for both directions, so that forward
// and backward decide `alpha < alpha_min` from the same expressions (a compiler may
// still contract them differently in the two kernels).
//
// The constants CHANNELS, VALUES, TILE_SIZE, WORKGROUP_SIZE, BATCH_SIZE and the bindings are declared
// in front of this text from the table in gpu/src/stages.rs.
//
// Non-finite inputs: nothing is promised about values (WGSL lets a compiler assume that there are
// none); the kernels still terminate and write only their own outputs.

// Mirrors `Params` in gpu/src/stages.rs.
struct Params {
    width: u32,
    height: u32,
    tiles_x: u32,
    threshold: u32,
    alpha_max: f32,
    alpha_min: f32,
    transmittance_min: f32,
    pixel_center: f32,
    stop_when_equal: u32,
    clamp_stops_gradient: u32,
    channels: u32,
    padding: u32,
    background: array<vec4<f32>, 8>,
}

fn background(channel: u32) -> f32 {
    return params.background[channel / 4u][channel % 4u];
}

// The Gaussians being walked over; entry k belongs to the k-th position of the
// batch. A row is the place of the Gaussian's first value in `gaussians` and `gradients`.
var<workgroup> batch_row: array<u32, WORKGROUP_SIZE>;
var<workgroup> batch_mean: array<vec2<f32>, WORKGROUP_SIZE>;
var<workgroup> batch_conic_opacity: array<vec4<f32>, WORKGROUP_SIZE>;

// Where the reductions add the sums of the k-th Gaussian of the batch.
fn row_of(k: u32) -> u32 {
    return batch_row[k];
}

// Places of the values in a Gaussian's row, of inputs and of gradients alike; the colour's come
// after them.
const MEAN: u32 = 0u;
const CONIC: u32 = 2u;
const OPACITY: u32 = 5u;
const COLOR: u32 = 6u;

// Every lane loads the Gaussian at one position of `flatten_ids`.
fn load_gaussian(lane: u32, position: u32) {
    let splat = splat_at(position);
    batch_row[lane] = splat.row;
    batch_mean[lane] = splat.mean;
    batch_conic_opacity[lane] = splat.conic_opacity;
}

// One Gaussian as the pairs read it.
struct Splat {
    row: u32,
    mean: vec2<f32>,
    conic_opacity: vec4<f32>,
}

// The Gaussian at one position of `flatten_ids`.
fn splat_at(position: u32) -> Splat {
    let row = flatten_ids[position] * VALUES;
    return Splat(
        row,
        vec2<f32>(gaussians[row + MEAN], gaussians[row + MEAN + 1u]),
        vec4<f32>(
            gaussians[row + CONIC],
            gaussians[row + CONIC + 1u],
            gaussians[row + CONIC + 2u],
            gaussians[row + OPACITY],
        ),
    );
}

// The k-th Gaussian of the batch.
fn splat_of_batch(k: u32) -> Splat {
    return Splat(batch_row[k], batch_mean[k], batch_conic_opacity[k]);
}

struct Pair {
    // Mean minus sample point, pixels.
    d: vec2<f32>,
    // exp(power), in 0..=1 where the pair is not skipped.
    gauss: f32,
    // Opacity times gauss, before the clamp.
    unclamped: f32,
    alpha: f32,
    // Whether the pair is skipped.
    skip: bool,
}

fn evaluate(k: u32, point: vec2<f32>) -> Pair {
    return evaluate_splat(splat_of_batch(k), point);
}

fn evaluate_splat(splat: Splat, point: vec2<f32>) -> Pair {
    let conic_opacity = splat.conic_opacity;
    let a = conic_opacity.x;
    let b = conic_opacity.y;
    let c = conic_opacity.z;
    let dx = splat.mean.x - point.x;
    let dy = splat.mean.y - point.y;
    let sigma = 0.5 * ((a * dx) * dx + (c * dy) * dy) + (b * dx) * dy;
    let power = -sigma;

    var pair: Pair;
    pair.d = vec2<f32>(dx, dy);
    pair.gauss = exp(power);
    pair.unclamped = conic_opacity.w * pair.gauss;
    pair.alpha = min(params.alpha_max, pair.unclamped);
    pair.skip = power > 0.0 || pair.alpha < params.alpha_min;
    return pair;
}

fn sample_point(pixel: vec2<u32>) -> vec2<f32> {
    return vec2<f32>(pixel) + params.pixel_center;
}

// The pixel of a lane of its tile's workgroup; may lie outside the image.
fn pixel_of(tile: vec3<u32>, lane: u32) -> vec2<u32> {
    return tile.xy * TILE_SIZE + vec2<u32>(lane % TILE_SIZE, lane / TILE_SIZE);
}

// The vector-Jacobian product of alpha = opacity exp(-sigma) for the k-th Gaussian of the batch, into
// the first six values.
fn alpha_vjp(k: u32, pair: Pair, v_alpha: f32) -> array<f32, COLOR> {
    return splat_vjp(splat_of_batch(k), pair, v_alpha);
}

// All zero where the clamp stops the gradient.
fn splat_vjp(splat: Splat, pair: Pair, v_alpha: f32) -> array<f32, COLOR> {
    var values = array<f32, COLOR>();
    if params.clamp_stops_gradient != 0u && pair.unclamped > params.alpha_max {
        return values;
    }
    let conic = splat.conic_opacity.xyz;
    let dx = pair.d.x;
    let dy = pair.d.y;
    let v_power = pair.unclamped * v_alpha;
    values[MEAN] = -(v_power * (conic.x * dx + conic.y * dy));
    values[MEAN + 1u] = -(v_power * (conic.y * dx + conic.z * dy));
    values[CONIC] = (-0.5 * v_power) * (dx * dx);
    values[CONIC + 1u] = -v_power * (dx * dy);
    values[CONIC + 2u] = (-0.5 * v_power) * (dy * dy);
    values[OPACITY] = pair.gauss * v_alpha;
    return values;
}
