// What the stages of a gate share.

// Mirrors `PARAMS` in gpu/src/stages/grid/gate.rs.
struct Params {
    // Number of points N, of levels L and of features F.
    points: u32,
    levels: u32,
    features: u32,
    padding: u32,
}
