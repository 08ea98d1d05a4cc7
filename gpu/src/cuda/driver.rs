//! The CUDA driver: whether it is there, its devices, and what its errors mean.

use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CUdevice_attribute};
use std::sync::Arc;

use super::failure::failed;
use crate::artifact::LOWEST_CAPABILITY;
use crate::engine::{EngineError, no_panic};
use crate::timing::Peak;

/// One device of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaDevice {
    /// The driver's number for it.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
}

/// Whether the driver's library can be loaded. Without it every other call into cudarc panics.
fn present() -> Result<(), EngineError> {
    // SAFETY: loads the driver's library, which has no requirements on its caller.
    if unsafe { sys::is_culib_present() } {
        Ok(())
    } else {
        let library = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
        Err(EngineError::NoDevice(format!("the CUDA driver is not found ({library})")))
    }
}

/// Opens the driver's device with this number.
fn open(ordinal: usize) -> Result<(Arc<CudaContext>, CudaDevice), EngineError> {
    let context = CudaContext::new(ordinal).map_err(failed("opening the device"))?;
    let name = context.name().map_err(failed("the device's name"))?;
    let (major, minor) =
        context.compute_capability().map_err(failed("the device's compute capability"))?;
    let capability = (major.unsigned_abs(), minor.unsigned_abs());
    Ok((context, CudaDevice { ordinal, name, capability }))
}

fn count() -> Result<usize, EngineError> {
    let count = CudaContext::device_count().map_err(failed("counting devices"))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// The devices of this machine.
///
/// # Errors
/// [`EngineError::NoDevice`] where there is no driver, [`EngineError::Device`] where it fails.
pub fn devices() -> Result<Vec<CudaDevice>, EngineError> {
    present()?;
    no_panic("CUDA's driver", || (0..count()?).map(|i| Ok(open(i)?.1)).collect())
}

/// A device that is open.
pub(super) struct Opened {
    pub(super) context: Arc<CudaContext>,
    pub(super) device: CudaDevice,
    pub(super) lane_width: u32,
    pub(super) driver: String,
    pub(super) peak: Option<Peak>,
}

/// Lanes that do one operation on f32 a clock, per multiprocessor (CUDA C++ Programming Guide,
/// table of the throughput of native arithmetic instructions, row of 32-bit floating-point add,
/// multiply, multiply-add); `None` for a device that the table did not know (CUDA 13.0).
fn lanes_per_multiprocessor(capability: (u32, u32)) -> Option<u32> {
    match capability {
        (7, _) | (8, 0) => Some(64),
        (8, 1..) | (9, _) | (10, _) | (12, _) => Some(128),
        _ => None,
    }
}

/// The most a device can do, from what its driver tells. Clocks are the highest ones, in kHz; memory
/// moves its bus width twice a clock (double data rate).
fn peak(context: &CudaContext, capability: (u32, u32)) -> Option<Peak> {
    use CUdevice_attribute as Attribute;
    // A driver that does not tell a figure, or tells 0, gives no peak.
    let figure = |attribute| context.attribute(attribute).ok().filter(|&x| x > 0).map(f64::from);
    let clock = figure(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
    let multiprocessors = figure(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let memory_clock = figure(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?;
    let bus_bits = figure(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?;
    let lanes = f64::from(lanes_per_multiprocessor(capability)?);
    Some(Peak {
        flops_per_second: 1e3 * clock * multiprocessors * lanes * 2.0,
        bytes_per_second: 1e3 * memory_clock * 2.0 * bus_bits / 8.0,
    })
}

/// Opens a device that the kernels are compiled for.
pub(super) fn open_usable(ordinal: usize) -> Result<Opened, EngineError> {
    present()?;
    let devices = count()?;
    if ordinal >= devices {
        return Err(EngineError::NoDevice(format!(
            "there is no CUDA device {ordinal}: the driver knows {devices}"
        )));
    }
    let (context, device) = open(ordinal)?;
    let (major, minor) = device.capability;
    let missing = |what| EngineError::Missing { adapter: device.name.clone(), what };
    if 10 * major + minor < LOWEST_CAPABILITY {
        return Err(missing(format!("compute capability 7.5 or above (it has {major}.{minor})")));
    }
    let width = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    let lane_width = context.attribute(width).map_err(failed("the device's warp size"))?;
    if lane_width != 32 {
        return Err(missing(format!("warps of 32 lanes (it has {lane_width})")));
    }
    let mut version = 0;
    // SAFETY: `version` is an integer to write to.
    let status = unsafe { sys::cuDriverGetVersion(&mut version) };
    status.result().map_err(failed("the driver's version"))?;
    let driver = format!("CUDA {}.{}, sm_{major}{minor}", version / 1000, version % 1000 / 10);
    let peak = peak(&context, (major, minor));
    Ok(Opened { context, device, lane_width: 32, driver, peak })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_is_told_so() {
        let opened = crate::CudaEngine::open(0, false).map(|engine| format!("{engine:?}"));
        for found in [devices().map(|found| format!("{found:?}")), opened] {
            told(found);
        }
    }

    fn told(found: Result<String, EngineError>) {
        match found {
            Ok(found) => eprintln!("NOT EXERCISED: there is a driver here: {found}"),
            Err(EngineError::NoDevice(why)) => {
                assert!(why.starts_with("the CUDA driver is not found ("), "unhelpful: {why}");
            }
            Err(other) => panic!("the driver fails: {other}"),
        }
    }
}
