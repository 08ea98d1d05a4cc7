//! The engine on every driver of this machine.
//!
//! A process sees the drivers its environment names, so each test of [`drivers`] starts this test
//! program again with the environment of one driver and lets it run the tests of [`on_device`].
//! A driver that is not installed is reported as NOT EXERCISED and its test passes.

mod drivers;
mod exact;
mod machine;
mod on_device;
mod scene;

use super::supported;
use crate::engine::Support;
use crate::stages::Stage;
use crate::stages::splat::RASTERIZE_BACKWARD;

#[test]
fn a_stage_with_more_buffers_than_the_device_binds_is_not_supported() {
    let guaranteed = wgpu::Limits::default().max_storage_buffers_per_shader_stage;
    for stage in Stage::all() {
        assert_eq!(
            supported(&stage, 0, guaranteed),
            Support::Yes,
            "every WebGPU device runs {stage}"
        );
    }
    assert_eq!(supported(&RASTERIZE_BACKWARD, 0, 8), Support::Yes, "as many as it takes");
    let reason = "it takes 8 storage buffers, the device binds 7 \
                  (max_storage_buffers_per_shader_stage)";
    let found = supported(&RASTERIZE_BACKWARD, 0, 7);
    assert_eq!(found, Support::No(reason.to_owned()), "what it takes, and what there is");
    let guarded = supported(&RASTERIZE_BACKWARD, 1, 7);
    assert!(
        matches!(guarded, Support::No(why) if why.contains("it takes 9")),
        "a guard is one more"
    );
}
