// Adding to a gradient in memory: the device's own atomic float addition.
fn add(index: u32, value: f32) {
    atomicAdd(&gradients[index], value);
}
