//! What is measured on a device before it is trusted with a stage.

use wgpu::AdapterInfo;

use super::device::Gpu;
use super::pipeline::Kernels;
use super::submission::{Arenas, Submission};
use crate::engine::{EngineError, FloatAtomics};
use crate::reduction::WORKGROUP_SIZE;
use crate::stages::probe::PROBE;
use crate::wgsl::Variant;

/// What the probe found.
pub(super) struct Probed {
    pub(super) lane_width: u32,
    pub(super) exp_of_zero_is_one: bool,
}

/// Runs the probe kernel.
pub(super) fn probe(
    gpu: &Gpu,
    kernels: &mut Kernels,
    arenas: &mut Arenas,
    adapter: &AdapterInfo,
) -> Result<Probed, EngineError> {
    let variant = Variant { size: 1, reduction: None, atomics: FloatAtomics::CompareExchange };
    let kernel = kernels.get(gpu, &PROBE, variant)?;
    let zeros = [0.0_f32, -0.0].map(f32::to_bits);
    let mut submission = Submission::new(gpu);
    let spans = vec![
        submission.input("arguments", &zeros)?,
        submission.output("lane_widths", 2 * WORKGROUP_SIZE as usize)?,
        submission.output("exponentials", zeros.len())?,
    ];
    submission.dispatch(kernel, [1, 1], spans);
    let mut widths: Vec<u32> = Vec::new();
    let mut exponentials: Vec<f32> = Vec::new();
    arenas.run(gpu, submission, |dispatch, bytes| {
        let mut outputs = dispatch.outputs();
        widths = outputs.next().map_or_else(Vec::new, |span| span.read(bytes));
        exponentials = outputs.next().map_or_else(Vec::new, |span| span.read(bytes));
    })?;
    let one = 1.0_f32.to_bits();
    Ok(Probed {
        lane_width: lane_width(&widths, adapter)?,
        exp_of_zero_is_one: exponentials.iter().all(|e| e.to_bits() == one),
    })
}

/// The width, if all lanes agree on it, all subgroups are full and the adapter allows it.
///
/// `widths` holds for every lane the subgroup size and the number of lanes present.
fn lane_width(widths: &[u32], adapter: &AdapterInfo) -> Result<u32, EngineError> {
    let width = widths[0];
    let missing = |what: String| Err(EngineError::Missing { adapter: adapter.name.clone(), what });
    if let Some(other) = widths.iter().find(|&&w| w != width) {
        return missing(format!(
            "full subgroups of one size (a workgroup of {WORKGROUP_SIZE} lanes reports {width} \
             and {other})"
        ));
    }
    if !width.is_power_of_two() || !WORKGROUP_SIZE.is_multiple_of(width) {
        return missing(format!("a usable warp size (it reports {width})"));
    }
    let (least, most) = (adapter.subgroup_min_size, adapter.subgroup_max_size);
    if !(least..=most).contains(&width) {
        return missing(format!(
            "a consistent warp size (the probe kernel reports {width}, the adapter {least} to \
             {most})"
        ));
    }
    if least != most {
        tracing::warn!(
            "{}: warp size {width} was measured, but the driver may choose {least} to {most} for \
             another kernel; thresholds then mean other shares of a subgroup",
            adapter.name
        );
    }
    Ok(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(least: u32, most: u32) -> AdapterInfo {
        let mut info = AdapterInfo::new(wgpu::DeviceType::Cpu, wgpu::Backend::Vulkan);
        info.subgroup_min_size = least;
        info.subgroup_max_size = most;
        info
    }

    #[test]
    fn a_width_is_believed_only_if_everything_agrees() {
        assert_eq!(lane_width(&[8; 512], &adapter(8, 8)), Ok(8), "all agree");
        let mut partial = vec![8; 512];
        partial[511] = 7;
        for (widths, info, why) in [
            (partial, adapter(8, 8), "8 and 7"),
            (vec![8; 512], adapter(4, 4), "4 to 4"),
            (vec![0; 512], adapter(4, 4), "reports 0"),
            (vec![12; 512], adapter(4, 64), "reports 12"),
        ] {
            let message = lane_width(&widths, &info).expect_err(why).to_string();
            assert!(message.contains(why), "wanted '{why}', got '{message}'");
        }
    }
}
