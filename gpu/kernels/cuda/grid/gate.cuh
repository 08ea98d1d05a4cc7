// What the stages of a gate share.
#pragma once
#include "warp.cuh"

enum : unsigned {
    // Threads of a block, one per point.
    BLOCK_SIZE = 256,
};

// Mirrors `PARAMS` in gpu/src/stages/grid/gate.rs.
struct Params {
    // Number of points N, of levels L and of features F.
    unsigned points;
    unsigned levels;
    unsigned features;
    unsigned padding;
};
