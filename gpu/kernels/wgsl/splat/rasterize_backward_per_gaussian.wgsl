// Stage `rasterize_backward`, reduction `per-gaussian`: one lane per Gaussian, pixels streamed.
//
// A subgroup of W lanes owns W pixels of the tile, and its lanes hold W neighbouring Gaussians of
// the tile's list, lane 0 the hindmost. The blending of a pixel is a recursion from back to front
// over its transmittance T and what lies behind (`unblend.wgsl`), for instance the colour:
//
//     T <- T / (1 - alpha),    behind <- alpha color + (1 - alpha) behind,
//
// so a pixel's state (T, behind) is all that one lane must hand to the next. At step s lane l works
// on pixel (s - l) mod W: each pixel moves up by one lane a step and, from lane W - 1 of one set of
// W Gaussians, to lane 0 of the next, which that lane took up in the very same step. The subgroup is
// a ring that never drains: n Gaussians take n + W - 1 steps. The states lie in registers and move
// by a shuffle: in workgroup memory (D + 1) * 256 of them would not fit for 32 channels, and WGSL
// orders the lanes of one subgroup by no barrier of its own. Nothing assumes W.
//
// Every lane adds up its Gaussian's gradient over the W pixels in registers and sends it by one
// atomic per value: there is no vote and no threshold. Subgroups do not wait for one another.
//
// All lanes of a subgroup make the same number of steps, so that every shuffle is one of the whole
// subgroup.

// What a pixel's gradients are multiplied with, by the lane of its tile; the same at all steps.
var<workgroup> pixel_last: array<i32, WORKGROUP_SIZE>;
var<workgroup> pixel_ends: array<Ends, WORKGROUP_SIZE>;

// Reads the pixel of this lane; outside the image nothing is read and
// nothing contributes.
fn load_pixel(tile: vec3<u32>, lane: u32) {
    let pixel = pixel_of(tile, lane);
    pixel_last[lane] = -1;
    pixel_ends[lane] = Ends();
    if pixel.x < params.width && pixel.y < params.height {
        let index = pixel.y * params.width + pixel.x;
        pixel_last[lane] = last_ids[index];
        var v_background = 0.0;
        for (var d = 0u; d < CHANNELS; d++) {
            v_background = v_background + background(d) * v_render_colors[index * CHANNELS + d];
        }
        pixel_ends[lane] =
            ends_of(render_transmittance[index], v_render_alphas[index], v_background);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn rasterize_backward(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    let begin = tile_offsets[tile.y * params.tiles_x + tile.x];
    load_pixel(tile, lane);
    // Every lane comes to read what the others of its subgroup loaded.
    workgroupBarrier();
    // One more than the largest last contributor of the subgroup's pixels.
    let top = subgroupMax(u32(pixel_last[lane] + 1));
    let length = max(top, begin) - begin;

    // The lane behind this one in the ring, and the pixel that this lane holds before the first
    // step, by the lane of the tile that loaded it: which lanes of a workgroup share a subgroup is
    // the device's affair.
    let previous = (subgroup_lane + subgroup_size - 1u) % subgroup_size;
    var at = subgroupShuffle(lane, (subgroup_size - subgroup_lane) % subgroup_size);
    var transmittance = pixel_ends[at].transmittance;
    var remainder = array<f32, CHANNELS>();
    remainder[0] = first_remainder(pixel_ends[at]);

    var sums = array<f32, VALUES>();
    var touched = false;
    // The last lane finishes the last set of Gaussians W - 1 steps after the first lane.
    let sets = (length + subgroup_size - 1u) / subgroup_size;
    let steps = select(sets * subgroup_size + subgroup_size - 1u, 0u, sets == 0u);
    for (var step = 0u; step < steps; step++) {
        // Steps of this lane; wraps to a huge number before its first one.
        let own = step - subgroup_lane;
        let turn = own % subgroup_size;
        let depth = own - turn + subgroup_lane;
        let works = step >= subgroup_lane && depth < length;
        // A lane's place in the batch is its own, so that no barrier is needed.
        if works && turn == 0u {
            load_gaussian(lane, top - 1u - depth);
            sums = array<f32, VALUES>();
            touched = false;
        }
        if works && i32(top - 1u - depth) <= pixel_last[at] {
            let pixel = pixel_of(tile, at);
            let pair = evaluate(lane, sample_point(pixel));
            if !pair.skip {
                touched = true;
                let first_color = batch_row[lane] + COLOR;
                let first_v = (pixel.y * params.width + pixel.x) * CHANNELS;
                var unblended = unblend(pair.alpha, transmittance);
                transmittance = unblended.transmittance;
                for (var d = 0u; d < CHANNELS; d++) {
                    let v_color = v_render_colors[first_v + d];
                    unblended.remainder = remainder[remainder_of(d)];
                    let v = channel_vjp(&unblended, gaussians[first_color + d], v_color);
                    sums[COLOR + d] = sums[COLOR + d] + v;
                    remainder[remainder_of(d)] = unblended.remainder;
                }
                let v_alpha = v_alpha_of(&unblended, pixel_ends[at]);
                if REMAINDER == STATE {
                    remainder[0] = unblended.remainder;
                }
                let v = alpha_vjp(lane, pair, v_alpha);
                for (var i = 0u; i < COLOR; i++) {
                    sums[i] = sums[i] + v[i];
                }
            }
        }
        if works && turn == subgroup_size - 1u && touched {
            send(batch_row[lane], &sums);
        }
        // The pixels move up by one lane, whether this lane worked or not.
        at = subgroupShuffle(at, previous);
        transmittance = subgroupShuffle(transmittance, previous);
        for (var d = 0u; d < CHANNELS; d++) {
            remainder[d] = subgroupShuffle(remainder[d], previous);
        }
    }
}
