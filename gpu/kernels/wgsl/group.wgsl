// Sets of lanes of one subgroup, as subgroupBallot gives them: up to 128 lanes, one bit each, with
// no assumption on how many there are.

fn group_size(group: vec4<u32>) -> u32 {
    let bits = countOneBits(group);
    return bits.x + bits.y + bits.z + bits.w;
}

// The lowest lane of a group that is not empty.
fn lowest_lane(group: vec4<u32>) -> u32 {
    if group.x != 0u {
        return firstTrailingBit(group.x);
    }
    if group.y != 0u {
        return 32u + firstTrailingBit(group.y);
    }
    if group.z != 0u {
        return 64u + firstTrailingBit(group.z);
    }
    return 96u + firstTrailingBit(group.w);
}

// The group without its lowest lane: in every word, x & (x - 1) clears the lowest bit.
fn without_lowest(group: vec4<u32>) -> vec4<u32> {
    var rest = group;
    if group.x != 0u {
        rest.x = group.x & (group.x - 1u);
    } else if group.y != 0u {
        rest.y = group.y & (group.y - 1u);
    } else if group.z != 0u {
        rest.z = group.z & (group.z - 1u);
    } else {
        rest.w = group.w & (group.w - 1u);
    }
    return rest;
}

// Sends a lane's values to memory, one atomic each.
fn send(row: u32, values: ptr<function, array<f32, VALUES>>) {
    for (var v = 0u; v < VALUES; v++) {
        add(row + v, (*values)[v]);
    }
}

// Adds every value up over the whole subgroup by a tree of shuffles, in all lanes: those that do
// not contribute bring exact zeros. Must be called by the whole subgroup.
fn add_tree(subgroup_size: u32, values: ptr<function, array<f32, VALUES>>) {
    for (var stride = subgroup_size / 2u; stride > 0u; stride /= 2u) {
        for (var v = 0u; v < VALUES; v++) {
            (*values)[v] = (*values)[v] + subgroupShuffleXor((*values)[v], stride);
        }
    }
}
