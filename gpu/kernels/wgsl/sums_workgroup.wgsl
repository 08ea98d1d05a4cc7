// The subgroups of a workgroup add to sums in workgroup memory, and after the batch every sum goes to
// memory by one atomic: one per workgroup, row and value.
//
// A batch is shorter here (BATCH_SIZE), so that the sums of 32 channels fit into the 16 KiB that
// every WebGPU device has. They are bit patterns, added to by compare-exchange as in
// `atomic_cas.wgsl`, because WGSL has no float atomics in workgroup memory.
var<workgroup> batch_sums: array<atomic<u32>, BATCH_SIZE * VALUES>;

fn add_to_sum(index: u32, value: f32) {
    var expected = atomicLoad(&batch_sums[index]);
    loop {
        let sum = bitcast<u32>(bitcast<f32>(expected) + value);
        let seen = atomicCompareExchangeWeak(&batch_sums[index], expected, sum);
        if seen.exchanged {
            break;
        }
        expected = seen.old_value;
    }
}

fn deliver(k: u32, row: u32, values: ptr<function, array<f32, VALUES>>) {
    for (var v = 0u; v < VALUES; v++) {
        add_to_sum(k * VALUES + v, (*values)[v]);
    }
}

// Every sum is cleared, before a barrier of the caller: sums are written over whatever workgroup
// memory held.
fn begin_batch(lane: u32) {
    for (var i = lane; i < BATCH_SIZE * VALUES; i += WORKGROUP_SIZE) {
        atomicStore(&batch_sums[i], 0u);
    }
}

// A sum that is +-0 is not sent: adding it would change no bit but that of a -0, and most rows
// of a batch are reached by few lanes. Bits are compared, so that a NaN is sent.
fn end_batch(lane: u32, count: u32) {
    workgroupBarrier();
    for (var i = lane; i < count * VALUES; i += WORKGROUP_SIZE) {
        let sum = atomicLoad(&batch_sums[i]);
        if (sum & 0x7fffffffu) != 0u {
            add(row_of(i / VALUES) + i % VALUES, bitcast<f32>(sum));
        }
    }
}
