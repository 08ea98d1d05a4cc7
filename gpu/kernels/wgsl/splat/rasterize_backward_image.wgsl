// Stage `rasterize_backward` in the formulations that walk front to back: one workgroup a tile, one lane
// a pixel; the tile's Gaussians are met as the forward pass met them, the transmittance is multiplied
// up again from 1 and the stop decided again, and what lies behind is what is left of the rendered
// image (`unblend.wgsl`). What every pixel contributes to a Gaussian is handed to the reduction:
// `add_up` for each Gaussian, `begin_batch` and `end_batch` around a batch.
//
// All lanes of a workgroup make the same number of steps: lanes that are finished, that skip or
// that lie outside the image stay with exact zeros, so that every subgroup operation sees the whole
// subgroup.
//
// `image` holds a row a pixel: the number that FINAL_T names, then the rendered colour. `v_image` holds
// the gradients of the opacity and of the colour.

// Non-zero while some pixel of the tile still blends.
var<workgroup> pixels_left: atomic<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn rasterize_backward_image(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    let pixel = pixel_of(tile, lane);
    let point = sample_point(pixel);
    let tile_index = tile.y * params.tiles_x + tile.x;
    let begin = tile_offsets[tile_index];
    let end = tile_offsets[tile_index + 1u];

    var ends: Ends;
    var v_color = array<f32, CHANNELS>();
    // What is left of the image, the background apart.
    var remainder = array<f32, CHANNELS>();
    // Lanes outside the image read nothing and are done.
    var done = true;
    if pixel.x < params.width && pixel.y < params.height {
        let row = (pixel.y * params.width + pixel.x) * (1u + CHANNELS);
        done = false;
        var v_background = 0.0;
        for (var d = 0u; d < CHANNELS; d++) {
            v_color[d] = v_image[row + 1u + d];
            v_background = v_background + background(d) * v_color[d];
        }
        ends = ends_of(image[row], v_image[row], v_background);
        for (var d = 0u; d < CHANNELS; d++) {
            remainder[d] = image[row + 1u + d] - ends.transmittance * background(d);
        }
    }
    var transmittance = 1.0;

    for (var base = begin; base < end; base += BATCH_SIZE) {
        // The first barrier also ends all reading of the previous batch and its sums.
        if lane == 0u {
            atomicStore(&pixels_left, 0u);
        }
        workgroupBarrier();
        if !done {
            atomicOr(&pixels_left, 1u);
        }
        if workgroupUniformLoad(&pixels_left) == 0u {
            break;
        }
        let count = min(BATCH_SIZE, end - base);
        if lane < count {
            load_gaussian(lane, base + lane);
        }
        begin_batch(lane);
        workgroupBarrier();

        for (var k = 0u; k < count; k++) {
            let pair = evaluate(k, point);
            let next = transmittance * (1.0 - pair.alpha);
            var contributes = !done && !pair.skip;
            // The Gaussian that would fall below the minimum was not blended.
            if contributes && (next < params.transmittance_min
                || (params.stop_when_equal != 0u && next == params.transmittance_min)) {
                done = true;
                contributes = false;
            }
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
                transmittance = next;
                for (var d = 0u; d < CHANNELS; d++) {
                    step.remainder = remainder[d];
                    values[COLOR + d] = channel_vjp(&step, gaussians[row + COLOR + d], v_color[d]);
                    remainder[d] = step.remainder;
                }
                let v_alpha = v_alpha_of(&step, ends);
                let v = alpha_vjp(k, pair, v_alpha);
                for (var i = 0u; i < COLOR; i++) {
                    values[i] = v[i];
                }
            }
            add_up(k, row, contributes, group, subgroup_lane, subgroup_size, &values);
        }
        end_batch(lane, count);
    }
}
