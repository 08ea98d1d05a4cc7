//! From the arithmetic that a device is promised to the oracle's model of it, a type.

/// Calls a function of the arithmetic model that a device is promised.
#[macro_export]
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
            $crate::judge::Arithmetic::Ieee => {
                $function::<splatcheck_reference::arithmetic::Ieee>($($argument),*)
            }
        }
    };
}
