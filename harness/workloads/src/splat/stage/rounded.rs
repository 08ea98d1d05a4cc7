//! Rasterizations by kernels that have some of their inputs in 16 bits.

use splatcheck_emulator::FloatType;

use super::RasterStage;
use crate::floats::rounded_finite;

/// The inputs that may be so. What the forward pass leaves is computed from them.
const NAMES: [&str; 7] = [
    "means2d",
    "conics",
    "opacities",
    "colors",
    "background",
    "v_render_colors",
    "v_render_alphas",
];

/// Which of the inputs of rasterizations a kernel has in which type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundedInputs([FloatType; NAMES.len()]);

impl RoundedInputs {
    /// Whether an input may be so.
    #[must_use]
    pub fn may_be(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// These types of these inputs; other names say nothing.
    #[must_use]
    pub fn new(inputs: &[(&str, FloatType)]) -> Self {
        Self(NAMES.map(|name| {
            let found = inputs.iter().find(|(known, _)| *known == name);
            found.map_or(FloatType::F32, |(_, float)| *float)
        }))
    }
}

impl RasterStage {
    /// The stage of inputs that are rounded so, for kernel and oracle alike: its image is that of the rounded ones.
    #[must_use]
    pub fn rounded(mut self, RoundedInputs(types): RoundedInputs) -> Self {
        if types == RoundedInputs::default().0 {
            return self;
        }
        let [means2d, conics, opacities, colors, background, v_colors, v_alphas] = types;
        let round = |float: FloatType, all: &mut [f32]| {
            all.iter_mut().for_each(|x| *x = rounded_finite(float, *x));
        };
        let raster = &mut self.inputs.raster;
        round(means2d, raster.means2d.as_flattened_mut());
        round(conics, raster.conics.as_flattened_mut());
        round(opacities, &mut raster.opacities);
        round(colors, &mut raster.colors);
        round(background, &mut raster.background);
        round(v_colors, &mut self.inputs.v_render_colors);
        round(v_alphas, &mut self.inputs.v_render_alphas);
        let image = self.mirror_forward();
        self.inputs.render_transmittance = image.transmittance;
        self.inputs.last_ids = image.last_ids;
        self.with_image(image.render_colors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floats::rounded;
    use crate::splat::files::corpus::read_any_case;
    use crate::splat::formulated::judged_rounded;
    use splatcheck_gpu::stages::splat::{RASTERIZE, RASTERIZE_BACKWARD};
    use splatcheck_judge::io::source_tree::folder;
    use splatcheck_judge::workload::AnyCase;
    use splatcheck_reference::splat::Formulation;
    use std::sync::Arc;

    /// Kernel and oracle have the same rounded inputs, and the image and its gradients are those of these.
    #[test]
    fn a_stage_of_rounded_inputs_is_one_of_other_inputs() {
        let corpus = folder("corpora/splat").expect("the corpus is in the source tree");
        let case: AnyCase =
            Arc::new(read_any_case(&corpus.join("list-of-257.toml"), None).expect("a case"));
        let all = NAMES.map(|name| (name, FloatType::F16));
        let jobs = |types: &[(&str, FloatType)]| {
            let types = RoundedInputs::new(types);
            let case = judged_rounded(&case, Formulation::STANDARD, types).expect("splats");
            case.jobs_of(0, &|one| one == RASTERIZE || one == RASTERIZE_BACKWARD).expect("jobs")
        };
        let (plain, halves) = (jobs(&[]), jobs(&all));
        for job in &halves {
            for name in NAMES.into_iter().filter(|name| job.stage.reads(name)) {
                let numbers = job.inputs.f32(name).expect("an input");
                let is_half = |x: &f32| rounded(FloatType::F16, *x).to_bits() == x.to_bits();
                assert!(numbers.iter().all(is_half), "{name} of {}", job.stage);
            }
        }
        let last = |jobs: &[splatcheck_judge::workload::Job]| {
            let job = jobs.iter().find(|job| job.stage == RASTERIZE_BACKWARD).expect("it");
            job.inputs.f32("render_transmittance").expect("an input").to_vec()
        };
        assert_ne!(last(&plain), last(&halves), "the image is of the rounded numbers");
        let forward = halves.iter().find(|job| job.stage == RASTERIZE).expect("it");
        let arithmetic = splatcheck_judge::judge::Arithmetic::Cuda;
        let expected = forward.expectation(arithmetic);
        let image = expected.outputs().find(|one| one.name == "render_transmittance").expect("it");
        let splatcheck_judge::judge::OutputBound::Interval(bounds) = &image.bound else {
            panic!("an image is no sum")
        };
        let within = |(found, (value, radius)): (&f32, &(f64, f64))| {
            (f64::from(*found) - value).abs() <= *radius
        };
        assert!(last(&halves).iter().zip(bounds).all(within), "and that of both stages is one");
    }
}
