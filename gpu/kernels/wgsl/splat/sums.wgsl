// What the second launches of `rasterize_backward` share: one lane for each value of each Gaussian.

// Mirrors `SECOND_PARAMS` in gpu/src/stages/splat/passes.rs.
struct Params {
    gaussians: u32,
    // Values of a Gaussian's row, 6 + D.
    values: u32,
    padding: vec2<u32>,
}
