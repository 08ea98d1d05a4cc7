//! What the oracle made of one case, as a `.safetensors` file.
//!
//! Tensors, all F64 or all F32 as they were computed: `render_colors` `[C,H,W,D]`,
//! `render_alphas` `[C,H,W,1]`, `v_means` `[N,3]`, `v_quats` `[N,4]`, `v_scales` `[N,3]`,
//! `v_opacities` `[N]`, `v_colors` `[N,D]` or `v_sh` `[N,K,3]` (as the case gives its colours),
//! `v_viewmats` `[C,4,4]`, `v_backgrounds` `[C,D]`. Gradients are those of the whole loss: summed
//! over cameras, but for `v_viewmats` and `v_backgrounds`, which belong to one camera each.
//!
//! On request also what the rasterization stage starts from, by camera: `means2d` `[C,N,2]` in
//! pixels (with the convention's pixel centres), `conics` `[C,N,3]` as upper triangle, `opacities`
//! `[C,N]` (other than the case's where antialiased), `colors` `[C,N,D]`; and the loss's gradients by
//! them, of the same shapes: `v_means2d` per pixel, `v_conics` with the full off-diagonal (gsplat's
//! units under either convention), `v_stage_opacities` and `v_stage_colors` (`v_opacities` and
//! `v_colors` are those of the case's own tensors). Zeros for a Gaussian that is culled.
//!
//! With bounds every tensor X has a `bound_X` of the same shape: how far an f32 program that conforms
//! to an arithmetic model may lie from each number. It is infinite where such a program may return
//! anything. The metadata then also have `bounds`: the model's name.
//!
//! Metadata: `width`, `height`, `convention`, `scalar` (`f64` or `f32`), and the fields in which the
//! convention differs from its profile, under the keys of a [case file](super::case_file): a result
//! names its own convention.
//!
//! The same result gives the same bytes.

use std::collections::BTreeMap;
use std::path::Path;

use splatcheck_reference::splat::convention::Convention;
use splatcheck_reference::splat::render::{Gradients, Stage};
use splatcheck_reference::splat::scene::{Colors, Scene};

use super::overrides;
use splatcheck_judge::io::container::{self, Entry};
use splatcheck_judge::io::error::{InputError, Problem};
use splatcheck_judge::io::write::write_file;

pub use splatcheck_judge::io::container::Number;

/// How far a conforming program may lie from each number of a result.
#[derive(Clone, Debug)]
pub struct Radii<S> {
    /// The arithmetic model's name.
    pub model: &'static str,
    /// About the images and gradients.
    pub gradients: Gradients<S>,
    /// About the projected Gaussians and their gradients, for as many cameras as the result has.
    pub stages: Vec<Stage<S>>,
}

/// Writes the images and gradients of `scene` under `convention`, the projected Gaussians of each
/// camera with their gradients, unless there are none, and bounds of all of them.
///
/// # Errors
/// Where a tensor's size is not the scene's, or the file cannot be written.
pub fn write_result<S: Number>(
    file: &Path,
    scene: &Scene<S>,
    convention: &Convention,
    gradients: Gradients<S>,
    stages: &[Stage<S>],
    radii: Option<Radii<S>>,
) -> Result<(), InputError> {
    let bytes = encode(scene, convention, gradients, stages, radii)
        .map_err(|problem| problem.in_file(file))?;
    write_file(file, &bytes)
}

/// The bytes that [`write_result`] writes.
///
/// # Errors
/// As [`write_result`], without the file's name.
pub fn encode<S: Number>(
    scene: &Scene<S>,
    convention: &Convention,
    gradients: Gradients<S>,
    stages: &[Stage<S>],
    radii: Option<Radii<S>>,
) -> Result<Vec<u8>, Problem> {
    let mut metadata: BTreeMap<String, String> = [
        ("width", scene.width.to_string()),
        ("height", scene.height.to_string()),
        ("convention", convention.profile.name().to_owned()),
        ("scalar", S::DTYPE.to_lowercase()),
    ]
    .map(|(key, text)| (key.to_owned(), text))
    .into();
    for (key, setting) in overrides::differing(convention) {
        metadata.insert(key.to_owned(), setting.to_string());
    }
    let mut tensors = all_tensors(scene, gradients, stages);
    if let Some(radii) = radii {
        metadata.insert("bounds".to_owned(), radii.model.to_owned());
        let bounds = all_tensors(scene, radii.gradients, &radii.stages);
        tensors.extend(bounds.into_iter().map(|tensor| tensor.prefixed("bound_")));
    }
    for tensor in &tensors {
        tensor.check_size()?;
    }
    container::encode(&metadata, &tensors)
}

fn all_tensors<S: Copy>(
    scene: &Scene<S>,
    gradients: Gradients<S>,
    stages: &[Stage<S>],
) -> Vec<Entry<S>> {
    let mut all = tensors(scene, gradients);
    if !stages.is_empty() {
        all.extend(stage_tensors(scene, stages));
    }
    all
}

