// Stage `rasterize_backward` and its formulations that walk back to front: one workgroup a tile, one
// lane a pixel; the tile's Gaussians are walked from the last one, the transmittance is recovered by
// division, and what every pixel contributes to a Gaussian (`unblend.wgsl`) is handed to the
// reduction: `add_up` for each Gaussian, `begin_batch` and `end_batch` around a batch.
//
// All lanes of a workgroup make the same number of steps: lanes that are finished, that skip or
// that lie outside the image stay with exact zeros, so that every subgroup operation sees the whole
// subgroup.

// One more than the largest last contributor of the tile's pixels.
var<workgroup> walk_end: atomic<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn rasterize_backward(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    let pixel = pixel_of(tile, lane);
    let point = sample_point(pixel);
    let tile_index = tile.y * params.tiles_x + tile.x;
    let begin = tile_offsets[tile_index];

    var last = -1;
    var ends: Ends;
    var v_color = array<f32, CHANNELS>();
    // Lanes outside the image read nothing.
    if pixel.x < params.width && pixel.y < params.height {
        let index = pixel.y * params.width + pixel.x;
        last = last_ids[index];
        var v_background = 0.0;
        for (var d = 0u; d < CHANNELS; d++) {
            v_color[d] = v_render_colors[index * CHANNELS + d];
            v_background = v_background + background(d) * v_color[d];
        }
        ends = ends_of(render_transmittance[index], v_render_alphas[index], v_background);
    }
    var transmittance = ends.transmittance;
    var remainder = array<f32, CHANNELS>();
    remainder[0] = first_remainder(ends);

    if lane == 0u {
        atomicStore(&walk_end, 0u);
    }
    workgroupBarrier();
    atomicMax(&walk_end, u32(last + 1));
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
            let pair = evaluate(k, point);
            let contributes = i32(top - 1u - k) <= last && !pair.skip;
            // One ballot gives both the group and its size; the Gaussian is the same
            // in all lanes, so the lanes that contribute are the lanes that match.
            let group = subgroupBallot(contributes);
            if all(group == vec4<u32>(0u)) {
                continue;
            }

            // Filled only where the lane contributes: exact zeros elsewhere, never
            // value * mask.
            var values = array<f32, VALUES>();
            let row = batch_row[k];
            if contributes {
                var step = unblend(pair.alpha, transmittance);
                transmittance = step.transmittance;
                for (var d = 0u; d < CHANNELS; d++) {
                    step.remainder = remainder[remainder_of(d)];
                    values[COLOR + d] = channel_vjp(&step, gaussians[row + COLOR + d], v_color[d]);
                    remainder[remainder_of(d)] = step.remainder;
                }
                let v_alpha = v_alpha_of(&step, ends);
                if REMAINDER == STATE {
                    remainder[0] = step.remainder;
                }

                let v = alpha_vjp(k, pair, v_alpha);
                for (var i = 0u; i < COLOR; i++) {
                    values[i] = v[i];
                }
            }
            add_up(k, row, contributes, group, subgroup_lane, subgroup_size, &values);
        }
        end_batch(lane, count);
        top -= count;
    }
}
