//! What a conforming kernel may return for each stage: the oracle's bounds as the judge reads them.

mod project;
mod raster;

pub use project::{project, project_backward};
pub use raster::{rasterize, rasterize_backward};

/// Calls a function of the arithmetic model that a device is promised.
macro_rules! under {
    ($arithmetic:expr, $function:ident($($argument:expr),*)) => {
        match $arithmetic {
            $crate::judge::Arithmetic::Wgsl => {
                $function::<splatcheck_reference::arithmetic::Wgsl>($($argument),*)
            }
            $crate::judge::Arithmetic::WgslExpZero => {
                $function::<splatcheck_reference::arithmetic::WgslExpZero>($($argument),*)
            }
            $crate::judge::Arithmetic::Cuda => {
                $function::<splatcheck_reference::arithmetic::Cuda>($($argument),*)
            }
            $crate::judge::Arithmetic::CudaFast => {
                $function::<splatcheck_reference::arithmetic::CudaFast>($($argument),*)
            }
        }
    };
}
pub(crate) use under;