fn tensors<S: Copy>(scene: &Scene<S>, gradients: Gradients<S>) -> Vec<Entry<S>> {
    let (n, c, d) = (scene.gaussians.len(), scene.cameras.len(), scene.channels());
    let (h, w) = (scene.height as usize, scene.width as usize);
    let (mut colors, mut alphas) = (Vec::new(), Vec::new());
    for raster in gradients.rasters {
        append(&mut colors, raster.render_colors);
        append(&mut alphas, raster.render_alphas);
    }
    let (name, shape) = match scene.gaussians.colors {
        Colors::Direct { channels, .. } => ("v_colors", vec![n, channels]),
        Colors::Harmonics { coefficients, .. } => ("v_sh", vec![n, coefficients, 3]),
    };
    let viewmats = gradients.v_viewmats.into_flattened().into_flattened();
    vec![
        Entry::new("render_colors", vec![c, h, w, d], colors),
        Entry::new("render_alphas", vec![c, h, w, 1], alphas),
        Entry::new("v_means", vec![n, 3], gradients.v_means.into_flattened()),
        Entry::new("v_quats", vec![n, 4], gradients.v_quats.into_flattened()),
        Entry::new("v_scales", vec![n, 3], gradients.v_scales.into_flattened()),
        Entry::new("v_opacities", vec![n], gradients.v_opacities),
        Entry::new(name, shape, gradients.v_colors),
        Entry::new("v_viewmats", vec![c, 4, 4], viewmats),
        Entry::new("v_backgrounds", vec![c, d], gradients.v_backgrounds),
    ]
}

/// What the rasterization starts from and its gradients, camera by camera.
fn stage_tensors<S: Copy>(scene: &Scene<S>, stages: &[Stage<S>]) -> [Entry<S>; 8] {
    let (n, c, d) = (scene.gaussians.len(), scene.cameras.len(), scene.channels());
    let entry = |name, last: &[usize], numbers: fn(&Stage<S>) -> &[S]| {
        let numbers = stages.iter().flat_map(numbers).copied().collect();
        Entry::new(name, [&[c, n], last].concat(), numbers)
    };
    [
        entry("means2d", &[2], |s| s.splats.means2d.as_flattened()),
        entry("conics", &[3], |s| s.splats.conics.as_flattened()),
        entry("opacities", &[], |s| &s.splats.opacities),
        entry("colors", &[d], |s| &s.splats.colors),
        entry("v_means2d", &[2], |s| s.gradients.v_means2d.as_flattened()),
        entry("v_conics", &[3], |s| s.gradients.v_conics.as_flattened()),
        entry("v_stage_opacities", &[], |s| &s.gradients.v_opacities),
        entry("v_stage_colors", &[d], |s| &s.gradients.v_colors),
    ]
}

/// One more image; the first, often the only one, is not copied.
fn append<S>(images: &mut Vec<S>, image: Vec<S>) {
    if images.is_empty() {
        *images = image;
    } else {
        images.extend(image);
    }
}

#[cfg(test)]
mod tests {
    use safetensors::SafeTensors;
    use safetensors::tensor::Dtype;
    use splatcheck_reference::splat::render::render_backward;

    use super::*;
    use crate::splat::files::samples;

    /// The sample with harmonics of K coefficients instead of its colours.
    fn harmonics(coefficients: usize) -> Scene<f32> {
        let mut scene = samples::case().scene;
        let values = (0_u8..).map(|i| f32::from(i) / 256.0);
        let values = values.take(2 * 3 * coefficients).collect();
        scene.gaussians.colors = Colors::Harmonics { coefficients, values };
        scene
    }

    /// The sample without its Gaussians.
    fn empty(colors: Colors<f32>) -> Scene<f32> {
        let mut scene = samples::case().scene;
        let g = &mut scene.gaussians;
        (g.means, g.quats, g.scales) = (Vec::new(), Vec::new(), Vec::new());
        (g.opacities, g.colors) = (Vec::new(), colors);
        scene
    }

    fn numbers(bytes: &[u8]) -> Vec<f64> {
        bytes.as_chunks().0.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect()
    }

