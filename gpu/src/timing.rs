//! How long a stage takes on a device, and what the device could do at best.

/// The most a device can do, from its own figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// Operations on f32 per second; a fused multiply-add is two.
    pub flops_per_second: f64,
    /// Bytes per second between memory and caches.
    pub bytes_per_second: f64,
}

/// Times of the backward stage, by the device's own clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Milliseconds of every run, `[setting][run]`.
    pub milliseconds: Vec<Vec<f32>>,
    /// `None` where the device does not tell.
    pub peak: Option<Peak>,
}
