// Stage `loops`: how many steps the driver lets a kernel's loops make. Lane 0 runs one loop, and then a
// loop within a loop; each writes how many steps it made. The state is mixed at every step, so that no
// compiler can compute the end without making the steps.

fn mixed(state: u32) -> u32 {
    let a = state ^ (state << 13u);
    let b = a ^ (a >> 17u);
    return b ^ (b << 5u);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn loops(@builtin(local_invocation_index) lane: u32) {
    if lane > 0u {
        return;
    }
    var state = 1u;
    var alone = 0u;
    while alone < arguments[0] {
        state = mixed(state);
        alone++;
    }
    steps[0] = alone;
    var outer = 0u;
    var nested = 0u;
    while outer < arguments[1] {
        for (var inner = 0u; inner < arguments[2]; inner++) {
            state = mixed(state);
            nested++;
        }
        outer++;
    }
    steps[1] = outer;
    steps[2] = nested;
    steps[3] = state;
}
