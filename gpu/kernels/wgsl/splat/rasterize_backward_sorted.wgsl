// Stage `rasterize_backward`, reduction `sorted`, the first of two launches: one workgroup a tile, one lane
// a pixel; the tile's Gaussians are walked from the last one, and what the tile contributes to each is
// added up in an order that no schedule changes: the lanes of a subgroup by a tree, then the subgroups
// one after another. The sum is written, not added: to the row of `partials` that is the pair's own.
// Rows lie in the order of Gaussians, so that the second launch (`reduce_by_key.wgsl`) finds a Gaussian's
// rows side by side.
//
// All lanes of a workgroup make the same number of steps: lanes that are finished, that skip or
// that lie outside the image stay with exact zeros, so that every subgroup operation sees the whole
// subgroup.

// Subgroups that a workgroup has at most, and the values that they hand over at a time: as many as keep
// the kernel within the 16 KiB of workgroup memory that WebGPU guarantees.
const MOST_SUBGROUPS: u32 = WORKGROUP_SIZE / 4u;
const CHUNK: u32 = min(VALUES, 32u);

// One more than the largest last contributor of the tile's pixels.
var<workgroup> walk_end: atomic<u32>;

// What the subgroups contribute to one Gaussian; zeros where there is no subgroup.
var<workgroup> of_subgroup: array<f32, MOST_SUBGROUPS * CHUNK>;

// The sum over the subgroups, one after another: eight at a turn, because drivers count the turns of loops.
fn sum_of_subgroups(subgroups: u32, value: u32) -> f32 {
    var sum = 0.0;
    for (var s = 0u; s < subgroups; s += 8u) {
        let at = s * CHUNK + value;
        sum = sum + of_subgroup[at];
        sum = sum + of_subgroup[at + CHUNK];
        sum = sum + of_subgroup[at + 2u * CHUNK];
        sum = sum + of_subgroup[at + 3u * CHUNK];
        sum = sum + of_subgroup[at + 4u * CHUNK];
        sum = sum + of_subgroup[at + 5u * CHUNK];
        sum = sum + of_subgroup[at + 6u * CHUNK];
        sum = sum + of_subgroup[at + 7u * CHUNK];
    }
    return sum;
}

// The place of a (tile, Gaussian) pair's row in `partials`: behind the ends of the lists.
fn slot_of(position: u32, tiles: u32) -> u32 {
    return tile_offsets[tiles + 1u + position];
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn rasterize_backward(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
) {
    let pixel = pixel_of(tile, lane);
    let point = sample_point(pixel);
    let tiles = grid.x * grid.y;
    let tile_index = tile.y * params.tiles_x + tile.x;
    let begin = tile_offsets[tile_index];
    let end = tile_offsets[tile_index + 1u];

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

    for (var i = lane; i < MOST_SUBGROUPS * CHUNK; i += WORKGROUP_SIZE) {
        of_subgroup[i] = 0.0;
    }
    if lane == 0u {
        atomicStore(&walk_end, begin);
    }
    workgroupBarrier();
    atomicMax(&walk_end, u32(last + 1));
    var top = workgroupUniformLoad(&walk_end);

    // Nobody walks over the pairs behind: their rows are zeros.
    for (var position = top + lane; position < end; position += WORKGROUP_SIZE) {
        for (var v = 0u; v < VALUES; v++) {
            add(slot_of(position, tiles) * VALUES + v, 0.0);
        }
    }

    while top > begin {
        let count = min(BATCH_SIZE, top - begin);
        // Nobody reads the previous batch any more.
        workgroupBarrier();
        if lane < count {
            load_gaussian(lane, top - 1u - lane);
        }
        workgroupBarrier();

        for (var k = 0u; k < count; k++) {
            let position = top - 1u - k;
            let pair = evaluate(k, point);
            let contributes = i32(position) <= last && !pair.skip;
            let group = subgroupBallot(contributes);

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
                let v = alpha_vjp(k, pair, v_alpha);
                for (var i = 0u; i < COLOR; i++) {
                    values[i] = v[i];
                }
            }
            if any(group != vec4<u32>(0u)) {
                add_tree(subgroup_size, &values);
            }
            let partial = slot_of(position, tiles) * VALUES;
            for (var first = 0u; first < VALUES; first += CHUNK) {
                let used = min(CHUNK, VALUES - first);
                // The sum lies in lane 0, which need not contribute itself.
                if subgroup_lane == 0u {
                    for (var v = 0u; v < used; v++) {
                        of_subgroup[subgroup * CHUNK + v] = values[first + v];
                    }
                }
                // All subgroups have written their sums, and before the next ones all
                // are read.
                workgroupBarrier();
                if lane < used {
                    add(partial + first + lane, sum_of_subgroups(subgroups, lane));
                }
                workgroupBarrier();
            }
        }
        top -= count;
    }
}
