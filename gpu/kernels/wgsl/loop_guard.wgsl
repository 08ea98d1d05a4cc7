// The loop guard, in front of every kernel of a device that leaves a kernel's loops after so many steps
// (gpu/src/wgsl/guard.rs): when the kernel is done, each lane counts on. Where the driver cuts this
// loop, it has perhaps cut the kernel's own, and what the kernel wrote is not its result.
//
// `loop_guard` holds how many steps to count, and the fewest that a lane could count.
fn count_on() {
    let wanted = atomicLoad(&loop_guard[0]);
    var counted = 0u;
    while counted < wanted {
        counted++;
    }
    if counted < wanted {
        atomicMin(&loop_guard[1], counted);
    }
}
