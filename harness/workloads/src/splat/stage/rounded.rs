//! Rasterizations by kernels that have some of their inputs in 16 bits.

use splatcheck_emulator::FloatType;

use super::formulations::RoundedInputs;
use super::raster::RasterStage;
use crate::floats::rounded_finite;

impl RasterStage {
    /// The stage of inputs that are rounded so, for kernel and oracle alike: its image is that of the rounded ones.
    #[must_use]
    pub fn rounded(mut self, rounded: RoundedInputs) -> Self {
        if rounded == RoundedInputs::default() {
            return self;
        }
        let [means2d, conics, opacities, colors, background, v_colors, v_alphas] = rounded.0;
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
    use super::super::formulations::NAMES;
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
