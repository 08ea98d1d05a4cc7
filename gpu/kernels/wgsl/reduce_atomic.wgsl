// Reduction `atomic`: one atomic per contributing lane and value.
fn add_up(
    k: u32,
    row: u32,
    contributes: bool,
    group: vec4<u32>,
    subgroup_lane: u32,
    subgroup_size: u32,
    values: ptr<function, array<f32, VALUES>>,
) {
    if contributes {
        send(row, values);
    }
}

fn begin_batch(lane: u32) {}

fn end_batch(lane: u32, count: u32) {}
