//! How often a comparison was undecided, by what is compared.

/// Comparisons that a conforming program may decide either way, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undecided {
    /// Gaussians that may be culled by the near or far plane or for want of area, per camera.
    pub culling: u64,
    /// Coordinates that may be limited in the Jacobian, per Gaussian and camera.
    pub jacobian_limit: u64,
    /// Determinants whose ratio may be clamped to 0 (antialiased mode), per Gaussian and camera.
    pub compensation: u64,
    /// Channels that may be clamped to 0, per Gaussian and camera.
    pub color_clamp: u64,
    /// Pairs (pixel, Gaussian) that count only if the pixel's tile lists the Gaussian.
    pub tile: u64,
    /// Pairs (pixel, Gaussian) whose Gaussian may change places with the one in front.
    pub order: u64,
    /// Pairs whose alpha may be below `alpha_min`.
    pub alpha: u64,
    /// Pairs that may stop their pixel, on each way that the pixel may have come.
    pub stop: u64,
    /// Pairs whose alpha may be clamped, where that decides the gradient.
    pub alpha_clamp: u64,
}

impl Undecided {
    /// Every kind with its name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 9] {
        [
            ("culling", self.culling),
            ("jacobian limit", self.jacobian_limit),
            ("compensation", self.compensation),
            ("colour clamp", self.color_clamp),
            ("tile", self.tile),
            ("order", self.order),
            ("alpha", self.alpha),
            ("stop", self.stop),
            ("alpha clamp", self.alpha_clamp),
        ]
    }

    /// All kinds together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.named().iter().map(|(_, count)| count).sum()
    }

    /// Adds the counts of another part.
    pub(super) fn add(&mut self, other: &Self) {
        self.culling += other.culling;
        self.jacobian_limit += other.jacobian_limit;
        self.compensation += other.compensation;
        self.color_clamp += other.color_clamp;
        self.tile += other.tile;
        self.order += other.order;
        self.alpha += other.alpha;
        self.stop += other.stop;
        self.alpha_clamp += other.alpha_clamp;
    }
}
