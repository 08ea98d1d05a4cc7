// Stage `rasterize_backward`, reductions `multi-pixel-2` and `multi-pixel-4`: one workgroup a tile, one
// lane for PER_LANE neighbouring pixels of a row, so that a tile has that many times fewer lanes. The
// tile's Gaussians are walked from the last one; at each a lane first adds up, in its own registers,
// what its pixels contribute (`unblend.wgsl`), and only that sum is handed to the reduction. The
// threshold therefore counts lanes that have something to add, not pixels.
//
// All lanes of a workgroup make the same number of steps: lanes that have nothing to add stay with
// exact zeros, so that every subgroup operation sees the whole subgroup.

// One more than the largest last contributor of the tile's pixels.
var<workgroup> walk_end: atomic<u32>;

// One of a lane's pixels; they lie side by side, because a tile's row is a multiple of PER_LANE wide.
fn pixel_of_lane(tile: vec3<u32>, lane: u32, p: u32) -> vec2<u32> {
    return pixel_of(tile, lane * PER_LANE + p);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn rasterize_backward(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    let tile_index = tile.y * params.tiles_x + tile.x;
    let begin = tile_offsets[tile_index];

    // What the lane keeps of each of its pixels.
    var last = array<i32, PER_LANE>();
    var ends = array<Ends, PER_LANE>();
    var transmittance = array<f32, PER_LANE>();
    var remainder = array<f32, PER_LANE * CHANNELS>();
    var furthest = -1;
    for (var p = 0u; p < PER_LANE; p++) {
        let pixel = pixel_of_lane(tile, lane, p);
        last[p] = -1;
        // Pixels outside the image are not read.
        if pixel.x < params.width && pixel.y < params.height {
            let index = pixel.y * params.width + pixel.x;
            last[p] = last_ids[index];
            var v_background = 0.0;
            for (var d = 0u; d < CHANNELS; d++) {
                v_background = v_background + background(d) * v_render_colors[index * CHANNELS + d];
            }
            ends[p] = ends_of(render_transmittance[index], v_render_alphas[index], v_background);
            transmittance[p] = ends[p].transmittance;
            remainder[p * CHANNELS] = first_remainder(ends[p]);
        }
        furthest = max(furthest, last[p]);
    }

    if lane == 0u {
        atomicStore(&walk_end, 0u);
    }
    workgroupBarrier();
    atomicMax(&walk_end, u32(furthest + 1));
    var top = workgroupUniformLoad(&walk_end);

    while top > begin {
        let count = min(BATCH_SIZE, top - begin);
        // Nobody reads the previous batch or its sums any more.
        workgroupBarrier();
        if lane < count {
            load_gaussian(lane, top - 1u - lane);
        }
        begin_batch(lane);
        workgroupBarrier();

        for (var k = 0u; k < count; k++) {
            // The lane's own sum. Added to only where a pixel contributes: exact zeros elsewhere,
            // never value * mask.
            var values = array<f32, VALUES>();
            var contributes = false;
            let row = batch_row[k];
            for (var p = 0u; p < PER_LANE; p++) {
                let pixel = pixel_of_lane(tile, lane, p);
                let pair = evaluate(k, sample_point(pixel));
                if i32(top - 1u - k) <= last[p] && !pair.skip {
                    contributes = true;
                    let first_v = (pixel.y * params.width + pixel.x) * CHANNELS;
                    var step = unblend(pair.alpha, transmittance[p]);
                    transmittance[p] = step.transmittance;
                    for (var d = 0u; d < CHANNELS; d++) {
                        let kept = p * CHANNELS + remainder_of(d);
                        step.remainder = remainder[kept];
                        let v_color = v_render_colors[first_v + d];
                        let v = channel_vjp(&step, gaussians[row + COLOR + d], v_color);
                        values[COLOR + d] = values[COLOR + d] + v;
                        remainder[kept] = step.remainder;
                    }
                    let v_alpha = v_alpha_of(&step, ends[p]);
                    if REMAINDER == STATE {
                        remainder[p * CHANNELS] = step.remainder;
                    }

                    let v = alpha_vjp(k, pair, v_alpha);
                    for (var i = 0u; i < COLOR; i++) {
                        values[i] = values[i] + v[i];
                    }
                }
            }
            // One ballot gives both the group and its size; the Gaussian is the same in
            // all lanes, so the lanes that have something to add are the lanes that match.
            let group = subgroupBallot(contributes);
            if all(group == vec4<u32>(0u)) {
                continue;
            }
            // A subgroup may have more lanes than the workgroup, and those bring nothing.
            let lanes = min(subgroup_size, WORKGROUP_SIZE);
            add_up(k, row, contributes, group, subgroup_lane, lanes, &values);
        }
        end_batch(lane, count);
        top -= count;
    }
}
