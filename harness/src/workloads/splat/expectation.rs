//! The judge: a kernel's outputs against what a conforming kernel may return.

mod project;
mod raster;

pub use project::ProjectExpectation;
pub use raster::Expectation;

use splatcheck_gpu::DeviceInfo;
#[cfg(doc)]
use splatcheck_reference::arithmetic::{Cuda, CudaFast, Wgsl, WgslExpZero};

/// The arithmetic that the kernels of a device are promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// See [`Wgsl`].
    Wgsl,
    /// See [`WgslExpZero`].
    WgslExpZero,
    /// See [`Cuda`].
    Cuda,
    /// See [`CudaFast`].
    CudaFast,
}

impl Arithmetic {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// What is promised of a device: CUDA's documents also promise exp(0) = 1, WGSL's do not, so
    /// that it was measured decides the knife edges at power = 0.
    #[must_use]
    pub fn of(info: &DeviceInfo) -> Self {
        match (info.backend.as_str(), info.exp_of_zero_is_one) {
            ("cuda" | "emulator", _) => Self::Cuda,
            ("cuda-fast" | "emulator-fast", _) => Self::CudaFast,
            (_, true) => Self::WgslExpZero,
            (_, false) => Self::Wgsl,
        }
    }
}

/// A value and its radius.
type Bound = (f64, f64);

#[cfg(test)]
mod tests {
    use super::*;
    use splatcheck_gpu::FloatAtomics;

    #[test]
    fn every_backend_is_judged_by_what_it_promises() {
        let info = |backend: &str, exp_of_zero_is_one| DeviceInfo {
            adapter: "a".to_owned(),
            driver: "d".to_owned(),
            backend: backend.to_owned(),
            lane_width: 32,
            float_atomics: FloatAtomics::Native,
            exp_of_zero_is_one,
        };
        for (backend, exact, expected) in [
            ("vulkan", false, Arithmetic::Wgsl),
            ("metal", true, Arithmetic::WgslExpZero),
            ("cuda", true, Arithmetic::Cuda),
            ("cuda", false, Arithmetic::Cuda),
            ("cuda-fast", true, Arithmetic::CudaFast),
        ] {
            assert_eq!(Arithmetic::of(&info(backend, exact)), expected, "{backend}, {exact}");
        }
    }
}
