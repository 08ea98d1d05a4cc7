// Writing a sum to the row that is its own: no lane adds to it.
fn add(index: u32, value: f32) {
    partials[index] = value;
}