    /// Name, shape and type of every tensor as the safetensors crate reads them.
    fn described(bytes: &[u8]) -> Vec<(String, Vec<usize>, Dtype)> {
        let file = SafeTensors::deserialize(bytes).unwrap();
        let of = |(name, t): (String, safetensors::tensor::TensorView<'_>)| {
            (name, t.shape().to_vec(), t.dtype())
        };
        let mut all: Vec<_> = file.tensors().into_iter().map(of).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    fn expected(
        n: usize,
        colors: (&str, &[usize]),
        dtype: Dtype,
    ) -> Vec<(String, Vec<usize>, Dtype)> {
        let shapes: [(&str, &[usize]); 9] = [
            ("render_alphas", &[2, 3, 2, 1]),
            ("render_colors", &[2, 3, 2, 3]),
            ("v_backgrounds", &[2, 3]),
            colors,
            ("v_means", &[n, 3]),
            ("v_opacities", &[n]),
            ("v_quats", &[n, 4]),
            ("v_scales", &[n, 3]),
            ("v_viewmats", &[2, 4, 4]),
        ];
        let mut all: Vec<_> =
            shapes.iter().map(|(name, s)| ((*name).to_owned(), s.to_vec(), dtype)).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    fn encode_f64(scene: &Scene<f32>, convention: &Convention) -> Vec<u8> {
        let scene = scene.map(f64::from);
        encode(&scene, convention, render_backward(&scene, convention).unwrap(), &[], None).unwrap()
    }

    #[test]
    fn names_shapes_and_types_are_the_formats() {
        let gsplat = Convention::gsplat();
        let scene = samples::case().scene;
        let direct: (&str, &[usize]) = ("v_colors", &[2, 3]);
        assert_eq!(described(&encode_f64(&scene, &gsplat)), expected(2, direct, Dtype::F64));
        let single =
            encode(&scene, &gsplat, render_backward(&scene, &gsplat).unwrap(), &[], None).unwrap();
        assert_eq!(described(&single), expected(2, direct, Dtype::F32));
        for k in [1, 4, 9, 16] {
            let bytes = encode_f64(&harmonics(k), &gsplat);
            assert_eq!(described(&bytes), expected(2, ("v_sh", &[2, k, 3]), Dtype::F64), "K {k}");
        }
    }

    #[test]
    fn numbers_come_back_with_the_same_bits() {
        let convention = Convention::inria();
        let scene = samples::case().scene.map(f64::from);
        let gradients = render_backward(&scene, &convention).unwrap();
        let bytes = encode(&scene, &convention, gradients.clone(), &[], None).unwrap();
        assert_eq!(
            encode(&scene, &convention, gradients.clone(), &[], None).unwrap(),
            bytes,
            "same bytes"
        );
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let read = |name: &str| numbers(file.tensor(name).unwrap().data());
        let images = gradients.rasters.iter();
        let colors: Vec<f64> = images.clone().flat_map(|r| r.render_colors.clone()).collect();
        let alphas: Vec<f64> = images.flat_map(|r| r.render_alphas.clone()).collect();
        assert!(alphas.iter().any(|&a| a > 0.0), "an empty picture tests nothing");
        for (name, values) in [
            ("render_colors", colors),
            ("render_alphas", alphas),
            ("v_means", gradients.v_means.into_flattened()),
            ("v_quats", gradients.v_quats.into_flattened()),
            ("v_scales", gradients.v_scales.into_flattened()),
            ("v_opacities", gradients.v_opacities),
            ("v_colors", gradients.v_colors),
            ("v_viewmats", gradients.v_viewmats.into_flattened().into_flattened()),
            ("v_backgrounds", gradients.v_backgrounds),
        ] {
            assert_eq!(format!("{:?}", read(name)), format!("{values:?}"), "{name}");
        }
    }

    #[test]
    fn metadata_name_size_rules_and_scalar() {
        let mut convention = Convention::inria();
        (convention.alpha_max, convention.antialiased) = (0.999, true);
        let bytes = encode_f64(&samples::case().scene, &convention);
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let mut metadata: Vec<_> = header.metadata().clone().unwrap().into_iter().collect();
        metadata.sort();
        let expected = [
            ("alpha_max", "0.999"),
            ("antialiased", "true"),
            ("convention", "inria"),
            ("height", "3"),
            ("scalar", "f64"),
            ("width", "2"),
        ];
        assert_eq!(metadata, expected.map(|(key, text)| (key.to_owned(), text.to_owned())));
    }

    #[test]
    fn without_a_gaussian_the_image_is_the_background() {
        let scene = empty(Colors::Harmonics { coefficients: 4, values: Vec::new() });
        let bytes = encode_f64(&scene, &Convention::gsplat());
        assert_eq!(described(&bytes), expected(0, ("v_sh", &[0, 4, 3]), Dtype::F64));
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let colors = numbers(file.tensor("render_colors").unwrap().data());
        let background: Vec<f64> = scene.backgrounds.iter().map(|&b| f64::from(b)).collect();
        assert!(colors[..18].chunks(3).all(|pixel| pixel == &background[..3]), "first camera");
        assert!(colors[18..].chunks(3).all(|pixel| pixel == &background[3..]), "second camera");
        let direct = empty(Colors::Direct { channels: 3, values: Vec::new() });
        let bytes = encode_f64(&direct, &Convention::gsplat());
        assert_eq!(described(&bytes), expected(0, ("v_colors", &[0, 3]), Dtype::F64));
    }

    #[test]
    fn sizes_that_are_not_the_scenes_are_refused() {
        let (scene, convention) = (samples::case().scene, Convention::gsplat());
        let mut gradients = render_backward(&scene, &convention).unwrap();
        gradients.rasters.pop();
        let text = encode(&scene, &convention, gradients, &[], None).unwrap_err().to_string();
        assert_eq!(
            text,
            "the number of values of render_colors is 18: its shape [2, 3, 2, 3] asks for 36"
        );
    }
}
