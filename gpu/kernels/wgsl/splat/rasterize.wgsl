// Stage `rasterize`: one workgroup a tile, one lane a pixel; the tile's Gaussians are blended front
// to back in batches that pass through workgroup memory.

// Non-zero while some pixel of the tile still blends.
var<workgroup> pixels_left: atomic<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn rasterize(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let pixel = pixel_of(tile, lane);
    let point = sample_point(pixel);
    let tile_index = tile.y * params.tiles_x + tile.x;
    let begin = tile_offsets[tile_index];
    let end = tile_offsets[tile_index + 1u];

    // Lanes outside the image stay for the barriers and blend nothing.
    let inside = pixel.x < params.width && pixel.y < params.height;
    var done = !inside;
    var transmittance = 1.0;
    var last = -1;
    var color = array<f32, CHANNELS>();

    for (var base = begin; base < end; base += WORKGROUP_SIZE) {
        // The first barrier also ends all reading of the previous batch.
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
        let count = min(WORKGROUP_SIZE, end - base);
        if lane < count {
            load_gaussian(lane, base + lane);
        }
        workgroupBarrier();

        for (var k = 0u; k < count && !done; k++) {
            let pair = evaluate(k, point);
            if pair.skip {
                continue;
            }
            let next = transmittance * (1.0 - pair.alpha);
            // The Gaussian that would fall below the minimum is not blended.
            if next < params.transmittance_min
                || (params.stop_when_equal != 0u && next == params.transmittance_min) {
                done = true;
                continue;
            }
            let weight = pair.alpha * transmittance;
            let first_color = batch_row[k] + COLOR;
            for (var d = 0u; d < CHANNELS; d++) {
                color[d] = color[d] + gaussians[first_color + d] * weight;
            }
            transmittance = next;
            last = i32(base + k);
        }
    }

    if inside {
        let index = pixel.y * params.width + pixel.x;
        for (var d = 0u; d < CHANNELS; d++) {
            render_colors[index * CHANNELS + d] = color[d] + transmittance * background(d);
        }
        render_alphas[index] = 1.0 - transmittance;
        render_transmittance[index] = transmittance;
        last_ids[index] = last;
    }
}
