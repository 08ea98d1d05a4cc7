// Adding to a sum in fixed point (`fixed_point.wgsl`). Whoever makes the lower word wrap around sees it in
// what the word held before and carries one: in the end every carry was made once, whatever
// came between.
fn add(index: u32, value: f32) {
    let term = to_fixed_point(value);
    let before = atomicAdd(&sums[2u * index], term.x);
    let carry = select(0u, 1u, before + term.x < before);
    atomicAdd(&sums[2u * index + 1u], term.y + carry);
}
