//! The WGSL kernels on the emulator: no misuse under any schedule, on machines of several widths.

use splatcheck_emulator::Schedule;
use splatcheck_gpu::emulator::{EmulatorEngine, EmulatorOptions};
use splatcheck_gpu::stage::Language;
use splatcheck_gpu::stages::splat::RASTERIZE_BACKWARD;
use splatcheck_gpu::{Arithmetic, Engine};

use super::{inputs, try_backward};

fn engine(lane_width: u32, schedule: Schedule) -> EmulatorEngine {
    let language = Language::Wgsl;
    let options = EmulatorOptions { language, lane_width, schedule, ..Default::default() };
    EmulatorEngine::open(options).expect("the kernels are built in")
}

#[test]
fn no_kernel_misuses_the_machine_at_any_width() {
    for width in [4, 8, 16, 32, 64, 128] {
        let mut engine = engine(width, Schedule::lockstep());
        assert_eq!(engine.info().arithmetic, Arithmetic::Wgsl, "whose bounds hold");
        assert!(engine.info().exp_of_zero_is_one, "measured");
        for (channels, count) in [(3, 20), (5, 0)] {
            for schedule in [Schedule::random(1), Schedule::adversarial(2)] {
                engine.set_schedule(schedule.clone());
                let inputs = inputs(&mut engine, channels, count);
                for reduction in RASTERIZE_BACKWARD.reductions() {
                    for threshold in [0, width / 2] {
                        let result = try_backward(&mut engine, &inputs, reduction, threshold);
                        if let Err(error) = result {
                            panic!(
                                "{width} {reduction} {threshold} {:?}: {error}",
                                schedule.policy
                            );
                        }
                    }
                }
            }
        }
    }
}
