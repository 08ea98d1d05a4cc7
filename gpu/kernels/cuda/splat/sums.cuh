// What the second launches of `rasterize_backward` share: one thread for each value of each Gaussian.
#pragma once

enum : unsigned {
    THREADS = 256,
};

// Mirrors `SECOND_PARAMS` in gpu/src/stages/splat/passes.rs.
struct Params {
    unsigned gaussians;
    // Values of a Gaussian's row, 6 + D.
    unsigned values;
    unsigned padding[2];
};
