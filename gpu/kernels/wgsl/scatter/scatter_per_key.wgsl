// Stage `scatter`, reduction `per-key`: a lane for each row walks the list of the row's elements and writes
// their sum, on top of what the row held. No other lane adds to the row, so that nothing is atomic.

// Mirrors `PARAMS` in gpu/src/stages/scatter.rs.
struct Params {
    // Number of elements N.
    elements: u32,
    // Values of an element V.
    values: u32,
    // Rows of the sums E.
    rows: u32,
    // Not used: nothing is sent.
    threshold: u32,
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn scatter(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x;
    if row < params.rows {
        let begin = offsets[row];
        let end = offsets[row + 1u];
        for (var v = 0u; v < params.values; v++) {
            var sum = initial[row * params.values + v];
            for (var place = begin; place < end; place++) {
                sum = sum + values[order[place] * params.values + v];
            }
            sums[row * params.values + v] = sum;
        }
    }
}
