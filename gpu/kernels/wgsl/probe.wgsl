// Stage `probe`: what the kernels must know of the device and no specification tells. The
// workgroup has the shape of the rasterization kernels, so that it is cut into the same subgroups.

@compute @workgroup_size(WORKGROUP_SIZE)
fn probe(
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_size) subgroup_size: u32,
) {
    let present = countOneBits(subgroupBallot(true));
    lane_widths[2u * lane] = subgroup_size;
    lane_widths[2u * lane + 1u] = present.x + present.y + present.z + present.w;
    // The arguments are read at run time, so that no compiler can fold the answer.
    if lane < arrayLength(&arguments) {
        exponentials[lane] = exp(arguments[lane]);
    }
}
