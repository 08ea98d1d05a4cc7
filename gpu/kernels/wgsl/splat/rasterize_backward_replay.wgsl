// Stage `rasterize_backward` from checkpoints, reduction `replay`: pixels are streamed front to back
// through lanes that hold Gaussians (Taming-3DGS, the fastgs rasterizer of LichtFeld Studio).
//
// A subgroup of W lanes takes up 32 neighbouring Gaussians of the tile's list, a lane 32 / W of them,
// lane 0 the foremost, and all 256 pixels of the tile pass through its lanes. What a pixel hands on is
// its transmittance T and what is left of its image (`unblend.wgsl`), the recursion being that of the
// forward pass:
//
//     rest <- rest - alpha T color,    T <- (1 - alpha) T.
//
// The forward pass noted both at every 32nd place of the list, so that lane 0 begins at a checkpoint and
// no subgroup waits for another: at step s lane l works on pixel s - l. Of a subgroup wider than 32
// the other lanes hold no Gaussian. Every lane adds up its Gaussians' gradients over the tile in
// registers and sends each by one atomic per value: there is no vote and no threshold.
//
// `tile_offsets` holds the ends of the tiles' lists, then those of their checkpoints, of which each has
// 256 rows of 1 + D: transmittance and colour in front of its first Gaussian. `image` holds a row a
// pixel: the number that FINAL_T names, then the rendered colour. `v_image` holds the gradients of the
// opacity and of the colour.

// Places of a list between two checkpoints.
const EVERY: u32 = 32u;
// The most Gaussians that a lane holds: subgroups have at least 4 lanes.
const MOST_HELD: u32 = 8u;

// What a pixel's gradients are multiplied with, and where its walk ends, by the lane of its tile.
var<workgroup> pixel_ends: array<Ends, WORKGROUP_SIZE>;
var<workgroup> pixel_last: array<i32, WORKGROUP_SIZE>;
// One more than the largest last contributor of the tile's pixels.
var<workgroup> walk_end: atomic<u32>;
// The subgroups of the workgroup, numbered as they come.
var<workgroup> subgroups: atomic<u32>;

// The row of a pixel in `image` and `v_image`.
fn image_row(pixel: vec2<u32>) -> u32 {
    return (pixel.y * params.width + pixel.x) * (1u + CHANNELS);
}

// Reads the pixel of this lane; outside the image nothing is read and
// nothing contributes.
fn load_pixel(tile: vec3<u32>, lane: u32) {
    let pixel = pixel_of(tile, lane);
    pixel_last[lane] = -1;
    pixel_ends[lane] = Ends();
    if pixel.x < params.width && pixel.y < params.height {
        let row = image_row(pixel);
        pixel_last[lane] = last_ids[pixel.y * params.width + pixel.x];
        var v_background = 0.0;
        for (var d = 0u; d < CHANNELS; d++) {
            v_background = v_background + background(d) * v_image[row + 1u + d];
        }
        pixel_ends[lane] = ends_of(image[row], v_image[row], v_background);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn rasterize_backward(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(num_workgroups) tiles: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    let tile_index = tile.y * params.tiles_x + tile.x;
    let begin = tile_offsets[tile_index];
    let first_checkpoint = tile_offsets[tiles.x * tiles.y + 1u + tile_index];
    load_pixel(tile, lane);
    if lane == 0u {
        atomicStore(&walk_end, 0u);
        atomicStore(&subgroups, 0u);
    }
    workgroupBarrier();
    atomicMax(&walk_end, u32(pixel_last[lane] + 1));
    var number = 0u;
    if subgroup_lane == 0u {
        number = atomicAdd(&subgroups, 1u);
    }
    number = subgroupBroadcastFirst(number);
    // Every lane comes to read what the others loaded.
    let top = workgroupUniformLoad(&walk_end);
    let count = atomicLoad(&subgroups);

    let length = max(top, begin) - begin;
    let buckets = (length + EVERY - 1u) / EVERY;
    let width = min(subgroup_size, EVERY);
    let held = EVERY / width;
    // The lane in front of this one; lane 0 begins at checkpoints.
    let previous = max(subgroup_lane, 1u) - 1u;

    for (var bucket = number; bucket < buckets; bucket += count) {
        let front = begin + bucket * EVERY;
        let first = front + subgroup_lane * held;
        let states = (first_checkpoint + bucket) * WORKGROUP_SIZE * (1u + CHANNELS);
        var sums = array<f32, MOST_HELD * VALUES>();
        var touched = 0u;
        var transmittance = 0.0;
        var remainder = array<f32, CHANNELS>();
        for (var step = 0u; step < WORKGROUP_SIZE + width - 1u; step++) {
            // The pixels move up by one lane, whether a lane worked or not.
            transmittance = subgroupShuffle(transmittance, previous);
            for (var d = 0u; d < CHANNELS; d++) {
                remainder[d] = subgroupShuffle(remainder[d], previous);
            }
            // Wraps to a huge number before the lane's first pixel.
            let at = step - subgroup_lane;
            if at < WORKGROUP_SIZE && subgroup_lane < width {
                let last = pixel_last[at];
                let pixel = pixel_of(tile, at);
                let row = image_row(pixel);
                // A checkpoint behind the pixel's last contributor holds nothing.
                if subgroup_lane == 0u && last >= i32(front) {
                    let state = states + at * (1u + CHANNELS);
                    transmittance = checkpoints[state];
                    for (var d = 0u; d < CHANNELS; d++) {
                        let behind = pixel_ends[at].transmittance * background(d);
                        remainder[d] = (image[row + 1u + d] - behind) - checkpoints[state + 1u + d];
                    }
                }
                for (var k = 0u; k < held && i32(first + k) <= last; k++) {
                    let splat = splat_at(first + k);
                    let pair = evaluate_splat(splat, sample_point(pixel));
                    if pair.skip {
                        continue;
                    }
                    touched |= 1u << k;
                    var unblended = unblend(pair.alpha, transmittance);
                    transmittance = transmittance * unblended.one_minus;
                    for (var d = 0u; d < CHANNELS; d++) {
                        let color = gaussians[splat.row + COLOR + d];
                        unblended.remainder = remainder[d];
                        let v = channel_vjp(&unblended, color, v_image[row + 1u + d]);
                        sums[k * VALUES + COLOR + d] = sums[k * VALUES + COLOR + d] + v;
                        remainder[d] = unblended.remainder;
                    }
                    let v_alpha = v_alpha_of(&unblended, pixel_ends[at]);
                    let v = splat_vjp(splat, pair, v_alpha);
                    for (var i = 0u; i < COLOR; i++) {
                        sums[k * VALUES + i] = sums[k * VALUES + i] + v[i];
                    }
                }
            }
        }
        for (var k = 0u; k < held; k++) {
            if (touched >> k & 1u) != 0u {
                var values = array<f32, VALUES>();
                for (var i = 0u; i < VALUES; i++) {
                    values[i] = sums[k * VALUES + i];
                }
                send(splat_at(first + k).row, &values);
            }
        }
    }
}
