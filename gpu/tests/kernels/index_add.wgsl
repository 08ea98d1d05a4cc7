// Sums by key, an invocation for each element: floats are added by exchanging their bits.
struct Sizes {
    elements: u32,
    values: u32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read_write> sums: array<atomic<u32>>;

fn add(place: u32, value: f32) {
    var old = atomicLoad(&sums[place]);
    loop {
        let result = atomicCompareExchangeWeak(&sums[place], old, bitcast<u32>(bitcast<f32>(old) + value));
        if (result.exchanged) {
            break;
        }
        old = result.old_value;
    }
}

@compute @workgroup_size(64)
fn index_add(@builtin(global_invocation_id) id: vec3<u32>) {
    let element = id.x;
    if (element >= sizes.elements || keys[element] == 0xffffffffu) {
        return;
    }
    for (var v = 0u; v < sizes.values; v++) {
        add(keys[element] * sizes.values + v, values[element * sizes.values + v]);
    }
}
