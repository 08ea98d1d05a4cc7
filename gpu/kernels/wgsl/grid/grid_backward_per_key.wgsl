// Stage `grid_backward`, reduction `per-key`: a lane for each entry of the table walks the list of what is
// added to it, rows of gradients with their weights, and writes the sum. No other lane adds to the entry, so
// that nothing is atomic. The host makes the lists: which points touch an entry, and by what weight.

// Mirrors `PARAMS` in gpu/src/stages/grid/per_key.rs.
struct Params {
    // Entries of the table E.
    entries: u32,
    // Features of an entry F.
    features: u32,
    // Not used: nothing is sent.
    threshold: u32,
    padding: u32,
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn grid_backward(@builtin(global_invocation_id) id: vec3<u32>) {
    let entry = id.x;
    if entry < params.entries {
        let begin = row_offsets[entry];
        let end = row_offsets[entry + 1u];
        for (var f = 0u; f < params.features; f++) {
            var sum = 0.0;
            for (var place = begin; place < end; place++) {
                sum = sum + weights[place] * v_features[sources[place] * params.features + f];
            }
            v_table[entry * params.features + f] = sum;
        }
    }
}
