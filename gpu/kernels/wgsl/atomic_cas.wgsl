// Adding to a gradient in memory where the device has no atomic float addition: exchange the bit
// pattern until nobody came between. Bits are compared, never floats, so that a NaN cannot spin for
// ever; an exchange may fail though the bits agreed, and is then tried again.
fn add(index: u32, value: f32) {
    var expected = atomicLoad(&gradients[index]);
    loop {
        let sum = bitcast<u32>(bitcast<f32>(expected) + value);
        let seen = atomicCompareExchangeWeak(&gradients[index], expected, sum);
        if seen.exchanged {
            break;
        }
        expected = seen.old_value;
    }
}
