// A pair of kernels as people write them: points fall into cells with a weight, and the gradients.

struct Size {
    n: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read> cells: array<i32>;
@group(0) @binding(3) var<storage, read_write> y: array<atomic<u32>>;
@group(0) @binding(4) var<uniform> size: Size;
@group(0) @binding(5) var<storage, read> v_y: array<f32>;
@group(0) @binding(6) var<storage, read_write> v_x: array<f32>;
@group(0) @binding(7) var<storage, read_write> v_w: array<f32>;

// WGSL has no addition of floats to memory.
fn add(cell: i32, value: f32) {
    var old = atomicLoad(&y[cell]);
    loop {
        let sum = bitcast<u32>(bitcast<f32>(old) + value);
        let result = atomicCompareExchangeWeak(&y[cell], old, sum);
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

@compute @workgroup_size(32)
fn splat(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= size.n {
        return;
    }
    var value = w[i] * exp(-0.5 * x[i] * x[i]);
    value += 0.5 * w[i] * w[i];
    add(cells[i], value);
}

@compute @workgroup_size(32)
fn splat_backward(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= size.n {
        return;
    }
    let falloff = exp(-0.5 * x[i] * x[i]);
    let v = v_y[cells[i]];
    v_x[i] = -x[i] * w[i] * falloff * v;
    v_w[i] = (falloff + w[i]) * v;
}
